//! A program in plain order on one stream of each device: what it computes where only the device
//! can tell, as no CPU twin knows a user's kernel.

use super::data::Contents;
use super::error::Executed;
use super::handles::Handles;
use super::memory::{Memories, Memory};
use super::prepared::{make_once, make_setup};
use crate::gpu::{AnyDevice, AnyStream};
use crate::host::Team;
use crate::program::{Call, Program, StreamKind};
use crate::scenario::Workload;

/// The program with each call done before the next one: no graph, and no other order to find.
fn in_turn(program: &Program) -> Program {
    let mut plain = program.clone();
    plain.streams.iter_mut().for_each(|stream| stream.kind = StreamKind::NonBlocking);
    plain.body.clear();
    for call in &program.body {
        let orders = call.recorded().or(call.stream_waits_for()).is_some();
        if orders || call.launched_calls().is_some() {
            continue;
        }
        plain.body.push(call.clone());
        if let Some(stream) = call.stream() {
            plain.body.push(Call::synchronize(stream));
        }
    }
    plain
}

/// What the buffers hold after the set-up and one pass.
pub(super) fn on_one_stream<D: AnyDevice>(
    (device, team): (Option<&D>, &Team),
    (workload, program): (&Workload, &Program),
    before: &Contents,
) -> Executed<Contents> {
    let plain = in_turn(program);
    let mut memories = Memories::before(device, workload, &plain, before)?;
    let handles = Handles::new(device, &plain)?;
    make_setup(&plain, team, &handles, &mut memories)?;
    for stream in &handles.streams {
        stream.synchronize()?;
    }
    for call in &plain.body {
        make_once((&plain, call), team, &handles, &mut memories)?;
    }
    let mut after = before.clone();
    for (index, allocation) in plain.allocations.iter().enumerate() {
        if let Some(id) = allocation.holds {
            let values = memories.read(index, before.of(id).len())?.into_owned();
            after.set(id, values);
        }
    }
    // Handles go before the memory that they use.
    drop(handles);
    memories.all.iter_mut().for_each(|memory| *memory = Memory::None);
    device.map_or(Ok(()), D::make_current)?;
    Ok(after)
}

//! A plan's body with every name resolved to an address or a handle, so that running it
//! is one driver call after another.

use super::error::Executed;
use super::handles::Handles;
use super::memory::Memories;
use crate::gpu::{AnyDevice, AnyEvent, AnyStream, GpuResult, RowShape, RowSide};
use crate::host::{Operand, Team};
use crate::kernels::{Kernel, ReadAndWritten};
use crate::machine::{DeviceId, Direction, StreamId};
use crate::program::{
    Awaited, Call, CopyBy, LibraryStep, MemoryChange, OwnStep, ProductShape, Program, Route, Rows,
    Sides, Slice, Step, Threads,
};
use crate::units::{Bytes, Span};
use std::time::Duration;

/// A call with its handles and addresses, ready to be made.
///
/// The addresses lie in the plan's live allocations, and every pass ends with a wait for everything
/// that it has issued: that is why what it does with memory is sound.
pub(super) type Prepared<'d, D> =
    Box<dyn Fn(&Handles<D>, &mut Memories<'d, D>, &Team) -> Executed + 'd>;

/// A call to a stream.
pub(super) fn on_stream<'d, D: AnyDevice>(
    stream: StreamId,
    make: impl Fn(&D::Stream) -> GpuResult + 'd,
) -> Prepared<'d, D> {
    Box::new(move |handles, _, _| Ok(make(&handles.streams[stream.0])?))
}

pub(super) fn prepared<'d, D: AnyDevice>(
    (program, call): (&'d Program, &Call),
    footprint: Bytes,
    handles: &Handles<D>,
    memories: &mut Memories<'d, D>,
) -> Executed<Prepared<'d, D>> {
    if let Some((id, change)) = call.memory_change() {
        let (allocation, stream) = (program.allocation(id), call.stream());
        return Ok(Box::new(move |handles, memories, _| {
            let stream = stream.map(|one| &handles.streams[one.0]);
            memories.change((id.0, allocation), change, stream)
        }));
    }
    match call.awaited() {
        Some(Awaited::Stream(stream)) => return Ok(on_stream::<D>(stream, D::Stream::synchronize)),
        Some(Awaited::Event(event)) => {
            return Ok(Box::new(move |handles, _, _| Ok(handles.events[event.0].synchronize()?)));
        }
        Some(Awaited::Device(DeviceId(id))) => {
            let device = memories.device()?.nth(id)?;
            return Ok(Box::new(move |_, _, _| Ok(device.synchronize()?)));
        }
        Some(Awaited::Thread(_)) | None => {}
    }
    Ok(match *call {
        Call::Clear { stream, ref target } => {
            let (target, bytes) = (memories.on_device(target), target.length);
            // SAFETY: see `Prepared`.
            on_stream::<D>(stream, move |stream| unsafe { stream.clear(target, bytes) })
        }
        Call::Copy { .. } => copy((program, call), memories)?,
        Call::Prefetch { stream, target, to } => Box::new(move |handles, memories, _| {
            memories.prefetch(&handles.streams[stream.0], &target, to)
        }),
        Call::Use(DeviceId(id)) => {
            let device = memories.device()?.nth(id)?;
            Box::new(move |_, _, _| Ok(device.make_current()?))
        }
        Call::Launch { stream, ref step } => {
            let DeviceId(id) = program.device_of(stream);
            let device = memories.device()?.nth(id)?;
            let launch = match step {
                Step::Library(step) => launch(step, device, memories)?,
                Step::Own(step) => own_launch((program, step), device, memories)?,
            };
            handles.streams[stream.0].prepare(&launch)?;
            // SAFETY: see `Prepared`.
            on_stream::<D>(stream, move |stream| unsafe { stream.launch(&launch) })
        }
        Call::Record { stream, event } => Box::new(move |handles, _, _| {
            Ok(handles.streams[stream.0].record(&handles.events[event.0])?)
        }),
        Call::Wait { stream, event } => Box::new(move |handles, _, _| {
            Ok(handles.streams[stream.0].wait(&handles.events[event.0])?)
        }),
        Call::Replay { .. } => Box::new(|_, _, _| unreachable!("its graph is captured first")),
        Call::Work { time } => work(time),
        Call::Compute { step: Step::Library(ref step) } => computation(step, footprint, memories),
        Call::Compute { step: Step::Own(ref step) } => {
            let time = program.stand_in_time(step, true);
            work(time.expect("the CPU has no code: checked before"))
        }
        _ => unreachable!("one thread makes all calls: checked before"),
    })
}

/// Keeps the thread busy. A system call could give the core away.
fn work<'d, D: AnyDevice>(time: Span) -> Prepared<'d, D> {
    let time = Duration::from_nanos(time.nanos());
    Box::new(move |_, _, _| {
        let start = D::now();
        while D::now() - start < time {
            std::hint::spin_loop();
        }
        Ok(())
    })
}

/// A step on the CPU. `footprint`: the host memory that the plan uses in a pass.
fn computation<'d, D: AnyDevice>(
    step: &LibraryStep,
    footprint: Bytes,
    memories: &mut Memories<'d, D>,
) -> Prepared<'d, D> {
    let count = |slice: &Slice| slice.length.as_usize() / 4;
    let (kernel, arguments, lead) = (step.kernel, step.arguments, step.lead as usize);
    let inputs = step.inputs.iter();
    let inputs: Vec<(*const f32, usize)> =
        inputs.map(|slice| (memories.on_host(slice).cast_const(), count(slice))).collect();
    let (start, length) = (memories.on_host(&step.output), count(&step.output));
    Box::new(move |_, _, team| {
        // SAFETY: see `Prepared`. An input that is the output itself is passed as
        // `Operand::Output`, and a checked plan has no other input that overlaps it.
        let output = unsafe { std::slice::from_raw_parts_mut(start, length) };
        let operand = |&(input, length): &(*const f32, usize)| {
            if std::ptr::eq(input, start) {
                Operand::Output
            } else {
                // SAFETY: see `Prepared`.
                Operand::Array(unsafe { std::slice::from_raw_parts(input, length) })
            }
        };
        // An array on the stack: an allocation would take a thirtieth of the time of a
        // small kernel.
        let operands: [_; Kernel::MOST_INPUTS] =
            std::array::from_fn(|index| inputs.get(index).map_or(Operand::Output, operand));
        let operands = &operands[..inputs.len()];
        team.run_around(footprint, (kernel, &arguments), operands, output, lead);
        Ok(())
    })
}

/// A copy. A checked plan copies nothing onto itself, and nothing else uses the two sides of a
/// host's copy while the host copies.
fn copy<'d, D: AnyDevice>(
    (program, call): (&Program, &Call),
    memories: &mut Memories<'d, D>,
) -> Executed<Prepared<'d, D>> {
    let Sides { by, from, to, rows } = call.sides();
    let (Some(by), Some(from), Some(to)) = (by, from, to) else {
        unreachable!("{call:?} is no copy");
    };
    let bytes = from.length;
    let (stream, route) = match by {
        CopyBy::Stream(stream, route) => (stream, route),
        CopyBy::Host(threads) => return Ok(host_copy([from, to], threads, memories)),
    };
    if let Some(rows) = rows {
        return Ok(rows_copy(stream, route, ([from, to], rows), memories));
    }
    Ok(match route {
        Route::Crossing(Direction::HostToDevice) => {
            let (from, to) = (memories.on_host(from), memories.on_device(to));
            // SAFETY: see `Prepared`.
            on_stream::<D>(stream, move |stream| unsafe { stream.copy_in(from, to, bytes) })
        }
        Route::Crossing(Direction::DeviceToHost) => {
            let (from, to) = (memories.on_device(from), memories.on_host(to));
            // SAFETY: see `Prepared`.
            on_stream::<D>(stream, move |stream| unsafe { stream.copy_out(from, to, bytes) })
        }
        Route::ToPeer => {
            let [_, DeviceId(there)] = program.peers_of(from, to);
            let to = (memories.device()?.nth(there)?, memories.on_device(to));
            let from = memories.on_device(from);
            // SAFETY: see `Prepared`.
            on_stream::<D>(stream, move |stream| unsafe { stream.copy_to_peer(from, to, bytes) })
        }
        Route::OnDevice => {
            let (from, to) = (memories.on_device(from), memories.on_device(to));
            // SAFETY: see `Prepared`.
            on_stream::<D>(stream, move |stream| unsafe { stream.copy_on_device(from, to, bytes) })
        }
    })
}

/// A copy of rows that lie apart.
fn rows_copy<'d, D: AnyDevice>(
    stream: StreamId,
    route: Route,
    ([from, to], rows): ([&Slice; 2], Rows),
    memories: &mut Memories<'d, D>,
) -> Prepared<'d, D> {
    let on_host = match route {
        Route::Crossing(Direction::HostToDevice) => [true, false],
        Route::Crossing(Direction::DeviceToHost) => [false, true],
        Route::OnDevice | Route::ToPeer => [false; 2],
    };
    let mut side = |slice: &Slice, on_host: bool| match on_host {
        true => RowSide::Host(memories.on_host(slice)),
        false => RowSide::Device(memories.on_device(slice)),
    };
    let shape = RowShape { row: rows.row, count: rows.count(from), pitch: rows.pitch };
    let (from, to) = (side(from, on_host[0]), side(to, on_host[1]));
    // SAFETY: see `Prepared`.
    on_stream::<D>(stream, move |stream| unsafe { stream.copy_rows(from, to, shape) })
}

/// A copy that the host makes.
fn host_copy<'d, D: AnyDevice>(
    [from, to]: [&Slice; 2],
    threads: Threads,
    memories: &mut Memories<'d, D>,
) -> Prepared<'d, D> {
    let count = from.length.as_usize();
    let [from, to] = [from, to].map(|slice| memories.on_host(slice).cast::<u8>());
    Box::new(move |_, _, team| {
        // SAFETY: see `Prepared`.
        let (from, to) = unsafe {
            (std::slice::from_raw_parts(from, count), std::slice::from_raw_parts_mut(to, count))
        };
        match threads {
            Threads::One => to.copy_from_slice(from),
            Threads::All => team.copy(from, to),
        }
        Ok(())
    })
}

/// Makes the calls of a set-up. What it allocates outside of streams is touched as well.
pub(super) fn make_setup<'d, D: AnyDevice>(
    program: &'d Program,
    team: &Team,
    handles: &Handles<D>,
    memories: &mut Memories<'d, D>,
) -> Executed {
    program.setup.iter().try_for_each(|call| match (call.memory_change(), call.stream()) {
        (Some((id, MemoryChange::Allocate)), None) => {
            memories.allocate(id.0, program.allocation(id))
        }
        _ => make_once((program, call), team, handles, memories),
    })
}

/// Makes a call of a set-up, or of a program that is run once.
pub(super) fn make_once<'d, D: AnyDevice>(
    (program, call): (&'d Program, &Call),
    team: &Team,
    handles: &Handles<D>,
    memories: &mut Memories<'d, D>,
) -> Executed {
    // Going through the whole program for every other call would take long.
    let footprint = if call.is_compute() { program.host_footprint().all } else { Bytes::ZERO };
    let prepared = prepared((program, call), footprint, handles, memories)?;
    if let (Some(device), Some(stream)) = (memories.device, call.stream()) {
        device.nth(program.device_of(stream).0)?.make_current()?;
    }
    prepared(handles, memories, team)
}

fn own_launch<D: AnyDevice>(
    (program, step): (&Program, &OwnStep),
    device: &D,
    memories: &Memories<'_, D>,
) -> Executed<D::Launch> {
    let addresses = |slices: &[Slice]| -> Vec<u64> {
        slices.iter().map(|slice| memories.on_device(slice)).collect()
    };
    if let Some(time) = program.stand_in_time(step, false) {
        let reads = step.reads.iter().map(|slice| (slice, false));
        let writes = step.writes.iter().map(|slice| (slice, true));
        let memory = reads.chain(writes).map(|(slice, is_written)| {
            let (address, bytes) = (memories.on_device(slice), slice.length);
            ReadAndWritten { address, bytes, is_written }
        });
        let memory: Vec<ReadAndWritten> = memory.collect();
        return Ok(device.stand_in(time, step.geometry, &memory)?);
    }
    let (reads, writes) = (addresses(&step.reads), addresses(&step.writes));
    let shape = step.product().map(|ProductShape { rows, inner, columns }| [rows, inner, columns]);
    let how = (step.geometry, &step.parameters[..]);
    Ok(device.own_kernel(program.own_kernel(step), how, [&reads, &writes], shape)?)
}

fn launch<D: AnyDevice>(
    step: &LibraryStep,
    device: &D,
    memories: &Memories<'_, D>,
) -> Executed<D::Launch> {
    let inputs: Vec<u64> = step.inputs.iter().map(|slice| memories.on_device(slice)).collect();
    let output = memories.on_device(&step.output);
    let workspace = step.workspace.as_ref().map_or(0, |slice| memories.on_device(slice));
    let sizes = (step.elements(), step.inputs[0].length.as_f32_count(), step.lead);
    let kernel = (step.kernel, step.arguments);
    Ok(device.kernel(kernel, &inputs, (output, workspace), sizes)?)
}

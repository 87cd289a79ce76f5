//! Moves the pages of managed memory in one go before a kernel uses them, and back before the host
//! does. Otherwise they move one fault after another.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Place, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{HostMemory, Residence, StreamId};
use crate::program::{AllocationId, Call, Place as Where, Program, Slice};
use std::collections::BTreeMap;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let (program, inside) = (&subject.program, subject.in_graphs());
    let ways = [&[Residence::Device][..], &[Residence::Device, Residence::Host]];
    let variants = ways.iter().filter_map(|&to| moved(subject, &inside, to));
    let found: Vec<Rewriting> = variants.collect();
    let is_managed = program.allocations.iter().any(|one| one.place == MANAGED);
    match (found.is_empty(), is_managed) {
        (false, _) => Ok(found),
        (true, true) => Err(Refusal::PagesAreThere),
        (true, false) => Err(Refusal::NoManagedMemory),
    }
}

const MANAGED: Where = Where::Host(HostMemory::Managed);

/// The side that used some memory last, with the stream where that is the GPU.
#[derive(Clone, Copy)]
struct Last {
    at: usize,
    slice: Slice,
    stream: Option<StreamId>,
}

/// The program with prefetches where pages change sides, to these sides.
fn moved(subject: &Subject, inside: &[bool], to: &[Residence]) -> Option<Rewriting> {
    let program = &subject.program;
    let mut patch = Patch::default();
    let mut places = Vec::new();
    let mut last: BTreeMap<AllocationId, Last> = last_uses(program);
    for (at, call) in program.body.iter().enumerate() {
        for (slice, stream) in managed(program, call) {
            let before = last.insert(slice.allocation, Last { at, slice, stream });
            let Some(before) = before.filter(|_| !inside[at]) else { continue };
            let call = match (before.stream, stream) {
                (None, Some(stream)) if to.contains(&Residence::Device) => {
                    let to = Residence::Device;
                    patch.insert_before(at, Call::Prefetch { stream, target: slice, to });
                    at
                }
                (Some(stream), None) if to.contains(&Residence::Host) && before.at < at => {
                    let (target, to) = (before.slice, Residence::Host);
                    patch.insert_after(before.at, Call::Prefetch { stream, target, to });
                    before.at
                }
                _ => continue,
            };
            places.push(Place::of(program, call, Some(slice.allocation)));
        }
    }
    if places.is_empty() {
        return None;
    }
    let changed = subject.rewritten(patch.applied(program), 1);
    let program = with_needed_waits(&changed, |_| false);
    Some(Rewriting { program, passes: 1, places: Place::gathered(places), conditions: Vec::new() })
}

/// Where each managed memory is when a pass begins: where the pass before used it last. The host
/// wrote what no call has used.
fn last_uses(program: &Program) -> BTreeMap<AllocationId, Last> {
    let uses = program.body.iter().enumerate().flat_map(|(at, call)| {
        managed(program, call).map(move |(slice, stream)| Last { at, slice, stream })
    });
    uses.map(|one| (one.slice.allocation, one)).collect()
}

/// The managed memory that a call uses, with the stream where the GPU does.
fn managed<'p>(
    program: &'p Program,
    call: &'p Call,
) -> impl Iterator<Item = (Slice, Option<StreamId>)> + 'p {
    let stream = call.stream().filter(|_| call.is_launch());
    let is_use = call.is_launch() || call.is_compute() || call.sides().from.is_some();
    let accesses = program.accesses(call).filter(move |_| is_use);
    let slices = accesses.map(|one| one.touched.slice);
    let slices = slices.filter(|slice| program.allocation(slice.allocation).place == MANAGED);
    slices.map(move |slice| (slice, stream))
}

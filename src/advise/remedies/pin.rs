//! Pins pageable memory that is copied, and no longer waits right behind its copies.
//!
//! A copy of pageable memory holds the host until the driver is done with it; one of pinned memory
//! goes at the rate of the link while the host goes on. Memory of the program's own is taken
//! pinned, and buffers that are there before are registered in the set-up. Where the host relied on
//! being held, it waits now.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{Direction, HostMemory};
use crate::program::{AllocationId, Awaited, Call, MemoryChange, Program};
use std::collections::BTreeSet;

/// The most memories that are pinned one by one, besides all together.
const MOST_SINGLE: usize = 4;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    let program = &subject.program;
    let copied = pageable_copies(program);
    if copied.is_empty() {
        return Err(Refusal::NothingPageable);
    }
    let mut choices: Vec<Vec<AllocationId>> = vec![copied.clone()];
    if copied.len() > 1 {
        choices.extend(copied.iter().take(MOST_SINGLE).map(|&id| vec![id]));
    }
    Ok(choices
        .iter()
        .flat_map(|ids| [false, true].map(|later| pinned(subject, ids, later)))
        .collect())
}

/// Pageable memory that the body copies, the most bytes of copies first. Memory that is new in
/// every pass would have to be pinned in every pass.
fn pageable_copies(program: &Program) -> Vec<AllocationId> {
    let changes = program.body.iter().filter_map(Call::memory_change);
    let renewed: BTreeSet<AllocationId> = changes
        .filter(|(_, change)| matches!(change, MemoryChange::Renew | MemoryChange::Allocate))
        .map(|(id, _)| id)
        .collect();
    let bytes = |id: AllocationId| -> u64 {
        let sides = program.body.iter().filter_map(Call::crossing);
        sides
            .map(|(_, way, from, to)| way.ashore(from, to))
            .filter(|side| side.allocation == id)
            .map(|side| side.length.get())
            .sum()
    };
    let movable = program.movable_host_memory(HostMemory::Pageable);
    let mut found: Vec<(u64, AllocationId)> =
        movable.into_iter().filter(|id| !renewed.contains(id)).map(|id| (bytes(id), id)).collect();
    found.retain(|&(bytes, _)| bytes > 0);
    found.sort_by_key(|&(bytes, id)| (std::cmp::Reverse(bytes), id));
    found.into_iter().map(|(_, id)| id).collect()
}

/// The program with some memory pinned; if asked for, without the waits right behind its copies
/// that nothing needs.
fn pinned(subject: &Subject, ids: &[AllocationId], waits_later: bool) -> Rewriting {
    let mut program = subject.program.clone();
    program.move_host_memory(ids, HostMemory::Pinned);
    let registered = ids.iter().filter(|id| program.allocation(**id).holds.is_some());
    let registered: Vec<Call> = registered.map(|&id| Call::pin(id)).collect();
    program.setup.splice(0..0, registered);
    let places = places(&program, ids);
    let mut conditions = vec![Condition::SameMemory];
    let moved = subject.rewritten(program, 1);
    // A wait that the program has may order more than the copy before it, so it goes only if the
    // needed ones can be put in.
    let program = match moved.check_waits() {
        Ok(()) => {
            let behind =
                if waits_later { waits_behind(&moved.program, ids) } else { BTreeSet::new() };
            if !behind.is_empty() && subject.is_recorded {
                conditions.push(Condition::SourceKept);
            }
            with_needed_waits(&moved, |at| behind.contains(&at))
        }
        Err(_) => moved.program,
    };
    Rewriting { program, passes: 1, places, conditions }
}

fn places(program: &Program, ids: &[AllocationId]) -> Vec<Place> {
    let copies = program.body.iter().enumerate().filter_map(|(at, call)| {
        let (_, way, from, to) = call.crossing()?;
        let ashore = way.ashore(from, to).allocation;
        ids.contains(&ashore).then(|| Place::of(program, at, Some(ashore)))
    });
    Place::gathered(copies)
}

/// The waits for a stream or the device that come right behind copies of this memory, up to the
/// host's own work in between.
fn waits_behind(program: &Program, ids: &[AllocationId]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut is_behind = false;
    for (at, call) in program.body.iter().enumerate() {
        match (call.crossing(), call.awaited()) {
            (Some((_, way, from, to)), _) => {
                let is_upload = way == Direction::HostToDevice;
                is_behind = ids.contains(&way.ashore(from, to).allocation) && is_upload;
            }
            (None, Some(Awaited::Stream(_) | Awaited::Device(_))) if is_behind => {
                found.insert(at);
            }
            (None, _) if call.stated_time().is_some() => {}
            _ => is_behind = false,
        }
    }
    found
}

//! What the CPU has just written before the engine reads it.
//!
//! The caches of the CPU then hold what memory does not, and the engine's reads have to get it from
//! there, which takes longer. Once the engine has read it, memory has it, too.

use super::uses::Uses;
use crate::machine::{Direction, HostMemory};
use crate::profile::JustWritten;
use crate::program::{Call, Place, Program, Slice, Threads};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// For each H2D copy of pinned memory, by its place in the body, how long ago the CPU wrote its
/// data, if it did. The body repeats, so the first copy follows the last call.
pub(super) fn just_written(program: &Program) -> BTreeMap<usize, JustWritten> {
    let mut found = BTreeMap::new();
    let body = || program.body.iter().enumerate();
    let most: usize = body().map(|(_, call)| writes(program, call).len()).sum();
    if most == 0 || !body().any(|(_, call)| reads(program, call).is_some()) {
        return found;
    }
    let mut written: Uses<bool> = Uses::new(2 * most);
    for (at, call) in body().chain(body()) {
        for (slice, by_all) in writes(program, call) {
            written.note(&slice, by_all);
        }
        match call {
            Call::Renew(id) | Call::Allocate(id) => {
                let length = program.allocation(*id).bytes;
                written.forget(&Slice { allocation: *id, offset: Bytes::ZERO, length });
            }
            Call::Launch { step, .. } => drop(written.forget(&step.output)),
            _ => {
                if let Some((_, Direction::DeviceToHost, _, to)) = call.crossing() {
                    written.forget(to);
                }
            }
        }
        if let Some(from) = reads(program, call) {
            match age(&written, from) {
                Some(age) => found.insert(at, age),
                None => found.remove(&at),
            };
            written.forget(from);
        }
    }
    found
}

/// The pinned memory that an H2D copy reads.
fn reads<'a>(program: &Program, call: &'a Call) -> Option<&'a Slice> {
    let Call::Copy { direction: Direction::HostToDevice, from, .. } = call else { return None };
    let place = program.allocation(from.allocation).place;
    (place == Place::Host(HostMemory::Pinned)).then_some(from)
}

/// What a call lets the CPU write, and whether all threads do.
fn writes(program: &Program, call: &Call) -> Vec<(Slice, bool)> {
    match call {
        Call::Compute { step } => vec![(step.output, step.is_shared(program.host_footprint()))],
        // Whatever the CPU does there, all of its threads may.
        Call::ComputeOwn { step } => step.writes.iter().map(|slice| (*slice, true)).collect(),
        Call::HostCopy { to, threads, .. } => vec![(*to, *threads == Threads::All)],
        _ => Vec::new(),
    }
}

/// How long ago a slice was written, in bytes that the CPU has written since.
fn age(written: &Uses<bool>, slice: &Slice) -> Option<JustWritten> {
    let by_all = written.last_by(slice)?;
    let byte = Bytes::new(1);
    let ends = [slice.offset, slice.end() - byte];
    let ends = ends.map(|offset| Slice { offset, length: byte, ..*slice });
    // What was written in one go is as old at its start as at its end.
    let first = written.since(&ends, &[]).flatten().max()?;
    let covered = written.covered(slice).min(first);
    Some(JustWritten { by_all, since: [first - covered, first] })
}

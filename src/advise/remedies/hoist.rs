//! Copies once, in the set-up, what every pass copies to the GPU although it does not change.
//!
//! Whether it changes from pass to pass is the host's affair, so it is a condition. On the GPU,
//! nothing may write the target in between: it then still has the bytes.

use super::drop_copies::{largest_groups, without};
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{Direction, StreamId};
use crate::program::{Call, Program};

/// The most groups of copies that are asked about one by one.
const MOST_GROUPS: usize = 3;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    if program.body.iter().all(|call| !is_upload(call)) {
        return Err(Refusal::NoUpload);
    }
    let inside = subject.in_graphs();
    let groups = largest_groups(program, Direction::HostToDevice, MOST_GROUPS);
    let stays = |at: &usize| subject.is_recorded || keeps_its_bytes(program, *at);
    let mut found = Vec::new();
    for group in groups {
        let group: Vec<usize> = group.into_iter().filter(|at| !inside[*at]).filter(stays).collect();
        if group.is_empty() {
            continue;
        }
        let mut one = without(subject, &group.iter().copied().collect());
        if !subject.is_recorded {
            let copies = group.iter().map(|&at| program.body[at].clone());
            let copies: Vec<Call> = copies.collect();
            let streams = copies.iter().filter_map(Call::stream);
            let mut streams: Vec<StreamId> = streams.collect();
            streams.sort_unstable();
            streams.dedup();
            one.program.setup.extend(copies);
            one.program.setup.extend(streams.into_iter().map(Call::synchronize));
        }
        one.conditions.push(Condition::Unchanged);
        found.push(one);
    }
    if found.is_empty() { Err(Refusal::NothingRepeated) } else { Ok(found) }
}

fn is_upload(call: &Call) -> bool {
    call.crossing().is_some_and(|(_, way, ..)| way == Direction::HostToDevice)
}

/// Whether the target of an upload is written by nothing else in a pass, and its source by nothing:
/// then the next pass finds there what this one has copied.
fn keeps_its_bytes(program: &Program, at: usize) -> bool {
    let Some((_, _, from, to)) = program.body[at].crossing() else { return false };
    let touches = |call: &Call| {
        program.accesses(call).any(|one| {
            one.writes() && (one.touched.slice.overlaps(to) || one.touched.slice.overlaps(from))
        })
    };
    program.body.iter().enumerate().all(|(other, call)| other == at || !touches(call))
}

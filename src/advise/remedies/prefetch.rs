//! Copies what the next step needs while this one is computed: uploads go to a stream of their own,
//! and their targets become two buffers that are used in turn.
//!
//! Each upload comes right before the kernels of the step before it are launched, unless the host
//! writes its source only later. Waits of the host are put in anew, as late as they are needed. If
//! the pass has one step, several passes make the body.

use super::graph::add_stream;
use crate::advise::generations::Generations;
use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::advise::unrolled::unrolled;
use crate::machine::{Direction, StreamId};
use crate::program::{AllocationId, Call, Program, StreamKind, StreamTraits};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    let targets = targets(program);
    if targets.is_empty() {
        return Err(Refusal::NoUpload);
    }
    if program.body.iter().all(|call| !call.is_launch()) {
        return Err(Refusal::NoKernel);
    }
    if program.has_graphs() {
        return Err(Refusal::HasGraphs);
    }
    let within = subject.clone();
    let (longer, passes) = unrolled(subject);
    let over = Subject { program: longer, ..subject.clone() };
    let mut found: Vec<Rewriting> = [(within, 1), (over, passes)]
        .iter()
        .filter_map(|(one, passes)| prefetched(one, &targets, *passes))
        .collect();
    found.dedup_by_key(|one| one.passes);
    if found.is_empty() { Err(Refusal::StillRead) } else { Ok(found) }
}

/// Device memory that uploads go to.
fn targets(program: &Program) -> Vec<AllocationId> {
    let uploads = program.body.iter().filter_map(Call::crossing);
    let uploads = uploads.filter(|one| one.1 == Direction::HostToDevice);
    let ids: BTreeSet<AllocationId> = uploads.map(|(.., to)| to.allocation).collect();
    ids.into_iter().collect()
}

fn prefetched(subject: &Subject, targets: &[AllocationId], passes: u64) -> Option<Rewriting> {
    let turns = targets.iter().filter_map(|&id| Generations::of(subject, id));
    let turns: Vec<Generations> = turns.collect();
    let mut program = subject.program.clone();
    let mut moves: BTreeMap<usize, usize> = BTreeMap::new();
    for one in &turns {
        let filled = one.filled(&program);
        for pair in filled.windows(2) {
            let Some(used_at) = pair[0].used_at else { continue };
            // Uploads of a generation may overlap, so they stay in their order.
            let early = pair[1]
                .uploads
                .iter()
                .take_while(|&&upload| may_come_early(&subject.program, used_at, upload));
            moves.extend(early.map(|&upload| (upload, used_at)));
        }
    }
    if moves.is_empty() {
        return None;
    }
    for one in &turns {
        one.take_turns(&mut program);
    }
    let stream = program.body[*moves.keys().next()?].stream()?;
    let copies = copy_stream(&mut program, stream, "uploads");
    let mut patch = Patch::default();
    let mut places = Vec::new();
    let ringed: BTreeSet<AllocationId> = turns.iter().map(|one| one.memory).collect();
    for (at, call) in subject.program.body.iter().enumerate() {
        let Some((_, Direction::HostToDevice, _, to)) = call.crossing() else { continue };
        if !ringed.contains(&to.allocation) {
            continue;
        }
        // Later passes do the same.
        if at < subject.program.body.len() / passes as usize {
            places.push(Place::of(&subject.program, at, Some(to.allocation)));
        }
        let moved = program.body[at].clone().in_stream(copies);
        match moves.get(&at) {
            Some(&before) => {
                patch.remove(at);
                patch.insert_before(before, moved);
            }
            None => patch.replace(at, vec![moved]),
        }
    }
    let moved = subject.rewritten(patch.applied(&program), 1);
    let program = with_needed_waits(&moved, |_| true);
    let mut conditions = Vec::new();
    if subject.is_recorded {
        conditions.push(Condition::NextIsReady);
        conditions.extend(subject.about_kernels());
    }
    if passes > 1 {
        conditions.push(Condition::PassesOverlap);
    }
    Some(Rewriting { program, passes, places: Place::gathered(places), conditions })
}

/// A stream beside another one, of the same device, that does not wait for the default stream.
pub(super) fn copy_stream(program: &mut Program, beside: StreamId, name: &str) -> StreamId {
    let device = program.device_of(beside);
    let traits = StreamTraits { kind: StreamKind::NonBlocking, priority: 0, device };
    add_stream(program, traits, name)
}

/// Whether an upload may be made before an earlier call: nothing in between writes its source.
fn may_come_early(program: &Program, before: usize, upload: usize) -> bool {
    let Some((_, _, from, _)) = program.body[upload].crossing() else { return false };
    before < upload
        && program.body[before..upload].iter().all(|call| {
            !program.accesses(call).any(|one| one.writes() && one.touched.slice.overlaps(from))
        })
}

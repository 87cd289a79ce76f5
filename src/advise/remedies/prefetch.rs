//! Copies what the next step needs while this one is computed: uploads go to a stream of their own,
//! and their targets become two buffers that are used in turn.
//!
//! Each upload comes right before the kernels of the step before it are launched, unless the host
//! writes its source only later. Waits of the host are put in anew, as late as they are needed. If
//! the pass has one step, several passes make the body.

use crate::advise::generations::Generations;
use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::streams::copy_stream;
use crate::advise::subject::Subject;
use crate::advise::unrolled::{Body, bodies};
use crate::machine::Direction;
use crate::program::{AllocationId, Call, Program};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    let targets = targets(program);
    if targets.is_empty() {
        return Err(Refusal::NoUpload);
    }
    if !program.body.iter().any(Call::is_launch) {
        return Err(Refusal::NoKernel);
    }
    let bodies = bodies(subject)?;
    let found: Vec<Rewriting> =
        bodies.iter().filter_map(|body| prefetched(body, &targets)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let is_taken = |id| program.body.iter().any(|call| call.allocation() == Some(id));
    Err(if targets.into_iter().any(is_taken) {
        Refusal::TakenInEachPass
    } else {
        Refusal::StillRead
    })
}

/// Device memory that uploads go to.
fn targets(program: &Program) -> Vec<AllocationId> {
    let uploads = program.body.iter().filter_map(Call::crossing);
    let uploads = uploads.filter(|one| one.1 == Direction::HostToDevice);
    let ids: BTreeSet<AllocationId> = uploads.map(|(.., to)| to.allocation).collect();
    ids.into_iter().collect()
}

fn prefetched(body: &Body, targets: &[AllocationId]) -> Option<Rewriting> {
    let Body { subject, passes } = body;
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
        if at < subject.program.body.len() / *passes as usize {
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
    if *passes > 1 {
        conditions.push(Condition::PassesOverlap);
    }
    Some(Rewriting { program, passes: *passes, places: Place::gathered(places), conditions })
}

/// Whether an upload may be made before an earlier call: nothing in between writes its source.
fn may_come_early(program: &Program, before: usize, upload: usize) -> bool {
    let Some((_, _, from, _)) = program.body[upload].crossing() else { return false };
    before < upload
        && program.body[before..upload].iter().all(|call| {
            !program.accesses(call).any(|one| one.writes() && one.touched.slice.overlaps(from))
        })
}

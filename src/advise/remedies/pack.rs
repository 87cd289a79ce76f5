//! Makes one copy of small ones that follow each other in a stream.
//!
//! If both sides lie next to each other, one copy does. If only the targets do, or each target is a
//! memory of its own, the CPU first copies the sources into a pinned buffer, side by side; targets
//! that are memory of their own become parts of one. Downloads are packed only if both sides lie
//! next to each other.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{AllocationId, Call, CopyBy, Place as Where, Program, Slice, Threads};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// The fewest copies that are packed.
const LEAST: usize = 2;

/// Copies that follow each other.
struct Run {
    stream: StreamId,
    way: Direction,
    copies: Vec<usize>,
}

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let runs = runs(subject);
    let mut found = Vec::new();
    let joined: Vec<&Run> =
        runs.iter().filter(|run| adjoin(&subject.program, run, [0, 1])).collect();
    if !joined.is_empty() && subject.by_address {
        found.push(as_one(subject, &joined));
    }
    let staged: Vec<&Run> = runs.iter().filter(|run| run.way == Direction::HostToDevice).collect();
    if !staged.is_empty() {
        found.extend(through_a_buffer(subject, &staged));
    }
    if found.is_empty() { Err(Refusal::NoRunOfCopies) } else { Ok(found) }
}

/// Small copies in one stream and direction with nothing between them but the host's own time and,
/// in a recording, waits for them.
fn runs(subject: &Subject) -> Vec<Run> {
    let (program, inside) = (&subject.program, subject.in_graphs());
    let mut found: Vec<Run> = Vec::new();
    let mut is_open = false;
    for (at, call) in program.body.iter().enumerate() {
        let copy = call.crossing().filter(|(.., from, _)| {
            from.length <= super::SMALL && call.sides().rows.is_none() && !inside[at]
        });
        let waits = call.only_waits() && subject.is_recorded;
        match copy {
            Some((stream, way, ..)) => match found.last_mut() {
                Some(run) if is_open && (run.stream, run.way) == (stream, way) => {
                    run.copies.push(at);
                }
                _ => {
                    found.push(Run { stream, way, copies: vec![at] });
                    is_open = true;
                }
            },
            None => is_open &= call.stated_time().is_some() || waits,
        }
    }
    found.retain(|run| run.copies.len() >= LEAST);
    found
}

/// Both sides of a copy.
fn sides(program: &Program, at: usize) -> [Slice; 2] {
    let sides = program.body[at].sides();
    let nothing = Slice { allocation: AllocationId(0), offset: Bytes::ZERO, length: Bytes::ZERO };
    [sides.from, sides.to].map(|side| side.copied().unwrap_or(nothing))
}

/// Whether the copies of a run follow each other in memory, on these sides.
fn adjoin(program: &Program, run: &Run, of: impl IntoIterator<Item = usize>) -> bool {
    of.into_iter().all(|side| {
        run.copies.windows(2).all(|pair| {
            let [one, other] = [pair[0], pair[1]].map(|at| sides(program, at)[side]);
            one.allocation == other.allocation && one.end() == other.offset
        })
    })
}

fn places(program: &Program, runs: &[&Run]) -> Vec<Place> {
    let copies = runs.iter().flat_map(|run| &run.copies);
    Place::gathered(
        copies.map(|&at| Place::of(program, at, Some(sides(program, at)[1].allocation))),
    )
}

/// Each run as one copy.
fn as_one(subject: &Subject, runs: &[&Run]) -> Rewriting {
    let program = &subject.program;
    let mut patch = Patch::default();
    for run in runs {
        let length: Bytes = run.copies.iter().map(|&at| sides(program, at)[0].length).sum();
        let [from, to] = sides(program, run.copies[0]).map(|side| Slice { length, ..side });
        run.copies.iter().for_each(|&at| patch.remove(at));
        let by = CopyBy::crossing(run.stream, run.way);
        // A recording does not show when the host has filled a source: by the last copy, all are.
        let of = if subject.is_recorded { run.copies.last() } else { run.copies.first() };
        patch.replace(of.copied().unwrap_or_default(), vec![Call::copy(by, from, to)]);
    }
    let changed = subject.rewritten(patch.applied(program), 1);
    Rewriting { places: places(program, runs), ..settled(subject, &changed) }
}

/// Each run of uploads as copies by the CPU into a pinned buffer, and one upload of that.
fn through_a_buffer(subject: &Subject, runs: &[&Run]) -> Option<Rewriting> {
    let mut program = subject.program.clone();
    let mut patch = Patch::default();
    let mut packed: Vec<&Run> = Vec::new();
    let mut moved: BTreeMap<AllocationId, Slice> = BTreeMap::new();
    for run in runs {
        let length: Bytes = run.copies.iter().map(|&at| sides(&program, at)[0].length).sum();
        let target = if adjoin(&program, run, [1]) {
            Slice { length, ..sides(&program, run.copies[0])[1] }
        } else if subject.is_recorded {
            let place = program.allocation(sides(&program, run.copies[0])[1].allocation).place;
            super::taken(&mut program, "packed", place, length)
        } else {
            let Some(target) = in_one(&mut program, run, &mut moved) else { continue };
            target
        };
        let buffer = super::taken(&mut program, "pack", Where::Host(HostMemory::Pinned), length);
        let mut at = Bytes::ZERO;
        let mut calls = Vec::new();
        for &copy in &run.copies {
            let [from, _] = sides(&subject.program, copy);
            let to = Slice { offset: at, length: from.length, ..buffer };
            calls.push(Call::copy(CopyBy::Host(Threads::One), from, to));
            at += from.length;
            patch.remove(copy);
        }
        calls.push(Call::copy(CopyBy::crossing(run.stream, run.way), buffer, target));
        // All of them at the place of the last one: by then, all sources are there.
        let last = *run.copies.last()?;
        patch.replace(last, calls);
        packed.push(run);
    }
    if packed.is_empty() {
        return None;
    }
    let places = places(&subject.program, &packed);
    let mut changed = subject.rewritten(patch.applied(&program), 1);
    redirect_all(&mut changed.program, &moved);
    Some(Rewriting { places, ..settled(subject, &changed) })
}

/// The changed program without the waits for copies that are gone, and with those that it needs.
fn settled(subject: &Subject, changed: &Subject) -> Rewriting {
    let waits_inside = subject.is_recorded;
    let program = with_needed_waits(changed, |at| waits_inside && is_idle(&changed.program, at));
    let kept = subject.is_recorded.then_some(Condition::SourceKept);
    let conditions = kept.into_iter().chain(subject.about_kernels()).collect();
    Rewriting { program, passes: 1, places: Vec::new(), conditions }
}

/// Whether a wait comes right behind another one, or before anything was asked for: the copy that
/// it was for is gone.
fn is_idle(program: &Program, at: usize) -> bool {
    let before = program.body[..at].iter().rev().find(|call| call.stated_time().is_none());
    program.body[at].only_waits() && before.is_none_or(Call::only_waits)
}

/// Puts the targets of a run into one memory, if each is all of a memory of the program's own that
/// the set-up takes. `moved` says where each is then.
fn in_one(
    program: &mut Program,
    run: &Run,
    moved: &mut BTreeMap<AllocationId, Slice>,
) -> Option<Slice> {
    let targets: Vec<Slice> = run.copies.iter().map(|&at| sides(program, at)[1]).collect();
    let is_own = |slice: &Slice| {
        let one = program.allocation(slice.allocation);
        let in_body = program.body.iter().any(|call| call.allocation() == Some(slice.allocation));
        one.holds.is_none() && one.bytes == slice.length && !in_body
    };
    let mut ids: Vec<AllocationId> = targets.iter().map(|slice| slice.allocation).collect();
    ids.sort_unstable();
    ids.dedup();
    let are_free = ids.len() == targets.len() && ids.iter().all(|id| !moved.contains_key(id));
    if !are_free || !targets.iter().all(is_own) {
        return None;
    }
    let place = program.allocation(targets[0].allocation).place;
    let length = targets.iter().map(|slice| slice.length).sum();
    let all = super::taken(program, "packed", place, length);
    let mut offset = Bytes::ZERO;
    for target in &targets {
        moved.insert(target.allocation, Slice { offset, length: target.length, ..all });
        offset += target.length;
    }
    Some(all)
}

/// Has all calls use memory where it is now.
fn redirect_all(program: &mut Program, moved: &BTreeMap<AllocationId, Slice>) {
    let change = |slice: &mut Slice| {
        if let Some(to) = moved.get(&slice.allocation) {
            slice.offset += to.offset;
            slice.allocation = to.allocation;
        }
    };
    let gone = |call: &Call| call.allocation().is_some_and(|id| moved.contains_key(&id));
    program.setup.retain(|call| !gone(call));
    program.setup.iter_mut().chain(&mut program.body).for_each(|call| call.redirect(&change));
}

//! Leaves out copies that bring nothing: an upload of bytes that are already there, or elsewhere on
//! the GPU, and a download that nobody reads.
//!
//! What is already there follows from the program: where a value goes back to equal operations on
//! equal bytes, it is equal. A download counts as unread if its target is memory of the program's
//! own that nothing reads before it is written again. In a recording, the host may read any result,
//! so it is a condition that nobody does.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::advise::values::Values;
use crate::machine::Direction;
use crate::program::{AccessKind, AllocationId, Call, CopyBy, Program, Route, Slice};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The most groups of downloads of a recording that are asked about one by one.
const MOST_GROUPS: usize = 2;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    // What a pass leaves is its result, though the next one writes over it.
    if subject.passes > 1 {
        return Err(Refusal::NothingRepeated);
    }
    let mut found = Vec::new();
    if subject.is_recorded {
        for group in largest_groups(&subject.program, Direction::DeviceToHost, MOST_GROUPS) {
            let mut one = without(subject, &group.into_iter().collect());
            one.conditions.push(Condition::NobodyReads);
            found.push(one);
        }
    } else {
        let inside = subject.in_graphs();
        let Found { dropped, moved } = already_there(&subject.program, &inside);
        let mut staying = subject.clone();
        for (&at, call) in &moved {
            staying.program.body[at] = call.clone();
        }
        let unread = unread(&staying.program, &dropped, &inside);
        let all = dropped.iter().chain(&unread).copied().collect();
        let changed = moved.keys().chain(&all).copied().collect::<BTreeSet<usize>>();
        if !changed.is_empty() {
            let places = changed.iter().map(|&at| place(&subject.program, at));
            let places = Place::gathered(places);
            found.push(Rewriting { places, ..without(&staying, &all) });
        }
    }
    if found.is_empty() { Err(Refusal::NothingRepeated) } else { Ok(found) }
}

/// A copy and the memory that it goes to.
fn place(program: &Program, at: usize) -> Place {
    Place::of(program, at, program.body[at].sides().to.map(|to| to.allocation))
}

/// The program without some copies, without the waits right behind them that nothing else needs,
/// and without new memory that nothing is copied to any more.
pub(super) fn without(subject: &Subject, copies: &BTreeSet<usize>) -> Rewriting {
    let program = &subject.program;
    let places = Place::gathered(copies.iter().map(|&at| place(program, at)));
    let staying = program
        .body
        .iter()
        .enumerate()
        .filter(|(at, call)| !copies.contains(at) && call.allocation().is_none());
    let used: BTreeSet<AllocationId> =
        staying.flat_map(|(_, call)| program.accesses(call)).map(|one| one.allocation()).collect();
    let is_idle = |call: &Call| matches!(call, Call::Renew(id) if !used.contains(id));
    let renews = program.body.iter().enumerate().filter(|(_, call)| is_idle(call));
    let left_out: BTreeSet<usize> =
        copies.iter().copied().chain(renews.map(|(at, _)| at)).collect();
    let mut waits: BTreeSet<usize> = BTreeSet::new();
    for &at in copies {
        let stream = program.body[at].stream();
        let behind = (at + 1..program.body.len())
            .find(|next| !left_out.contains(next) && program.body[*next].stated_time().is_none());
        waits.extend(behind.filter(|&next| {
            let call = &program.body[next];
            call.only_waits() && (call.stream() == stream || call.device().is_some())
        }));
    }
    let mut patch = Patch::default();
    left_out.iter().for_each(|&at| patch.remove(at));
    let now = |at: usize| at - left_out.range(..at).count();
    let waits: BTreeSet<usize> = waits.into_iter().map(now).collect();
    let changed = subject.rewritten(patch.applied(program), 1);
    let program = with_needed_waits(&changed, |at| waits.contains(&at));
    Rewriting { program, passes: 1, places, conditions: Vec::new() }
}

/// What to do with uploads of bytes that the GPU has.
#[derive(Default)]
struct Found {
    /// Uploads to where the bytes are already.
    dropped: BTreeSet<usize>,
    /// Uploads of bytes that are elsewhere on the GPU: a copy within it instead.
    moved: BTreeMap<usize, Call>,
}

/// The most memories of a GPU that are searched for the bytes of an upload.
const MOST_SEARCHED: usize = 64;

/// Finds uploads of bytes that the GPU has when they begin.
fn already_there(program: &Program, inside: &[bool]) -> Found {
    let mut values = Values::before(program);
    program.setup.iter().for_each(|call| values.follow(program, call));
    let mut found = Found::default();
    for (at, call) in program.body.iter().enumerate() {
        let upload = call.crossing().filter(|one| one.1 == Direction::HostToDevice);
        let upload = upload.filter(|_| !inside[at] && call.sides().rows.is_none());
        if let Some((stream, _, from, to)) = upload {
            let bytes = values.read(from);
            if bytes == values.read(to) {
                found.dropped.insert(at);
                continue;
            }
            let ids = (0..program.allocations.len()).map(AllocationId).take(MOST_SEARCHED);
            let place = program.allocation(to.allocation).place;
            let mut there = ids.filter(|id| program.allocation(*id).place == place);
            let twin = there.find_map(|id| values.find(program, id, &bytes));
            if let Some(twin) = twin.filter(|twin| !twin.overlaps(to)) {
                let by = CopyBy::Stream(stream, Route::OnDevice);
                found.moved.insert(at, Call::copy(by, twin, *to));
            }
        }
        values.follow(program, call);
    }
    found
}

/// Downloads to memory of the program's own that nothing reads before it is written again, or to
/// any memory that a later copy overwrites first.
fn unread(program: &Program, dropped: &BTreeSet<usize>, inside: &[bool]) -> Vec<usize> {
    let outside = program.body.iter().enumerate().filter(|(at, _)| !inside[*at]);
    let downloads = outside.filter_map(|(at, call)| {
        let (_, way, _, to) = call.crossing()?;
        (way == Direction::DeviceToHost && call.sides().rows.is_none()).then_some((at, *to))
    });
    // What is written and never read in between is looked for from behind.
    let downloads: Vec<(usize, Slice)> = downloads.collect();
    let mut needed: Vec<Vec<[u64; 2]>> = vec![Vec::new(); program.allocations.len()];
    let mut found = Vec::new();
    // Twice, since the next pass may read what this one leaves.
    for _ in 0..2 {
        found.clear();
        let mut next = downloads.len();
        for (ranges, one) in needed.iter_mut().zip(&program.allocations) {
            ranges.extend(one.holds.map(|_| [0, one.bytes.get()]));
        }
        for (at, call) in program.body.iter().enumerate().rev() {
            if dropped.contains(&at) {
                continue;
            }
            let is_download = next > 0 && downloads[next - 1].0 == at;
            if is_download {
                next -= 1;
                let to = downloads[next].1;
                if !overlaps(&needed[to.allocation.0], &to) {
                    found.push(at);
                    continue;
                }
            }
            let accesses: Vec<_> = program.accesses(call).collect();
            for one in accesses.iter().filter(|one| one.kind == AccessKind::Writes) {
                if one.touched.is_whole() {
                    subtract(&mut needed[one.allocation().0], &one.touched.slice);
                }
            }
            for one in accesses.iter().filter(|one| one.kind == AccessKind::Reads) {
                let slice = one.touched.slice;
                needed[slice.allocation.0].push([slice.offset.get(), slice.end().get()]);
            }
        }
    }
    found.reverse();
    found
}

fn overlaps(ranges: &[[u64; 2]], slice: &Slice) -> bool {
    let [from, to] = [slice.offset, slice.end()].map(Bytes::get);
    ranges.iter().any(|&[low, high]| low < to && from < high)
}

fn subtract(ranges: &mut Vec<[u64; 2]>, slice: &Slice) {
    let [from, to] = [slice.offset, slice.end()].map(Bytes::get);
    let pieces = |&[low, high]: &[u64; 2]| {
        [[low, high.min(from)], [low.max(to), high]].into_iter().filter(|[low, high]| low < high)
    };
    *ranges = ranges.iter().flat_map(pieces).collect();
    ranges.sort_unstable();
    ranges.dedup();
}

/// The groups of copies of one direction, memory and size that move the most bytes.
pub(super) fn largest_groups(program: &Program, way: Direction, most: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<((AllocationId, Bytes), Vec<usize>)> = Vec::new();
    for (at, call) in program.body.iter().enumerate() {
        let Some((_, direction, from, to)) = call.crossing() else { continue };
        if direction != way {
            continue;
        }
        let key = (direction.ashore(from, to).allocation, from.length);
        match groups.iter_mut().find(|one| one.0 == key) {
            Some(one) => one.1.push(at),
            None => groups.push((key, vec![at])),
        }
    }
    let bytes = |one: &((AllocationId, Bytes), Vec<usize>)| one.0.1.get() * one.1.len() as u64;
    groups.sort_by_key(|one| (std::cmp::Reverse(bytes(one)), one.1[0]));
    groups.into_iter().take(most).map(|one| one.1).collect()
}

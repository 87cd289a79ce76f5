//! Copies only the bytes that something uses: an upload from the first to the last byte that calls
//! read before they are written again, and a download likewise.
//!
//! What a recorded kernel reads is not known byte by byte, so recordings are left alone.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Place, Rewriting};
use crate::advise::subject::Subject;
use crate::program::{AccessKind, Call, Program, Slice};
use crate::units::Bytes;

/// The share of a copy's bytes that has to be left over.
const LEAST_SAVED: f64 = 0.05;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    if subject.is_recorded || subject.passes > 1 {
        return Err(Refusal::AllIsRead);
    }
    let (program, inside) = (&subject.program, subject.in_graphs());
    let mut patch = Patch::default();
    let mut places = Vec::new();
    for (at, call) in program.body.iter().enumerate() {
        let sides = call.sides();
        let (Some(by), Some((.., from, to))) = (sides.by, call.crossing()) else { continue };
        let is_whole = sides.rows.is_none() && !inside[at];
        let Some(needed) = needed(program, at, to).filter(|_| is_whole) else { continue };
        let [first, last] = needed;
        let length = last - first;
        if length.as_f64() > (1.0 - LEAST_SAVED) * to.length.as_f64() {
            continue;
        }
        let skipped = first - to.offset;
        let part = |side: &Slice| Slice { offset: side.offset + skipped, length, ..*side };
        patch.replace(at, vec![Call::copy(by, part(from), part(to))]);
        places.push(Place::of(program, at, Some(to.allocation)));
    }
    if places.is_empty() {
        return Err(Refusal::AllIsRead);
    }
    let changed = subject.rewritten(patch.applied(program), 1);
    let program = with_needed_waits(&changed, |_| false);
    Ok(vec![Rewriting {
        program,
        passes: 1,
        places: Place::gathered(places),
        conditions: Vec::new(),
    }])
}

/// From the first to behind the last byte of a copy's target that something reads until all of it
/// is written again. `None` if nothing reads it, or if it outlives the program.
fn needed(program: &Program, copy: usize, to: &Slice) -> Option<[Bytes; 2]> {
    if program.allocation(to.allocation).holds.is_some() {
        return None;
    }
    let mut found: Option<[Bytes; 2]> = None;
    // The next pass may read what this one leaves.
    let later = (copy + 1..program.body.len()).chain(0..copy);
    for call in later.map(|at| &program.body[at]) {
        let here = program.accesses(call).filter(|one| one.allocation() == to.allocation);
        let (reads, writes): (Vec<_>, Vec<_>) = here.partition(|one| one.kind == AccessKind::Reads);
        for slice in reads.iter().map(|one| one.touched.slice).filter(|one| one.overlaps(to)) {
            let [low, high] = [slice.offset.max(to.offset), slice.end().min(to.end())];
            let [first, last] = found.unwrap_or([low, high]);
            found = Some([first.min(low), last.max(high)]);
        }
        let mut whole = writes.iter().filter(|one| one.touched.is_whole());
        let covers = |slice: Slice| slice.offset <= to.offset && slice.end() >= to.end();
        if whole.any(|one| covers(one.touched.slice)) {
            break;
        }
    }
    found
}

//! Lets a kernel read pinned memory over the link instead of copying it first, or write its results
//! there, where each byte crosses only once.
//!
//! What a kernel of which only the time is known would take then is not known, so it is left alone.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Place, Rewriting};
use crate::advise::subject::Subject;
use crate::kernels::GpuSide;
use crate::machine::{Direction, HostMemory};
use crate::program::{AccessKind, Call, Place as Where, Program, Slice, Step};

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let inside = subject.in_graphs();
    let all: Vec<Replaced> = (0..subject.program.body.len())
        .filter(|&at| !inside[at])
        .filter_map(|at| replaced(&subject.program, at))
        .filter(|one| !inside[one.launch])
        .collect();
    let ways = [
        &[Direction::HostToDevice][..],
        &[Direction::DeviceToHost],
        &[Direction::HostToDevice, Direction::DeviceToHost],
    ];
    let mut found: Vec<Rewriting> = Vec::new();
    for ways in ways {
        let some: Vec<&Replaced> = all.iter().filter(|one| ways.contains(&one.way)).collect();
        if ways.iter().all(|way| some.iter().any(|one| one.way == *way)) {
            found.push(in_place(subject, &some));
        }
    }
    if found.is_empty() { Err(Refusal::NotUsedOnce) } else { Ok(found) }
}

/// A copy in whose place a launch uses the host's memory.
struct Replaced {
    way: Direction,
    copy: usize,
    launch: usize,
    /// The copy's sides: on the host and on the device.
    sides: [Slice; 2],
}

/// The copy at a position, if one launch does all that its bytes are for.
fn replaced(program: &Program, copy: usize) -> Option<Replaced> {
    let call = &program.body[copy];
    let (_, way, from, to) = call.crossing().filter(|_| call.sides().rows.is_none())?;
    let [here, there] = match way {
        Direction::HostToDevice => [*from, *to],
        Direction::DeviceToHost => [*to, *from],
    };
    let place = program.allocation(here.allocation).place;
    let is_own = program.allocation(there.allocation).holds.is_none();
    if place != Where::Host(HostMemory::Pinned) || !is_own {
        return None;
    }
    let launch = match way {
        Direction::HostToDevice => only_reader(program, copy, &there)?,
        Direction::DeviceToHost => only_writer(program, copy, &there)?,
    };
    let is_timed = match program.body[launch].step()? {
        Step::Library(_) => true,
        Step::Own(step) => matches!(program.own_kernel(step).gpu, GpuSide::Code(_)),
    };
    is_timed.then_some(Replaced { way, copy, launch, sides: [here, there] })
}

/// Positions from one on, and round to it again: a pass follows a pass.
fn round(program: &Program, from: usize) -> impl Iterator<Item = usize> {
    (from + 1..program.body.len()).chain(0..from)
}

/// How a call uses a range, if it does: what it reads of it, and what it writes.
fn uses(program: &Program, at: usize, range: &Slice) -> Option<[Vec<Slice>; 2]> {
    let mut found = [Vec::new(), Vec::new()];
    for one in program.accesses(&program.body[at]).filter(|one| one.touched.slice.overlaps(range)) {
        found[usize::from(one.kind != AccessKind::Reads)].push(one.touched.slice);
    }
    (!found[0].is_empty() || !found[1].is_empty()).then_some(found)
}

fn lies_in(slice: &Slice, range: &Slice) -> bool {
    slice.offset >= range.offset && slice.end() <= range.end()
}

/// The only call that uses what a copy brings: a launch that reads a part of it once.
fn only_reader(program: &Program, copy: usize, brought: &Slice) -> Option<usize> {
    let mut reader = None;
    for at in round(program, copy) {
        let Some([reads, writes]) = uses(program, at, brought) else { continue };
        if !writes.is_empty() {
            // A kernel that reads and writes here works in place.
            let rewrites = reads.is_empty() && writes.iter().any(|one| lies_in(brought, one));
            return reader.filter(|_| rewrites);
        }
        let is_first = reader.replace(at).is_none();
        let is_one = matches!(&reads[..], [only] if lies_in(only, brought));
        if !is_first || !is_one || !program.body[at].is_launch() {
            return None;
        }
    }
    reader
}

/// The launch that writes exactly what a copy takes, which nothing else uses.
fn only_writer(program: &Program, copy: usize, taken: &Slice) -> Option<usize> {
    let before = (0..copy).rev().chain((copy + 1..program.body.len()).rev());
    let (writer, [reads, writes]) =
        before.into_iter().find_map(|at| Some((at, uses(program, at, taken)?)))?;
    let is_made = reads.is_empty() && writes == [*taken];
    if !is_made || writer > copy || !program.body[writer].is_launch() {
        return None;
    }
    // Until it is written again.
    let others = round(program, copy).take_while(|&at| at != writer);
    let used = others.filter_map(|at| uses(program, at, taken));
    used.into_iter().all(|[reads, _]| reads.is_empty()).then_some(writer)
}

fn in_place(subject: &Subject, all: &[&Replaced]) -> Rewriting {
    let mut program = subject.program.clone();
    let mut patch = Patch::default();
    for one in all {
        let [here, there] = one.sides;
        program.body[one.launch].redirect(&|slice: &mut Slice| {
            if slice.allocation == there.allocation && lies_in(slice, &there) {
                slice.allocation = here.allocation;
                slice.offset = slice.offset - there.offset + here.offset;
            }
        });
        patch.remove(one.copy);
    }
    let places =
        all.iter().map(|one| Place::of(&subject.program, one.copy, Some(one.sides[0].allocation)));
    let places = Place::gathered(places);
    let changed = subject.rewritten(patch.applied(&program), 1);
    let program = without_unused(with_needed_waits(&changed, |_| false));
    Rewriting { program, passes: 1, places, conditions: Vec::new() }
}

/// The program without memory that the set-up takes and no call uses.
fn without_unused(mut program: Program) -> Program {
    let calls = program.setup.iter().chain(&program.body);
    let used = calls.filter(|call| call.memory_change().is_none());
    let mut is_used = vec![false; program.allocations.len()];
    for call in used {
        program.accesses(call).for_each(|one| is_used[one.allocation().0] = true);
    }
    let holds: Vec<bool> = program.allocations.iter().map(|one| one.holds.is_some()).collect();
    let stays = |call: &Call| call.allocation().is_none_or(|id| is_used[id.0] || holds[id.0]);
    program.setup.retain(stays);
    program
}

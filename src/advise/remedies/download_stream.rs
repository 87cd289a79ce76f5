//! Copies results to the host in a stream of their own, so that the next step is computed
//! meanwhile. What they are read from becomes two buffers that are used in turn, where that can be.

use crate::advise::generations::Generations;
use crate::advise::missing_waits::with_needed_waits;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::streams::copy_stream;
use crate::advise::subject::Subject;
use crate::advise::unrolled::{Body, bodies};
use crate::machine::Direction;
use crate::program::{AllocationId, Call};
use std::collections::BTreeSet;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    let is_download =
        |call: &Call| call.crossing().is_some_and(|one| one.1 == Direction::DeviceToHost);
    if !program.body.iter().any(is_download) {
        return Err(Refusal::NoDownload);
    }
    Ok(bodies(subject)?.iter().map(moved).collect())
}

fn moved(body: &Body) -> Rewriting {
    let Body { subject, passes } = body;
    let mut program = subject.program.clone();
    let mut places = Vec::new();
    let mut sources: BTreeSet<AllocationId> = BTreeSet::new();
    for at in 0..program.body.len() {
        let call = &program.body[at];
        let Some((stream, Direction::DeviceToHost, from, _)) = call.crossing() else { continue };
        let source = from.allocation;
        sources.insert(source);
        // Later passes do the same.
        if at < subject.program.body.len() / *passes as usize {
            places.push(Place::of(&subject.program, at, Some(source)));
        }
        let copies = copy_stream(&mut program, stream, "downloads");
        program.body[at] = program.body[at].clone().in_stream(copies);
    }
    for one in sources.iter().filter_map(|&id| Generations::of(subject, id)) {
        one.take_turns(&mut program);
    }
    let moved = subject.rewritten(program, 1);
    let program = with_needed_waits(&moved, |_| true);
    let mut conditions = Vec::new();
    if subject.is_recorded {
        conditions.push(Condition::SourceKept);
        conditions.extend(subject.about_kernels());
    }
    if *passes > 1 {
        conditions.push(Condition::PassesOverlap);
    }
    Rewriting { program, passes: *passes, places: Place::gathered(places), conditions }
}

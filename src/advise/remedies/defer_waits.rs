//! Puts waits of the host off to the call that needs what they wait for, and drops the others.
//!
//! A wait for the device or for a stream becomes one for an event where later work need not be
//! done. In a recording, whatever the host does after a copy to it may read what was copied: the
//! second variant says what is gained if it only reads at the end of the pass.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::program::{Awaited, Call};

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let waits = waits(subject);
    if waits.is_empty() {
        return Err(Refusal::NoWait);
    }
    let is_wait = |at: usize| waits.contains(&at);
    let mut found = vec![rewritten(subject, with_needed_waits(subject, is_wait), &waits)];
    if subject.is_recorded {
        let silent = Subject { is_recorded: false, ..subject.clone() };
        let mut later = rewritten(subject, with_needed_waits(&silent, is_wait), &waits);
        later.conditions.push(Condition::ReadLater);
        found.push(later);
    }
    found.retain(|one| one.program.body != subject.program.body);
    if found.is_empty() { Err(Refusal::WaitsAreNeeded) } else { Ok(found) }
}

/// The waits of the host, but for those at the end of the pass.
fn waits(subject: &Subject) -> Vec<usize> {
    let body = &subject.program.body;
    let is_wait = |call: &Call| {
        matches!(call.awaited(), Some(Awaited::Stream(_) | Awaited::Device(_) | Awaited::Event(_)))
    };
    let end = body.iter().rposition(|call| !is_wait(call)).map_or(0, |last| last + 1);
    (0..end).filter(|&at| is_wait(&body[at])).collect()
}

fn rewritten(subject: &Subject, program: crate::program::Program, waits: &[usize]) -> Rewriting {
    let places = waits.iter().map(|&at| Place::of(&subject.program, at, None));
    let conditions = if subject.is_recorded { vec![Condition::SourceKept] } else { Vec::new() };
    Rewriting { program, passes: 1, places: Place::gathered(places), conditions }
}

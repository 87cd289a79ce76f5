//! What held a stream up in a pass. Calls are named by their positions in the body.

use crate::program::Program;
use crate::timeline::{Activity, Lane, Reason, Timeline};
use crate::units::{Instant, Span};
use std::cmp::Reverse;

/// Something that held a stream up.
pub struct HoldUp {
    pub by: HeldUpBy,
    /// For how long, in all.
    pub total: Span,
    /// How long the longest time was, and when it began.
    pub longest: Span,
    pub from: Span,
    /// The call whose operation had to wait then.
    pub call: usize,
    /// The call that it waited for: of the host, the longest one that it was in meanwhile.
    pub awaited: Option<usize>,
}

/// What can hold a stream up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldUpBy {
    /// The host had not issued the operation yet.
    Host,
    /// An operation of another stream had to end: an event says so.
    OtherStream,
    /// The engine was busy with operations of other streams.
    Engine,
    /// One operation handed over to the next.
    HandOver,
}

/// What held up the operations of a stream, which are in order: the longest first. The time behind
/// the last operation is left out.
pub fn hold_ups(program: &Program, timeline: &Timeline, operations: &[&Activity]) -> Vec<HoldUp> {
    let mut held_up: Vec<HoldUp> = Vec::new();
    let mut reached = Instant::START;
    for operation in operations {
        if operation.start > reached {
            let more = hold_up(program, timeline, (reached, operation));
            match held_up.iter_mut().find(|one| one.by == more.by) {
                Some(one) if one.longest >= more.longest => one.total += more.total,
                Some(one) => *one = HoldUp { total: one.total + more.total, ..more },
                None => held_up.push(more),
            }
        }
        reached = reached.max(operation.end);
    }
    held_up.sort_by_key(|one| (Reverse(one.total), one.by));
    held_up
}

/// Why an operation begins so much later than its stream was ready for it.
fn hold_up(
    program: &Program,
    timeline: &Timeline,
    (from, operation): (Instant, &Activity),
) -> HoldUp {
    let cause = operation.cause;
    let by = match cause.map(|cause| cause.reason) {
        Some(Reason::Event) => HeldUpBy::OtherStream,
        Some(Reason::Engine) => HeldUpBy::Engine,
        Some(Reason::Stream) => HeldUpBy::HandOver,
        Some(Reason::Issue | Reason::Device | Reason::Thread) | None => HeldUpBy::Host,
    };
    let awaited = match by {
        HeldUpBy::Host => {
            let issued_by = cause.map_or(operation.call, |cause| cause.after);
            host_call(program, timeline, (issued_by, from, operation.start))
        }
        _ => cause.map(|cause| cause.after),
    };
    let total = operation.start.since(from);
    let (longest, from) = (total, from.since_start());
    HoldUp { by, total, longest, from, call: operation.call, awaited }
}

/// The call in which the host thread that issued another one was for longest between two moments.
fn host_call(
    program: &Program,
    timeline: &Timeline,
    (issued_by, from, until): (usize, Instant, Instant),
) -> Option<usize> {
    let thread = program.thread_of(issued_by);
    let calls = timeline.lane(Lane::Host).filter(|call| program.thread_of(call.call) == thread);
    let within = calls.filter_map(|call| {
        let (start, end) = (call.start.max(from), call.end.min(until));
        (end > start).then(|| (end.since(start), call.call))
    });
    within.max_by_key(|(time, call)| (*time, Reverse(*call))).map(|(_, call)| call)
}

//! Which calls a program orders, found plainly: for each call, the set of all that are done before
//! it. The hazard check does it with clocks and leaves most pairs out; both must agree.

use hallway::program::{AllocationId, Call, Program, Slice, Step};
use hallway::units::Bytes;
use std::collections::BTreeSet;

type Set = BTreeSet<usize>;

/// For each call of the body, the calls that are done when it begins, and those that have been made
/// when it is; and those that are done when all threads have made their calls.
pub struct Order {
    pub before: Vec<Set>,
    made: Vec<Set>,
    pub at_end: Set,
}

/// What is done, and which calls have been made.
#[derive(Clone, Default)]
struct Known {
    done: Set,
    made: Set,
}

impl Known {
    fn learn(&mut self, other: &Self) {
        self.done.extend(&other.done);
        self.made.extend(&other.made);
    }
}

impl Order {
    pub fn of(program: &Program) -> Self {
        let lanes = program.lanes();
        let mut in_lane = vec![Known::default(); program.lane_count()];
        let mut last = vec![None; program.lane_count()];
        let mut events = vec![Known::default(); program.events];
        let mut hosts = vec![Known::default(); program.thread_count()];
        let (mut before, mut made) = (Vec::new(), Vec::new());
        for (at, call) in program.body.iter().enumerate() {
            let thread = usize::from(program.thread_of(at).0);
            let mut host = hosts[thread].clone();
            let mut known = host.clone();
            made.push(host.made.clone());
            host.made.insert(at);
            match (call, lanes.lane_of(at)) {
                (Call::Synchronize { stream }, _) => host.learn(&in_lane[stream.0]),
                (Call::SynchronizeEvent { event }, _) => host.learn(&events[event.0]),
                (Call::SynchronizeDevice(device), _) => {
                    for (lane, stream) in program.streams.iter().enumerate() {
                        let is_issued = last[lane].is_none_or(|last| made[at].contains(&last));
                        if stream.device == *device && is_issued {
                            host.learn(&in_lane[lane]);
                        }
                    }
                }
                (Call::SynchronizeThread(other), _) => host.learn(&hosts[usize::from(other.0)]),
                (_, None) => {
                    host.done.insert(at);
                }
                (_, Some(lane)) => {
                    known.made.insert(at);
                    known.learn(&in_lane[lane]);
                    for other in barrier(program, lane) {
                        known.learn(&in_lane[other]);
                    }
                    if let Call::Wait { event, .. } = call {
                        known.learn(&events[event.0]);
                    }
                    in_lane[lane].learn(&known);
                    in_lane[lane].done.insert(at);
                    last[lane] = Some(at);
                    if let Call::Record { event, .. } = call {
                        events[event.0].clone_from(&in_lane[lane]);
                    }
                }
            }
            before.push(known.done);
            hosts[thread] = host;
        }
        let at_end = hosts.into_iter().flat_map(|host| host.done).collect();
        Self { before, made, at_end }
    }
}

/// Whether it depends on the order of two calls what they do: one puts something into a stream
/// that the other uses, or records an event that the other names.
fn depend(program: &Program, one: &Call, other: &Call) -> bool {
    let puts = |call: &Call| call.stream().is_some() && !call.only_waits();
    let streams = one.stream().zip(other.stream());
    let same = streams
        .is_some_and(|(a, b)| a == b || program.streams[a.0].waits_for(&program.streams[b.0]));
    let event = one.event().is_some_and(|event| other.event() == Some(event));
    let records = |call: &Call| matches!(call, Call::Record { .. });
    same && puts(one) || event && (records(one) || records(other))
}

/// The first pair of calls of two threads of which the first need not be made first, and what they
/// do depends on it.
pub fn unissued(program: &Program) -> Option<(usize, usize)> {
    let order = Order::of(program);
    for (second, made) in order.made.iter().enumerate() {
        let others = (0..second).filter(|&first| {
            program.thread_of(first) != program.thread_of(second) && !made.contains(&first)
        });
        let calls = |first: usize| (&program.body[first], &program.body[second]);
        let mut unissued = others.filter(|&first| depend(program, calls(first).0, calls(first).1));
        if let Some(first) = unissued.next() {
            return Some((first, second));
        }
    }
    None
}

/// The streams that a stream waits for because of the legacy default stream.
fn barrier(program: &Program, lane: usize) -> impl Iterator<Item = usize> {
    let mine = program.streams.get(lane).copied();
    let waits = move |&other: &usize| mine.is_some_and(|m| m.waits_for(&program.streams[other]));
    (0..program.streams.len()).filter(waits)
}

/// Whether the call does something to memory, or on a device.
pub fn does_something(call: &Call) -> bool {
    !matches!(call, Call::Record { .. } | Call::Wait { .. } | Call::Use(_)) && !call.only_waits()
}

/// The bytes that a call uses, and whether it writes them.
pub fn uses(program: &Program, call: &Call) -> Vec<(Slice, bool)> {
    let whole = |&allocation: &AllocationId| {
        let length = program.allocation(allocation).bytes;
        vec![(Slice { allocation, offset: Bytes::ZERO, length }, true)]
    };
    match call {
        Call::Pin(id) | Call::Renew(id) | Call::Unpin(id) => whole(id),
        Call::Allocate { allocation, .. } | Call::Free { allocation, .. } => whole(allocation),
        Call::Copy { from, to, rows: None, .. } => vec![(*from, false), (*to, true)],
        Call::Copy { from, to, rows: Some(rows), .. } => {
            let each = |slice: &Slice, pitch: Bytes, writes: bool| {
                let (slice, rows) = (*slice, *rows);
                let count = (slice.length.get() - rows.row.get()) / pitch.get() + 1;
                (0..count).map(move |row| {
                    let offset = slice.offset + pitch * row;
                    (Slice { offset, length: rows.row, ..slice }, writes)
                })
            };
            each(from, rows.pitch[0], false).chain(each(to, rows.pitch[1], true)).collect()
        }
        Call::Clear { target, .. } => vec![(*target, true)],
        Call::Prefetch { target, .. } => vec![(*target, false)],
        Call::Launch { step: Step::Library(step), .. }
        | Call::Compute { step: Step::Library(step) } => {
            let reads = step.inputs.iter().map(|&slice| (slice, false));
            let writes = [step.output].into_iter().chain(step.workspace);
            reads.chain(writes.map(|slice| (slice, true))).collect()
        }
        Call::Launch { step: Step::Own(step), .. } | Call::Compute { step: Step::Own(step) } => {
            let reads = step.reads.iter().map(|&slice| (slice, false));
            reads.chain(step.writes.iter().map(|&slice| (slice, true))).collect()
        }
        _ => Vec::new(),
    }
}

/// The first pair of calls that use the same bytes, one of them writing, in no order; or a call
/// that the host does not wait for, with the number of calls.
pub fn race(program: &Program) -> Option<(usize, usize)> {
    let order = Order::of(program);
    let all: Vec<_> = program.body.iter().map(|call| uses(program, call)).collect();
    for (second, before) in order.before.iter().enumerate() {
        for first in (0..second).filter(|first| !before.contains(first)) {
            let meet = |one: &(Slice, bool), other: &(Slice, bool)| {
                (one.1 || other.1) && one.0.overlaps(&other.0)
            };
            if all[first].iter().any(|one| all[second].iter().any(|other| meet(one, other))) {
                return Some((first, second));
            }
        }
    }
    let calls = program.body.iter().enumerate();
    let mut unfinished = calls.filter(|(at, call)| {
        does_something(call) && call.stream().is_some() && !order.at_end.contains(at)
    });
    unfinished.next().map(|(at, _)| (at, program.body.len()))
}

/// The program without one call.
pub fn without(program: &Program, at: usize) -> Program {
    let mut program = program.clone();
    if !program.threads.is_empty() {
        program.threads.remove(at);
    }
    for (launch, call) in program.body[..at].iter_mut().enumerate() {
        if let Call::Replay { calls, .. } = call {
            *calls -= usize::from(at <= launch + *calls);
        }
    }
    program.body.remove(at);
    program
}

//! Which calls a program orders, found plainly: for each call, the set of all that are done before
//! it. The hazard check does it with clocks and leaves most pairs out; both must agree.

use hallway::program::{AllocationId, Call, Program, Slice};
use hallway::units::Bytes;
use std::collections::BTreeSet;

type Set = BTreeSet<usize>;

/// For each call of the body, the calls that are done when it begins; and those that are done when
/// the host has made all calls.
pub struct Order {
    pub before: Vec<Set>,
    pub at_end: Set,
}

impl Order {
    pub fn of(program: &Program) -> Self {
        let lanes = program.lanes();
        let mut lane_done = vec![Set::new(); program.lane_count()];
        let mut events = vec![Set::new(); program.events];
        let (mut host, mut before) = (Set::new(), Vec::new());
        for (at, call) in program.body.iter().enumerate() {
            let mut done = host.clone();
            match (call, lanes[at]) {
                (Call::Synchronize { stream }, _) => host.extend(&lane_done[stream.0]),
                (Call::SynchronizeEvent { event }, _) => host.extend(&events[event.0]),
                (Call::SynchronizeDevice(device), _) => {
                    for (lane, stream) in program.streams.iter().enumerate() {
                        if stream.device == *device {
                            host.extend(&lane_done[lane]);
                        }
                    }
                }
                (_, None) => {
                    host.insert(at);
                }
                (_, Some(lane)) => {
                    done.extend(&lane_done[lane]);
                    for other in barrier(program, lane) {
                        done.extend(&lane_done[other]);
                    }
                    if let Call::Wait { event, .. } = call {
                        done.extend(&events[event.0]);
                    }
                    lane_done[lane].extend(&done);
                    lane_done[lane].insert(at);
                    if let Call::Record { event, .. } = call {
                        events[event.0].clone_from(&lane_done[lane]);
                    }
                }
            }
            before.push(done);
        }
        Self { before, at_end: host }
    }
}

/// The streams that a stream waits for because of the legacy default stream.
fn barrier(program: &Program, lane: usize) -> impl Iterator<Item = usize> {
    let mine = program.streams.get(lane).copied();
    let waits = move |&other: &usize| mine.is_some_and(|m| m.waits_for(&program.streams[other]));
    (0..program.streams.len()).filter(waits)
}

/// Whether the call does something to memory, or on a device.
pub fn does_something(call: &Call) -> bool {
    !matches!(call, Call::Record { .. } | Call::Wait { .. } | Call::Use(_))
        && !call.facts().only_waits
}

/// The bytes that a call uses, and whether it writes them.
pub fn uses(program: &Program, call: &Call) -> Vec<(Slice, bool)> {
    let whole = |&allocation: &AllocationId| {
        let length = program.allocation(allocation).bytes;
        vec![(Slice { allocation, offset: Bytes::ZERO, length }, true)]
    };
    match call {
        Call::Allocate(id) | Call::Pin(id) | Call::Renew(id) => whole(id),
        Call::Free(id) | Call::Unpin(id) => whole(id),
        Call::AllocateInStream { allocation, .. } | Call::FreeInStream { allocation, .. } => {
            whole(allocation)
        }
        Call::DeviceCopy { from, to, .. } | Call::HostCopy { from, to, .. } => {
            vec![(*from, false), (*to, true)]
        }
        Call::RowCopy { from, to, rows, .. } => {
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
        Call::Copy { from, to, .. } | Call::PeerCopy { from, to, .. } => {
            vec![(*from, false), (*to, true)]
        }
        Call::Launch { step, .. } | Call::Compute { step } => {
            let reads = step.inputs.iter().map(|&slice| (slice, false));
            let writes = [step.output].into_iter().chain(step.workspace);
            reads.chain(writes.map(|slice| (slice, true))).collect()
        }
        Call::LaunchOwn { step, .. } | Call::ComputeOwn { step } => {
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
    for (launch, call) in program.body[..at].iter_mut().enumerate() {
        if let Call::Replay { calls, .. } = call {
            *calls -= usize::from(at <= launch + *calls);
        }
    }
    program.body.remove(at);
    program
}

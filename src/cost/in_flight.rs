//! Which copies may be under way when a call is made.

use super::remote::Mapped;
use crate::machine::{DeviceId, Direction};
use crate::program::{Call, Clock, Order, Passed, Program};
use crate::units::Bytes;
use std::collections::BTreeSet;

/// "For transfers from pageable host memory to device memory", copies up to this size return once
/// the driver has taken the data (CUDA Driver API manual, "API synchronization behavior"). The data
/// travels along with the commands.
pub(super) const STAGED_AT_ONCE: Bytes = Bytes::kib(64);

/// What a program does while copies may be under way.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// The synchronisations, by their places in the body, after which no copy of their device is
    /// under way.
    pub ending: BTreeSet<usize>,
    /// Whether a copy is staged beside one of pinned memory that goes the same way.
    pub stages: bool,
    /// Whether a kernel that uses the host's memory may run beside a copy, or beside another such
    /// kernel, on its device.
    pub meets_mapped: bool,
    /// Whether several host threads may stage copies, compute or copy at once.
    pub works_at_once: bool,
}

/// A copy between host and device that was issued: its lane and its number there, its device and
/// direction, and whether its host memory is pinned.
struct Issued {
    lane: usize,
    number: usize,
    way: (usize, Direction),
    is_pinned: bool,
    /// The host thread that stages it, if it is staged: it makes no other call meanwhile.
    staged_by: Option<usize>,
}

/// A kernel that uses the host's memory: its lane, its number there, and its device.
struct Mapping {
    lane: usize,
    number: usize,
    device: usize,
}

impl Issued {
    fn is_under_way(&self, done: &Clock) -> bool {
        done[self.lane] < self.number
    }
}

impl InFlight {
    pub fn of(program: &Program) -> Self {
        let mut found = Self::default();
        let (mut order, mut issued) = (Order::new(program), Vec::<Issued>::new());
        let mut mapping: Vec<Mapping> = Vec::new();
        let mut working = vec![0; program.thread_count()];
        for at in 0..program.body.len() {
            let thread = usize::from(program.thread_of(at).0);
            if works_hard(program, at) {
                let mut others = working.iter().enumerate();
                found.works_at_once |=
                    !others.all(|(other, &number)| order.knows_made(thread, other, number));
                working[thread] = order.made(thread) + 1;
            }
            let Some((call, Passed { lane, number, known, .. })) = order.pass() else { break };
            match call.crossing() {
                None if call.only_waits() => {
                    let done = order.known_to_all();
                    issued.retain(|copy| copy.is_under_way(&done));
                    let device = waited_for(program, call);
                    if issued.iter().all(|copy| copy.way.0 != device) {
                        found.ending.insert(at);
                    }
                }
                Some((stream, direction, from, to)) => {
                    let way = (program.device_of(stream).0, direction);
                    let ashore = direction.ashore(from, to);
                    let place = program.allocation(ashore.allocation).place;
                    let is_pinned = place.is_pinned();
                    let is_at_once =
                        direction == Direction::HostToDevice && ashore.length <= STAGED_AT_ONCE;
                    let mut same_way = issued.iter().filter(|copy| copy.way == way);
                    // What is staged holds its thread until it is done.
                    let is_staged = !is_pinned && !is_at_once;
                    let may_meet = is_staged || program.thread_count() > 1;
                    found.stages |= may_meet
                        && same_way.any(|copy| {
                            let by_other = copy.staged_by.is_some_and(|other| other != thread);
                            let meets = if is_staged { copy.is_pinned } else { by_other };
                            meets && copy.is_under_way(known)
                        });
                    found.meets_mapped |= mapping
                        .iter()
                        .any(|kernel| kernel.device == way.0 && known[kernel.lane] < kernel.number);
                    let number = number.unwrap_or_default();
                    let staged_by = is_staged.then_some(thread);
                    issued.push(Issued { lane, number, way, is_pinned, staged_by });
                }
                None => {
                    let Some((stream, step)) = call.launched() else { continue };
                    if Mapped::of(program, step).is_nothing() {
                        continue;
                    }
                    let device = program.device_of(stream).0;
                    let is_beside = |lane: usize, number| known[lane] < number;
                    found.meets_mapped |= issued
                        .iter()
                        .any(|copy| copy.way.0 == device && is_beside(copy.lane, copy.number))
                        || mapping.iter().any(|other| {
                            other.device == device && is_beside(other.lane, other.number)
                        });
                    let number = number.unwrap_or_default();
                    mapping.push(Mapping { lane, number, device });
                }
            }
        }
        found
    }
}

/// Whether the host moves or computes data in a call.
fn works_hard(program: &Program, at: usize) -> bool {
    let call = &program.body[at];
    call.is_compute() || call.copied_by().is_some() || program.is_staged(at)
}

/// The device that a synchronisation is about.
pub(super) fn waited_for(program: &Program, call: &Call) -> usize {
    let of_stream = call.stream().map(|stream| program.device_of(stream));
    of_stream.or(call.facts().device).unwrap_or(DeviceId::FIRST).0
}

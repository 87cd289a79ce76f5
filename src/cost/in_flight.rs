//! Which copies may be under way when a call is made.

use super::remote::Mapped;
use crate::machine::{DeviceId, Direction};
use crate::program::{Call, Clock, Order, Passed, Program};
use crate::units::Bytes;

/// "For transfers from pageable host memory to device memory", copies up to this size return once
/// the driver has taken the data (CUDA Driver API manual, "API synchronization behavior"). The data
/// travels along with the commands.
pub(super) const STAGED_AT_ONCE: Bytes = Bytes::kib(64);

/// What a program does while copies may be under way.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// The synchronisations, by their places in the body and in order, after which no copy of their
    /// device is under way.
    pub ending: Vec<usize>,
    /// Whether a copy is staged beside one of pinned memory that goes the same way.
    pub stages: bool,
    /// Whether a kernel that uses the host's memory may run beside a copy, or beside another such
    /// kernel, on its device.
    pub meets_mapped: bool,
    /// Whether several host threads may stage copies, compute or copy at once.
    pub works_at_once: bool,
}

/// Operations between host and device memory that were issued and do alike: their lane and device,
/// and the number there of the latest. A lane does one after the other, so if any of them is under
/// way, the latest is not done.
struct Issued {
    lane: usize,
    number: usize,
    device: usize,
    does: Does,
}

#[derive(PartialEq, Eq)]
enum Does {
    /// It copies. What is staged holds its host thread, which makes no other call meanwhile.
    Copy { way: Direction, is_pinned: bool, staged_by: Option<usize> },
    /// It is a kernel that uses the host's memory.
    Mapped,
}

impl Issued {
    fn of(program: &Program, at: usize, passed: &Passed<'_>) -> Option<Self> {
        let call = &program.body[at];
        let does = match (call.crossing(), call.launched()) {
            (Some((_, way, from, to)), _) => {
                let ashore = way.ashore(from, to);
                let is_pinned = program.allocation(ashore.allocation).place.is_pinned();
                let is_at_once = way == Direction::HostToDevice && ashore.length <= STAGED_AT_ONCE;
                let is_staged = !is_pinned && !is_at_once;
                let staged_by = is_staged.then_some(usize::from(program.thread_of(at).0));
                Does::Copy { way, is_pinned, staged_by }
            }
            (None, Some((_, step))) if !Mapped::of(program, step).is_nothing() => Does::Mapped,
            _ => return None,
        };
        let DeviceId(device) = program.device_of(call.stream()?);
        Some(Self { lane: passed.lane, number: passed.number.unwrap_or_default(), device, does })
    }

    fn is_like(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.lane, one.device);
        of(self) == of(other) && self.does == other.does
    }

    fn is_under_way(&self, done: &Clock) -> bool {
        done[self.lane] < self.number
    }
}

impl InFlight {
    pub fn of(program: &Program) -> Self {
        let mut found = Self::default();
        let (mut order, mut issued) = (Order::new(program), Vec::<Issued>::new());
        let mut working = vec![0; program.thread_count()];
        for at in 0..program.body.len() {
            let thread = usize::from(program.thread_of(at).0);
            if works_hard(program, at) {
                let mut others = working.iter().enumerate();
                found.works_at_once |=
                    !others.all(|(other, &number)| order.knows_made(thread, other, number));
                working[thread] = order.made(thread) + 1;
            }
            let Some((call, passed)) = order.pass() else { break };
            if let Some(next) = Issued::of(program, at, &passed) {
                let device = issued.iter().filter(|other| other.device == next.device);
                let beside = device.filter(|other| other.is_under_way(passed.known));
                beside.for_each(|other| found.meet(&next, other, thread));
                match issued.iter_mut().find(|one| one.is_like(&next)) {
                    Some(one) => *one = next,
                    None => issued.push(next),
                }
            } else if call.only_waits() {
                let done = order.known_to_all();
                issued.retain(|other| other.is_under_way(&done));
                let device = waited_for(program, call);
                let copies = |other: &Issued| matches!(other.does, Does::Copy { .. });
                if !issued.iter().any(|other| copies(other) && other.device == device) {
                    found.ending.push(at);
                }
            }
        }
        found
    }

    /// A host thread issues an operation while another one may be under way on its device.
    fn meet(&mut self, next: &Issued, other: &Issued, thread: usize) {
        match (&next.does, &other.does) {
            (
                Does::Copy { way, staged_by: None, .. },
                Does::Copy { way: others, staged_by: Some(stages), .. },
            ) => self.stages |= way == others && *stages != thread,
            (
                Does::Copy { way, staged_by: Some(_), .. },
                Does::Copy { way: others, is_pinned: true, .. },
            ) => self.stages |= way == others,
            (Does::Copy { .. }, Does::Copy { .. }) => {}
            _ => self.meets_mapped = true,
        }
    }
}

/// Whether the host moves or computes data in a call.
fn works_hard(program: &Program, at: usize) -> bool {
    let call = &program.body[at];
    call.works_on_cpu() || program.is_staged(at)
}

/// The device that a synchronisation is about.
pub(super) fn waited_for(program: &Program, call: &Call) -> usize {
    let of_stream = call.stream().map(|stream| program.device_of(stream));
    of_stream.or(call.device()).unwrap_or(DeviceId::FIRST).0
}

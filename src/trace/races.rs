//! Waits that are missing: two operations of different streams use the same bytes, one of them
//! writes, and nothing orders them.
//!
//! What orders operations: their stream, events, waits of the host, and the legacy default stream.
//! Calls of several threads count as ordered in time, since a trace does not say how threads wait
//! for each other. A recording has addresses: copies say which bytes they use, and a kernel uses at
//! least the byte that each of its pointers points to. Whether it reads or writes there is not
//! known unless the user says so. So a kernel and a copy that writes are certain to conflict; with
//! a copy that only reads, it depends on the kernel. Where streams call functions of the host, the
//! host may know from these what is done: then nothing is certain.

use super::{CallKind, PointerAccess, StreamKey, Trace, WorkKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// Two operations that nothing orders although they use the same memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Race {
    /// Positions in [`Trace::work`] of the first such pair, in the order of their calls.
    pub pair: [usize; 2],
    /// How many pairs of equal operations do the same.
    pub times: usize,
    /// Whether one of the two writes for certain, neither stream may be one that waits for the
    /// other, and the host knows only from its waits what is done.
    pub is_sure: bool,
}

/// A copy whose source the host changed before it knew that the copy was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyChange {
    /// Position in [`Trace::work`] of the first such copy.
    pub copy: usize,
    /// How many equal copies have it.
    pub times: usize,
    /// Whether the host knows only from its waits what is done.
    pub is_sure: bool,
}

/// The last operation of each stream that is known to be done, or to come before.
type Clock = BTreeMap<StreamKey, usize>;

/// What an operation does to memory.
struct Use {
    work: usize,
    stream: StreamKey,
    /// Its place in its stream.
    number: usize,
    bytes: Range<u64>,
    /// `None` if it may read or write.
    writes: Option<bool>,
}

/// The most uses of memory by operations in flight. Beyond that, the oldest are taken to be done: a
/// launch blocks when a stream holds some hundreds, and comparing with more takes long.
const MOST_IN_FLIGHT: usize = 4096;

impl Trace {
    /// The pairs of operations that nothing orders, one of each kind. Empty for traces without
    /// addresses.
    pub fn races(&self) -> Vec<Race> {
        let mut walk = Walk::of(self);
        for (at, works) in self.asked_for().into_iter().enumerate() {
            walk.call(at, &works);
        }
        let mut races: Vec<Race> = walk.found.into_values().collect();
        races.sort_by_key(|race| (!race.is_sure, race.pair));
        races
    }

    /// Copies whose sources changed too early, one of each kind. Empty for traces without
    /// checksums.
    pub fn early_changes(&self) -> Vec<EarlyChange> {
        let mut found: BTreeMap<String, EarlyChange> = BTreeMap::new();
        let is_sure = !self.has_callbacks();
        for (copy, work) in self.work.iter().enumerate() {
            let call = work.call.map(|at| &self.calls[at].kind);
            if matches!(call, Some(CallKind::Copy { places, .. }) if places.changed_early) {
                let first = EarlyChange { copy, times: 0, is_sure };
                found.entry(self.named(copy)).or_insert(first).times += 1;
            }
        }
        let mut found: Vec<EarlyChange> = found.into_values().collect();
        found.sort_by_key(|one| one.copy);
        found
    }

    /// Whether streams call functions of the host.
    fn has_callbacks(&self) -> bool {
        let calls = ["LaunchHostFunc", "StreamAddCallback"];
        self.calls.iter().any(|call| calls.iter().any(|name| call.function.contains(name)))
    }
}

struct Walk<'t> {
    trace: &'t Trace,
    /// Whether streams other than the default one wait for it, and it for them.
    is_blocking: bool,
    /// Whether some do and some do not: which ones is not known.
    is_mixed: bool,
    has_callbacks: bool,
    /// What comes before the next operation of each stream.
    streams: BTreeMap<StreamKey, Clock>,
    /// How many operations each stream has.
    numbers: Clock,
    events: BTreeMap<(u64, u64), Clock>,
    /// What the host knows to be done.
    host: Clock,
    in_flight: Vec<Use>,
    found: BTreeMap<(String, String), Race>,
}

impl<'t> Walk<'t> {
    fn of(trace: &'t Trace) -> Self {
        Self {
            trace,
            is_blocking: trace.has_blocking_streams(),
            is_mixed: trace.has_streams_of_both_kinds(),
            has_callbacks: trace.has_callbacks(),
            streams: BTreeMap::new(),
            numbers: Clock::new(),
            events: BTreeMap::new(),
            host: Clock::new(),
            in_flight: Vec::new(),
            found: BTreeMap::new(),
        }
    }

    fn call(&mut self, at: usize, works: &[usize]) {
        let call = &self.trace.calls[at];
        let process = self.trace.threads[call.thread].process;
        for &work in works {
            self.operation(at, work);
        }
        match call.kind {
            CallKind::Copy { blocking: true, .. } => {
                let held = works.iter().map(|&work| &self.trace.work[work]);
                let held = held.filter(|work| work.kind.holds_blocking_call());
                let streams = held.map(|work| work.stream);
                streams.collect::<Vec<_>>().into_iter().for_each(|stream| self.host_waits(stream));
            }
            CallKind::Record { event, stream: Some(stream) } => {
                let clock = self.clock_of(stream);
                self.events.insert((process, event), clock);
            }
            CallKind::Wait { event, stream: Some(stream) } => {
                if let Some(clock) = self.events.get(&(process, event)).cloned() {
                    merge(self.streams.entry(stream).or_default(), &clock);
                }
            }
            CallKind::SynchronizeEvent { event } => {
                if let Some(clock) = self.events.get(&(process, event)).cloned() {
                    self.host_knows(&clock);
                }
            }
            CallKind::Synchronize { stream: Some(stream) } => self.host_waits(stream),
            // Giving memory back waits for the GPU; so does what no stream is known of.
            CallKind::Synchronize { stream: None }
            | CallKind::SynchronizeDevice
            | CallKind::Free { stream: None, .. } => {
                let all: Vec<StreamKey> = self.numbers.keys().copied().collect();
                all.into_iter().filter(|one| one.process == process).for_each(|stream| {
                    self.host_waits(stream);
                });
            }
            _ => {}
        }
    }

    /// What comes before whatever is put into a stream next, and all that is in it.
    fn clock_of(&self, stream: StreamKey) -> Clock {
        let mut clock = self.streams.get(&stream).cloned().unwrap_or_default();
        merge(&mut clock, &self.host);
        if let Some(&number) = self.numbers.get(&stream) {
            clock.insert(stream, number);
        }
        clock
    }

    fn host_waits(&mut self, stream: StreamKey) {
        let clock = self.clock_of(stream);
        self.host_knows(&clock);
    }

    fn host_knows(&mut self, clock: &Clock) {
        merge(&mut self.host, clock);
        let host = &self.host;
        self.in_flight.retain(|one| host.get(&one.stream).is_none_or(|&done| done < one.number));
    }

    fn operation(&mut self, at: usize, position: usize) {
        let stream = self.trace.work[position].stream;
        let mut before = self.clock_of(stream);
        if self.is_blocking {
            let others: Vec<StreamKey> = self.numbers.keys().copied().collect();
            let meets = |other: &StreamKey| {
                (other.process, other.device) == (stream.process, stream.device)
                    && (other.is_default() != stream.is_default())
            };
            for other in others.into_iter().filter(meets) {
                merge(&mut before, &self.clock_of(other));
            }
        }
        self.streams.insert(stream, before.clone());
        let number = self.numbers.get(&stream).map_or(1, |number| number + 1);
        self.numbers.insert(stream, number);
        for (bytes, writes) in self.uses(at, position) {
            let one = Use { work: position, stream, number, bytes, writes };
            self.compare(&one, &before);
            self.in_flight.push(one);
        }
        let too_many = self.in_flight.len().saturating_sub(MOST_IN_FLIGHT);
        self.in_flight.drain(..too_many);
    }

    /// The bytes that an operation uses, and whether it writes them.
    fn uses(&self, at: usize, position: usize) -> Vec<(Range<u64>, Option<bool>)> {
        let range = |from: u64, bytes: u64| from..from.saturating_add(bytes.max(1));
        match (&self.trace.calls[at].kind, &self.trace.work[position].kind) {
            (CallKind::Copy { places, .. }, WorkKind::Copy { bytes: Some(bytes), .. }) => {
                let side = |address: Option<u64>, writes: bool| {
                    address.map(|address| (range(address, bytes.get()), Some(writes)))
                };
                [side(places.from, false), side(places.to, true)].into_iter().flatten().collect()
            }
            (CallKind::Clear { target: Some(target), .. }, WorkKind::Clear { bytes }) => {
                let bytes = bytes.map_or(1, |bytes| bytes.get());
                vec![(range(*target, bytes), Some(true))]
            }
            (CallKind::Launch { pointers, .. }, WorkKind::Kernel { .. }) => {
                let work = &self.trace.work[position];
                let writes = |at| self.trace.stated_use(work, at, PointerAccess::Write);
                let used = pointers.iter().enumerate();
                used.map(|(at, &pointer)| (range(pointer, 1), writes(at))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Notes every operation in flight that is not before this one and uses the same bytes.
    fn compare(&mut self, one: &Use, before: &Clock) {
        for other in &self.in_flight {
            let overlaps = other.bytes.start < one.bytes.end && one.bytes.start < other.bytes.end;
            let is_before = before.get(&other.stream).is_some_and(|&done| done >= other.number);
            let is_sure = match (other.writes, one.writes) {
                (Some(true), _) | (_, Some(true)) => true,
                // One of both may write, and a copy does not tell which.
                (None, Some(false)) | (Some(false), None) => false,
                // Two kernels may only read, and two copies do.
                (None, None) | (Some(false), Some(false)) => continue,
            };
            if !overlaps || is_before || other.stream == one.stream || other.work == one.work {
                continue;
            }
            let meets_default = other.stream.is_default() != one.stream.is_default();
            let may_wait = self.is_mixed && meets_default;
            let is_sure = is_sure && !may_wait && !self.has_callbacks;
            let names = (self.trace.named(other.work), self.trace.named(one.work));
            let race = Race { pair: [other.work, one.work], times: 0, is_sure };
            let race = self.found.entry(names).or_insert(race);
            race.times += 1;
            race.is_sure |= is_sure;
        }
    }
}

fn merge(clock: &mut Clock, other: &Clock) {
    for (&stream, &number) in other {
        let known = clock.entry(stream).or_default();
        *known = (*known).max(number);
    }
}

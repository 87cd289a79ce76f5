//! Engines that poll for operations that came too early.

use hallway::machine::OperationKind;
use hallway::profile::{Profile, SemaphorePolling};
use hallway::units::Span;

const PERIOD: u64 = 8;

/// The clock by which engines poll.
#[derive(Clone, Copy)]
pub struct Clock {
    tick: u64,
    edge: u64,
}

impl Clock {
    pub fn new(polling: &SemaphorePolling) -> Self {
        let tick = (polling.period.span().nanos() / PERIOD).max(1);
        Self { tick, edge: Span::from_nanos_f64(tick as f64 * 0.5).nanos() }
    }

    fn since_edge(&self, time: u64) -> u64 {
        (time + self.tick - self.edge) % self.tick
    }

    /// The first poll at or after `ready` if periods count from `first`.
    pub fn next(&self, first: u64, ready: u64) -> u64 {
        let from = ready.min(first + self.tick / 2);
        let mut poll = from + PERIOD * self.tick - self.since_edge(from);
        while poll < ready {
            poll += PERIOD * self.tick;
        }
        poll
    }

    /// From when periods count anew once a doorbell has rung for work behind what waits.
    fn rung_anew(&self, ring: u64) -> Option<u64> {
        let half = self.tick / 2;
        (self.since_edge(ring) < half).then(|| ring.saturating_sub(half))
    }
}

/// Work that arrives at an engine.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub call: usize,
    pub ring: u64,
    pub time: u64,
    /// Whether it lies behind other work of this engine in its stream.
    pub is_behind: bool,
}

/// The polling of one engine.
#[derive(Default)]
pub struct Polling {
    /// How much later an engine is back at what waits.
    pub away: u64,
    pub last: u64,
    /// The latest poll that an arrival caused, and that arrival.
    back: (u64, Option<usize>),
    rung: usize,
    arrived: usize,
    pub waiting: Vec<usize>,
    pub next: Option<u64>,
}

impl Polling {
    /// When the next poll comes that issued work causes.
    pub fn next_arrival(&mut self, clock: Clock, arrivals: &[Arrival], now: u64) -> Option<u64> {
        let rings = arrivals[self.rung.min(arrivals.len())..].iter();
        for new in rings.take_while(|new| new.ring <= now) {
            if let (true, Some(from)) = (new.is_behind, clock.rung_anew(new.ring)) {
                self.last = self.last.max(from);
            }
            self.rung += 1;
        }
        let come = arrivals[self.arrived.min(arrivals.len())..].iter();
        for new in come.take_while(|new| new.time <= now) {
            if !new.is_behind {
                self.back = (new.time + self.away, Some(new.call));
            }
            self.arrived += 1;
        }
        let under_way = arrivals[..self.rung].iter().skip(self.arrived);
        let polled_for =
            under_way.filter(|new| new.time > now && !new.is_behind).map(|new| new.time);
        let ring = arrivals.get(self.rung).map(|new| new.ring);
        polled_for.take(1).map(|time| time + self.away).chain(ring).min()
    }

    /// Leaves an operation to the next poll. Periods count `from` then, whatever else the engine
    /// does if that is `only` so.
    pub fn wait(
        &mut self,
        (clock, arrivals): (Clock, &[Arrival]),
        call: usize,
        (from, only): (u64, bool),
        now: u64,
    ) {
        let woken = self.next_arrival(clock, arrivals, now);
        let back = Some(self.back.0).filter(|_| self.back.1 != Some(call));
        let others = if only { from } else { self.last.max(back.unwrap_or(0)) };
        let poll = clock.next(from.max(others), now);
        let back = back.filter(|&back| back > now);
        let earlier = [self.next, woken, back].into_iter().flatten().min();
        self.next = Some(earlier.map_or(poll, |earlier| earlier.min(poll)));
        self.waiting.push(call);
    }
}

/// How long after an arrival polling periods begin to count, if nothing is under way or copies of a
/// kind are: `since` is for how long they have been, and `left` how long they went on.
pub fn first_poll(
    profile: &Profile,
    to: OperationKind,
    under_way: Option<(OperationKind, u64, Option<u64>)>,
) -> u64 {
    let pairs = &profile.latency.semaphore_polling.as_ref().expect("engines poll").first_polls;
    let of = |from, to| pairs.iter().rfind(|pair| (pair.from, pair.to) == (from, to));
    let Some((from, since, left)) = under_way else {
        let behind_kernels = pairs.iter().filter(|pair| pair.from == OperationKind::Kernel);
        let least = || behind_kernels.map(|pair| pair.time.span().nanos()).min();
        let alone = match to {
            OperationKind::Kernel => least(),
            _ => of(OperationKind::Kernel, to).map(|pair| pair.time.span().nanos()),
        };
        return alone.unwrap_or(0);
    };
    let pair = of(from, to);
    let curve = pair.and_then(|pair| pair.under_way.as_ref());
    let after = match curve {
        Some(curve) => Span::from_nanos_f64(curve.within(since as f64)).nanos(),
        None => pair.map_or(0, |pair| pair.time.span().nanos()),
    };
    left.map_or(after, |left| after.min(left))
}

//! Semaphore polling: when an engine finds out that an operation it could not start may go on.
//!
//! Work that has to follow something on another engine arrives with a semaphore to acquire. If the
//! semaphore has not been released by then, the engine leaves the work. It polls again when other
//! work arrives for it, in whatever stream, or else after a period. The list of what an engine may
//! run is searched again for acquires after eight times 1.024 us (NVIDIA open-gpu-doc,
//! `dev_runlist`: `ACQ_PRETEST`). A doorbell has it searched at once (`dev_usermode`), and a
//! release wakes nobody up (`dev_pbdma`, "Semaphore switch option"). Each poll that finds nothing
//! restarts the period, and so does everything that the engine finishes before the work might go
//! on.
//!
//! The eight are edges of a clock that all engines share and that is independent of the program.
//! With random delays between calls, kernels that had waited started on an H200 within a quarter of
//! the clock's ticks, by the device's own time, and anywhere from 7 to 8 ticks after the moment
//! from which they count. Where the ticks lie when a program begins is random.
//!
//! A launch rings the doorbell before its own commands arrive (on an H200, 1.4 us before for
//! kernels, 0.7 to 1.0 us for copies). Work of any stream that waits and is ready by then goes on.
//! If the new commands are for another stream, the engine polls for them as they arrive, then comes
//! back to what waits, and the period restarts. If they are for the stream of the waiting work,
//! they lie behind it. Then the period restarts with the ring, but only about half the time (58, 44
//! and 50% of kernels, copies from the device and copies to it); which it is depends on where in a
//! tick the doorbell rings.
//!
//! An engine that is busy, or has finished something, does not therefore poll for work that waits
//! in other streams, because it is not the engine that goes through commands but a host unit that
//! hands them over (`dev_pbdma`). That unit also comes to the next work of a stream while the work
//! before is still under way, finds that it has to wait, and is back a period later (work that
//! arrives meanwhile in other streams is left out). Passes of 45 programs on an H200, predicted
//! with the times that their own calls took, were off by 4.7% on average with polls at each end,
//! and are off by 3.7% without. Nodes of graphs are an exception: those of one engine come one
//! after the other.

mod clock;

use super::streams::Streams;
use crate::cost::{CallId, CompiledProgram, EntryId, NONE, PollTimes, WorkKind, place_of};
use crate::profile::OperationKind;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// From the ring of a doorbell to the arrival of the commands. The value lies between what was seen
/// of kernels and of copies.
const RING: Span = Span::from_nanos(1_300);
/// By the kind of its work, the time from the arrival of other work to when an engine is back at
/// what waited before. On an H200, a copy from the device that waits for a kernel began 4.7 us
/// after the call of another that had to wait itself, and alone after 4.1 us. (For kernels it is
/// not clear, and too few copies to the device had to wait.)
const AWAY: [Span; OperationKind::COUNT] =
    [Span::ZERO, Span::from_nanos(600), Span::ZERO, Span::ZERO];

/// The polling of one engine.
#[derive(Default)]
struct PollingEngine {
    /// The latest poll so far.
    last: Instant,
    /// The latest poll of waiting work that an arrival caused, and that arrival. The next arrival
    /// postpones it.
    back: (Instant, EntryId),
    /// Issued work whose commands have not arrived yet, in the order of its arrival.
    coming: VecDeque<Arrival>,
    /// For how much of that the doorbell has rung.
    rung: usize,
    /// How much of the engine's work has been added to `coming` so far.
    worked_out: usize,
    /// If several host threads make calls: what has been issued for this engine so far, in the
    /// order of its arrival.
    issued: Vec<EntryId>,
    /// Operations that may go on, which the engine has not found out yet.
    waiting: Vec<EntryId>,
    /// The next poll, if something waits.
    next: Option<Instant>,
}

/// The polling of all engines.
pub(super) struct Polling<'p> {
    compiled: &'p CompiledProgram<'p>,
    times: &'p PollTimes,
    engines: Vec<PollingEngine>,
    /// The next poll of any engine with something to find; [`Instant::NEVER`] if there is none.
    pub next: Instant,
}

impl<'p> Polling<'p> {
    pub fn new(compiled: &'p CompiledProgram<'p>, times: &'p PollTimes) -> Self {
        let engine = |_| PollingEngine { back: (Instant::START, NONE), ..Default::default() };
        let engines = (0..compiled.body.devices() * OperationKind::COUNT).map(engine).collect();
        Self { compiled, times, engines, next: Instant::NEVER }
    }

    /// One of several host threads has issued a call.
    pub fn note(&mut self, call: CallId) {
        let Some(id) = self.compiled.body.structure.layout.entry_of(call) else { return };
        let entry = self.compiled.body.entry(id);
        if let WorkKind::Operation(kind) = entry.kind {
            let device = self.compiled.body.device_of(entry.stream);
            self.engines[place_of(device, kind)].issued.push(id);
        }
    }

    /// An engine has finished something: its periods restart. If that was a node of a graph, the
    /// engine polls for others at once.
    #[inline]
    pub fn done(&mut self, (device, kind): (usize, OperationKind), in_graph: bool, now: Instant) {
        let engine = &mut self.engines[place_of(device, kind)];
        engine.last = now;
        if in_graph && self.times.at_nodes && engine.next.is_some() {
            engine.next = Some(now);
            self.next = now;
        }
    }

    /// An operation may go on from now on, and its engine has not found out yet.
    pub fn wait(&mut self, (streams, id): (&Streams<'_>, EntryId), now: Instant) {
        let entry = self.compiled.body.entry(id);
        let at = place_of(self.compiled.body.device_of(entry.stream), streams.kind_of(entry, id));
        let engine = &mut self.engines[at];
        let woken = engine.next_arrival(self.times, at, (streams, now));
        // The operation's own arrival tells the engine nothing new about it.
        let back = Some(engine.back).filter(|&(_, whose)| whose != id).map(|(back, _)| back);
        let (first, queues_behind_last) = streams.polled_from(entry.stream);
        // What the engine itself was busy with in this stream has not postponed polls for this
        // operation.
        let others =
            if queues_behind_last { first } else { engine.last.max(back.unwrap_or_default()) };
        let poll = self.times.clock.next(first.max(others), now);
        let back = back.filter(|&back| back > now);
        let poll = [engine.next, woken, back].into_iter().flatten().fold(poll, Instant::min);
        engine.next = Some(poll);
        engine.waiting.push(id);
        self.next = self.next.min(poll);
    }

    /// More calls were issued: one may arrive before the next poll of an engine for which something
    /// waits.
    #[inline]
    pub fn issued(&mut self, streams: &Streams<'_>, now: Instant) {
        for (at, engine) in self.engines.iter_mut().enumerate() {
            if let Some(next) = engine.next {
                let arrival = engine.next_arrival(self.times, at, (streams, now));
                let poll = arrival.map_or(next, |arrival| arrival.min(next));
                engine.next = Some(poll);
                self.next = self.next.min(poll);
            }
        }
    }

    /// Adds to `found` the operations that an engine polling now finds able to go on.
    #[inline]
    pub fn collect(&mut self, now: Instant, found: &mut Vec<EntryId>) {
        self.next = Instant::NEVER;
        for engine in &mut self.engines {
            match engine.next {
                Some(next) if next <= now => {
                    (engine.last, engine.next) = (now, None);
                    found.append(&mut engine.waiting);
                }
                Some(next) => self.next = self.next.min(next),
                None => {}
            }
        }
    }
}

impl PollingEngine {
    /// Moves past everything that has arrived by now, and everything for which a doorbell has rung.
    /// Returns when the next poll comes that issued work causes, by its doorbell or by its arrival.
    fn next_arrival(
        &mut self,
        times: &PollTimes,
        at: usize,
        (streams, now): (&Streams<'_>, Instant),
    ) -> Option<Instant> {
        if !times.by_doorbells {
            return None;
        }
        let away = AWAY[at % OperationKind::COUNT];
        let mut next = Instant::NEVER;
        while self.knows_next(at, streams) {
            let new = &self.coming[self.rung];
            if new.is_here {
                if new.ring > now {
                    next = new.ring;
                    break;
                }
                if times.restarts
                    && new.is_behind(streams)
                    && let Some(from) = times.clock.rung_anew(new.ring)
                {
                    self.last = self.last.max(from);
                }
            }
            self.rung += 1;
        }
        while self.rung > 0 && self.coming[0].time <= now {
            let new = &self.coming[0];
            if new.is_polled_for(streams) {
                self.back = (new.time + away, new.id);
            }
            self.coming.pop_front();
            self.rung -= 1;
        }
        // All other work arrives after the next ring.
        for index in 0..self.rung {
            let new = &self.coming[index];
            if new.time > now && new.is_polled_for(streams) {
                next = next.min(new.time + away);
                break;
            }
        }
        (next != Instant::NEVER).then_some(next)
    }

    /// Whether any work is known, and issued, for which the doorbell has not rung.
    #[inline]
    fn knows_next(&mut self, at: usize, streams: &Streams<'_>) -> bool {
        if self.rung < self.coming.len() {
            return true;
        }
        let arrivals = match streams.layout.has_threads() {
            true => &self.issued,
            false => &streams.compiled.body.structure.arrivals.list[at],
        };
        match arrivals.get(self.worked_out) {
            Some(&id) if streams.is_issued(id) => {
                self.coming.push_back(Arrival::new(streams, id));
                self.worked_out += 1;
                true
            }
            _ => false,
        }
    }
}

/// Work that arrives at an engine.
struct Arrival {
    id: EntryId,
    /// When the doorbell rings for this work, and when its commands arrive.
    ring: Instant,
    time: Instant,
    /// Whether the work comes to this engine at all.
    is_here: bool,
    /// What the engine does before it in its stream, if anything.
    stream: u16,
    before: EntryId,
}

impl Arrival {
    /// The arrival of work that has been issued.
    #[inline]
    fn new(streams: &Streams<'_>, id: EntryId) -> Self {
        let entry = streams.layout.entry(id);
        let issued = streams.issued(entry);
        let time = issued + streams.cost_of(id).latency;
        Self {
            id,
            ring: time.earlier_by(RING).max(issued),
            time,
            // A copy whose data travels along with its command goes to another engine.
            is_here: !streams.is_inline(id),
            stream: entry.stream,
            before: streams.compiled.body.structure.arrivals.before[id as usize],
        }
    }

    /// Whether the work lies in its stream behind something that the engine has not finished yet.
    #[inline]
    fn is_behind(&self, streams: &Streams<'_>) -> bool {
        self.before != NONE && !streams.is_over(self.stream, self.before)
    }

    #[inline]
    fn is_polled_for(&self, streams: &Streams<'_>) -> bool {
        self.is_here && !self.is_behind(streams)
    }
}

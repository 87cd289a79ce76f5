//! When an engine finds out that what it could not start may go on.
//!
//! Work that has to follow something of another engine arrives with a semaphore to
//! acquire. If that is not released by then, the engine goes by, and comes back when
//! other work arrives for it, in whatever stream, and with nothing of that after a period:
//! the list of what an engine may run is searched again for acquires after eight times
//! 1.024 us (NVIDIA open-gpu-doc, `dev_runlist`: `ACQ_PRETEST`; a doorbell has it searched at
//! once, `dev_usermode`; `dev_pbdma`, "Semaphore switch option": no release wakes anybody up).
//! Each look that finds nothing starts the period anew, and so does all that the engine is
//! done with before it might go on.
//!
//! The eight are edges of a clock that all engines share and that knows nothing of the plan.
//! With random delays between calls, kernels that had waited started on an H200 within a
//! quarter of its ticks, by the device's own time, and anywhere from 7 to 8 ticks behind what
//! they count from. Where the ticks lie as a plan begins is a matter of luck.
//!
//! A launch rings the doorbell before its own commands arrive (there 1.4 us before for kernels,
//! 0.7 to 1.0 for copies), and what waits and is ready by then goes on, whichever stream it is
//! in. In another stream the commands are looked at as they arrive; that over, the engine comes
//! back to what waits, and the period begins anew. In the stream of what waits they lie behind
//! it; the period then begins with the ring, but only in every second case (58, 44 and 50% of
//! kernels, copies from and to the device), and which it is goes by where in a tick it rings.
//!
//! That an engine is busy, or done with something, does not have it look at what waits in
//! other streams: it is not the engine that goes through the commands, but a host unit that
//! hands them over (`dev_pbdma`). So it also comes to what is next in a stream while what is
//! before is still under way, finds that it has to wait, and is back a period later (work
//! that arrives meanwhile in other streams is left out). Passes of 45 plans on an H200,
//! predicted with the times that their own calls took, were off by 4.7% in the mean with
//! looks at each end, and are by 3.7% without. Nodes of graphs are an exception: those of
//! one engine come one after the other.

mod times;

pub(super) use times::LookTimes;

use super::entries::EntryId;
use super::operation::NONE;
use super::program::Program;
use super::streams::Streams;
use crate::profile::OperationKind;
use crate::units::{Instant, Span};

/// From the ring of a doorbell to the arrival of the commands: between what was seen of kernels
/// and of copies.
const RING: Span = Span::from_nanos(1_300);
/// From the arrival of other work to when an engine is back at what waited before, by its kind.
/// On an H200, a copy from the device that waits for a kernel began 4.7 us behind the call for
/// another that had to wait itself, and alone after 4.1. (Of kernels it is not clear, and too few
/// copies to the device had to wait.)
const AWAY: [Span; OperationKind::COUNT] =
    [Span::ZERO, Span::from_nanos(600), Span::ZERO, Span::ZERO];

fn engine_of(device: usize, kind: OperationKind) -> usize {
    device * OperationKind::COUNT + kind as usize
}

/// The looks of one engine.
#[derive(Default)]
struct Engine {
    /// The last one so far.
    last: Instant,
    /// The last that an arrival, and which, had it make of what waits; another puts that off.
    back: (Instant, EntryId),
    /// What of its arrivals was looked at, and for which of them the doorbell has rung.
    arrived: usize,
    rung: usize,
    /// What may go on, and is not known to.
    waiting: Vec<EntryId>,
    /// The next look if something waits.
    next: Option<Instant>,
}

/// The looks of all engines.
#[derive(Default)]
pub(super) struct Looks {
    engines: Vec<Engine>,
    /// The next that matters; [`Instant::NEVER`] if none does.
    pub next: Instant,
}

impl Looks {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        self.next = Instant::NEVER;
        self.engines.resize_with(program.devices() * OperationKind::COUNT, Engine::default);
        for engine in &mut self.engines {
            (engine.last, engine.next) = (Instant::START, None);
            engine.back = (Instant::START, NONE);
            (engine.arrived, engine.rung) = (0, 0);
            engine.waiting.clear();
        }
    }

    /// An engine has done something: its periods begin anew, and what was a node of a graph
    /// has it look for others.
    pub fn done(&mut self, (device, kind): (usize, OperationKind), in_graph: bool, now: Instant) {
        let engine = &mut self.engines[engine_of(device, kind)];
        engine.last = now;
        if in_graph && engine.next.is_some() {
            engine.next = Some(now);
            self.next = now;
        }
    }

    /// Something may go on from now on, and its engine does not know.
    pub fn wait(
        &mut self,
        program: &Program<'_>,
        times: &LookTimes,
        (streams, id): (&Streams, EntryId),
        now: Instant,
    ) {
        let entry = &program.entries.list[id as usize];
        let at = engine_of(program.device_of(entry.stream), streams.kind_of(entry, id));
        let engine = &mut self.engines[at];
        let woken = engine.next_arrival(program, times, at, (streams, now));
        // Its own arrival tells nothing more of it.
        let back = Some(engine.back).filter(|&(_, whose)| whose != id).map(|(back, _)| back);
        let (first, is_behind_its_like) = streams.looked_for(entry.stream);
        // What the engine itself was busy with has not put off looks for this one.
        let others =
            if is_behind_its_like { first } else { engine.last.max(back.unwrap_or_default()) };
        let look = times.next(first.max(others), now);
        let back = back.filter(|&back| back > now);
        let look = [engine.next, woken, back].into_iter().flatten().fold(look, Instant::min);
        engine.next = Some(look);
        engine.waiting.push(id);
        self.next = self.next.min(look);
    }

    /// More was issued: an arrival may come before the next look of those that wait.
    pub fn issued(
        &mut self,
        program: &Program<'_>,
        times: &LookTimes,
        (streams, now): (&Streams, Instant),
    ) {
        for (at, engine) in self.engines.iter_mut().enumerate() {
            if let Some(next) = engine.next {
                let arrival = engine.next_arrival(program, times, at, (streams, now));
                let look = arrival.map_or(next, |arrival| arrival.min(next));
                engine.next = Some(look);
                self.next = self.next.min(look);
            }
        }
    }

    /// Adds to `found` what is now known to be able to go on.
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

impl Engine {
    /// Goes past everything that has arrived by now, and everything for which a doorbell has
    /// rung; gives when the next of either is to come of what has been issued.
    fn next_arrival(
        &mut self,
        program: &Program<'_>,
        times: &LookTimes,
        at: usize,
        (streams, now): (&Streams, Instant),
    ) -> Option<Instant> {
        let arrival = |index: usize| {
            let &id = times.arrivals[at].get(index)?;
            if !streams.is_issued(program, id) {
                return None;
            }
            let entry = &program.entries.list[id as usize];
            let arrival = streams.arrival(program, id);
            let ring = arrival.earlier_by(RING).max(streams.issued(entry));
            // What goes along with its command goes to another engine.
            let comes = !streams.is_inline::<false>(id);
            Some(Coming {
                ring,
                arrival,
                comes,
                behind: times.is_behind(streams, entry.stream, id),
            })
        };
        let away = AWAY[at % OperationKind::COUNT];
        let mut next = None;
        while let Some(Coming { ring, comes, behind, .. }) = arrival(self.rung) {
            if comes && ring > now {
                next = Some(ring);
                break;
            }
            if comes
                && behind
                && let Some(from) = times.rung_anew(ring)
            {
                self.last = self.last.max(from);
            }
            self.rung += 1;
        }
        while let Some(coming) = arrival(self.arrived) {
            if coming.arrival > now {
                break;
            }
            if coming.is_looked_at() {
                self.back = (coming.arrival + away, times.arrivals[at][self.arrived]);
            }
            self.arrived += 1;
        }
        // All else arrives behind the next ring.
        let mut rung = (self.arrived..self.rung).filter_map(arrival);
        let looked_at = rung.find(|coming| coming.arrival > now && coming.is_looked_at());
        next.into_iter().chain(looked_at.map(|coming| coming.arrival + away)).min()
    }
}

/// Something that comes to an engine.
struct Coming {
    /// When the doorbell rings for it, and when its commands arrive.
    ring: Instant,
    arrival: Instant,
    /// Whether it does come to this engine.
    comes: bool,
    /// Whether it lies behind something in its stream that the engine has not done yet.
    behind: bool,
}

impl Coming {
    const fn is_looked_at(&self) -> bool {
        self.comes && !self.behind
    }
}

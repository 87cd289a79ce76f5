//! When an engine finds out that what it could not start may go on.
//!
//! Work that has to follow something of another engine arrives with a semaphore to
//! acquire. If that is not released by then, the engine goes by, and comes back when
//! other work arrives for it, in whatever stream, when it has done something, all the
//! time while it is busy, and with nothing of all that after a period: the list of what
//! an engine may run is searched again for acquires after eight times 1.024 us (NVIDIA
//! open-gpu-doc, `dev_runlist`: `ACQ_PRETEST`; a doorbell has it searched at once,
//! `dev_usermode`; `dev_pbdma`, "Semaphore switch option": no release wakes anybody up).
//! Each look that finds nothing starts the period anew.
//!
//! Not all of that is settled: on an H200, a copy engine that had ended one stream's copy
//! did not look at what waited in another's before that one's own period was over. Rules
//! that say so predict plans no better on the whole.

use super::entries::EntryId;
use super::operation::ItemId;
use super::program::{Program, Sort};
use super::streams::Streams;
use crate::profile::{LooksAfter, OperationKind};
use crate::units::{Instant, Span};

/// How engines look, on a machine where that is known.
#[derive(Debug, Clone)]
pub(super) struct LookTimes {
    pub period: Span,
    /// From the arrival of an operation to when its periods begin to count, by the kind of
    /// what it has to follow and its own; and the same of nodes of graphs.
    after: [[[Span; OperationKind::COUNT]; OperationKind::COUNT]; 2],
    /// What arrives at each engine, device by device and kind by kind, in order of issue.
    /// What graphs are made of does not arrive one by one.
    arrivals: Vec<Vec<EntryId>>,
}

impl LookTimes {
    /// Those of a program whose entries are known.
    pub fn new(program: &Program<'_>) -> Option<Self> {
        let looks = program.profile.latency.looks.as_ref()?;
        let after = [&looks.after, &looks.in_graphs].map(|pairs| {
            let mut after = [[Span::ZERO; OperationKind::COUNT]; OperationKind::COUNT];
            for LooksAfter { from, to, time } in pairs {
                after[*from as usize][*to as usize] = time.span();
            }
            after
        });
        let mut arrivals = vec![Vec::new(); program.devices() * OperationKind::COUNT];
        let mut entries: Vec<(ItemId, EntryId)> =
            (0..).zip(&program.entries.list).map(|(id, entry)| (entry.item, id)).collect();
        entries.sort_unstable();
        for (_, id) in entries {
            let entry = &program.entries.list[id as usize];
            if let (Sort::Operation(kind), false) = (entry.sort, program.class_in(id).in_graph) {
                arrivals[engine_of(program.device_of(entry.stream), kind)].push(id);
            }
        }
        let period = looks.period.span().max(Span::from_nanos(1));
        Some(Self { period, after, arrivals })
    }

    /// Seen on an H200, and not explained by the manuals: periods count from a while after
    /// something arrives.
    fn after(&self, program: &Program<'_>, id: EntryId, kind: OperationKind) -> Span {
        let after = &self.after[usize::from(program.class_in(id).in_graph)];
        let from = |id: EntryId| match program.entries.list[id as usize].sort {
            Sort::Operation(from) => after[from as usize][kind as usize],
            _ => Span::ZERO,
        };
        // Of all that it has to follow, what makes it wait longest.
        program.entries.followed_by(id).map(from).max().unwrap_or_default()
    }
}

fn engine_of(device: usize, kind: OperationKind) -> usize {
    device * OperationKind::COUNT + kind as usize
}

/// The looks of one engine.
#[derive(Default)]
struct Engine {
    /// The last one so far.
    last: Instant,
    /// What of its arrivals was looked at.
    arrived: usize,
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
            (engine.last, engine.arrived, engine.next) = (Instant::START, 0, None);
            engine.waiting.clear();
        }
    }

    /// An engine has done something, and looks.
    pub fn done(&mut self, (device, kind): (usize, OperationKind), now: Instant) {
        let engine = &mut self.engines[engine_of(device, kind)];
        engine.last = now;
        if engine.next.is_some() {
            engine.next = Some(now);
            self.next = now;
        }
    }

    /// Something may go on from now on, and its engine, which is idle, does not know.
    pub fn wait(
        &mut self,
        program: &Program<'_>,
        times: &LookTimes,
        (streams, id): (&Streams, EntryId),
        (kind, now): (OperationKind, Instant),
    ) {
        let entry = &program.entries.list[id as usize];
        let at = engine_of(program.device_of(entry.stream), kind);
        let engine = &mut self.engines[at];
        let next_arrival = engine.next_arrival(program, &times.arrivals[at], (streams, now));
        // Until periods begin to count, the last look is always just over.
        let first = (streams.arrival(program, id) + times.after(program, id, kind)).min(now);
        let last = engine.last.max(first);
        let passed = now.max(last).since(last).nanos();
        let periods = passed.div_ceil(times.period.nanos()).max(1);
        let look = last + Span::from_nanos(periods * times.period.nanos());
        let look = engine.next.into_iter().chain(next_arrival).fold(look, Instant::min);
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
        for (engine, arrivals) in self.engines.iter_mut().zip(&times.arrivals) {
            if let Some(next) = engine.next {
                let arrival = engine.next_arrival(program, arrivals, (streams, now));
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
    /// Goes past everything that has arrived by now; gives when the next thing arrives
    /// that has been issued.
    fn next_arrival(
        &mut self,
        program: &Program<'_>,
        arrivals: &[EntryId],
        (streams, now): (&Streams, Instant),
    ) -> Option<Instant> {
        while let Some(&id) = arrivals.get(self.arrived) {
            if !streams.is_issued(program, id) {
                return None;
            }
            let arrival = streams.arrival(program, id);
            // What goes along with its command goes to another engine.
            if !streams.is_inline::<false>(id) {
                if arrival > now {
                    return Some(arrival);
                }
                self.last = self.last.max(arrival);
            }
            self.arrived += 1;
        }
        None
    }
}

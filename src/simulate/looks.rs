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

use super::copies::Copies;
use super::entries::EntryId;
use super::operation::{ItemId, NONE};
use super::program::{Program, Sort};
use super::streams::Streams;
use crate::plan::{Behind, Direction, Graph};
use crate::profile::{LooksAfter, OperationKind};
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
/// Edges of the clock in a period.
const TICKS: u64 = 8;

type ByKinds = [[Span; OperationKind::COUNT]; OperationKind::COUNT];

/// How engines look, on a machine where that is known.
#[derive(Debug, Clone)]
pub(super) struct LookTimes {
    /// From one edge of the clock to the next, and when the first of them is.
    tick: Span,
    first_edge: Span,
    /// From the arrival of an operation to when its periods begin to count, by the copies that
    /// are under way then, or kernels for none, and its own kind.
    after: ByKinds,
    /// The same of nodes of graphs, by the kind of what they have to follow.
    in_graphs: ByKinds,
    /// Copies to the host that graphs begin with.
    first_out: Vec<ItemId>,
    /// The same of nodes behind other copies to the host.
    behind_out: [Span; OperationKind::COUNT],
    /// What arrives at each engine, device by device and kind by kind, in order of issue.
    /// Of what comes with others, only the first arrives.
    arrivals: Vec<Vec<EntryId>>,
    /// For each entry, the one before it in its stream that the same engine does.
    before: Vec<EntryId>,
}

impl LookTimes {
    /// Those of a program whose entries are known; `phase`, from 0 to 1: how far into a tick of
    /// the engines' clock a pass begins.
    pub fn new(program: &Program<'_>, phase: f64) -> Option<Self> {
        let looks = program.profile.latency.looks.as_ref()?;
        let [mut after, in_graphs] = [&looks.after, &looks.in_graphs].map(|pairs| {
            let mut after = ByKinds::default();
            for LooksAfter { from, to, time, .. } in pairs {
                after[*from as usize][*to as usize] = time.span();
            }
            after
        });
        // Kernels have nothing to find out about other kernels: as for copies, then.
        let behind_kernels = looks.after.iter().filter(|pair| pair.from == OperationKind::Kernel);
        let least = behind_kernels.map(|pair| pair.time.span()).min().unwrap_or_default();
        after[OperationKind::Kernel as usize][OperationKind::Kernel as usize] = least;
        let mut arrivals = vec![Vec::new(); program.devices() * OperationKind::COUNT];
        let mut entries: Vec<(ItemId, EntryId)> =
            (0..).zip(&program.entries.list).map(|(id, entry)| (entry.item, id)).collect();
        entries.sort_unstable();
        let mut before = vec![NONE; entries.len()];
        let mut latest = vec![NONE; program.streams() * OperationKind::COUNT];
        for (_, id) in entries {
            let entry = &program.entries.list[id as usize];
            let Sort::Operation(kind) = entry.sort else { continue };
            let latest = &mut latest[engine_of(usize::from(entry.stream), kind)];
            before[id as usize] = std::mem::replace(latest, id);
            if comes_by_itself(program, id) {
                arrivals[engine_of(program.device_of(entry.stream), kind)].push(id);
            }
        }
        let tick = Span::from_nanos((looks.period.span().nanos() / TICKS).max(1));
        let first_edge = Span::from_nanos_f64(tick.nanos_f64() * (1.0 - phase));
        let items = 0..program.items.len() as ItemId;
        let first_out = items.filter(|&id| is_first_out(program, id)).collect();
        let behind_out = behind_out(&looks.in_graphs);
        Some(Self { tick, first_edge, after, in_graphs, first_out, behind_out, arrivals, before })
    }

    /// From when on an operation that came too early is looked for in periods, counted from
    /// its arrival `then`. A command comes down the link behind the data that is under way
    /// (on an H200, any kernel launched beside a copy to the device starts 2.0 us later). A
    /// little of it is there without any copies.
    pub fn after(
        &self,
        copies: &Copies,
        (device, kind): (usize, OperationKind),
        then: Instant,
    ) -> Span {
        let busy = Direction::BOTH.into_iter().filter(|&way| copies.were_busy(device, way, then));
        let beside = busy.map(OperationKind::of_copy).chain([OperationKind::Kernel]);
        beside.map(|from| self.after[from as usize][kind as usize]).max().unwrap_or_default()
    }

    /// The same of a node of a graph behind another one, as measured of two that are a graph. A
    /// copy to the host that it begins with holds up what is behind it (by 1.2 us on an H200).
    pub fn after_node(&self, (from, node): (OperationKind, ItemId), kind: OperationKind) -> Span {
        if from == OperationKind::CopyOut && !self.first_out.contains(&node) {
            return self.behind_out[kind as usize];
        }
        self.in_graphs[from as usize][kind as usize]
    }

    /// The first look that finds what is there from `ready` on, if looks count from `first`.
    /// Until then the last look is always just over.
    pub fn next(&self, first: Instant, ready: Instant) -> Instant {
        let tick = self.tick.nanos();
        // What they count from is known in the mean, as if the eighth edge were a whole
        // period away; it is half a tick less.
        let from = ready.min(first + self.half_a_tick());
        let look = from + Span::from_nanos(TICKS * tick - self.since_edge(from));
        let periods = ready.since(look.min(ready)).nanos().div_ceil(TICKS * tick);
        look + Span::from_nanos(periods * TICKS * tick)
    }

    /// Nanoseconds since the last edge of the clock.
    fn since_edge(&self, time: Instant) -> u64 {
        (time.since_start() + self.tick - self.first_edge).nanos() % self.tick.nanos()
    }

    fn half_a_tick(&self) -> Span {
        Span::from_nanos(self.tick.nanos() / 2)
    }

    /// From when looks count if a doorbell has rung for what lies behind something that waits;
    /// `None` if that changes nothing.
    fn rung_anew(&self, ring: Instant) -> Option<Instant> {
        let is_heeded = self.since_edge(ring) < self.half_a_tick().nanos();
        is_heeded.then(|| ring.earlier_by(self.half_a_tick()))
    }

    /// Whether something lies behind what its engine has not done yet.
    fn is_behind(&self, streams: &Streams, stream: u16, id: EntryId) -> bool {
        let before = self.before[id as usize];
        before != NONE && !streams.is_over(stream, before)
    }
}

/// Of nodes behind a copy to the host: what was measured, or of the third kind if that is less.
fn behind_out(pairs: &[LooksAfter]) -> [Span; OperationKind::COUNT] {
    std::array::from_fn(|kind| {
        let behind = pairs.iter().filter(|pair| pair.to as usize == kind);
        behind.map(|pair| pair.time.span()).min().unwrap_or_default()
    })
}

/// Whether it is a copy to the host that a graph begins with.
fn is_first_out(program: &Program<'_>, id: ItemId) -> bool {
    let before = |graph: &Graph| graph.before(id as usize);
    program.items[id as usize].sort == Sort::Operation(OperationKind::CopyOut)
        && program.graph_at(id as usize).and_then(before).map(|b| b.behind) == Some(Behind::Nothing)
}

/// Whether it does not come to the device with what is before it. A graph's branches go to
/// several channels, part by part as its launch goes on; one branch alone goes to one channel,
/// and comes as a whole.
fn comes_by_itself(program: &Program<'_>, id: EntryId) -> bool {
    let class = program.class_in(id);
    let call = program.entries.list[id as usize].item as usize;
    let has_branches = || program.graph_at(call).is_some_and(Graph::has_branches);
    !class.in_graph || class.host > Span::ZERO && has_branches()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever they lie, and however short they are.
    #[test]
    fn looks_are_at_edges_and_a_period_apart_in_the_mean() {
        for tick in [1, 2, 750, 1_023] {
            let (start, mut sum) = (50_000, 0);
            for first_edge in 1..=tick {
                let times = LookTimes {
                    tick: Span::from_nanos(tick),
                    first_edge: Span::from_nanos(first_edge),
                    after: ByKinds::default(),
                    in_graphs: ByKinds::default(),
                    first_out: Vec::new(),
                    behind_out: [Span::ZERO; OperationKind::COUNT],
                    arrivals: Vec::new(),
                    before: Vec::new(),
                };
                let at = |nanos| Instant::START + Span::from_nanos(nanos);
                let look = times.next(at(start), at(start + tick)).since_start().nanos();
                assert_eq!(look % tick, first_edge % tick);
                sum += look - start;
                let later = times.next(at(start), at(start + 20 * TICKS * tick));
                assert_eq!((later.since_start().nanos() - look) % (TICKS * tick), 0);
                assert!(later >= at(start + 20 * TICKS * tick));
            }
            let mean = sum as f64 / tick as f64;
            assert!((mean / (TICKS * tick) as f64 - 1.0).abs() < 0.07, "{mean} with {tick}");
        }
    }
}

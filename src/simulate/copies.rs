//! Copy engines and the links that they share.
//!
//! An engine carries one copy at a time; each device has one for each direction. Copies to other
//! devices have an engine of their own: of the copy engines that a device exposes, some serve links
//! between GPUs and others system memory (NVIDIA open-gpu-kernel-modules, `kernel_ce.c`:
//! `kceGetP2PCes` and `kceGetSysmemRWLCEs`).
//!
//! An engine stays with a stream while the stream's next operation is a copy for it that may start.
//! Then it takes the stream that has been ready longest. The hardware executes what is in a channel
//! until the channel has to wait (NVIDIA open-gpu-doc, "Host/PBDMA": methods of a channel run in
//! order until a semaphore acquire fails).
//!
//! Changing to another stream takes the engine time, more of it the more streams it has to look at.
//! That time passes while the engine is idle, too. Kernels that wait in several streams slow copies
//! to the device, because their commands are read again and again over the link that those copies
//! use.
//!
//! Copies under way are flows on the link, which carries less than both directions ask for.
//! (Besides, what an engine asks for when it starts a copy queues behind the data of the other
//! direction: see `delay_beside_each_other`.) A copy that calibration saw run `s` times slower
//! beside another has a weight of 1/s for its share, and uses s/2 of the link at full speed. So two
//! such copies fill the link at exactly the speeds that were measured, and one alone does not. An
//! `s` above 2 counts as 2, because copies that take turns would be faster.
//!
//! Running kernels slow copies, too: each copy once, from when the device takes up the kernel's
//! command.
//!
//! Where several devices copy, their copies share further links: see `shares`.

mod beside;

use beside::{Met, delay_beside_each_other, meet};

use super::entries::EntryId;
use super::links::Links;
use super::operation::NONE;
use super::program::CompiledProgram;
use crate::machine::Direction;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// Copy engines of a device: one for each direction, and one for copies to other devices.
pub(super) const ENGINES: usize = 3;
pub(super) const PEER_ENGINE: usize = 2;

/// A copy that waits in the queue of a copy engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub entry: EntryId,
    pub stream: u16,
    /// The copy's time with nothing beside it.
    pub alone: Span,
}

/// A copy engine of a device.
struct Engine {
    /// The copies that the engine has been asked for: the first in line, and those behind it.
    first: Option<Asked>,
    rest: VecDeque<Asked>,
    /// The stream that the engine stays with, the copy under way or finished last, and the copy
    /// before that.
    serving: Option<u16>,
    entry: EntryId,
    before: EntryId,
    started: Instant,
    /// Since when the engine has gone from copy to copy without a pause, and until when.
    row: [Instant; 2],
    /// When the copy under way ends if nothing else happens; [`Instant::NEVER`] if the engine is
    /// idle.
    end: Instant,
    /// Used where copies take other than their time alone. At the time `since`, `left` nanoseconds
    /// of the copy were left, counted with nothing in the other direction; `speed` of them pass per
    /// nanosecond.
    left: f64,
    since: Instant,
    speed: f64,
    /// How many times longer a copy that starts now takes because of kernels that wait.
    refetching: f64,
    /// The copy under way as a flow, where copies slow each other.
    met: Option<Met>,
}

impl Engine {
    fn is_busy(&self) -> bool {
        self.end != Instant::NEVER
    }

    /// Notes that a copy is under way now, and at least until `until`.
    fn go_on(&mut self, now: Instant, until: Instant) {
        if self.row[1] < now && !self.is_busy() {
            self.row[0] = now;
        }
        self.row[1] = self.row[1].max(until);
    }

    /// Whether the engine came to the copy under way directly from another one, or has more nodes
    /// of a graph in hand. (Staging pageable memory extends the row, too, but never while this
    /// engine copies.)
    fn is_back_to_back(&self) -> bool {
        self.row[0] < self.started || self.met.is_some_and(|met| met.in_graph)
    }

    /// Nanoseconds for which data of the copy under way was still to come at the last change.
    fn data_left(&self) -> f64 {
        self.met.map_or(0.0, |Met { data, fixed, .. }| (self.left - fixed).clamp(0.0, data))
    }

    fn left_at(&self, now: Instant) -> f64 {
        self.left - now.since(self.since).nanos_f64() * self.speed
    }

    /// Works out when the copy under way ends.
    fn look_ahead(&mut self) {
        // Avoids the division in the usual case, since it would cost as much as everything else
        // here.
        let left = if self.speed == 1.0 { self.left } else { self.left / self.speed };
        self.end = self.since + whole_nanos(left);
    }

    fn stays_with(&self, copy: &Asked) -> bool {
        self.serving.is_none_or(|serving| serving == copy.stream)
    }

    /// Nanoseconds that are left of a change of streams, which also passes while the engine is
    /// idle. (Staging pageable memory counts as being busy, too, but never goes on while this
    /// engine copies.)
    fn left_of(&self, switch: f64, now: Instant) -> f64 {
        (switch - now.since(self.row[1].min(now)).nanos_f64()).max(0.0)
    }

    /// Starts the next copy, if there is one: of the stream that the engine stays with, or else the
    /// one that has waited longest.
    #[inline(always)]
    fn start_next<const PLAIN: bool>(&mut self, now: Instant, switch: f64) {
        if !self.rest.is_empty() {
            self.let_pass();
        }
        let Some(first) = &self.first else { return };
        let &Asked { entry, stream, alone } = first;
        let switch = if PLAIN || self.stays_with(first) { 0.0 } else { self.left_of(switch, now) };
        self.first = None;
        if !self.rest.is_empty() {
            self.first = self.rest.pop_front();
        }
        self.started = now;
        if !PLAIN {
            self.go_on(now, now);
            (self.since, self.left) = (now, alone.nanos_f64() * self.refetching + switch);
        }
        (self.before, self.entry, self.serving) = (self.entry, entry, Some(stream));
        let is_usual = PLAIN || switch == 0.0 && self.refetching == 1.0;
        self.end = now + if is_usual { alone } else { whole_nanos(self.left) };
    }

    /// Moves the first copy of the stream that the engine stays with ahead of the others.
    #[cold]
    fn let_pass(&mut self) {
        if let Some(first) = self.first
            && !self.stays_with(&first)
            && let Some(same) = self.rest.iter().position(|copy| self.stays_with(copy))
        {
            self.first = self.rest.remove(same);
            self.rest.push_front(first);
        }
    }
}

fn busy(engines: &[Engine; ENGINES]) -> [bool; ENGINES] {
    engines.each_ref().map(Engine::is_busy)
}

/// The engines of all devices.
pub(super) struct Copies {
    engines: Vec<[Engine; ENGINES]>,
    links: Links,
    capacities: Vec<f64>,
    /// Whether copies may take other than a whole number of nanoseconds.
    is_fluid: bool,
    /// How many kernels run on each device, counted where copies take longer beside kernels.
    kernels: Vec<u32>,
    /// How many engines have been examined for copies that end now.
    looked_at: usize,
    /// Whether a copy has ended or become ready since engines were last filled.
    pub changed: bool,
    /// When the next copy ends if nothing else happens.
    pub next: Instant,
}

/// A copy with fewer nanoseconds left than this is complete.
const DONE: f64 = 0.5;

/// The rounding error that a quotient may have, in nanoseconds.
const ROUNDING: f64 = 1e-3;

/// Rounds up to a whole number of nanoseconds, but for a rounding error.
fn whole_nanos(nanos: f64) -> Span {
    Span::from_nanos_f64((nanos + (0.5 - ROUNDING)).max(0.0))
}

/// An operation that has ended: when it started, and what its engine did before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub entry: EntryId,
    pub started: Instant,
    pub before: EntryId,
}

impl Default for Copies {
    fn default() -> Self {
        let (links, next) = (Links::new(&[]), Instant::NEVER);
        let (engines, capacities, kernels) = (Vec::new(), Vec::new(), Vec::new());
        let (is_fluid, looked_at, changed) = (false, 0, false);
        Self { engines, links, capacities, is_fluid, kernels, looked_at, changed, next }
    }
}

impl Default for Engine {
    fn default() -> Self {
        let start = Instant::START;
        Self {
            first: None,
            rest: VecDeque::new(),
            serving: None,
            entry: NONE,
            before: NONE,
            started: start,
            row: [start; 2],
            end: Instant::NEVER,
            left: 0.0,
            since: start,
            speed: 1.0,
            refetching: 1.0,
            met: None,
        }
    }
}

impl Copies {
    /// Clears all state but keeps the allocated memory.
    pub fn reset(&mut self, program: &CompiledProgram<'_>) {
        (self.changed, self.next) = (false, Instant::NEVER);
        if self.capacities == program.shares.capacities {
            self.links.clear();
        } else {
            self.capacities.clone_from(&program.shares.capacities);
            self.links = Links::new(&self.capacities);
        }
        let takes_time = |&switch: &f64| switch > 0.0;
        self.is_fluid = !program.shares.is_empty()
            || program.switch.as_flattened().iter().any(takes_time)
            || !program.refetched.is_empty();
        self.engines.resize_with(program.devices(), Default::default);
        self.kernels.clear();
        self.kernels.resize(program.devices(), 0);
        self.looked_at = ENGINES * program.devices();
        for engine in self.engines.as_flattened_mut() {
            engine.rest.clear();
            (engine.first, engine.entry, engine.end) = (None, NONE, Instant::NEVER);
            engine.serving = None;
            (engine.speed, engine.refetching, engine.met) = (1.0, 1.0, None);
            engine.row = [Instant::START; 2];
        }
    }

    #[inline(always)]
    pub fn enqueue(&mut self, (device, engine): (usize, usize), copy: Asked) {
        self.changed = true;
        let asked = &mut self.engines[device][engine];
        if asked.first.is_some() {
            asked.rest.push_back(copy);
        } else {
            asked.first = Some(copy);
        }
    }

    /// Prepares for [`Copies::collect`] at the time `now`.
    #[inline(always)]
    pub fn prepare<const PLAIN: bool>(&mut self, now: Instant) {
        if self.next > now {
            return;
        }
        (self.looked_at, self.next) = (0, Instant::NEVER);
        if !PLAIN && self.is_fluid {
            // In fluid time, a copy with next to nothing left also ends now.
            for engine in running(&mut self.engines) {
                if engine.left_at(now) < DONE {
                    engine.end = engine.end.min(now);
                }
            }
        }
    }

    /// Takes out the next copy that has ended, and moves on to the engine after it. Call it until
    /// it returns `None`.
    #[inline(always)]
    pub fn collect<const PLAIN: bool>(&mut self, now: Instant) -> Option<Ended> {
        let devices = if PLAIN { 1 } else { self.engines.len() };
        for engine in &mut self.engines[..devices].as_flattened_mut()[self.looked_at..] {
            self.looked_at += 1;
            if engine.end > now {
                continue;
            }
            self.changed = true;
            engine.go_on(now, now);
            engine.end = Instant::NEVER;
            if let (false, Some(met)) = (PLAIN, engine.met) {
                self.links.remove(met.flow);
            }
            let Engine { entry, started, before, .. } = *engine;
            return Some(Ended { entry, started, before });
        }
        None
    }

    /// Which engines of a device have a copy under way.
    pub fn busy(&self, device: usize) -> [bool; ENGINES] {
        busy(&self.engines[device])
    }

    pub fn is_busy(&self, device: usize, engine: usize) -> bool {
        self.engines[device][engine].is_busy()
    }

    /// If copies of one direction were under way at the past time `then`: since when, and, if they
    /// have ended, until when. Only the latest row of copies is known; before it, none count as
    /// under way.
    pub fn under_way(
        &self,
        device: usize,
        direction: Direction,
        then: Instant,
    ) -> Option<(Instant, Option<Instant>)> {
        let engine = &self.engines[device][direction as usize];
        let [since, until] = engine.row;
        let until = (!engine.is_busy()).then_some(until);
        (since <= then && until.is_none_or(|until| then < until)).then_some((since, until))
    }

    /// A staged copy of pageable memory is under way until `until`, without the engine.
    pub fn stage(&mut self, (device, direction): (usize, Direction), now: Instant, until: Instant) {
        self.engines[device][direction as usize].go_on(now, until);
    }

    /// Whether a copy to a device will start when engines are filled.
    pub fn begins_down(&self, device: usize) -> bool {
        let down = &self.engines[device][Direction::HostToDevice as usize];
        down.first.is_some() && !down.is_busy()
    }

    /// Makes copies to a device that start from now on take `refetching` times longer.
    pub fn slow_down(&mut self, device: usize, refetching: f64) {
        self.engines[device][Direction::HostToDevice as usize].refetching = refetching;
    }

    /// Gives each idle engine its next copy. Call it when everything that becomes ready at this
    /// moment has been enqueued.
    #[inline(always)]
    pub fn fill<const PLAIN: bool>(&mut self, program: &CompiledProgram<'_>, now: Instant) {
        self.changed = false;
        if !PLAIN && !program.shares.is_empty() {
            self.fill_links(program, now);
            return;
        }
        self.next = Instant::NEVER;
        let devices = if PLAIN { 1 } else { self.engines.len() };
        for (engines, switch) in self.engines[..devices].iter_mut().zip(&program.switch) {
            for (engine, &switch) in engines.iter_mut().zip(switch) {
                if !engine.is_busy() {
                    engine.start_next::<PLAIN>(now, switch);
                }
                self.next = self.next.min(engine.end);
            }
        }
    }

    /// Gives idle engines their next copy where copies slow each other, and updates all speeds.
    #[inline(never)]
    fn fill_links(&mut self, program: &CompiledProgram<'_>, now: Instant) {
        self.next = Instant::NEVER;
        // Accounts for the progress since the last change.
        for engine in running(&mut self.engines) {
            (engine.left, engine.since) = (engine.left_at(now), now);
        }
        for (device, engines) in self.engines.iter_mut().enumerate() {
            let before = busy(engines);
            for (engine, &switch) in engines.iter_mut().zip(&program.switch[device]) {
                if !engine.is_busy() && engine.first.is_some() {
                    engine.start_next::<false>(now, switch);
                    engine.speed = 1.0;
                    engine.met = Some(meet(&mut self.links, program, (engine.entry, device)));
                }
            }
            delay_beside_each_other(engines, before);
        }
        self.links.share();
        for (engines, kernels) in self.engines.iter_mut().zip(&self.kernels) {
            for engine in engines.iter_mut().filter(|engine| engine.is_busy()) {
                engine.speed = engine.met.map_or(1.0, |met| self.links.rate(met.flow));
                if *kernels > 0 {
                    engine.meet_kernels();
                }
                engine.look_ahead();
                self.next = self.next.min(engine.end);
            }
        }
    }
}

fn running(engines: &mut [[Engine; ENGINES]]) -> impl Iterator<Item = &mut Engine> {
    engines.as_flattened_mut().iter_mut().filter(|engine| engine.is_busy())
}

//! Copy engines and the links that they share.
//!
//! An engine carries one copy at a time. Each device has one for each direction, and another for
//! copies to other devices.
//!
//! An engine stays with a stream while the stream's next operation is a copy for it that may start.
//! After that, it takes the copy that has been ready longest. The hardware executes what is in a
//! channel until the channel has to wait (NVIDIA open-gpu-doc, "Host/PBDMA": methods of a channel
//! run in order until a semaphore acquire fails).
//!
//! Changing to another stream takes the engine time: the more, the more streams it serves.
//! That time passes while the engine is idle, too. Kernels that wait in several streams slow copies
//! to the device, because their commands are read again and again over the link that those copies
//! use.
//!
//! Copies under way are flows on the link, which carries less than both directions ask for.
//! (Besides, what an engine asks for when it starts a copy queues behind the data of the other
//! direction: see `delay_beside_each_other`.) Which links they share, and how much of each they
//! use, is in the program's costs.
//!
//! Running kernels slow copies, too: each copy once, from when the device takes up the kernel's
//! command, and on some GPUs all the time that they run.
//!
//! What is done for every copy goes through engines by their places. Adapters such as `zip` and
//! `array::map` would stay calls, because nothing is optimised across units of the library.

mod engine;

pub(super) use engine::QueuedCopy;

use super::links::{Flow, Links};
use super::operation::Completion;
use crate::cost::{CompiledProgram, ENGINES, NONE};
use crate::machine::Direction;
use crate::units::Instant;
use engine::CopyFlow;
use engine::{CopyEngine, delay_beside_each_other};

#[inline]
fn busy([down, up, peer]: &[CopyEngine; ENGINES]) -> [bool; ENGINES] {
    [down.is_busy(), up.is_busy(), peer.is_busy()]
}

/// The engines of all devices.
pub(super) struct Copies<'p> {
    compiled: &'p CompiledProgram<'p>,
    engines: Vec<[CopyEngine; ENGINES]>,
    links: Links,
    /// Where copies slow each other, the costs of the copies under way, by engine ([`NONE`] if it
    /// has none).
    under_way: Vec<[u32; ENGINES]>,
    /// Mixes of copies whose rates are known: programs repeat themselves.
    mixes: Vec<Mix>,
    /// Whether copies may take other than a whole number of nanoseconds.
    is_fluid: bool,
    /// How many kernels run on each device, counted where copies take longer beside kernels.
    kernels: Vec<u32>,
    /// How many bytes the CPU has written in this pass, where copies depend on that.
    pub written: f64,
    /// Whether kernels slow copies all the time that they run.
    slowed_by_kernels: bool,
    /// How many engines have been examined for copies that end now.
    examined: usize,
    /// Whether a copy has ended or become ready since engines were last filled.
    pub changed: bool,
    /// When the next copy ends if nothing else happens.
    pub next: Instant,
}

/// A copy with fewer nanoseconds left than this is complete.
const DONE: f64 = 0.5;

impl<'p> Copies<'p> {
    pub fn new(compiled: &'p CompiledProgram<'p>) -> Self {
        let devices = compiled.body.devices();
        let is_fluid = !compiled.links.is_empty()
            || compiled.copies.take_time_to_switch()
            || compiled.slows_copies_down();
        Self {
            compiled,
            engines: (0..devices).map(|_| Default::default()).collect(),
            links: Links::new(&compiled.links.capacities),
            under_way: vec![[NONE; ENGINES]; devices],
            mixes: Vec::new(),
            is_fluid,
            kernels: vec![0; devices],
            written: 0.0,
            slowed_by_kernels: compiled.copies.speed_beside_kernels.iter().any(|&one| one < 1.0),
            examined: ENGINES * devices,
            changed: false,
            next: Instant::NEVER,
        }
    }

    #[inline(always)]
    pub fn enqueue(&mut self, (device, engine): (usize, usize), copy: QueuedCopy) {
        self.changed = true;
        self.engines[device][engine].enqueue(copy);
    }

    /// Prepares for [`Copies::collect`] at the time `now`.
    #[inline(always)]
    pub fn prepare(&mut self, now: Instant) {
        if self.next > now {
            return;
        }
        (self.examined, self.next) = (0, Instant::NEVER);
        if self.is_fluid {
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
    pub fn collect(&mut self, now: Instant) -> Option<Completion> {
        let examined = self.examined;
        for engine in &mut self.engines.as_flattened_mut()[examined..] {
            self.examined += 1;
            if engine.end > now {
                continue;
            }
            self.changed = true;
            engine.go_on(now, now);
            engine.end = Instant::NEVER;
            self.under_way.as_flattened_mut()[self.examined - 1] = NONE;
            let CopyEngine { entry, started, before, .. } = *engine;
            return Some(Completion { entry, started, before });
        }
        None
    }

    /// Which engines of a device have a copy under way.
    #[inline]
    pub fn busy(&self, device: usize) -> [bool; ENGINES] {
        busy(&self.engines[device])
    }

    /// If copies of one direction were under way at the past time `then`: since when, and, if they
    /// have ended, until when. Only the latest row of copies is known; before it, none count as
    /// under way.
    #[inline]
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
    #[inline]
    pub fn stage(&mut self, (device, direction): (usize, Direction), now: Instant, until: Instant) {
        self.engines[device][direction as usize].go_on(now, until);
    }

    /// Whether a copy to a device will start when engines are filled.
    #[inline]
    pub fn begins_down(&self, device: usize) -> bool {
        let down = &self.engines[device][Direction::HostToDevice as usize];
        !down.queue.is_empty() && !down.is_busy()
    }

    /// Makes copies of a device and a direction that start from now on take so many times longer.
    #[inline]
    pub fn slow_down(&mut self, (device, direction): (usize, Direction), slowdown: f64) {
        self.engines[device][direction as usize].slowdown = slowdown;
    }

    /// A kernel of a device runs from now on, beside the copies under way.
    #[inline]
    pub fn begin_kernel(&mut self, device: usize, now: Instant) {
        self.kernels[device] += 1;
        // Speeds change with the first kernel.
        self.changed |= self.slowed_by_kernels && self.kernels[device] == 1;
        for engine in self.engines[device].iter_mut().filter(|engine| engine.is_busy()) {
            (engine.left, engine.since) = (engine.left_at(now), now);
            engine.delay_beside_kernels();
            engine.predict_end();
        }
        self.next =
            running(&mut self.engines).map(|engine| engine.end).min().unwrap_or(Instant::NEVER);
    }

    /// A kernel of a device has ended.
    #[inline]
    pub fn end_kernel(&mut self, device: usize) {
        self.kernels[device] -= 1;
        self.changed |= self.slowed_by_kernels && self.kernels[device] == 0;
    }

    /// Gives each idle engine its next copy. Call it when everything that becomes ready at this
    /// moment has been enqueued.
    #[inline(always)]
    pub fn fill(&mut self, now: Instant) {
        let compiled = self.compiled;
        self.changed = false;
        if !compiled.links.is_empty() {
            self.fill_links(now);
            return;
        }
        self.next = Instant::NEVER;
        let written = self.written;
        let later = |entry| compiled.just_written(entry, written);
        for (device, engines) in self.engines.iter_mut().enumerate() {
            let switches = &compiled.copies.switch[device];
            for (at, engine) in engines.iter_mut().enumerate() {
                if !engine.is_busy() {
                    engine.start_next(now, switches[at], later);
                }
                self.next = self.next.min(engine.end);
            }
        }
    }

    /// Gives idle engines their next copy where copies slow each other, and updates all speeds.
    #[inline(never)]
    fn fill_links(&mut self, now: Instant) {
        let compiled = self.compiled;
        self.next = Instant::NEVER;
        let written = self.written;
        let later = |entry| compiled.just_written(entry, written);
        // Accounts for the progress since the last change.
        for engine in running(&mut self.engines) {
            (engine.left, engine.since) = (engine.left_at(now), now);
        }
        for (device, engines) in self.engines.iter_mut().enumerate() {
            let before = busy(engines);
            let switches = &compiled.copies.switch[device];
            for (at, engine) in engines.iter_mut().enumerate() {
                if !engine.is_busy() && !engine.queue.is_empty() {
                    engine.start_next(now, switches[at], later);
                    engine.speed = 1.0;
                    let cost = compiled.body.entry(engine.entry).cost;
                    engine.flow = Some(CopyFlow::of(&compiled.body.costs[cost as usize]));
                    self.under_way[device][at] = cost;
                }
            }
            delay_beside_each_other(engines, before);
        }
        let mix = self.mix_under_way();
        for (device, engines) in self.engines.iter_mut().enumerate() {
            let are_beside_kernels = self.kernels[device] > 0;
            for (at, engine) in engines.iter_mut().enumerate() {
                if !engine.is_busy() {
                    continue;
                }
                engine.speed = self.mixes[mix].rates[device][at];
                if are_beside_kernels {
                    engine.delay_beside_kernels();
                    engine.speed *= compiled.copies.speed_beside_kernels[at];
                }
                engine.predict_end();
                self.next = self.next.min(engine.end);
            }
        }
    }
}

impl Copies<'_> {
    /// The place of the mix of copies that is under way.
    #[inline]
    fn mix_under_way(&mut self) -> usize {
        for (place, mix) in self.mixes.iter().enumerate() {
            if (0..self.under_way.len()).all(|at| mix.under_way[at] == self.under_way[at]) {
                return place;
            }
        }
        self.new_mix()
    }

    /// Works out the rates of the copies under way, and returns the place of this new mix. If there
    /// are very many mixes, it replaces the one before.
    #[cold]
    fn new_mix(&mut self) -> usize {
        let compiled = self.compiled;
        let flow = |(at, &cost): (usize, &u32)| {
            let work = &compiled.body.costs.get(cost as usize)?.work;
            let uses = compiled.links.uses(at / ENGINES, work);
            Some(self.links.flow(compiled.links.weight(work), 1.0, uses))
        };
        let under_way = self.under_way.as_flattened().iter().enumerate();
        let mut flows: Vec<Option<Flow>> = under_way.map(flow).collect();
        self.links.share(&mut flows);
        let rate = |flow: &Option<Flow>| flow.as_ref().map_or(1.0, |flow| flow.rate);
        let rates = flows.as_chunks::<ENGINES>().0.iter().map(|flows| flows.each_ref().map(rate));
        self.mixes.truncate(MOST_MIXES - 1);
        self.mixes.push(Mix { under_way: self.under_way.clone(), rates: rates.collect() });
        self.mixes.len() - 1
    }
}

/// The costs of copies under way, by device and engine, and their rates as flows.
struct Mix {
    under_way: Vec<[u32; ENGINES]>,
    rates: Vec<[f64; ENGINES]>,
}

/// The most mixes of copies whose rates are kept: to look through more takes longer than to work
/// them out.
const MOST_MIXES: usize = 16;

#[inline]
fn running(engines: &mut [[CopyEngine; ENGINES]]) -> impl Iterator<Item = &mut CopyEngine> {
    engines.as_flattened_mut().iter_mut().filter(|engine| engine.is_busy())
}

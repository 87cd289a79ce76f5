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

mod beside;
mod engine;
mod flow;

pub(super) use engine::QueuedCopy;

use super::links::Links;
use super::operation::Completion;
use crate::cost::{CompiledProgram, ENGINES, NONE};
use crate::machine::Direction;
use crate::units::Instant;
use beside::delay_beside_each_other;
use engine::CopyEngine;
use flow::start_flow;

#[inline]
fn busy(engines: &[CopyEngine; ENGINES]) -> [bool; ENGINES] {
    engines.each_ref().map(CopyEngine::is_busy)
}

/// The engines of all devices.
pub(super) struct Copies {
    engines: Vec<[CopyEngine; ENGINES]>,
    links: Links,
    capacities: Vec<f64>,
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

impl Default for Copies {
    fn default() -> Self {
        let (links, next) = (Links::new(&[]), Instant::NEVER);
        let (engines, capacities, kernels) = (Vec::new(), Vec::new(), Vec::new());
        let (is_fluid, slowed_by_kernels, written) = (false, false, 0.0);
        let (examined, changed) = (0, false);
        Self {
            engines,
            links,
            capacities,
            is_fluid,
            kernels,
            written,
            slowed_by_kernels,
            examined,
            changed,
            next,
        }
    }
}

impl Copies {
    /// Clears all state but keeps the allocated memory.
    pub fn reset(&mut self, compiled: &CompiledProgram<'_>) {
        (self.changed, self.next, self.written) = (false, Instant::NEVER, 0.0);
        if self.capacities == compiled.links.capacities {
            self.links.clear();
        } else {
            self.capacities.clone_from(&compiled.links.capacities);
            self.links = Links::new(&self.capacities);
        }
        self.is_fluid = !compiled.links.is_empty()
            || compiled.copies.take_time_to_switch()
            || compiled.slows_copies_down();
        self.engines.resize_with(compiled.body.devices(), Default::default);
        self.slowed_by_kernels = compiled.copies.speed_beside_kernels.iter().any(|&one| one < 1.0);
        self.kernels.clear();
        self.kernels.resize(compiled.body.devices(), 0);
        self.examined = ENGINES * compiled.body.devices();
        for engine in self.engines.as_flattened_mut() {
            engine.rest.clear();
            (engine.first, engine.entry, engine.end) = (None, NONE, Instant::NEVER);
            engine.serving = None;
            (engine.speed, engine.slowdown, engine.flow) = (1.0, 1.0, None);
            engine.row = [Instant::START; 2];
        }
    }

    #[inline(always)]
    pub fn enqueue(&mut self, (device, engine): (usize, usize), copy: QueuedCopy) {
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
        for engine in &mut self.engines.as_flattened_mut()[self.examined..] {
            self.examined += 1;
            if engine.end > now {
                continue;
            }
            self.changed = true;
            engine.go_on(now, now);
            engine.end = Instant::NEVER;
            if let Some(flow) = engine.flow {
                self.links.remove(flow.id);
            }
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

    #[inline]
    pub fn is_busy(&self, device: usize, engine: usize) -> bool {
        self.engines[device][engine].is_busy()
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
        down.first.is_some() && !down.is_busy()
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
    pub fn fill(&mut self, compiled: &CompiledProgram<'_>, now: Instant) {
        self.changed = false;
        if !compiled.links.is_empty() {
            self.fill_links(compiled, now);
            return;
        }
        self.next = Instant::NEVER;
        let written = self.written;
        let later = |entry| compiled.just_written(entry, written);
        for (engines, switch) in self.engines.iter_mut().zip(&compiled.copies.switch) {
            for (engine, &switch) in engines.iter_mut().zip(switch) {
                if !engine.is_busy() {
                    engine.start_next(now, switch, later);
                }
                self.next = self.next.min(engine.end);
            }
        }
    }

    /// Gives idle engines their next copy where copies slow each other, and updates all speeds.
    #[inline(never)]
    fn fill_links(&mut self, compiled: &CompiledProgram<'_>, now: Instant) {
        self.next = Instant::NEVER;
        let written = self.written;
        let later = |entry| compiled.just_written(entry, written);
        // Accounts for the progress since the last change.
        for engine in running(&mut self.engines) {
            (engine.left, engine.since) = (engine.left_at(now), now);
        }
        for (device, engines) in self.engines.iter_mut().enumerate() {
            let before = busy(engines);
            for (engine, &switch) in engines.iter_mut().zip(&compiled.copies.switch[device]) {
                if !engine.is_busy() && engine.first.is_some() {
                    engine.start_next(now, switch, later);
                    engine.speed = 1.0;
                    engine.flow =
                        Some(start_flow(&mut self.links, compiled, (engine.entry, device)));
                }
            }
            delay_beside_each_other(engines, before);
        }
        self.links.share();
        for (engines, kernels) in self.engines.iter_mut().zip(&self.kernels) {
            let beside = &compiled.copies.speed_beside_kernels;
            for (engine, beside) in engines.iter_mut().zip(beside).filter(|(one, _)| one.is_busy())
            {
                engine.speed = engine.flow.map_or(1.0, |flow| self.links.rate(flow.id));
                if *kernels > 0 {
                    engine.delay_beside_kernels();
                    engine.speed *= beside;
                }
                engine.predict_end();
                self.next = self.next.min(engine.end);
            }
        }
    }
}

#[inline]
fn running(engines: &mut [[CopyEngine; ENGINES]]) -> impl Iterator<Item = &mut CopyEngine> {
    engines.as_flattened_mut().iter_mut().filter(|engine| engine.is_busy())
}

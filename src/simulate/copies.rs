//! The copy engines and the links they share.
//!
//! One copy at a time per device and direction. Copies to other devices have an
//! engine of their own: of those that a device shows, some are for links between
//! GPUs and others for system memory (NVIDIA open-gpu-kernel-modules,
//! `kernel_ce.c`: `kceGetP2PCes` and `kceGetSysmemRWLCEs`).
//!
//! An engine stays with a stream as long as
//! that stream's next operation is a copy for it that may start, and then takes
//! the stream that has been ready for longest: the hardware executes what is in
//! a channel until the channel has to wait (NVIDIA open-gpu-doc, "Host/PBDMA":
//! methods of a channel run in order until a semaphore acquire fails).
//!
//! Going to another stream takes the engine a while, the longer the more
//! streams it has to look at.
//!
//! Copies that run are flows on the link, which carries less than both
//! directions ask for. (What an engine asks for as it starts a copy stands in
//! line with the data of the other direction, too: that delays it for a fixed
//! time.) A copy that calibration saw `s` times slower beside
//! another has a weight of 1/s, for its share, and takes up s/2 of the link at
//! full speed: two of them fill it at just the speeds that were measured, and
//! neither does alone. More than 2, which copies that take turns would beat,
//! counts as 2.
//!
//! Where several devices copy, their copies meet on further links: see `shares`.

use super::entries::EntryId;
use super::links::{Flow, FlowId, Links};
use super::operation::{NONE, Work};
use super::program::Program;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// Copy engines of a device: one for each direction, and one for other devices.
pub(super) const ENGINES: usize = 3;
pub(super) const PEER_ENGINE: usize = 2;

/// A copy under way.
struct Running {
    entry: EntryId,
    started: Instant,
    /// Nanoseconds left at a time, with nothing in the other direction, and how many of
    /// them go by in one.
    left: f64,
    since: Instant,
    speed: f64,
    /// When nothing is left if nothing else happens.
    end: Instant,
    /// Where copies slow each other: the flow, and the nanoseconds more at its speed
    /// beside the other direction if that is busy when it starts.
    met: Option<(FlowId, f64)>,
}

impl Running {
    fn left_at(&self, now: Instant) -> f64 {
        self.left - now.since(self.since).nanos_f64() * self.speed
    }

    /// Works its end out anew.
    fn look_ahead(&mut self) {
        // A division would cost as much as all the rest.
        let left = if self.speed == 1.0 { self.left } else { self.left / self.speed };
        self.end = self.since + whole_nanos(left);
    }
}

struct Engine {
    /// What it has been asked to do, and the stream of each.
    queue: VecDeque<(EntryId, u16)>,
    running: Option<Running>,
    /// The stream it is staying with, and what it did last.
    serving: Option<u16>,
    last: EntryId,
}

impl Engine {
    /// Takes the next copy if there is none under way; `links`: where it is a flow.
    fn start_next(
        &mut self,
        program: &Program<'_>,
        (now, switch): (Instant, f64),
        links: Option<&mut Links>,
    ) {
        if self.running.is_some() || self.queue.is_empty() {
            return;
        }
        let same = |&(_, stream): &(EntryId, u16)| Some(stream) == self.serving;
        let next = self.queue.iter().position(same).unwrap_or(0);
        let next = if next == 0 { self.queue.pop_front() } else { self.queue.remove(next) };
        let Some((entry, stream)) = next else { return };
        let stays = self.serving.is_none_or(|served| served == stream);
        let work = &program.class_in(entry).work;
        let (Work::Copy { alone, .. } | Work::PeerCopy { alone, .. }) = *work else {
            unreachable!("nothing else needs a copy engine")
        };
        let left = alone.nanos_f64() + if stays { 0.0 } else { switch };
        let met = links.map(|links| meet(links, program, (stream, work)));
        let end = now + whole_nanos(left);
        self.serving = Some(stream);
        self.running = Some(Running { entry, started: now, left, since: now, speed: 1.0, end, met });
    }
}

/// Makes a copy a flow.
fn meet(links: &mut Links, program: &Program<'_>, (stream, work): (u16, &Work)) -> (FlowId, f64) {
    let (delay, slowdown) = match *work {
        Work::Copy { delay, slowdown, .. } => (delay, slowdown),
        _ => (0.0, 1.0),
    };
    let uses = program.shares.uses(program.device_of(stream), work);
    let weight = 1.0 / slowdown.min(MOST_SLOWDOWN);
    (links.add(Flow { weight, cap: 1.0, uses: &uses }), delay / slowdown)
}

fn busy(engines: &[Engine; ENGINES]) -> [bool; ENGINES] {
    engines.each_ref().map(|engine| engine.running.is_some())
}

/// A copy that has just started finds the other direction busy; `before`: which
/// were busy when it had not.
fn delay_beside_each_other([down, up, _]: &mut [Engine; ENGINES], before: [bool; ENGINES]) {
    if let (Some(down), Some(up)) = (&mut down.running, &mut up.running) {
        for (running, before) in [down, up].into_iter().zip(before) {
            if let (Some((_, delay)), false) = (running.met, before) {
                running.left += delay;
            }
        }
    }
}

/// All engines, device by device.
pub(super) struct Copies {
    engines: Vec<[Engine; ENGINES]>,
    links: Links,
    capacities: Vec<f64>,
    /// When something changes next if nothing else happens.
    pub next: Instant,
}

/// Less than this many nanoseconds left is nothing left.
const DONE: f64 = 0.5;

/// Copies that go on at once are not slowed more than copies that take turns.
pub(super) const MOST_SLOWDOWN: f64 = 2.0;

/// What a quotient may be off by rounding, in nanoseconds.
const ROUNDING: f64 = 1e-3;

/// The next whole number of nanoseconds.
fn whole_nanos(nanos: f64) -> Span {
    Span::from_nanos_f64((nanos + (0.5 - ROUNDING)).max(0.0))
}

/// Something that an engine has done: since when, and what it did before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub entry: EntryId,
    pub started: Instant,
    pub before: EntryId,
}

impl Default for Copies {
    fn default() -> Self {
        let (links, next) = (Links::new(&[]), Instant::NEVER);
        Self { engines: Vec::new(), links, capacities: Vec::new(), next }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self { queue: VecDeque::new(), running: None, serving: None, last: NONE }
    }
}

impl Copies {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        self.next = Instant::NEVER;
        if self.capacities == program.shares.capacities {
            self.links.clear();
        } else {
            self.capacities.clone_from(&program.shares.capacities);
            self.links = Links::new(&self.capacities);
        }
        self.engines.resize_with(program.devices(), Default::default);
        for engine in self.engines.as_flattened_mut() {
            engine.queue.clear();
            (engine.running, engine.serving, engine.last) = (None, None, NONE);
        }
    }

    pub fn enqueue(&mut self, (device, engine): (usize, usize), copy: (EntryId, u16)) {
        self.engines[device][engine].queue.push_back(copy);
    }

    /// How many engines there are.
    pub fn count(&self) -> usize {
        self.engines.as_flattened().len()
    }

    /// Takes the copy of an engine out if it has ended.
    pub fn collect(&mut self, engine: usize, now: Instant) -> Option<Ended> {
        let engine = &mut self.engines.as_flattened_mut()[engine];
        let is_done = |running: &mut Running| running.left_at(now) < DONE;
        let Running { entry, started, met, .. } = engine.running.take_if(is_done)?;
        if let Some((flow, _)) = met {
            self.links.remove(flow);
        }
        let before = std::mem::replace(&mut engine.last, entry);
        Some(Ended { entry, started, before })
    }

    /// Which engines of a device have a copy under way.
    pub fn busy(&self, device: usize) -> [bool; ENGINES] {
        busy(&self.engines[device])
    }

    /// Gives idle engines their next copy. To be called when everything that becomes
    /// ready at this moment has been enqueued.
    pub fn fill(&mut self, program: &Program<'_>, now: Instant) {
        let switches = program.switch.iter();
        if program.shares.is_empty() {
            for (engines, switch) in self.engines.iter_mut().zip(switches) {
                for (engine, &switch) in engines.iter_mut().zip(switch) {
                    engine.start_next(program, (now, switch), None);
                }
            }
        } else {
            self.settle(now);
            for (engines, switch) in self.engines.iter_mut().zip(switches) {
                let before = busy(engines);
                for (engine, &switch) in engines.iter_mut().zip(switch) {
                    engine.start_next(program, (now, switch), Some(&mut self.links));
                }
                delay_beside_each_other(engines, before);
            }
            self.share();
        }
        let ends = self.engines.as_flattened().iter().filter_map(|e| e.running.as_ref());
        self.next = ends.map(|running| running.end).fold(Instant::NEVER, Instant::min);
    }

    /// Takes off what has been done since the last change.
    fn settle(&mut self, now: Instant) {
        for running in running(&mut self.engines) {
            (running.left, running.since) = (running.left_at(now), now);
        }
    }

    /// Gives flows their speeds.
    fn share(&mut self) {
        self.links.share();
        for running in running(&mut self.engines) {
            running.speed = running.met.map_or(1.0, |(flow, _)| self.links.rate(flow));
            running.look_ahead();
        }
    }
}

fn running(engines: &mut [[Engine; ENGINES]]) -> impl Iterator<Item = &mut Running> {
    engines.as_flattened_mut().iter_mut().filter_map(|engine| engine.running.as_mut())
}

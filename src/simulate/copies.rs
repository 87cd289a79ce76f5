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

use super::links::{Flow, FlowId, LinkId, Links};
use super::operation::{ItemId, NONE};
use super::program::Program;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// Copy engines of a device: one for each direction, and one for other devices.
pub(super) const ENGINES: usize = 3;
pub(super) const PEER_ENGINE: usize = 2;

/// What an engine has been asked to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub item: ItemId,
    pub stream: u16,
    /// Engine time with nothing in the other direction.
    pub alone: Span,
    /// Nanoseconds more if the other direction is busy when it starts.
    pub delay: f64,
    /// How many times longer while the other direction is busy.
    pub slowdown: f64,
    /// What it takes up of which links at full speed.
    pub uses: [(LinkId, f64); 3],
}

#[derive(Clone, Copy)]
struct Running {
    transfer: Transfer,
    started: Instant,
    /// Nanoseconds left, with nothing in the other direction.
    left: f64,
    /// Where copies slow each other.
    flow: Option<FlowId>,
}

struct Engine {
    queue: VecDeque<Transfer>,
    running: Option<Running>,
    /// The stream it is staying with, and what it did last.
    serving: Option<u16>,
    last: ItemId,
}

impl Engine {
    /// Takes the next transfer if there is none under way; `links`: where it is a flow.
    fn start_next(&mut self, now: Instant, switch: f64, links: Option<&mut Links>) {
        if self.running.is_some() || self.queue.is_empty() {
            return;
        }
        let same = |transfer: &Transfer| Some(transfer.stream) == self.serving;
        let next = self.queue.iter().position(same).unwrap_or(0);
        let next = if next == 0 { self.queue.pop_front() } else { self.queue.remove(next) };
        if let Some(transfer) = next {
            let stays = self.serving.is_none_or(|stream| stream == transfer.stream);
            let left = transfer.alone.nanos_f64() + if stays { 0.0 } else { switch };
            let weight = 1.0 / transfer.slowdown.min(MOST_SLOWDOWN);
            let flow =
                links.map(|links| links.add(Flow { weight, cap: 1.0, uses: &transfer.uses }));
            self.serving = Some(transfer.stream);
            self.running = Some(Running { transfer, started: now, left, flow });
        }
    }
}

fn busy(engines: &[Engine; ENGINES]) -> [bool; ENGINES] {
    engines.each_ref().map(|engine| engine.running.is_some())
}

/// A copy that has just started finds the other direction busy; `before`: which
/// were busy when it had not.
fn delay_beside_each_other([down, up, _]: &mut [Engine; ENGINES], before: [bool; ENGINES]) {
    if let (Some(down), Some(up)) = (&mut down.running, &mut up.running) {
        for (running, before) in [down, up].into_iter().zip(before) {
            if !before {
                // It goes at the slower speed already.
                running.left += running.transfer.delay / running.transfer.slowdown;
            }
        }
    }
}

impl Running {
    /// Beside what it would be with nothing in the other direction.
    fn speed(&self, links: &Links) -> f64 {
        self.flow.map_or(1.0, |flow| links.rate(flow))
    }
}

/// All engines, device by device.
pub(super) struct Copies {
    engines: Vec<[Engine; ENGINES]>,
    /// Nanoseconds on going from one stream to another.
    switch: Vec<[f64; ENGINES]>,
    links: Links,
    capacities: Vec<f64>,
    /// Some copies of this program slow each other.
    contended: bool,
    /// When what is left was last brought up to date.
    since: Instant,
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
    pub item: ItemId,
    pub started: Instant,
    pub before: ItemId,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            engines: Vec::new(),
            switch: Vec::new(),
            links: Links::new(&[]),
            capacities: Vec::new(),
            contended: false,
            since: Instant::START,
            next: Instant::NEVER,
        }
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
        self.switch.clone_from(&program.switch);
        self.contended = !program.shares.is_empty();
        (self.since, self.next) = (Instant::START, Instant::NEVER);
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

    pub fn enqueue(&mut self, (device, engine): (usize, usize), transfer: Transfer) {
        self.engines[device][engine].queue.push_back(transfer);
    }

    /// Moves to `now` and takes out a transfer that has ended, if one has.
    pub fn collect(&mut self, now: Instant) -> Option<Ended> {
        self.settle(now);
        for engine in self.engines.as_flattened_mut() {
            if let Some(running) = engine.running.take_if(|running| running.left < DONE) {
                if let Some(flow) = running.flow {
                    self.links.remove(flow);
                }
                let item = running.transfer.item;
                let before = std::mem::replace(&mut engine.last, item);
                return Some(Ended { item, started: running.started, before });
            }
        }
        None
    }

    /// Which engines of a device have a copy under way.
    pub fn busy(&self, device: usize) -> [bool; ENGINES] {
        busy(&self.engines[device])
    }

    /// Takes off what has been done since the last change.
    fn settle(&mut self, now: Instant) {
        if now == self.since {
            return;
        }
        let passed = now.since(self.since).nanos_f64();
        for engine in self.engines.as_flattened_mut() {
            if let Some(running) = &mut engine.running {
                running.left -= passed * running.speed(&self.links);
            }
        }
        self.since = now;
    }

    /// Gives idle engines their next transfer. To be called when everything
    /// that becomes ready at this moment has been enqueued.
    pub fn fill(&mut self, now: Instant) {
        self.settle(now);
        let Self { engines, switch, links, contended, .. } = self;
        for (engines, switch) in engines.iter_mut().zip(switch) {
            let before = busy(engines);
            for (engine, switch) in engines.iter_mut().zip(switch) {
                engine.start_next(now, *switch, contended.then_some(&mut *links));
            }
            if *contended {
                delay_beside_each_other(engines, before);
            }
        }
        if *contended {
            links.share();
        }
        let mut next = Instant::NEVER;
        let engines = self.engines.as_flattened().iter();
        for running in engines.filter_map(|engine| engine.running.as_ref()) {
            let speed = running.speed(&self.links);
            // A division would cost as much as all the rest.
            let left = if speed == 1.0 { running.left } else { running.left / speed };
            next = next.min(now + whole_nanos(left));
        }
        self.next = next;
    }
}

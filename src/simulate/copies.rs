//! The copy engines and the link they share.
//!
//! One copy at a time per direction. An engine stays with a stream as long as
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

use super::links::{Flow, FlowId, LinkId, Links};
use super::operation::{ItemId, NONE};
use super::program::Program;
use crate::plan::Direction;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

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

impl Running {
    /// Beside what it would be with nothing in the other direction.
    fn speed(&self, links: &Links) -> f64 {
        self.flow.map_or(1.0, |flow| links.rate(flow))
    }
}

/// Both engines.
pub(super) struct Copies {
    engines: [Engine; 2],
    /// Nanoseconds on going from one stream to another.
    switch: [f64; 2],
    links: Links,
    /// Some copies of this program slow each other.
    contended: bool,
    /// When what is left was last brought up to date.
    since: Instant,
    /// When something changes next if nothing else happens.
    pub next: Instant,
}

/// Less than this many nanoseconds left is nothing left.
const DONE: f64 = 0.5;

/// What a quotient may be off by rounding, in nanoseconds.
const ROUNDING: f64 = 1e-3;

/// The next whole number of nanoseconds.
fn whole_nanos(nanos: f64) -> Span {
    Span::from_nanos_f64((nanos + (0.5 - ROUNDING)).max(0.0))
}

/// The link between the host and the device.
const LINK: LinkId = LinkId(0);

/// Something that an engine has done: since when, and what it did before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub item: ItemId,
    pub started: Instant,
    pub before: ItemId,
}

impl Default for Copies {
    fn default() -> Self {
        let engine = || Engine { queue: VecDeque::new(), running: None, serving: None, last: NONE };
        let (since, next) = (Instant::START, Instant::NEVER);
        let links = Links::new(&[1.0]);
        let engines = [engine(), engine()];
        Self { engines, switch: [0.0; 2], links, contended: false, since, next }
    }
}

impl Copies {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        (self.switch, self.contended) = (program.switch, program.contended);
        (self.since, self.next) = (Instant::START, Instant::NEVER);
        self.links.clear();
        for engine in &mut self.engines {
            engine.queue.clear();
            (engine.running, engine.serving, engine.last) = (None, None, NONE);
        }
    }

    pub fn enqueue(&mut self, direction: Direction, transfer: Transfer) {
        self.engines[direction as usize].queue.push_back(transfer);
    }

    /// Moves to `now` and takes out a transfer that has ended, if one has.
    pub fn collect(&mut self, now: Instant) -> Option<Ended> {
        self.settle(now);
        for engine in &mut self.engines {
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

    /// Which engines have a copy under way.
    pub fn busy(&self) -> [bool; 2] {
        [self.engines[0].running.is_some(), self.engines[1].running.is_some()]
    }

    /// Takes off what has been done since the last change.
    fn settle(&mut self, now: Instant) {
        if now == self.since {
            return;
        }
        let passed = now.since(self.since).nanos_f64();
        for engine in &mut self.engines {
            if let Some(running) = &mut engine.running {
                running.left -= passed * running.speed(&self.links);
            }
        }
        self.since = now;
    }

    /// A copy that has just started finds the other direction busy.
    fn delay_beside_each_other(&mut self, before: [bool; 2]) {
        if self.busy() == [true; 2] {
            for (engine, before) in self.engines.iter_mut().zip(before) {
                if let Some(running) = engine.running.as_mut().filter(|_| !before) {
                    // It goes at the slower speed already.
                    running.left += running.transfer.delay / running.transfer.slowdown;
                }
            }
        }
    }

    /// Gives idle engines their next transfer. To be called when everything
    /// that becomes ready at this moment has been enqueued.
    pub fn fill(&mut self, now: Instant) {
        self.settle(now);
        let before = self.busy();
        for (engine, switch) in self.engines.iter_mut().zip(self.switch) {
            if engine.running.is_some() || engine.queue.is_empty() {
                continue;
            }
            let same = |transfer: &Transfer| Some(transfer.stream) == engine.serving;
            let next = engine.queue.iter().position(same).unwrap_or(0);
            let next = if next == 0 { engine.queue.pop_front() } else { engine.queue.remove(next) };
            if let Some(transfer) = next {
                let stays = engine.serving.is_none_or(|stream| stream == transfer.stream);
                let left = transfer.alone.nanos_f64() + if stays { 0.0 } else { switch };
                let flow = self.contended.then(|| {
                    let slowdown = transfer.slowdown.min(2.0);
                    let uses = [(LINK, slowdown / 2.0)];
                    self.links.add(Flow { weight: 1.0 / slowdown, cap: 1.0, uses: &uses })
                });
                engine.serving = Some(transfer.stream);
                engine.running = Some(Running { transfer, started: now, left, flow });
            }
        }
        if self.contended {
            self.delay_beside_each_other(before);
            self.links.share();
        }
        let mut next = Instant::NEVER;
        for running in self.engines.iter().filter_map(|engine| engine.running.as_ref()) {
            let speed = running.speed(&self.links);
            // A division would cost as much as all the rest.
            let left = if speed == 1.0 { running.left } else { running.left / speed };
            next = next.min(now + whole_nanos(left));
        }
        self.next = next;
    }
}

//! The copy engines and the link they share.
//!
//! One copy at a time per direction. An engine stays with a stream as long as
//! that stream's next operation is a copy for it that may start, and then takes
//! the stream that has been ready for longest: the hardware executes what is in
//! a channel until the channel has to wait (NVIDIA open-gpu-doc, "Host/PBDMA":
//! methods of a channel run in order until a semaphore acquire fails).
//!
//! Going to another stream takes the engine a while, the longer the more
//! streams it has to look at. While the other direction is busy, a copy is
//! slower, by what calibration found for its size.

use super::operation::{ItemId, NONE};
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
    /// How many times longer while the other direction is busy.
    pub slowdown: f64,
}

#[derive(Clone, Copy)]
struct Running {
    transfer: Transfer,
    started: Instant,
    /// Nanoseconds left, with nothing in the other direction.
    left: f64,
}

struct Engine {
    queue: VecDeque<Transfer>,
    running: Option<Running>,
    /// The stream it is staying with, and what it did last.
    serving: Option<u16>,
    last: ItemId,
}

/// Both engines.
pub(super) struct Copies {
    engines: [Engine; 2],
    /// Nanoseconds on going from one stream to another.
    switch: [f64; 2],
    /// When what is left was last brought up to date.
    since: Instant,
    /// When something changes next if nothing else happens.
    pub next: Instant,
}

/// Less than this many nanoseconds left is nothing left.
const DONE: f64 = 0.5;

/// The next whole number of nanoseconds.
fn whole_nanos(nanos: f64) -> Span {
    let whole = nanos.max(0.0) as u64;
    Span::from_nanos(whole + u64::from(whole as f64 != nanos.max(0.0)))
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
        let engine = || Engine { queue: VecDeque::new(), running: None, serving: None, last: NONE };
        let (since, next) = (Instant::START, Instant::NEVER);
        Self { engines: [engine(), engine()], switch: [0.0; 2], since, next }
    }
}

impl Copies {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, switch: [f64; 2]) {
        (self.switch, self.since, self.next) = (switch, Instant::START, Instant::NEVER);
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

    /// How many times longer than alone each engine takes at present.
    fn slowdowns(&self) -> [f64; 2] {
        match [&self.engines[0].running, &self.engines[1].running] {
            [Some(down), Some(up)] => [down.transfer.slowdown, up.transfer.slowdown],
            _ => [1.0; 2],
        }
    }

    /// Takes off what has been done since the last change.
    fn settle(&mut self, now: Instant) {
        if now == self.since {
            return;
        }
        let passed = now.since(self.since).nanos_f64();
        let slowdowns = self.slowdowns();
        for (engine, slowdown) in self.engines.iter_mut().zip(slowdowns) {
            if let Some(running) = &mut engine.running {
                // A division would cost as much as all the rest.
                running.left -= if slowdown == 1.0 { passed } else { passed / slowdown };
            }
        }
        self.since = now;
    }

    /// Gives idle engines their next transfer. To be called when everything
    /// that becomes ready at this moment has been enqueued.
    pub fn fill(&mut self, now: Instant) {
        self.settle(now);
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
                engine.serving = Some(transfer.stream);
                engine.running = Some(Running { transfer, started: now, left });
            }
        }
        let mut next = Instant::NEVER;
        for (engine, slowdown) in self.engines.iter().zip(self.slowdowns()) {
            if let Some(running) = &engine.running {
                next = next.min(now + whole_nanos(running.left * slowdown));
            }
        }
        self.next = next;
    }
}

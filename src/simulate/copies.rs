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

use super::operation::OperationId;
use crate::plan::{Direction, StreamId};
use crate::profile::LinkModel;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// What an engine has been asked to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub id: OperationId,
    pub stream: StreamId,
    /// Engine time with nothing in the other direction.
    pub alone: Span,
    /// How many times longer while the other direction is busy.
    pub slowdown: f64,
}

struct Running {
    transfer: Transfer,
    started: Instant,
    /// Nanoseconds left, with nothing in the other direction.
    left: f64,
}

#[derive(Default)]
struct Engine {
    queue: VecDeque<Transfer>,
    running: Option<Running>,
    /// The stream it is staying with.
    serving: Option<StreamId>,
}

/// Both engines.
pub(super) struct Copies {
    engines: [Engine; 2],
    /// Nanoseconds on going from one stream to another.
    switch: [f64; 2],
    /// When what is left was last brought up to date.
    since: Instant,
    /// Changes whenever a speed does: a wake-up for an older one is void.
    pub epoch: u64,
}

/// Less than this many nanoseconds left is nothing left.
const DONE: f64 = 0.5;

/// A transfer that has ended: its operation, and from when to when.
pub(super) type Ended = (OperationId, Instant, Instant);

impl Copies {
    /// `streams`: how many streams each engine takes copies from.
    pub fn new(link: &LinkModel, streams: [usize; 2]) -> Self {
        let [down, up] = streams.map(|streams| streams.max(1) as f64);
        Self {
            engines: [Engine::default(), Engine::default()],
            switch: [link.down_switch.at(down), link.up_switch.at(up)],
            since: Instant::START,
            epoch: 0,
        }
    }

    pub fn enqueue(&mut self, now: Instant, direction: Direction, transfer: Transfer) {
        self.settle(now);
        self.engines[direction as usize].queue.push_back(transfer);
    }

    /// Moves to `now` and takes out a transfer that has ended, if one has.
    pub fn collect(&mut self, now: Instant) -> Option<Ended> {
        self.settle(now);
        let is_done = |running: &mut Running| running.left < DONE;
        let ended = self.engines.iter_mut().find_map(|engine| engine.running.take_if(is_done));
        ended.map(|running| (running.transfer.id, running.started, now))
    }

    /// Which engines have a copy under way.
    pub fn busy(&self) -> [bool; 2] {
        [0, 1].map(|side| self.engines[side].running.is_some())
    }

    /// When something changes next if nothing else happens.
    pub fn next_change(&self) -> Option<Instant> {
        let change = |(engine, speed): (&Engine, f64)| {
            let left = engine.running.as_ref()?.left / speed;
            Some(self.since + Span::from_nanos_f64(left.max(0.0).ceil()))
        };
        self.engines.iter().zip(self.speeds()).filter_map(change).min()
    }

    /// The speed of each engine relative to being alone.
    fn speeds(&self) -> [f64; 2] {
        [0, 1].map(|side| match (&self.engines[side].running, &self.engines[1 - side].running) {
            (Some(running), Some(_)) => 1.0 / running.transfer.slowdown,
            _ => 1.0,
        })
    }

    /// Takes off what has been done since the last change.
    fn settle(&mut self, now: Instant) {
        let passed = now.since(self.since).nanos_f64();
        let speeds = self.speeds();
        for (engine, speed) in self.engines.iter_mut().zip(speeds) {
            if let Some(running) = &mut engine.running {
                running.left -= passed * speed;
            }
        }
        self.since = now;
        self.epoch += 1;
    }

    /// Gives idle engines their next transfer. To be called when everything
    /// that becomes ready at this moment has been enqueued.
    pub fn fill(&mut self, now: Instant) {
        self.settle(now);
        for (engine, switch) in self.engines.iter_mut().zip(self.switch) {
            if engine.running.is_some() {
                continue;
            }
            let same = |transfer: &Transfer| Some(transfer.stream) == engine.serving;
            let next = engine.queue.iter().position(same).unwrap_or(0);
            if let Some(transfer) = engine.queue.remove(next) {
                let stays = engine.serving.is_none_or(|stream| stream == transfer.stream);
                let left = transfer.alone.nanos_f64() + if stays { 0.0 } else { switch };
                engine.serving = Some(transfer.stream);
                engine.running = Some(Running { transfer, started: now, left });
            }
        }
    }
}

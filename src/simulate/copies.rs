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
//! A copy first holds its engine for a fixed time and then flows. While the
//! other direction is busy, both parts take longer, each by what calibration
//! found for it.

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
    pub fixed: Span,
    /// Link time when alone, in nanoseconds.
    pub flowing: Span,
}

/// `left` is in nanoseconds of undisturbed time of that part.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    Fixed { transfer: Transfer, left: f64 },
    Flowing { transfer: Transfer, left: f64 },
}

struct Engine {
    queue: VecDeque<Transfer>,
    phase: Phase,
    started: Instant,
    /// The stream it is staying with.
    serving: Option<StreamId>,
}

/// Both engines.
pub(super) struct Copies {
    engines: [Engine; 2],
    /// Speeds of each direction while the other is busy, relative to alone: of
    /// the fixed part and of the flow.
    shared: [(f64, f64); 2],
    /// Nanoseconds on going from one stream to another.
    switch: [f64; 2],
    /// When what is left of the parts was last brought up to date.
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
        let ratio = |shared: crate::units::Bandwidth, alone: crate::units::Bandwidth| {
            (shared.bytes_per_second() / alone.bytes_per_second()).min(1.0)
        };
        let engine = || Engine {
            queue: VecDeque::new(),
            phase: Phase::Idle,
            started: Instant::START,
            serving: None,
        };
        Self {
            engines: [engine(), engine()],
            shared: [
                (1.0 / link.down_delay.max(1.0), ratio(link.down_shared, link.down)),
                (1.0 / link.up_delay.max(1.0), ratio(link.up_shared, link.up)),
            ],
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
        for engine in &mut self.engines {
            if let Phase::Fixed { transfer, left } = engine.phase
                && left < DONE
            {
                engine.phase = Phase::Flowing { transfer, left: transfer.flowing.nanos_f64() };
            }
            if let Phase::Flowing { transfer, left } = engine.phase
                && left < DONE
            {
                engine.phase = Phase::Idle;
                return Some((transfer.id, engine.started, now));
            }
        }
        None
    }

    /// When something changes next if nothing else happens.
    pub fn next_change(&self) -> Option<Instant> {
        let change = |(engine, speed): (&Engine, f64)| match engine.phase {
            Phase::Idle => None,
            Phase::Fixed { left, .. } | Phase::Flowing { left, .. } => {
                Some(self.since + Span::from_nanos_f64((left / speed).max(0.0).ceil()))
            }
        };
        self.engines.iter().zip(self.speeds()).filter_map(change).min()
    }

    fn speeds(&self) -> [f64; 2] {
        [0, 1].map(|side| {
            let (fixed, flow) = match self.engines[1 - side].phase {
                Phase::Idle => (1.0, 1.0),
                _ => self.shared[side],
            };
            if matches!(self.engines[side].phase, Phase::Fixed { .. }) { fixed } else { flow }
        })
    }

    /// Takes off what has been done since the last change.
    fn settle(&mut self, now: Instant) {
        let passed = now.since(self.since).nanos_f64();
        let speeds = self.speeds();
        for (engine, speed) in self.engines.iter_mut().zip(speeds) {
            if let Phase::Fixed { left, .. } | Phase::Flowing { left, .. } = &mut engine.phase {
                *left -= passed * speed;
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
            if !matches!(engine.phase, Phase::Idle) {
                continue;
            }
            let same = |transfer: &Transfer| Some(transfer.stream) == engine.serving;
            let next = engine.queue.iter().position(same).unwrap_or(0);
            if let Some(transfer) = engine.queue.remove(next) {
                let stays = engine.serving.is_none_or(|stream| stream == transfer.stream);
                let left = transfer.fixed.nanos_f64() + if stays { 0.0 } else { switch };
                engine.started = now;
                engine.serving = Some(transfer.stream);
                engine.phase = Phase::Fixed { transfer, left };
            }
        }
    }
}

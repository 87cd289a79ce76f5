//! The copy engines and the link they share.
//!
//! One copy at a time per direction, in the order in which they became ready.
//! A copy first holds its engine for a fixed time and then flows; while both
//! directions flow, each is slowed to what the link was measured to carry.

use super::operation::OperationId;
use crate::plan::Direction;
use crate::profile::LinkModel;
use crate::units::{Instant, Span};
use std::collections::VecDeque;

/// What an engine has been asked to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub id: OperationId,
    pub fixed: Span,
    /// Link time when alone, in nanoseconds.
    pub flowing: Span,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    Fixed {
        transfer: Transfer,
        until: Instant,
    },
    /// Nanoseconds of link time left when `since` was.
    Flowing {
        transfer: Transfer,
        left: f64,
        since: Instant,
    },
}

struct Engine {
    queue: VecDeque<Transfer>,
    phase: Phase,
    started: Instant,
}

/// Both engines.
pub(super) struct Copies {
    engines: [Engine; 2],
    /// Speed of each direction while the other flows too, relative to alone.
    shared: [f64; 2],
    /// Changes whenever a speed does: a wake-up for an older one is void.
    pub epoch: u64,
}

/// A transfer that has ended: its operation, and from when to when.
pub(super) type Ended = (OperationId, Instant, Instant);

impl Copies {
    pub fn new(link: &LinkModel) -> Self {
        let ratio = |shared: crate::units::Bandwidth, alone: crate::units::Bandwidth| {
            (shared.bytes_per_second() / alone.bytes_per_second()).min(1.0)
        };
        let engine =
            || Engine { queue: VecDeque::new(), phase: Phase::Idle, started: Instant::START };
        Self {
            engines: [engine(), engine()],
            shared: [ratio(link.down_shared, link.down), ratio(link.up_shared, link.up)],
            epoch: 0,
        }
    }

    pub fn enqueue(&mut self, now: Instant, direction: Direction, transfer: Transfer) {
        self.settle(now);
        self.engines[direction as usize].queue.push_back(transfer);
        self.fill(now);
    }

    /// Moves to `now` and takes out a transfer that has ended, if one has.
    pub fn collect(&mut self, now: Instant) -> Option<Ended> {
        self.settle(now);
        let mut ended = None;
        for engine in &mut self.engines {
            if let Phase::Fixed { transfer, until } = engine.phase
                && until <= now
            {
                let left = transfer.flowing.nanos_f64();
                engine.phase = Phase::Flowing { transfer, left, since: now };
            }
            if let Phase::Flowing { transfer, left, .. } = engine.phase
                && left < 0.5
                && ended.is_none()
            {
                engine.phase = Phase::Idle;
                ended = Some((transfer.id, engine.started, now));
            }
        }
        self.fill(now);
        ended
    }

    /// When something changes next if nothing else happens.
    pub fn next_change(&self) -> Option<Instant> {
        let speeds = self.speeds();
        let change = |(engine, speed): (&Engine, f64)| match engine.phase {
            Phase::Idle => None,
            Phase::Fixed { until, .. } => Some(until),
            Phase::Flowing { left, since, .. } => {
                Some(since + Span::from_nanos_f64((left / speed).max(0.0).ceil()))
            }
        };
        self.engines.iter().zip(speeds).filter_map(change).min()
    }

    fn speeds(&self) -> [f64; 2] {
        let flowing = |engine: &Engine| matches!(engine.phase, Phase::Flowing { .. });
        if self.engines.iter().all(flowing) { self.shared } else { [1.0, 1.0] }
    }

    /// Takes off what has flowed since the last change.
    fn settle(&mut self, now: Instant) {
        let speeds = self.speeds();
        for (engine, speed) in self.engines.iter_mut().zip(speeds) {
            if let Phase::Flowing { left, since, .. } = &mut engine.phase {
                *left -= now.since(*since).nanos_f64() * speed;
                *since = now;
            }
        }
        self.epoch += 1;
    }

    fn fill(&mut self, now: Instant) {
        for engine in &mut self.engines {
            if let (Phase::Idle, Some(&transfer)) = (engine.phase, engine.queue.front()) {
                engine.queue.pop_front();
                engine.started = now;
                engine.phase = Phase::Fixed { transfer, until: now + transfer.fixed };
            }
        }
    }
}

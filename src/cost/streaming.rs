//! Threads of the CPU that stream through memory beside copies: each slows the other.
//!
//! Both need the host's memory. The calibrator lets all threads stream through arrays that no cache
//! holds, beside large copies, and sees how many times as long each takes. A call that needs memory
//! for a part of its time only, since it computes or finds data in caches, counts for that part.
//! What it takes longer itself is in `host_times`.

use super::work::{CallCost, Work};
use crate::machine::Direction;
use crate::profile::Profile;
use crate::units::Span;

/// When the host streams through memory beside copies, in the time of a host that never waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streaming {
    /// From when, until when, and for which share of that time; empty if there are no copies. With
    /// several host threads, the times mean nothing: the simulator knows which calls they are in.
    calls: Vec<(Span, Span, f64)>,
    /// How many times as long copies take beside it, by direction.
    slowdown: [f64; 2],
}

impl Streaming {
    /// `calls`: for each call its cost, how long it occupies the host, and when it has returned if
    /// the host never waits. `costs`: all of them.
    pub fn new<'c>(
        calls: impl Iterator<Item = (&'c CallCost, Span, Span)>,
        costs: &[CallCost],
        profile: &Profile,
    ) -> Self {
        let slowdown = Direction::BOTH
            .map(|way| profile.beside_cpu(way).map_or(1.0, |found| found.copy_slowdown.max(1.0)));
        if slowdown == [1.0; 2] {
            return Self::default();
        }
        let copies = |cost: &CallCost| matches!(cost.work, Work::Copy { .. });
        let streams = |cost: &CallCost| cost.streams > 0.0;
        if !(costs.iter().any(copies) && costs.iter().any(streams)) {
            return Self::default();
        }
        let calls = calls.filter_map(|(cost, host, until)| {
            // One that takes no longer than alone has no copies beside it.
            let counts = cost.streams > 0.0 && host > cost.host;
            counts.then(|| (until.saturating_sub(host), until, cost.streams))
        });
        Self { calls: calls.collect(), slowdown }
    }

    #[inline]
    pub fn is_nowhere(&self) -> bool {
        self.calls.is_empty()
    }

    /// For which share of the time the host streams at a moment.
    pub fn share_at(&self, at: Span) -> f64 {
        let next = self.calls.partition_point(|&(_, until, _)| until <= at);
        let now = self.calls.get(next).filter(|&&(from, ..)| from <= at);
        now.map_or(0.0, |&(.., share)| share)
    }

    /// How many times as long copies of each direction take beside that.
    pub fn slowdowns(&self, share: f64) -> [f64; 2] {
        self.slowdown.map(|slowdown| 1.0 + (slowdown - 1.0) * share)
    }
}

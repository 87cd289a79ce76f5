//! When calls are issued.
//!
//! The host waits for the device in some of its calls. Up to the next of them it runs by
//! itself, and what each call takes is known beforehand: so when each is issued is worked
//! out once for a program, as if the host never waited, and a simulation only notes how
//! much later it is than that.

use super::operation::ItemId;
use super::program::{Program, Waits, index};
use crate::units::{Instant, Span};

/// Calls that the host makes one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// The call behind them, which goes by what the device does; or the end of the plan.
    /// The next stretch begins behind it, and counts nothing for it.
    pub until: ItemId,
    /// From the first call of the plan to the first of these and to the end of the last,
    /// without what the host has waited.
    pub times: [Span; 2],
}

/// The stretches of a plan, and when each call is issued in them.
pub(super) fn stretches(program: &Program<'_>) -> (Vec<Stretch>, Vec<Span>) {
    let items = &program.items;
    let mut stretches = Vec::new();
    let mut issued = Vec::with_capacity(items.len());
    let [mut start, mut time, mut launched] = [Span::ZERO; 3];
    for (until, item) in (0..).zip(items) {
        let class = &program.classes[item.class as usize];
        if class.may_go_inline || class.waits != Waits::No {
            stretches.push(Stretch { until, times: [start, time] });
            start = time;
            issued.push(time);
        } else if class.in_graph {
            // The device gets on with the first nodes while the host goes through the
            // others.
            launched += class.host;
            issued.push(launched);
        } else {
            launched = time + class.latency;
            time += program.host_of(until);
            issued.push(time);
        }
    }
    stretches.push(Stretch { until: index(items.len()), times: [start, time] });
    (stretches, issued)
}

/// How much later calls are issued because the host has waited.
#[derive(Default)]
pub(super) struct Delays {
    /// From a call on, up to the next one in the list.
    list: Vec<(ItemId, Span)>,
    /// The last of them.
    from: ItemId,
    delay: Span,
}

impl Delays {
    /// Forgets everything but its memory.
    pub fn reset(&mut self) {
        self.list.clear();
        (self.from, self.delay) = (0, Span::ZERO);
    }

    /// From a call on, which comes behind all before, calls are issued so much later.
    pub fn begin(&mut self, from: ItemId, delay: Span) {
        self.list.push((from, delay));
        (self.from, self.delay) = (from, delay);
    }

    /// When a call is issued that is known to be; `time`: if the host never waited.
    #[inline(always)]
    pub fn issued(&self, item: ItemId, time: Span) -> Instant {
        Instant::START + time + if item >= self.from { self.delay } else { self.before(item) }
    }

    /// The delay of an earlier call.
    #[cold]
    fn before(&self, item: ItemId) -> Span {
        let behind = self.list.partition_point(|&(from, _)| from <= item);
        self.list[behind - 1].1
    }
}

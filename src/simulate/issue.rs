//! When calls are issued.
//!
//! In some calls the host waits for the device. Between them it runs by itself, and how long each
//! call takes is known in advance. So the time at which each call would be issued if the host never
//! waited is worked out once for a program. A simulation only notes how much later the calls are.

use super::operation::ItemId;
use super::program::{CompiledProgram, Waits, index};
use crate::units::{Instant, Span};

/// Calls that the host makes one after the other without waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// The call behind the stretch, which depends on what the device does, or the end of the plan.
    /// The next stretch begins behind that call, and counts no time for it.
    pub until: ItemId,
    /// The time from the first call of the plan to the start of this stretch, and to its end,
    /// without the time that the host waits.
    pub times: [Span; 2],
}

/// The stretches of a plan, and when each call is issued if the host never waits.
pub(super) fn stretches(program: &CompiledProgram<'_>) -> (Vec<Stretch>, Vec<Span>) {
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
            // The device starts on the first nodes while the host still works through the others.
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
    /// Each delay with the first call that it applies to; it applies up to the next one in the
    /// list.
    list: Vec<(ItemId, Span)>,
    /// The last delay of the list, and its first call.
    from: ItemId,
    delay: Span,
}

impl Delays {
    /// Clears all state but keeps the allocated memory.
    pub fn reset(&mut self) {
        self.list.clear();
        (self.from, self.delay) = (0, Span::ZERO);
    }

    /// From the call `from` on, which comes after all before, calls are issued `delay` later.
    pub fn begin(&mut self, from: ItemId, delay: Span) {
        self.list.push((from, delay));
        (self.from, self.delay) = (from, delay);
    }

    /// When a call is issued that has been reached. `time` is when it would be if the host never
    /// waited.
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

//! When calls are issued if the host never waits.
//!
//! In some calls the host waits for the device. Between them it runs by itself, and how long each
//! call takes is known in advance. So the time at which each call would be issued if the host never
//! waited is worked out once for a program. A simulation only notes how much later the calls are.

use super::call::{CallId, CompiledCall, index};
use super::work::{CallCost, Waits};
use crate::units::Span;

/// Calls that the host makes one after the other without waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    /// The call behind the burst, which depends on what the device does, or the end of the program.
    /// The next burst begins behind that call, and counts no time for it.
    pub until: CallId,
    /// The time from the first call of the program to the start of this burst, and to its end,
    /// without the time that the host waits.
    pub times: [Span; 2],
}

/// The bursts of a body, and when each call is issued if the host never waits. `host` is how long
/// each call occupies the host.
pub(super) fn bursts(
    (calls, costs): (&[CompiledCall], &[CallCost]),
    host: impl Fn(CallId) -> Span,
) -> (Vec<Burst>, Vec<Span>) {
    let mut bursts = Vec::new();
    let mut issued = Vec::with_capacity(calls.len());
    let [mut start, mut time, mut launched] = [Span::ZERO; 3];
    for (until, call) in (0..).zip(calls) {
        let cost = &costs[call.cost as usize];
        if cost.may_go_inline || cost.waits != Waits::No {
            bursts.push(Burst { until, times: [start, time] });
            start = time;
            issued.push(time);
        } else if cost.in_graph {
            // The device starts on the first nodes while the host still works through the others.
            launched += cost.host;
            issued.push(launched);
        } else {
            launched = time + cost.latency;
            time += host(until);
            issued.push(time);
        }
    }
    bursts.push(Burst { until: index(calls.len()), times: [start, time] });
    (bursts, issued)
}

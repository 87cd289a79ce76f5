//! What each call of a plan costs on a machine: profile look-ups, done once
//! per plan and before time starts to run.

use super::operation::Work;
use crate::plan::{Call, Direction, Place, Plan, Slice, Step};
use crate::profile::{Profile, Unknown};
use crate::scenario::HostMemory;
use crate::units::{Bytes, Span};

/// A call as the simulator sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallCost {
    /// Host time from entry to return, when the call need not wait.
    pub host: Span,
    /// From the return to the earliest start on an idle device.
    pub latency: Span,
    pub work: Option<Work>,
    pub waits: Waits,
}

/// What the host waits for before a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    No,
    /// Everything in the stream; waking up takes as long as given.
    Stream(Span),
    /// The call's own operation, up to the point where staging needs the host no more.
    Staging,
}

/// "For transfers from pageable host memory to device memory", copies up to
/// this size return once the driver has taken the data (CUDA Driver API manual,
/// "API synchronization behavior"): it goes along with the commands themselves.
const STAGED_AT_ONCE: Bytes = Bytes::kib(64);

/// Host memory that one pass goes round.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    touched: Bytes,
    copied_in: Bytes,
}

/// Costs calls of a plan: its body or its set-up.
pub(super) fn costs(
    plan: &Plan,
    profile: &Profile,
    calls: &[Call],
) -> Result<Vec<CallCost>, Unknown> {
    // What one pass touches is what lies between two uses of the same data.
    let footprint =
        Footprint { touched: plan.host_footprint(), copied_in: plan.copied_in_footprint() };
    calls.iter().map(|call| cost(plan, profile, footprint, call)).collect()
}

fn cost(
    plan: &Plan,
    profile: &Profile,
    footprint: Footprint,
    call: &Call,
) -> Result<CallCost, Unknown> {
    let calls = &profile.calls;
    let on_host = |host| CallCost { host, latency: Span::ZERO, work: None, waits: Waits::No };
    Ok(match call {
        Call::Compute { step } => {
            let (kernel, n) = (step.kernel, step.elements());
            let touch = touch_time(plan, profile, &step.output, true);
            let time = profile.twin(kernel, &step.arguments, n, footprint.touched)? + touch;
            on_host(Span::from_nanos_f64(time))
        }
        Call::Allocate(id) | Call::Pin(id) | Call::Renew(id) => {
            let bytes = plan.allocation(*id).bytes.as_f64();
            on_host(match (call, plan.allocation(*id).place) {
                (Call::Renew(_), _) => profile.memory.renew.span(bytes),
                (Call::Pin(_), _) => profile.memory.register.span(bytes),
                (_, Place::Device) => profile.memory.device_allocate.span(bytes),
                (_, Place::Host(HostMemory::Pinned)) => profile.memory.pinned_allocate.span(bytes),
                (_, Place::Host(HostMemory::Pageable)) => {
                    profile.memory.first_touch_team.span(bytes)
                }
            })
        }
        Call::Synchronize { .. } => CallCost {
            waits: Waits::Stream(profile.latency.wake_host.span()),
            ..on_host(calls.synchronize.span())
        },
        Call::Record { event, .. } => {
            CallCost { work: Some(Work::Record(*event)), ..on_host(calls.record.span()) }
        }
        Call::Wait { event, .. } => {
            CallCost { work: Some(Work::Wait(*event)), ..on_host(calls.wait.span()) }
        }
        Call::Clear { .. } => CallCost {
            latency: profile.latency.start_kernel.span(),
            // A memset is a small kernel of the driver's own.
            work: Some(Work::Kernel {
                gap: profile.latency.kernel_gap.span(),
                busy: Span::ZERO,
                demand: 1.0,
            }),
            ..on_host(calls.clear.span())
        },
        Call::Launch { step, .. } => CallCost {
            latency: profile.latency.start_kernel.span(),
            work: Some(kernel_work(profile, step)?),
            ..on_host(calls.launch.span())
        },
        Call::Copy { direction, from, to, .. } => {
            copy_cost(plan, profile, footprint, (*direction, from, to))?
        }
    })
}

fn kernel_work(profile: &Profile, step: &Step) -> Result<Work, Unknown> {
    let n = step.elements();
    let time = profile.kernel(step.kernel, &step.arguments, n)?;
    let gap = profile.latency.kernel_gap.ns.min(time);
    let busy = (time - gap).max(0.0);
    // The share of the multiprocessors that a kernel can use is how near it
    // comes to the throughput of a large one.
    let ideal = profile.kernel_slope(step.kernel, &step.arguments)? * n as f64;
    let demand = if busy > 0.0 { (ideal / busy).clamp(0.01, 1.0) } else { 1.0 };
    Ok(Work::Kernel { gap: Span::from_nanos_f64(gap), busy: Span::from_nanos_f64(busy), demand })
}

fn copy_cost(
    plan: &Plan,
    profile: &Profile,
    footprint: Footprint,
    (direction, from, to): (Direction, &Slice, &Slice),
) -> Result<CallCost, Unknown> {
    let (host, latency, ashore) = match direction {
        Direction::HostToDevice => (&profile.calls.copy_in, &profile.latency.start_copy_in, from),
        Direction::DeviceToHost => (&profile.calls.copy_out, &profile.latency.start_copy_out, to),
    };
    let bytes = from.length;
    let (host, latency) = (host.span(), latency.span());
    if plan.allocation(ashore.allocation).place == Place::Host(HostMemory::Pageable) {
        return staged_cost(plan, profile, footprint, (direction, ashore), (host, latency));
    }
    let alone = profile.copy(direction)?.span(bytes.as_f64());
    let slowdown = profile.link.slowdown(direction, bytes, alone);
    let work = Work::Copy { direction, alone, slowdown };
    Ok(CallCost { host, latency, work: Some(work), waits: Waits::No })
}

fn staged_cost(
    plan: &Plan,
    profile: &Profile,
    footprint: Footprint,
    (direction, ashore): (Direction, &Slice),
    (host, latency): (Span, Span),
) -> Result<CallCost, Unknown> {
    let (returns, complete) = profile.staging(direction, ashore.length, footprint.copied_in)?;
    let touch = match direction {
        Direction::HostToDevice => 0.0,
        Direction::DeviceToHost => touch_time(plan, profile, ashore, false),
    };
    let complete = Span::from_nanos_f64(complete + touch);
    let returns = Span::from_nanos_f64(returns + touch).min(complete);
    if direction == Direction::HostToDevice && ashore.length <= STAGED_AT_ONCE {
        let work = Work::Inline { duration: complete.saturating_sub(returns) };
        return Ok(CallCost {
            host: returns,
            latency: Span::ZERO,
            work: Some(work),
            waits: Waits::No,
        });
    }
    let work = Work::Staged {
        direction,
        duration: complete.saturating_sub(host + latency),
        early: complete.saturating_sub(returns),
    };
    Ok(CallCost { host, latency, work: Some(work), waits: Waits::Staging })
}

/// Extra time for writing to memory that the plan renews in every run.
fn touch_time(plan: &Plan, profile: &Profile, target: &Slice, team: bool) -> f64 {
    let fresh = plan.body.contains(&Call::Renew(target.allocation));
    let memory = &profile.memory;
    let curve = if team { &memory.first_touch_team } else { &memory.first_touch };
    if fresh { curve.at(target.length.as_f64()) } else { 0.0 }
}

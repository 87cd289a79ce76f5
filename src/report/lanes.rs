//! What keeps a plan from being faster, read off its timeline.

use crate::plan::{AllocationId, Call, Place, Plan};
use crate::scenario::HostMemory;
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A lane that is busy for more than this share of the makespan bounds the plan.
const BOUND: f64 = 0.85;

/// The lane that bounds a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// The CPU's threads, computing.
    Cpu,
    /// The host thread, issuing calls.
    HostCalls,
    /// The host thread, held by copies of pageable memory.
    HostStaging,
    /// Copies to the device.
    #[serde(rename = "h2d-link")]
    CopyIn,
    /// Kernels on the device.
    Kernels,
    /// Copies to the host.
    #[serde(rename = "d2h-link")]
    CopyOut,
    /// Copies from GPU to GPU.
    #[serde(rename = "p2p-link")]
    PeerCopy,
    /// No lane: fixed costs and waiting for one another.
    Latency,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cpu => "CPU",
            Self::HostCalls => "host calls",
            Self::HostStaging => "host staging",
            Self::CopyIn => "H2D link",
            Self::Kernels => "kernels",
            Self::CopyOut => "D2H link",
            Self::PeerCopy => "P2P link",
            Self::Latency => "latency/overlap",
        })
    }
}

/// Whether the host does nothing but wait for the device in this activity.
pub(super) fn is_waiting(plan: &Plan, activity: &Activity) -> bool {
    activity.lane == Lane::Host
        && matches!(plan.body.get(activity.call), Some(Call::Synchronize { .. }))
}

/// Share of the makespan in which the host thread is at work, not waiting.
pub(super) fn host_share(plan: &Plan, timeline: &Timeline) -> f64 {
    let working = timeline.lane(Lane::Host).filter(|activity| !is_waiting(plan, activity));
    let busy: Span = working.map(|activity| activity.end.since(activity.start)).sum();
    busy.nanos_f64() / timeline.makespan.nanos_f64().max(1.0)
}

pub(super) fn bottleneck(plan: &Plan, timeline: &Timeline) -> Bottleneck {
    let shares = [
        (host_share(plan, timeline), on_host(plan, timeline)),
        (timeline.utilisation(Lane::CopyIn), Bottleneck::CopyIn),
        (timeline.utilisation(Lane::Kernels), Bottleneck::Kernels),
        (timeline.utilisation(Lane::CopyOut), Bottleneck::CopyOut),
        (timeline.utilisation(Lane::PeerCopy), Bottleneck::PeerCopy),
    ];
    let busiest = shares.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
    match busiest {
        Some((share, lane)) if share > BOUND => lane,
        _ => Bottleneck::Latency,
    }
}

/// What the host thread is busy with most when it is busy.
fn on_host(plan: &Plan, timeline: &Timeline) -> Bottleneck {
    let is_pageable =
        |id: AllocationId| plan.allocation(id).place == Place::Host(HostMemory::Pageable);
    let work = |activity: &Activity| match plan.body.get(activity.call) {
        Some(Call::Compute { .. } | Call::Renew(_)) => Bottleneck::Cpu,
        Some(Call::Copy { from, to, .. })
            if is_pageable(from.allocation) || is_pageable(to.allocation) =>
        {
            Bottleneck::HostStaging
        }
        _ => Bottleneck::HostCalls,
    };
    let busy = |wanted: Bottleneck| -> Span {
        let here = timeline.lane(Lane::Host).filter(|activity| !is_waiting(plan, activity));
        here.filter(|one| work(one) == wanted).map(|one| one.end.since(one.start)).sum()
    };
    let kinds = [Bottleneck::HostCalls, Bottleneck::HostStaging, Bottleneck::Cpu];
    kinds.into_iter().max_by_key(|&kind| busy(kind)).expect("there are some")
}

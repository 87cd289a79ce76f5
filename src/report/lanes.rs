//! What keeps a plan from being faster, read off its timeline.

use super::host_thread::{HostWork, host_work};
use crate::program::Program;
use crate::timeline::{Lane, Timeline, busy};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A resource that is busy for more than this share of the makespan bounds the plan.
const BOUND: f64 = 0.85;
/// Kernels that leave no gap bound the plan, whatever else is busy beside them.
const WITHOUT_A_GAP: f64 = 0.99;

/// What bounds a plan: the resource that it has to use less to become faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// CPU threads that compute.
    Cpu,
    /// The host thread, by issuing calls.
    HostCalls,
    /// The host thread, by staging copies of pageable memory. The link is idle for most of that
    /// time.
    HostStaging,
    /// Copies of pinned memory to the device.
    #[serde(rename = "h2d-link")]
    CopyIn,
    /// Kernels on the device.
    Kernels,
    /// Copies of pinned memory to the host.
    #[serde(rename = "d2h-link")]
    CopyOut,
    /// Copies from GPU to GPU.
    #[serde(rename = "p2p-link")]
    PeerCopy,
    /// No resource: fixed costs, and operations that wait for each other.
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

pub(super) fn bottleneck(program: &Program, timeline: &Timeline) -> Bottleneck {
    let kernels = timeline.utilisation(Lane::Kernels);
    if kernels > WITHOUT_A_GAP {
        return Bottleneck::Kernels;
    }
    let makespan = timeline.makespan.nanos_f64().max(1.0);
    let link = |lane| {
        let copies = timeline.lane(lane).filter(|copy| !program.is_staged(copy.call));
        busy(copies.map(|copy| (copy.start, copy.end))).nanos_f64() / makespan
    };
    let host = host_work(program, timeline, None);
    let on_host = match host.most() {
        HostWork::Compute => Bottleneck::Cpu,
        HostWork::Calls => Bottleneck::HostCalls,
        HostWork::Staging => Bottleneck::HostStaging,
    };
    let shares = [
        (host.total.nanos_f64() / makespan, on_host),
        (link(Lane::CopyIn), Bottleneck::CopyIn),
        (kernels, Bottleneck::Kernels),
        (link(Lane::CopyOut), Bottleneck::CopyOut),
        (timeline.utilisation(Lane::PeerCopy), Bottleneck::PeerCopy),
    ];
    let busiest = shares.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
    match busiest {
        Some((share, resource)) if share > BOUND => resource,
        _ => Bottleneck::Latency,
    }
}

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

/// What bounds a plan: the resource that it would have to use less to be faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// The CPU's threads, computing.
    Cpu,
    /// The host thread, issuing calls.
    HostCalls,
    /// The host thread, staging copies of pageable memory. The link is idle for most of that.
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
    /// No resource: fixed costs, and operations that wait for one another.
    Latency,
}

impl Bottleneck {
    /// For a sentence.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Cpu => "the CPU",
            Self::HostCalls => "the host's calls",
            Self::HostStaging => "the staging of pageable copies on the host",
            Self::CopyIn => "the link to the device (H2D)",
            Self::Kernels => "its kernels",
            Self::CopyOut => "the link to the host (D2H)",
            Self::PeerCopy => "the link between GPUs (P2P)",
            Self::Latency => "fixed costs and waits",
        }
    }
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

pub fn bottleneck(program: &Program, timeline: &Timeline) -> Bottleneck {
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

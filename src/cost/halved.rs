//! Which prices a program is compiled with at half of what they are, to see which of them bounds
//! it.
//!
//! Each part of each price belongs to one group: what a copy takes for its bytes belongs to the
//! link, and what it takes however small it is, to the number of copies. So halving the price of
//! the link is the same as moving half the bytes with as many copies, and halving the price of the
//! number of copies is the same as moving the same bytes with half as many.

use super::work::{CallCost, Work};
use crate::machine::Direction;
use crate::profile::Profile;
use crate::program::Call;
use crate::units::{Bytes, Span, words};
use serde::{Deserialize, Serialize};

words! {
    /// What limits a plan: the group of costs that saves the most time if halved.
    // The aliases are the names in saved reports of earlier versions, which can still be merged.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Bottleneck {
        /// Bytes to the device, moved by copies of pinned memory or by kernels that read it in
        /// place.
        #[serde(rename = "h2d-link")]
        CopyIn = "H2D link",
        /// Bytes to the host.
        #[serde(rename = "d2h-link")]
        CopyOut = "D2H link",
        /// Bytes in both directions, if halving both saves more than halving one of them or any
        /// other group.
        Link = "link both ways",
        /// Bytes from GPU to GPU.
        #[serde(rename = "p2p-link")]
        PeerCopy = "P2P link",
        /// Kernels on the device, and copies inside it.
        Kernels = "kernels",
        /// Work of the CPU threads: computing or copying.
        Cpu = "CPU",
        /// Launches, graphs and other calls, and the time that the device needs before each kernel
        /// runs.
        #[serde(alias = "host-calls")]
        Calls = "launches and calls",
        /// The fixed cost of each copy.
        Copies = "number of copies",
        /// Bytes of pageable memory, which the driver stages.
        #[serde(alias = "host-staging")]
        Staging = "pageable copies",
        /// Synchronisations, hand-overs from one operation to the next, and the latency to the
        /// device.
        Waits = "waits",
        /// Pages that are touched for the first time or that have to migrate.
        PageFaults = "page faults",
        /// Allocating, pinning and freeing memory in every run.
        Allocation = "allocation",
        /// No single group saves much.
        #[serde(alias = "latency")]
        Balanced = "balanced",
    }
}

impl Bottleneck {
    /// The groups of prices. They have no part in common.
    pub const GROUPS: [Self; 11] = [
        Self::CopyIn,
        Self::CopyOut,
        Self::PeerCopy,
        Self::Kernels,
        Self::Cpu,
        Self::Calls,
        Self::Copies,
        Self::Staging,
        Self::Waits,
        Self::PageFaults,
        Self::Allocation,
    ];

    /// The two directions of the link.
    pub const LINK: [Self; 2] = [Self::CopyIn, Self::CopyOut];

    const fn of_link(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::CopyIn,
            Direction::DeviceToHost => Self::CopyOut,
        }
    }
}

/// The groups of prices that are halved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halved(u16);

impl Halved {
    pub const NOTHING: Self = Self(0);

    pub fn of(bottleneck: Bottleneck) -> Self {
        let bit = |group: Bottleneck| 1 << group as u16;
        Self(match bottleneck {
            Bottleneck::Link => bit(Bottleneck::CopyIn) | bit(Bottleneck::CopyOut),
            Bottleneck::Balanced => 0,
            group => bit(group),
        })
    }

    #[inline]
    pub fn has(self, group: Bottleneck) -> bool {
        self.0 & (1 << group as u16) != 0
    }

    /// A number of nanoseconds, or half of it.
    #[inline]
    pub fn ns(self, group: Bottleneck, ns: f64) -> f64 {
        if self.has(group) { ns / 2.0 } else { ns }
    }

    #[inline]
    pub fn span(self, group: Bottleneck, span: Span) -> Span {
        if self.has(group) { Span::from_nanos(span.nanos() / 2) } else { span }
    }

    /// Bytes that the link carries in a direction.
    pub fn bytes(self, direction: Direction, bytes: Bytes) -> Bytes {
        let is_half = self.has(Bottleneck::of_link(direction));
        if is_half { Bytes::new(bytes.get().div_ceil(2)) } else { bytes }
    }

    /// What takes `fixed` whatever its size, and the rest for its bytes.
    pub fn in_parts(self, fixed: f64, (all, of_bytes): (f64, Bottleneck)) -> f64 {
        let fixed = fixed.clamp(0.0, all.max(0.0));
        self.ns(Bottleneck::Copies, fixed) + self.ns(of_bytes, all - fixed)
    }

    /// A copy on its engine, of whose time the bytes take `on_link`.
    pub fn copy(self, mut work: Work, on_link: Span) -> Work {
        let Work::Copy { direction, alone, delay, beside_kernels, bytes, fixed, .. } = &mut work
        else {
            return work;
        };
        let link = Bottleneck::of_link(*direction);
        let on_link = on_link.min(*alone);
        let besides = self.span(Bottleneck::Copies, alone.saturating_sub(on_link));
        *alone = besides + self.span(link, on_link);
        (*delay, *beside_kernels) = (self.ns(link, *delay), self.ns(link, *beside_kernels));
        *bytes = self.bytes(*direction, *bytes);
        *fixed = self.span(Bottleneck::Copies, *fixed);
        work
    }

    /// What a call takes whose work has its price already: its own time, the way to the device, and
    /// waking up.
    pub fn call(self, call: &Call, is_staged: bool, cost: CallCost) -> CallCost {
        let is_copy = call.route().is_some() || call.prefetches_to().is_some();
        let group = match cost.in_graph {
            // What the CPU computes and what the driver stages is halved where it is looked up.
            _ if is_staged || call.works_on_cpu() => None,
            _ if call.stated_time().is_some() => Some(Bottleneck::Cpu),
            true => Some(Bottleneck::Calls),
            false if is_copy => Some(Bottleneck::Copies),
            false if call.memory_change().is_some() => Some(Bottleneck::Allocation),
            false if call.only_waits() => Some(Bottleneck::Waits),
            false => Some(Bottleneck::Calls),
        };
        let half = |span: Span| group.map_or(span, |group| self.span(group, span));
        let (host, wait) = (half(cost.host), |span| self.span(Bottleneck::Waits, span));
        // A graph's launch is a call, up to its first node.
        let is_graph = call.launched_calls().is_some();
        let latency = if is_graph { half(cost.latency) } else { wait(cost.latency) };
        CallCost { host, latency, wake: wait(cost.wake), then: half(cost.then), ..cost }
    }
}

/// The prices of a profile, of which some may be halved, and times that a user stated drawn.
pub(crate) struct Prices<'p> {
    pub profile: &'p Profile,
    pub halved: Halved,
    pub stated: StatedTimes,
}

impl<'p> Prices<'p> {
    /// All prices as the profile and the user have them.
    pub fn usual(profile: &'p Profile) -> Self {
        Self { profile, halved: Halved::NOTHING, stated: StatedTimes::default() }
    }
}

/// How many times as long as stated what the user stated takes.
pub(crate) struct StatedTimes {
    /// For each kernel of a program that is not of the library, on the GPU and on the CPU. Empty if
    /// none has a range.
    pub kernels: Vec<[f64; 2]>,
    /// The host's work.
    pub work: f64,
}

impl Default for StatedTimes {
    fn default() -> Self {
        Self { kernels: Vec::new(), work: 1.0 }
    }
}

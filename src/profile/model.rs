//! Every cost model of a machine, as its file has it. What was not measured is not there.

use super::checked::{if_known, not_negative, spread};
use super::{
    Accuracy, CacheModel, Conditions, Curve, Estimate, GraphCosts, Interference, Intervals, Looks,
    MultiGpu, Refetch, SetupCosts, TransferModel, TwoWays,
};
use crate::kernels::Variant;
use crate::plan::Direction;
use crate::samples::Provenance;
use crate::units::{Bandwidth, Bytes};
use serde::{Deserialize, Serialize};

/// A machine as calibration found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub schema_version: u32,
    pub machine: Provenance,
    #[serde(default)]
    pub calls: CallCosts,
    /// The same calls, one at a time on an idle device.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub idle_calls: CallCosts,
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub setup: SetupCosts,
    #[serde(default)]
    pub latency: Latencies,
    #[serde(default)]
    pub link: LinkModel,
    #[serde(default)]
    pub polling: Vec<Polling>,
    #[serde(default, rename = "handover")]
    pub hand_overs: Vec<HandOver>,
    #[serde(default, rename = "copy")]
    pub copies: Vec<CopyModel>,
    /// Left out where all copies of pinned memory go through a copy engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineCopies>,
    /// The same of memory that was registered.
    #[serde(default, rename = "registered_copy", skip_serializing_if = "Vec::is_empty")]
    pub registered_copies: Vec<CopyModel>,
    #[serde(default, rename = "transfer", skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferModel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<Interference>,
    #[serde(default)]
    pub staging: Vec<StagingModel>,
    #[serde(default, rename = "kernel")]
    pub kernels: Vec<KernelModel>,
    #[serde(default, rename = "twin")]
    pub twins: Vec<TwinModel>,
    #[serde(default)]
    pub caches: CacheModel,
    #[serde(default)]
    pub memory: MemoryCosts,
    #[serde(default, skip_serializing_if = "GraphCosts::is_empty")]
    pub graph: GraphCosts,
    /// Left out where one GPU was calibrated.
    #[serde(default, skip_serializing_if = "MultiGpu::is_empty")]
    pub multi_gpu: MultiGpu,
    /// Left out where no plans were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Left out where the device did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// Left out where nothing was measured in two passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
}

fn is_nothing<T: Default + PartialEq>(costs: &T) -> bool {
    *costs == T::default()
}

/// Host time of one call, from entry to return, when it need not wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCosts {
    /// While no copy is under way.
    pub launch: Option<Estimate>,
    /// How many times as long as its estimate a single launch takes, over the share of
    /// launches that take less.
    #[serde(default, deserialize_with = "spread", skip_serializing_if = "Option::is_none")]
    pub launch_spread: Option<Vec<(f64, f64)>>,
    /// How much longer a launch takes while a copy to the device is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_beside_copy_in: Option<Estimate>,
    /// And while one from the device is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_beside_copy_out: Option<Estimate>,
    /// How much longer a launch takes right behind a wait in its stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_behind_wait: Option<Estimate>,
    /// And if cuBLAS makes it, which chooses a kernel for the shapes and may make two of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_by_cublas: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_by_cufft: Option<Estimate>,
    pub copy_in: Option<Estimate>,
    pub copy_out: Option<Estimate>,
    /// How much longer a copy to the host takes there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_out_behind_wait: Option<Estimate>,
    pub clear: Option<Estimate>,
    pub record: Option<Estimate>,
    pub wait: Option<Estimate>,
    /// Synchronising a stream that has nothing left to do.
    pub synchronize: Option<Estimate>,
}

/// From the return of a call on an idle device to the start of its operation,
/// and from the end of an operation to the return of the waiting host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    pub start_kernel: Option<Estimate>,
    pub start_copy_in: Option<Estimate>,
    pub start_copy_out: Option<Estimate>,
    pub wake_host: Option<Estimate>,
    /// Device time of the smallest kernel, one after the other in a stream:
    /// what a launch costs the device before its blocks run.
    pub kernel_gap: Option<Estimate>,
    /// Left out: what came too early goes on when a [`HandOver`] is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
}

/// Copies of pinned memory to the device whose data the driver sends along with the
/// commands, because nothing else is left to do in their stream: no copy engine is
/// needed, and the call takes longer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineCopies {
    /// Up to this size.
    pub most_bytes: Bytes,
    /// Nanoseconds over bytes from entry until the call returns.
    pub until_return: Curve,
    /// Nanoseconds over bytes from entry until the copy is complete.
    pub until_complete: Curve,
}

/// What the link between host and device carries. PCIe's two directions are
/// lanes of their own, but requests, completions and acknowledgements of each
/// travel with the data of the other, so that both at once are slower.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkModel {
    /// Large pinned copies with nothing in the other direction.
    pub down_bytes_per_second: Option<Bandwidth>,
    pub up_bytes_per_second: Option<Bandwidth>,
    /// What copies each way suffer while the other direction is busy.
    pub down_shared: Option<Contention>,
    pub up_shared: Option<Contention>,
    /// The same of copies of a MiB and more where a host's caches keep what those to it write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_shared_kept: Option<Contention>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_shared_kept: Option<Contention>,
    /// Nanoseconds that a copy each way takes longer while kernels are at work, whatever they do,
    /// over its bytes: on hosts with one H100 small ones by 0.1 to 0.5 us, on one with two those to
    /// the device by 0.5 to 0.7, beside kernels of one block, too; from half a MiB on hardly. (It
    /// may be that their commands come through the same part of the device as those of kernels,
    /// where engines are dealt out that way: NVIDIA nvgpu, `ce_gv11b.c`, "Graphics Copy Engine (gr
    /// host)".)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_beside_kernels: Option<Curve>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_beside_kernels: Option<Curve>,
    /// Relative scatter of what large copies take longer that go both ways at once.
    #[serde(default, deserialize_with = "not_negative")]
    pub scatter: f64,
    /// Nanoseconds for which a copy engine stands still on going from one
    /// stream to another, over the number of streams that keep it busy.
    pub down_switch: Option<Curve>,
    pub up_switch: Option<Curve>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refetches: Vec<Refetch>,
}

/// What a copy takes longer while the other direction is busy throughout: at most, where that
/// one's data is soon over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Nanoseconds for each copy: on starting one, the engine asks for things
    /// over the link, and the answers stand in line with the other's data.
    #[serde(deserialize_with = "not_negative")]
    pub per_copy_ns: f64,
    /// Nanoseconds for each byte of the largest copies: the link carries both.
    #[serde(deserialize_with = "not_negative")]
    pub per_byte_ns: f64,
    /// The same over the bytes of a copy, where more than one size says so. Others who use the
    /// link come and go: a copy of some microseconds mostly meets none of them, and one of a
    /// millisecond its share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<Curve>,
    /// The same in the best tenth of all moments: what the link leaves of each direction where
    /// nothing else on the host reads or writes memory.
    #[serde(default, deserialize_with = "if_known", skip_serializing_if = "Option::is_none")]
    pub at_best_per_byte_ns: Option<f64>,
    /// Instead of `per_copy_ns`, of copies of fewer bytes than its last knot has. By their own
    /// size, though beside large ones of the other direction, rows of them take longer (of 4 B
    /// to the host, 0.3 to 2.7 us on an H200): in plans, which have few in rows, that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_small_copy: Option<Curve>,
}

impl Contention {
    /// Of copies that never meet one of the other direction.
    pub const NONE: Self = Self {
        per_copy_ns: 0.0,
        per_byte_ns: 0.0,
        per_byte: None,
        at_best_per_byte_ns: None,
        per_small_copy: None,
    };

    /// Nanoseconds for a copy, whatever its bytes take longer.
    pub fn of_copy(&self, bytes: Bytes) -> f64 {
        let is_small = |curve: &&Curve| curve.knots.last().is_some_and(|k| bytes.as_f64() < k.0);
        let small = self.per_small_copy.as_ref().filter(is_small);
        small.map_or(self.per_copy_ns, |curve| curve.at(bytes.as_f64())).max(0.0)
    }

    /// Nanoseconds for all bytes of a copy.
    pub fn of_bytes(&self, bytes: Bytes) -> f64 {
        let bytes = bytes.as_f64();
        self.per_byte.as_ref().map_or(self.per_byte_ns, |curve| curve.within(bytes)) * bytes
    }
}

/// What the stream with the running kernel pays for streams whose next kernel
/// waits, for a copy or an event: the device looks after one kernel whether any
/// of those may go on, and reads what they wait for across the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polling {
    /// Whether copies to the device, and from it, are under way meanwhile.
    pub copies: [bool; 2],
    /// Nanoseconds before the next kernel of the same stream, above
    /// [`Latencies::kernel_gap`], over the number of streams that wait.
    pub delay: Curve,
}

/// What kind of thing an operation keeps busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    CopyIn,
    CopyOut,
    Kernel,
    PeerCopy,
}

impl OperationKind {
    pub const COUNT: usize = 4;
    pub const ALL: [Self; Self::COUNT] =
        [Self::CopyIn, Self::CopyOut, Self::Kernel, Self::PeerCopy];

    /// That of a copy on its engine.
    pub const fn of_copy(direction: Direction) -> Self {
        match direction {
            Direction::HostToDevice => Self::CopyIn,
            Direction::DeviceToHost => Self::CopyOut,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CopyIn => "an H2D copy",
            Self::CopyOut => "a D2H copy",
            Self::Kernel => "a kernel",
            Self::PeerCopy => "a copy between GPUs",
        }
    }
}

/// From the end of one operation to the start of one that depends on it, above
/// what a chain on one engine in one stream costs anyway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    pub from: OperationKind,
    pub to: OperationKind,
    /// Through an event to another stream, or within one stream.
    pub across_streams: bool,
    /// What the first operation of its kind pays in a stream that was empty.
    pub first: Estimate,
    /// What those behind it in the queue pay.
    pub queued: Estimate,
}

/// Copies between device and pinned memory: engine time over bytes, one copy
/// after the other, nothing in the opposite direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyModel {
    pub direction: Direction,
    pub time: Curve,
}

/// Copies between device and pageable memory, which the driver stages through
/// pinned memory of its own while the host thread waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagingModel {
    pub direction: Direction,
    /// Where the host data was that is read or, as far as its core had read it before,
    /// overwritten: the driver writes past the caches, and what is in them is in its way.
    pub found: Warmth,
    /// Nanoseconds over bytes until the call returns, on an idle device.
    pub until_return: Option<Curve>,
    /// Nanoseconds over bytes until the copy is complete.
    pub until_complete: Curve,
}

/// A kernel on the device: nanoseconds over elements, one launch after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelModel {
    pub variant: Variant,
    pub time: Curve,
    /// Nanoseconds over elements that it takes longer where a copy has just brought what it
    /// reads: one launch after the other on the same data finds that as near as can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub just_copied: Option<Curve>,
    /// The same where it reads what is in none of the device's caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_memory: Option<Curve>,
}

/// A kernel's CPU twin: nanoseconds over elements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwinModel {
    pub variant: Variant,
    pub found: Warmth,
    pub time: Curve,
}

/// Where a CPU finds data that it has used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warmth {
    /// As near as its size allows: nothing else was used in between.
    Same,
    /// In the cache that all cores share, but not in their own.
    Shared,
    /// In memory.
    Memory,
}

impl Warmth {
    pub(super) const fn place(self) -> &'static str {
        match self {
            Self::Same => "on the CPU",
            Self::Shared => "on the CPU with its data in the shared cache",
            Self::Memory => "on the CPU with its data in memory",
        }
    }
}

/// Memory management: nanoseconds over bytes. A copy that registers its memory on
/// the fly takes the sum of `register`, the copy and `unregister`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    pub device_allocate: Option<Curve>,
    pub pinned_allocate: Option<Curve>,
    pub register: Option<Curve>,
    /// One thread writing to fresh pages, above writing to touched ones.
    pub first_touch: Option<Curve>,
    /// The same by all threads of the team.
    pub first_touch_team: Option<Curve>,
    /// Giving pages back and mapping new ones.
    pub renew: Option<Curve>,
    pub device_free: Option<Curve>,
    pub pinned_free: Option<Curve>,
    pub unregister: Option<Curve>,
    /// Adding up write-combined memory and filling it, by one thread and by all.
    pub combined_read: Option<Curve>,
    pub combined_write: Option<Curve>,
    pub combined_read_team: Option<Curve>,
    pub combined_write_team: Option<Curve>,
    /// Where the curves have one of two times in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub two_ways: Vec<TwoWays>,
}

//! The cost models of calls, copies and kernels.

use super::checked::{if_known, not_negative, spread};
use super::operation::OperationKind;
use super::{Curve, Estimate, Refetch, SemaphorePolling, TwoWays};
use crate::kernels::Variant;
use crate::machine::Direction;
use crate::stats::interpolate;
use crate::units::{Bandwidth, Bytes};
use serde::{Deserialize, Serialize};

/// Host time of one call, from entry to return, when it need not wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCosts {
    /// A kernel launch while no copy is under way.
    pub launch: Option<Estimate>,
    /// How many times as long as its estimate a single launch takes, over the share of
    /// launches that take less.
    #[serde(default, deserialize_with = "spread", skip_serializing_if = "Option::is_none")]
    pub launch_spread: Option<Vec<(f64, f64)>>,
    /// How much longer a launch takes while an H2D copy is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_beside_copy_in: Option<Estimate>,
    /// How much longer a launch takes while a D2H copy is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_beside_copy_out: Option<Estimate>,
    /// How much longer a launch takes right behind a wait in its stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_behind_wait: Option<Estimate>,
    /// How much longer a launch takes if cuBLAS makes it: cuBLAS chooses a kernel for the shapes,
    /// and may launch two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_by_cublas: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_by_cufft: Option<Estimate>,
    pub copy_in: Option<Estimate>,
    pub copy_out: Option<Estimate>,
    /// How much longer the call of a D2H copy takes right behind a wait in its stream.
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
    /// Device time of the smallest kernel when many run back to back in a stream: what a launch
    /// costs the device before its blocks run.
    pub kernel_gap: Option<Estimate>,
    /// When engines poll for work that arrived too early. Left out: such work starts after its
    /// [`HandOver`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semaphore_polling: Option<SemaphorePolling>,
}

/// Copies of pinned memory to the device whose data the driver sends along with the
/// commands, because nothing else is left to do in their stream: no copy engine is
/// needed, and the call takes longer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InlineCopies {
    /// The largest copy that is sent this way.
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
    /// How much longer H2D copies of a MiB or more take beside D2H copies whose data the host's
    /// caches keep. Without it, `down_shared` holds there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_shared_kept: Option<Contention>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_shared_kept: Option<Contention>,
    /// Nanoseconds that an H2D copy takes longer while kernels run, over its bytes. On hosts with
    /// an H100, small copies take 0.1 to 0.7 us longer, also beside kernels of a single block;
    /// copies of half a MiB or more hardly do. A likely cause is that some copy engines take their
    /// commands through the graphics engine, as kernels do: NVIDIA nvgpu, `ce_gv11b.c`, "Graphics
    /// Copy Engine (gr host)".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_beside_kernels: Option<Curve>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_beside_kernels: Option<Curve>,
    /// Relative scatter of the extra time that large copies take when both directions are busy.
    #[serde(default, deserialize_with = "not_negative")]
    pub scatter: f64,
    /// Nanoseconds that the H2D copy engine idles when it switches streams, over the number of
    /// streams that keep it busy.
    pub down_switch: Option<Curve>,
    pub up_switch: Option<Curve>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refetches: Vec<Refetch>,
}

/// How much longer a copy takes while the other direction is busy throughout. Where the other
/// direction is busy for part of the time only, this is the most it can take longer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Nanoseconds for each copy. To start one, the engine sends requests over the link, and the
    /// answers queue behind the data of the other direction.
    #[serde(deserialize_with = "not_negative")]
    pub per_copy_ns: f64,
    /// Nanoseconds for each byte of the largest copies: both directions share the link.
    #[serde(deserialize_with = "not_negative")]
    pub per_byte_ns: f64,
    /// Nanoseconds for each byte over the bytes of a copy, where several sizes were measured. Other
    /// users of the link come and go: a copy of some microseconds mostly meets none of them, while
    /// one of a millisecond meets its share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<Curve>,
    /// Nanoseconds for each byte in the best tenth of the measurements: what two directions cost
    /// each other while nothing else on the host uses memory.
    #[serde(default, deserialize_with = "if_known", skip_serializing_if = "Option::is_none")]
    pub at_best_per_byte_ns: Option<f64>,
    /// Replaces `per_copy_ns` for copies smaller than its last knot, over their own bytes. It is
    /// measured beside copies of the same size: beside large ones, rows of small copies take longer
    /// (4 B to the host: 0.3 to 2.7 us on an H200), but plans rarely make such rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_small_copy: Option<Curve>,
}

impl Contention {
    /// For a link whose directions do not slow each other.
    pub const NONE: Self = Self {
        per_copy_ns: 0.0,
        per_byte_ns: 0.0,
        per_byte: None,
        at_best_per_byte_ns: None,
        per_small_copy: None,
    };

    /// Extra nanoseconds of a copy that do not grow with its bytes.
    pub fn of_copy(&self, bytes: Bytes) -> f64 {
        let is_small = |curve: &&Curve| curve.knots.last().is_some_and(|k| bytes.as_f64() < k.0);
        let small = self.per_small_copy.as_ref().filter(is_small);
        small.map_or(self.per_copy_ns, |curve| curve.at(bytes.as_f64())).max(0.0)
    }

    /// Extra nanoseconds of a copy for all of its bytes.
    pub fn of_bytes(&self, bytes: Bytes) -> f64 {
        let bytes = bytes.as_f64();
        self.per_byte.as_ref().map_or(self.per_byte_ns, |curve| curve.within(bytes)) * bytes
    }
}

/// What a stream pays while other streams wait for a copy or an event. After each kernel the device
/// polls whether a waiting stream may go on, and it reads across the link what they wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polling {
    /// Whether H2D copies, and D2H copies, are under way meanwhile.
    pub copies: [bool; 2],
    /// Nanoseconds before the next kernel of the running stream, beyond [`Latencies::kernel_gap`],
    /// over the number of waiting streams.
    pub delay: Curve,
}

/// Time from the end of an operation to the start of one that depends on it, beyond the gap between
/// neighbours on one engine in one stream.
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

/// Copies between device and pinned memory: engine time over bytes, back to back, with nothing in
/// the other direction.
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
    /// Where the CPU had the host data before the copy. A D2H copy cares too: the driver writes
    /// past the caches, and data that is still in them slows it.
    pub found: Warmth,
    /// Nanoseconds over bytes until the call returns, on an idle device.
    pub until_return: Option<Curve>,
    /// Nanoseconds over bytes until the copy is complete.
    pub until_complete: Curve,
}

/// A kernel on the device: nanoseconds over elements, launched back to back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelModel {
    pub variant: Variant,
    pub time: Curve,
    /// Extra nanoseconds, over elements, where a copy has just brought what the kernel reads.
    /// (`time` is of launches on the same data, which is then as close as it can be.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub just_copied: Option<Curve>,
    /// Extra nanoseconds, over elements, where what the kernel reads is in none of the device's
    /// caches.
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
    /// In the caches, as far as it fits: nothing else was used in between.
    Same,
    /// In the cache that all cores share, but in no cache of a single core.
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
    /// One thread writing to fresh pages, beyond what writing to touched ones takes.
    pub first_touch: Option<Curve>,
    /// All threads writing to fresh pages together, beyond what writing to touched ones takes.
    pub first_touch_team: Option<Curve>,
    /// Giving pages back and mapping new ones.
    pub renew: Option<Curve>,
    pub device_free: Option<Curve>,
    pub pinned_free: Option<Curve>,
    pub unregister: Option<Curve>,
    /// One thread summing write-combined memory. The three below: one thread filling it, all
    /// threads summing it, all threads filling it.
    pub combined_read: Option<Curve>,
    pub combined_write: Option<Curve>,
    pub combined_read_team: Option<Curve>,
    pub combined_write_team: Option<Curve>,
    /// Sizes at which memory management takes one of two times; the curves hold the more frequent
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub two_ways: Vec<TwoWays>,
}

impl LinkModel {
    /// Extra nanoseconds of a copy while kernels run; 0 if that was not measured.
    pub fn beside_kernels(&self, direction: Direction, bytes: Bytes) -> f64 {
        let curve = match direction {
            Direction::HostToDevice => &self.down_beside_kernels,
            Direction::DeviceToHost => &self.up_beside_kernels,
        };
        curve.as_ref().map_or(0.0, |curve| curve.within(bytes.as_f64()))
    }

    /// How many times as long H2D copies take while kernels wait in `streams` streams, `kernels` in
    /// each on average; 1 if they wait in one. More streams or kernels than were measured count as
    /// the most that were: those keep the device's readers busy throughout. See
    /// [`super::Profile::knows_refetching`].
    pub fn refetching(&self, streams: usize, kernels: f64) -> f64 {
        let slowdown = |model: &Refetch| {
            let most = model.slowdown.knots.last().map_or(0.0, |knot| knot.0);
            (model.streams as f64, model.slowdown.at(kernels.min(most)))
        };
        let fewer = self.refetches.iter().filter(|model| model.streams <= streams);
        let fewer = fewer.max_by_key(|model| model.streams).map_or((1.0, 1.0), slowdown);
        let more = self.refetches.iter().filter(|model| model.streams > streams);
        let more = more.min_by_key(|model| model.streams).map(slowdown);
        more.map_or(fewer.1, |more| interpolate(&[fewer, more], streams as f64))
    }
}

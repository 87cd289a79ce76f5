//! Every cost model of a machine.

use super::{Curve, Estimate};
use crate::kernels::{Arguments, Kernel, Variant};
use crate::plan::Direction;
use crate::samples::Provenance;
use crate::units::{Bandwidth, Bytes, Span};
use serde::{Deserialize, Serialize};

/// A machine as calibration found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub schema_version: u32,
    pub machine: Provenance,
    pub calls: CallCosts,
    pub latency: Latencies,
    pub link: LinkModel,
    pub polling: Vec<Polling>,
    #[serde(rename = "handover")]
    pub hand_overs: Vec<HandOver>,
    #[serde(rename = "copy")]
    pub copies: Vec<CopyModel>,
    pub staging: Vec<StagingModel>,
    #[serde(rename = "kernel")]
    pub kernels: Vec<KernelModel>,
    #[serde(rename = "twin")]
    pub twins: Vec<TwinModel>,
    pub caches: CacheModel,
    pub memory: MemoryCosts,
}

/// Host time of one call, from entry to return, when it need not wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCosts {
    pub launch: Estimate,
    pub copy_in: Estimate,
    pub copy_out: Estimate,
    pub clear: Estimate,
    pub record: Estimate,
    pub wait: Estimate,
    /// Synchronising a stream that has nothing left to do.
    pub synchronize: Estimate,
}

/// From the return of a call on an idle device to the start of its operation,
/// and from the end of an operation to the return of the waiting host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    pub start_kernel: Estimate,
    pub start_copy_in: Estimate,
    pub start_copy_out: Estimate,
    pub wake_host: Estimate,
    /// Device time of the smallest kernel, one after the other in a stream:
    /// what a launch costs the device before its blocks run.
    pub kernel_gap: Estimate,
}

/// What the link between host and device carries. PCIe's two directions are
/// lanes of their own, but requests, completions and acknowledgements of each
/// travel with the data of the other, so that both at once are slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkModel {
    /// Large pinned copies with nothing in the other direction.
    pub down_bytes_per_second: Bandwidth,
    pub up_bytes_per_second: Bandwidth,
    /// What copies each way suffer while the other direction is busy.
    pub down_shared: Contention,
    pub up_shared: Contention,
    /// Relative scatter of the copies that go both ways at once.
    pub scatter: f64,
    /// Nanoseconds for which a copy engine stands still on going from one
    /// stream to another, over the number of streams that keep it busy.
    pub down_switch: Curve,
    pub up_switch: Curve,
}

/// What a copy takes longer while the other direction is busy throughout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Nanoseconds for each copy: on starting one, the engine asks for things
    /// over the link, and the answers stand in line with the other's data.
    pub per_copy_ns: f64,
    /// Nanoseconds for each byte: the link carries both.
    pub per_byte_ns: f64,
}

impl LinkModel {
    /// How many times longer a copy takes while the other direction is busy;
    /// `alone`: what it takes otherwise.
    pub fn slowdown(&self, direction: Direction, bytes: Bytes, alone: Span) -> f64 {
        let shared = match direction {
            Direction::HostToDevice => &self.down_shared,
            Direction::DeviceToHost => &self.up_shared,
        };
        let longer = shared.per_copy_ns + shared.per_byte_ns * bytes.as_f64();
        (1.0 + longer.max(0.0) / alone.nanos_f64().max(1.0)).min(1e6)
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
    /// Whether the host data was out of the CPU's caches, or as near as its
    /// size allows: nothing else was used in between.
    pub cold: bool,
    /// Nanoseconds over bytes until the call returns, on an idle device.
    pub until_return: Curve,
    /// Nanoseconds over bytes until the copy is complete.
    pub until_complete: Curve,
}

/// A kernel on the device: nanoseconds over elements, one launch after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelModel {
    pub variant: Variant,
    pub time: Curve,
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

/// Memory management: nanoseconds over bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    pub device_allocate: Curve,
    pub pinned_allocate: Curve,
    pub register: Curve,
    /// One thread writing to fresh pages, above writing to touched ones.
    pub first_touch: Curve,
    /// The same by all threads of the team.
    pub first_touch_team: Curve,
    /// Giving pages back and mapping new ones.
    pub renew: Curve,
}

/// What the CPU's caches keep: the share of host data that is gone when it is
/// used again, over the bytes that are used in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheModel {
    /// For the driver's thread that stages copies.
    pub staging_misses: Vec<(f64, f64)>,
    /// For the team of threads that runs twins.
    pub twin_misses: Vec<(f64, f64)>,
    /// The footprint at which [`Warmth::Shared`] was measured.
    pub shared_bytes: Bytes,
}

impl CacheModel {
    /// Share of misses, 0 to 1, on going round `footprint`.
    pub fn staging(&self, footprint: Bytes) -> f64 {
        crate::stats::interpolate(&self.staging_misses, footprint.as_f64()).clamp(0.0, 1.0)
    }

    /// Share of misses, 0 to 1, on going round `footprint`.
    pub fn twins(&self, footprint: Bytes) -> f64 {
        crate::stats::interpolate(&self.twin_misses, footprint.as_f64()).clamp(0.0, 1.0)
    }
}

/// A question that the profile has no measurement to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the profile does not know {what}; calibrate it with `hallway calibrate`")]
pub struct Unknown {
    pub what: String,
}

impl Profile {
    /// # Errors
    /// If the direction was not calibrated.
    pub fn copy(&self, direction: Direction) -> Result<&Curve, Unknown> {
        let found = self.copies.iter().find(|copy| copy.direction == direction);
        let unknown = || Unknown { what: format!("{direction} copies of pinned memory") };
        found.map(|copy| &copy.time).ok_or_else(unknown)
    }

    /// What a hand-over costs; `None` where it is part of the service time.
    pub fn hand_over(
        &self,
        from: OperationKind,
        to: OperationKind,
        across_streams: bool,
    ) -> Option<&HandOver> {
        let wanted = (from, to, across_streams);
        self.hand_overs.iter().find(|h| (h.from, h.to, h.across_streams) == wanted)
    }

    /// What a kernel pays that follows another in its stream while `others`
    /// streams wait with theirs. Nothing if none do, or if it was not measured.
    pub fn polling(&self, others: usize, copies: [bool; 2]) -> f64 {
        let found = self.polling.iter().find(|model| model.copies == copies);
        found.filter(|_| others > 0).map_or(0.0, |model| model.delay.at(others as f64).max(0.0))
    }

    /// Nanoseconds of a kernel on the device.
    ///
    /// # Errors
    /// If the kernel was not calibrated.
    pub fn kernel(&self, kernel: Kernel, arguments: &Arguments, n: u64) -> Result<f64, Unknown> {
        let models: Vec<(Variant, &Curve)> = (self.kernels.iter())
            .filter(|model| model.variant.kernel == kernel)
            .map(|model| (model.variant, &model.time))
            .collect();
        between(&models, Variant::of(kernel, arguments), n)
            .ok_or_else(|| Unknown { what: format!("kernel `{kernel}` on the GPU") })
    }

    /// Nanoseconds per element of a kernel on the device, elements being many.
    ///
    /// # Errors
    /// If the kernel was not calibrated.
    pub fn kernel_slope(&self, kernel: Kernel, arguments: &Arguments) -> Result<f64, Unknown> {
        let far = |model: &KernelModel| model.time.knots.last().map_or(1.0, |knot| knot.0) as u64;
        let last = self.kernels.iter().filter(|m| m.variant.kernel == kernel).map(far).max();
        let last = last.unwrap_or(1);
        let rise =
            self.kernel(kernel, arguments, 2 * last)? - self.kernel(kernel, arguments, last)?;
        Ok(rise / last as f64)
    }

    /// Nanoseconds of a kernel's CPU twin in a plan that goes round `footprint`
    /// bytes of host memory.
    ///
    /// # Errors
    /// If the twin was not calibrated.
    pub fn twin(
        &self,
        kernel: Kernel,
        arguments: &Arguments,
        n: u64,
        footprint: Bytes,
    ) -> Result<f64, Unknown> {
        let time = |found| {
            let models: Vec<(Variant, &Curve)> = (self.twins.iter())
                .filter(|model| model.variant.kernel == kernel && model.found == found)
                .map(|model| (model.variant, &model.time))
                .collect();
            between(&models, Variant::of(kernel, arguments), n)
                .ok_or_else(|| Unknown { what: format!("kernel `{kernel}` on the CPU") })
        };
        let own = Bytes::new(Variant::of(kernel, arguments).bytes(n));
        if footprint <= own {
            return time(Warmth::Same);
        }
        let measured_at = self.caches.shared_bytes.max(own);
        let further = further(self.caches.twins(measured_at), self.caches.twins(footprint));
        let near = if own < self.caches.shared_bytes { Warmth::Shared } else { Warmth::Same };
        Ok(blend(time(near)?, time(Warmth::Memory)?, further))
    }

    /// Nanoseconds until a copy of pageable memory returns to the host and
    /// until it is complete, on an idle device, in a plan that goes round
    /// `footprint` bytes of host memory.
    ///
    /// # Errors
    /// If the direction was not calibrated.
    pub fn staging(
        &self,
        direction: Direction,
        bytes: Bytes,
        footprint: Bytes,
    ) -> Result<(f64, f64), Unknown> {
        let model = |cold| {
            let fits = |model: &&StagingModel| model.direction == direction && model.cold == cold;
            let unknown = || Unknown { what: format!("{direction} copies of pageable memory") };
            self.staging.iter().find(fits).ok_or_else(unknown)
        };
        let (hot, cold) = (model(false)?, model(true)?);
        let further = further(self.caches.staging(bytes), self.caches.staging(footprint));
        let time = |curve: fn(&StagingModel) -> &Curve| {
            blend(curve(hot).at(bytes.as_f64()), curve(cold).at(bytes.as_f64()), further)
        };
        Ok((time(|model| &model.until_return), time(|model| &model.until_complete)))
    }
}

/// The share of what is found `there` that is not found `here`: what is
/// measured at a footprint has the misses of that footprint in it.
fn further(there: f64, here: f64) -> f64 {
    if there < 1.0 { ((here - there) / (1.0 - there)).max(0.0) } else { 0.0 }
}

fn blend(hot: f64, cold: f64, misses: f64) -> f64 {
    hot + (cold - hot) * misses
}

/// Interpolates between the two calibrated extents around the wanted one, and
/// along the last two beyond: the time of a kernel is linear in its arithmetic
/// wherever arithmetic bounds it, and constant where memory does.
fn between(models: &[(Variant, &Curve)], wanted: Variant, n: u64) -> Option<f64> {
    let mut points: Vec<(f64, f64)> =
        models.iter().map(|(variant, curve)| (variant.measure(), curve.at(n as f64))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    match points[..] {
        [] => None,
        [(_, time)] => Some(time),
        _ => Some(crate::stats::interpolate(&points, wanted.measure())),
    }
}

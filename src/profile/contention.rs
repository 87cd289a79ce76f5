//! The link between host and device, and how much those that use it at once slow each other.

use super::caches::{Warmth, blend, misses_of};
use super::checked_numbers::{if_known, not_negative, scatter, slowdown};
use super::prices::priced;
use super::unknown::{Known, Unknown, Why};
use super::{Curve, Profile, TwinModel};
use crate::machine::Direction;
use crate::samples::{Load, STREAMING_TWIN};
use crate::stats::interpolate;
use crate::units::{Bandwidth, Bytes};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// What the link between host and device carries. PCIe's two directions are
/// lanes of their own, but requests, completions and acknowledgements of each
/// travel with the data of the other, so that both at once are slower.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkModel {
    /// Large pinned copies with nothing in the other direction. A what-if changes the link by it,
    /// and launches are slower while a copy's bytes take it.
    pub down_bytes_per_second: Option<Bandwidth>,
    pub up_bytes_per_second: Option<Bandwidth>,
    /// What copies each way suffer while the other direction is busy.
    pub down_shared: Option<Contention>,
    pub up_shared: Option<Contention>,
    /// How much longer H2D copies of a MiB or more take beside D2H copies whose data the host's
    /// caches keep. Without it, `down_shared` holds there too.
    pub down_shared_kept: Option<Contention>,
    pub up_shared_kept: Option<Contention>,
    /// Nanoseconds that an H2D copy takes longer while kernels run, over its bytes. On hosts with
    /// an H100, small copies take 0.1 to 0.7 us longer, also beside kernels of a single block;
    /// copies of half a MiB or more hardly do. A likely cause is that some copy engines take their
    /// commands through the graphics engine, as kernels do: NVIDIA nvgpu, `ce_gv11b.c`, "Graphics
    /// Copy Engine (gr host)".
    pub down_beside_kernels: Option<Curve>,
    pub up_beside_kernels: Option<Curve>,
    /// Relative scatter of the extra time that large copies take when both directions are busy.
    #[serde(default, deserialize_with = "scatter")]
    pub scatter: f64,
    /// Nanoseconds that the H2D copy engine idles when it switches streams, over the number of
    /// streams that keep it busy.
    pub down_switch: Option<Curve>,
    pub up_switch: Option<Curve>,
    #[serde(default)]
    pub refetches: Vec<Refetch>,
}

priced! {
    LinkModel {
        Usual: down_shared, up_shared, down_shared_kept, up_shared_kept;
        No: down_bytes_per_second, up_bytes_per_second, down_beside_kernels, up_beside_kernels,
            down_switch, up_switch, refetches;
    }
    besides scatter; by |link| link.scatter
}

impl LinkModel {
    /// Extra nanoseconds of a copy while kernels run; 0 if that was not measured.
    pub fn kernel_delay(&self, direction: Direction, bytes: Bytes) -> f64 {
        let curve = [&self.down_beside_kernels, &self.up_beside_kernels][direction as usize];
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
    pub per_byte: Option<Curve>,
    /// Nanoseconds for each byte in the best tenth of the measurements: what two directions cost
    /// each other while nothing else on the host uses memory.
    #[serde(default, deserialize_with = "if_known")]
    pub at_best_per_byte_ns: Option<f64>,
    /// Replaces `per_copy_ns` for copies smaller than its last knot, over their own bytes. It is
    /// measured beside copies of the same size: beside large ones, rows of small copies take longer
    /// (4 B to the host: 0.3 to 2.7 us on an H200), but plans rarely make such rows.
    pub per_small_copy: Option<Curve>,
}

priced! {
    Contention {
        Usual: per_copy_ns, per_byte_ns, per_byte, per_small_copy;
        No: at_best_per_byte_ns;
    }
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

    /// The smallest size that was measured, where it shows nothing of what each copy pays.
    fn smallest(&self) -> Option<f64> {
        let is_large = self.per_small_copy.is_none() && self.per_copy_ns == 0.0;
        let large = self.per_byte.as_ref().filter(|_| is_large)?;
        large.knots.first().map(|knot| knot.0)
    }

    /// Extra nanoseconds of a copy for all of its bytes.
    pub fn of_bytes(&self, bytes: Bytes) -> f64 {
        let bytes = bytes.as_f64();
        self.per_byte.as_ref().map_or(self.per_byte_ns, |curve| curve.within(bytes)) * bytes
    }
}

/// How much kernels that wait in several streams slow H2D copies. The device has few command
/// readers, and each works on one channel at a time: it leaves a channel that has to wait for
/// another one (NVIDIA open-gpu-doc, `dev_pbdma`, "Semaphore switch option"). With more waiting
/// streams than readers, the device reads the same commands again and again, over the link that
/// copies need. This explains what an H200 does: H2D copies take longer with the number of streams
/// from three on and with the number of kernels in each, D2H copies do not, and neither do copies
/// beside kernels that wait in branches of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refetch {
    /// Number of streams that wait.
    #[serde(deserialize_with = "several")]
    pub streams: usize,
    /// How many times as long copies take, over the number of kernels in each stream.
    #[serde(deserialize_with = "no_quicker")]
    pub slowdown: Curve,
}

priced! {
    Refetch { No: slowdown; }
    besides streams; above 1.0
}

fn several<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let streams = usize::deserialize(from)?;
    let wrong = || D::Error::custom("kernels must wait in two or more streams");
    (streams >= 2).then_some(streams).ok_or_else(wrong)
}

fn no_quicker<'de, D: Deserializer<'de>>(from: D) -> Result<Curve, D::Error> {
    let slowdown = Curve::deserialize(from)?;
    let wrong = || {
        D::Error::custom(
            "copies alongside waiting kernels must take at least as long as \
                             without them",
        )
    };
    slowdown.knots.iter().all(|knot| knot.1 >= 1.0).then_some(slowdown).ok_or_else(wrong)
}

/// How large pinned copies of one direction and other work that uses memory slow each other: how
/// many times as long each takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    pub load: Load,
    pub direction: Direction,
    #[serde(deserialize_with = "slowdown")]
    pub copy_slowdown: f64,
    #[serde(deserialize_with = "slowdown")]
    pub load_slowdown: f64,
    /// Relative scatter of the slowdown of the copies.
    #[serde(deserialize_with = "scatter")]
    pub scatter: f64,
}

priced! {
    Interference { SpelledOut: copy_slowdown, load_slowdown; }
    besides load, direction, scatter; above 1.0; by |found| found.scatter
}

/// Copies that are so many times smaller than the smallest that were measured beside the other
/// direction may pay a fixed time that such large ones do not show.
const FAR: f64 = 2.0;

/// By less than this share, kernels slow copies no more than calibrations of machines whose kernels
/// do not would differ. Copies beside kernels took 0.01 to 0.03 longer on H200s, and 0.10 on a busy
/// host, with an interval of 0.17 either way. Where copies were slowed by as much, trials on that
/// host were off by 3.9% in the median and not by 3.2%.
const CLEARLY: f64 = 0.25;

impl Profile {
    /// How many times as long copies of a direction take while kernels run. On a K40, copies took
    /// longer by 0.45 to 0.55 of the time of kernels that ran beside them, on a V100 by 0.21; on an
    /// H200 it is hardly to be seen.
    pub fn kernel_slowdown(&self, direction: Direction) -> f64 {
        let slowdown = self.interference(Load::Kernel, direction).map(|found| found.copy_slowdown);
        slowdown.filter(|&slowdown| slowdown > 1.0 + CLEARLY).unwrap_or(1.0)
    }

    /// What large copies of a direction and threads of the CPU that stream through memory take from
    /// each other; nothing if it was not measured.
    pub fn beside_cpu(&self, direction: Direction) -> Option<&Interference> {
        self.interference(Load::Cpu, direction)
    }

    fn interference(&self, load: Load, direction: Direction) -> Option<&Interference> {
        self.interference.iter().find(|one| (one.load, one.direction) == (load, direction))
    }

    /// For which share of so many nanoseconds all threads of the CPU stream through memory, if they
    /// go through so many bytes of a program that uses `footprint` bytes in turn: as far as is
    /// known, at the rate at which they stream beside copies.
    pub fn streams(&self, bytes: Bytes, footprint: Bytes, nanos: f64) -> f64 {
        let (variant, elements) = STREAMING_TWIN;
        let fits = |model: &&TwinModel| (model.variant, model.found) == (variant, Warmth::Memory);
        let model = self.twins.iter().find(fits);
        let per_byte = model
            .map_or(0.0, |model| model.time.at(elements as f64) / variant.bytes(elements) as f64);
        let misses = misses_of(&self.caches.twin_misses, footprint).unwrap_or(1.0);
        (bytes.as_f64() * misses * per_byte / nanos.max(1.0)).clamp(0.0, 1.0)
    }

    /// How much longer copies of a direction take while the other direction is busy.
    ///
    /// # Errors
    /// If copies both ways at once were not calibrated.
    pub fn shared(&self, direction: Direction) -> Known<&Contention> {
        let shared = [&self.link.down_shared, &self.link.up_shared][direction as usize];
        let what = "copies with concurrent copies in the other direction";
        shared.as_ref().ok_or_else(|| Unknown::new(format!("{direction} {what}")))
    }

    /// The most nanoseconds that the other direction adds to a copy, for the copy itself and for
    /// its bytes, in a plan whose D2H copies write `written` bytes. The second figure depends on
    /// whether caches keep what they write. Copies smaller than any measured with caches count as
    /// without: on an H100, 127 KB copies took the same whether 16 MB or 256 MB were used in turn.
    ///
    /// # Errors
    /// As for [`Profile::shared`].
    pub fn beside_the_other(
        &self,
        (direction, bytes): (Direction, Bytes),
        written: Bytes,
    ) -> Known<[f64; 2]> {
        let of = |shared: &Contention| [shared.of_copy(bytes), shared.of_bytes(bytes)];
        let shared = self.shared(direction)?;
        if let Some(smallest) = shared.smallest().filter(|&one| bytes.as_f64() * FAR < one) {
            let smallest = Bytes::new((smallest / FAR) as u64);
            let below = format!("{direction} copies below {smallest}");
            let what = format!("{below} with concurrent copies in the other direction");
            return Err(Unknown::because(Why::Beyond, what));
        }
        let through = of(shared);
        let kept = [&self.link.down_shared_kept, &self.link.up_shared_kept][direction as usize];
        let is_known = |kept: &&Contention| {
            let sizes = kept.per_byte.as_ref().and_then(|curve| curve.knots.first());
            sizes.is_some_and(|&(smallest, _)| bytes.as_f64() >= smallest)
        };
        let kept = kept.as_ref().filter(is_known);
        let misses = misses_of(&self.caches.written_misses, written);
        let Some((kept, misses)) = kept.zip(misses) else {
            return Ok(through);
        };
        let kept = of(kept);
        Ok([0, 1].map(|part| blend(kept[part], through[part], misses)))
    }

    /// Whether [`super::LinkModel::refetching`] was measured.
    ///
    /// # Errors
    /// If it was not.
    pub fn knows_refetching(&self) -> Known {
        let unknown = || {
            Unknown::new(
                "the slowdown of H2D copies caused by kernels waiting in other \
                             streams",
            )
        };
        (!self.link.refetches.is_empty()).then_some(()).ok_or_else(unknown)
    }
}

//! Ways for data other than plain copies, and how copies and other work slow each other.

use super::checked::not_negative;
use super::{Curve, Estimate};
use crate::machine::Direction;
use crate::samples::{Condition, Load, MemoryWork, Samples, TransferPath};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A way for data: nanoseconds over bytes, back to back with nothing beside it. For managed memory
/// that moves, this is host time including the call and the synchronisation after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferModel {
    pub path: TransferPath,
    pub time: Curve,
}

/// How large pinned copies of one direction and other work that uses memory slow each other: how
/// many times as long each takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    pub load: Load,
    pub direction: Direction,
    #[serde(deserialize_with = "not_negative")]
    pub copy_slowdown: f64,
    #[serde(deserialize_with = "not_negative")]
    pub load_slowdown: f64,
    /// Relative scatter of the slowdown of the copies.
    #[serde(deserialize_with = "not_negative")]
    pub scatter: f64,
}

/// How much kernels that wait in several streams slow H2D copies. The device has few command
/// readers, and each works on one channel at a time: it leaves a channel that has to wait for
/// another one (NVIDIA open-gpu-doc, `dev_pbdma`, "Semaphore switch option"). With more waiting
/// streams than readers, the device reads the same commands again and again, over the link that
/// copies need. This explains what an H200 does: H2D copies take longer with the number of streams
/// from three on and with the number of kernels in each, D2H copies do not, and neither do copies
/// beside kernels that wait in branches of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawRefetch")]
pub struct Refetch {
    /// Number of streams that wait.
    pub streams: usize,
    /// How many times as long copies take, over the number of kernels in each stream.
    pub slowdown: Curve,
}

/// A [`Refetch`] as a file has it, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRefetch {
    streams: usize,
    slowdown: Curve,
}

impl TryFrom<RawRefetch> for Refetch {
    type Error = &'static str;

    fn try_from(RawRefetch { streams, slowdown }: RawRefetch) -> Result<Self, Self::Error> {
        if streams < 2 || slowdown.knots.iter().any(|knot| knot.1 < 1.0) {
            return Err(
                "copies beside kernels of two streams and more take 1 time as long or more",
            );
        }
        Ok(Self { streams, slowdown })
    }
}

/// Host time of making what a plan needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupCosts {
    pub stream: Option<Estimate>,
    pub event: Option<Estimate>,
    /// Making a context while another one is in use.
    pub context: Option<Estimate>,
    /// Loading a module that NVRTC compiled and that the driver has in its cache.
    pub module: Option<Estimate>,
}

/// A size at which memory management takes one of two times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoWays {
    pub work: MemoryWork,
    pub bytes: Bytes,
    /// The more frequent of the two times, with the rarer one as its `other`.
    pub time: Estimate,
}

/// The device's clocks and temperature as it reported them during the calibration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    pub measurements: usize,
    /// Measurements taken while clocks were held down or unusual. They count like all others.
    pub disturbed: usize,
    pub before: Option<Condition>,
    pub after: Option<Condition>,
    /// How many measurements were disturbed for each reason.
    #[serde(default)]
    pub reasons: BTreeMap<String, usize>,
}

impl Conditions {
    /// Summarises what the samples say; `None` if the device was not asked.
    pub fn of(samples: &Samples) -> Option<Self> {
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for reason in samples.measurements.iter().filter_map(|m| m.disturbed.as_ref()) {
            *reasons.entry(reason.clone()).or_default() += 1;
        }
        Some(Self {
            measurements: samples.measurements.len(),
            disturbed: reasons.values().sum(),
            before: Some(samples.conditions.first()?.clone()),
            after: samples.conditions.last().filter(|_| samples.conditions.len() > 1).cloned(),
            reasons,
        })
    }
}

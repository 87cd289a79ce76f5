//! Every cost model of a machine, laid out as in its file. A model that was not measured is absent.

use super::costs::{
    CallCosts, CopyModel, HandOver, InlineCopies, KernelModel, Latencies, LinkModel, MemoryCosts,
    Polling, StagingModel, TwinModel,
};
use super::{
    Accuracy, CacheModel, Conditions, GraphCosts, Interference, Intervals, MultiGpu, SetupCosts,
    TransferModel,
};
use crate::samples::Provenance;
use serde::{Deserialize, Serialize};

/// A machine as calibration found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub schema_version: u32,
    pub machine: Provenance,
    #[serde(default)]
    pub calls: CallCosts,
    /// Like `calls`, but each call is made alone on an idle device.
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
    /// Like `copies`, for host memory that was pinned in place (registered).
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

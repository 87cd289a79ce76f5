//! What several GPUs of a machine add: copies between them, and the links and memory that they
//! share.

use super::checked::not_negative;
use super::{Curve, Estimate};
use crate::machine::DeviceId;
use crate::units::Bandwidth;
use serde::{Deserialize, Serialize};

/// Costs of plans that use several GPUs. Only the first GPU is calibrated in full. The others are
/// compared with it, and plans use them only if they are alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiGpu {
    /// Host time of switching to another GPU's context.
    pub use_device: Option<Estimate>,
    /// Host time of the call of a copy from GPU to GPU.
    pub peer_copy: Option<Estimate>,
    /// Time from the return of the call of a peer copy, on idle GPUs, to the start of the copy.
    pub start_peer_copy: Option<Estimate>,
    /// How much longer it takes to wait for an event of another GPU than for one of another stream
    /// on the same GPU.
    pub crossing: Option<Estimate>,
    #[serde(default, rename = "peer")]
    pub peers: Vec<PeerModel>,
    #[serde(default, rename = "root")]
    pub roots: Vec<RootModel>,
    #[serde(default, rename = "other")]
    pub others: Vec<OtherGpu>,
}

/// Copies from one GPU's memory to another's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerModel {
    pub from: DeviceId,
    pub to: DeviceId,
    /// Whether they reach each other's memory; if not, the driver takes the data
    /// through host memory.
    pub direct: bool,
    /// Nanoseconds over bytes, for copies back to back with nothing in the other direction.
    pub time: Curve,
    /// What the two carry in both directions together.
    pub both_bytes_per_second: Option<Bandwidth>,
}

/// What several GPUs together copy from and to host memory. Each has a link of its own, but all
/// links meet at the root complex and in host memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootModel {
    pub devices: usize,
    pub down_bytes_per_second: Option<Bandwidth>,
    pub up_bytes_per_second: Option<Bandwidth>,
    /// Both directions at once, added up.
    pub both_bytes_per_second: Option<Bandwidth>,
    /// Relative scatter of the copies that these rates come from.
    #[serde(default, deserialize_with = "not_negative")]
    pub scatter: f64,
}

/// How another GPU compares with the first: its time over that of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherGpu {
    pub device: DeviceId,
    #[serde(deserialize_with = "not_negative")]
    pub copy_in: f64,
    #[serde(deserialize_with = "not_negative")]
    pub copy_out: f64,
    #[serde(deserialize_with = "not_negative")]
    pub kernel: f64,
}

impl MultiGpu {
    /// Whether nothing was measured, as with a single GPU.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

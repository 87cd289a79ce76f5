//! The fitted machine: what every call, copy and kernel costs, with scatter.
//!
//! Invariant: a [`Profile`] holds measured models only, and each of them may be
//! missing. What it does not know it answers with [`Unknown`], never with a
//! guess. Times are in nanoseconds,
//! sizes in bytes or elements, bandwidths in bytes per second; the keys of the
//! file say which.

mod accuracy;
mod answers;
mod around;
mod caches;
mod checked;
mod consistent;
mod costs;
mod curve;
mod file;
mod graphs;
mod intervals;
mod kernels;
mod model;
mod multi_gpu;
mod operation;
mod parameter;
mod parameters;
mod polling;
mod staging;
mod transfers;
mod unknown;

/// What is asked of [`Profile::graph_call`].
pub use crate::samples::GraphCall;
pub use accuracy::{Accuracy, Handling, Margin};
pub use answers::{HostCall, MemoryCost};
pub use around::{Around, MOST_OPERANDS, OnDevice, Reuse};
pub use caches::{CacheModel, Handed};
pub use costs::{
    CallCosts, Contention, CopyModel, HandOver, InlineCopies, KernelModel, Latencies, LinkModel,
    MemoryCosts, Polling, StagingModel, TwinModel, Warmth,
};
pub use curve::{Beyond, Curve, Estimate, Other};
pub use file::{ProfileError, SCHEMA_VERSION};
pub use graphs::{GraphCosts, NodeHandOver, PerNode};
pub use intervals::Intervals;
pub use kernels::KernelTime;
pub use model::Profile;
pub use multi_gpu::{MultiGpu, OtherGpu, PeerModel, RootModel};
pub use operation::OperationKind;
pub use parameter::Parameter;
pub use polling::{FirstPoll, SemaphorePolling};
pub use transfers::{Conditions, Interference, Refetch, SetupCosts, TransferModel, TwoWays};
pub use unknown::Unknown;

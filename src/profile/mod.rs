//! The fitted machine: what every call, copy and kernel costs, with scatter.
//!
//! Invariant: a [`Profile`] holds measured models only, and each of them may be
//! missing. What it does not know it answers with [`Unknown`], never with a
//! guess. Times are in nanoseconds,
//! sizes in bytes or elements, bandwidths in bytes per second; the keys of the
//! file say which.

mod accuracy;
mod answers;
mod caches;
mod checked;
mod consistent;
mod curve;
mod file;
mod graphs;
mod intervals;
mod kernels;
mod looks;
mod model;
mod multi_gpu;
mod parameters;
mod staging;
mod transfers;

/// What is asked of [`Profile::graph_call`].
pub use crate::samples::GraphCall;
pub use accuracy::{Accuracy, Handling, Margin};
pub use answers::{HostCall, MemoryCost, Unknown};
pub use caches::{CacheModel, Handed};
pub use curve::{Beyond, Curve, Estimate, Other};
pub use file::{ProfileError, SCHEMA_VERSION};
pub use graphs::{GraphCosts, NodeHandOver, PerNode};
pub use intervals::Intervals;
pub use kernels::{Around, KernelTime, MOST_OPERANDS, OnDevice, Reuse};
pub use looks::{Looks, LooksAfter};
pub use model::{
    CallCosts, Contention, CopyModel, HandOver, InlineCopies, KernelModel, Latencies, LinkModel,
    MemoryCosts, OperationKind, Polling, Profile, StagingModel, TwinModel, Warmth,
};
pub use multi_gpu::{MultiGpu, OtherGpu, PeerModel, RootModel};
pub use parameters::Parameter;
pub use transfers::{Conditions, Interference, Refetch, SetupCosts, TransferModel, TwoWays};

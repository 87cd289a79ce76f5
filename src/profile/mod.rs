//! The fitted machine: what every call, copy and kernel costs, with scatter.
//!
//! One file holds a mechanism: its models, which prices they have (`prices`), and what the profile
//! answers from them. `calibrate`, `samples` and `fit` have a file of that name where they have
//! something of it.
//!
//! Invariant: a [`Profile`] holds measured models only, and each of them may be missing. What it
//! does not know it answers with [`Unknown`], never with a guess. Times are in nanoseconds, sizes
//! in bytes or elements, bandwidths in bytes per second; the keys of the file say which.

mod accuracy;
mod borrowed;
mod caches;
mod calls;
mod chains;
mod checked_numbers;
mod conditions;
mod consistency;
mod contention;
mod copies;
mod curve;
mod draws;
mod file;
mod graphs;
mod host_copies;
mod intervals;
mod kernels;
mod locality;
mod memory;
mod multi_gpu;
mod own_kernels;
mod parameters;
mod polling;
mod prices;
mod round_trips;
mod rows;
mod rules;
mod setup;
mod staging;
mod transfers;
mod twins;
mod unknown;

/// What hand-overs and latencies are of.
pub use crate::machine::OperationKind;
/// What is asked of [`Profile::graph_call`].
pub use crate::samples::GraphCall;
/// What is asked of [`Profile::memory`].
pub use crate::samples::MemoryWork;
/// What is asked of [`Profile::rows`].
pub use crate::samples::RowPath;
/// What is asked of [`Profile::call`].
pub use crate::samples::TimedCall;
pub use accuracy::{Accuracy, Handling, Margin};
pub use borrowed::{Borrowed, BorrowedCosts, BorrowedGroup};
pub use caches::{CacheModel, Handed, Warmth};
pub use calls::CallCosts;
pub use chains::HandOver;
pub use conditions::Conditions;
pub use contention::{Contention, Interference, LinkModel, Refetch};
pub use copies::CopyModel;
pub use curve::{Beyond, Curve, Estimate, Other};
pub use file::{ProfileError, SCHEMA_VERSION};
pub use graphs::{GraphCosts, NodeHandOver, PerNode};
pub use host_copies::HostCopyModel;
pub use intervals::Intervals;
pub(crate) use kernels::KernelPrices;
pub use kernels::{KernelModel, KernelTime};
pub use locality::{DeviceLocality, HostLocality, JustWritten, MOST_OPERANDS, Reuse};
pub use memory::MemoryCosts;
pub use multi_gpu::{MultiGpu, OtherGpu, PeerModel, RootModel};
pub use own_kernels::{OwnCommandModel, OwnKernelModel, OwnTime, Processor};
pub use parameters::Parameter;
pub use polling::{FirstPoll, Polling, SemaphorePolling};
pub use prices::{Amount, Key, Price};
pub use round_trips::{InlineCopies, Latencies};
pub use rows::RowModel;
pub use rules::Rule;
pub use setup::SetupCosts;
pub use staging::StagingModel;
pub use transfers::TransferModel;
pub use twins::TwinModel;
pub use unknown::{Known, Unknown};

use crate::samples::Provenance;
use checked_numbers::if_known;
use prices::priced;
use serde::{Deserialize, Serialize};

/// A machine as calibration found it, laid out as in its file. A model that was not measured is
/// absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub schema_version: u32,
    /// How far off predictions are on machines where plans were tried, as a share: both ends of
    /// every range move outwards by it. Only where no plans were tried on this machine.
    #[serde(default, deserialize_with = "if_known")]
    pub model_error: Option<f64>,
    pub machine: Provenance,
    #[serde(default)]
    pub calls: CallCosts,
    #[serde(default)]
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
    pub inline: Option<InlineCopies>,
    #[serde(default, rename = "transfer")]
    pub transfers: Vec<TransferModel>,
    /// Copies of rows that lie apart. `host_copy`: copies that the CPU makes.
    #[serde(default, rename = "row_copy")]
    pub rows: Vec<RowModel>,
    #[serde(default, rename = "host_copy")]
    pub host_copies: Vec<HostCopyModel>,
    #[serde(default)]
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
    #[serde(default)]
    pub graph: GraphCosts,
    /// Kernels of scenarios, which `hallway calibrate --scenario` measures.
    #[serde(default, rename = "own_kernel")]
    pub own_kernels: Vec<OwnKernelModel>,
    /// What does the same on the CPU.
    #[serde(default, rename = "own_command")]
    pub own_commands: Vec<OwnCommandModel>,
    /// Left out where one GPU was calibrated.
    #[serde(default)]
    pub multi_gpu: MultiGpu,
    /// Left out where no plans were tried.
    pub accuracy: Option<Accuracy>,
    /// Left out where the device did not tell.
    pub conditions: Option<Conditions>,
    /// Left out where nothing was measured in two passes.
    pub intervals: Option<Intervals>,
    /// What comes from the profiles of other machines. Left out where nothing does.
    #[serde(default)]
    pub borrowed: Vec<Borrowed>,
    /// Rules that the simulator leaves out for this machine: see [`Profile::without`].
    #[serde(skip)]
    pub switched_off: Vec<Rule>,
}

priced! {
    Profile {
        Usual: calls, latency, hand_overs as "handover", graph, copies as "copy",
            kernels as "kernel", twins as "twin", staging, inline, link, multi_gpu, memory,
            own_kernels as "own_kernel", own_commands as "own_command";
        OtherMemory: transfers as "transfer";
        SpelledOut: host_copies as "host_copy", rows as "row_copy", interference;
        No: caches, polling, setup;
    }
    besides schema_version, model_error, machine, accuracy, conditions, intervals, borrowed,
        switched_off
}

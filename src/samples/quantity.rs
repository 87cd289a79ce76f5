//! What can be measured: every quantity, with what it is.
//!
//! A quantity is defined here, and nowhere else: its variant, its definition and its name. How it
//! is probed stands in `calibrate`, and what is fitted to it in `fit`, in the files of its
//! mechanism.
//! A new one goes to the end: intervals draw random numbers for quantities in this order.

mod names;

use super::calls::TimedCall;
use super::contention::{Load, Side};
use super::copies::is_of_rate;
use super::definition::{Definition, Work};
use super::graphs::GraphCall;
use super::memory::{MemoryWork, WaitPart};
use super::own_kernels::OwnRun;
use super::round_trips::TripPart;
use super::rows::RowPath;
use super::setup::SetupStep;
use super::transfers::TransferPath;
use super::twins::{Handing, Taker};
use crate::kernels::Variant;
use crate::machine::{DeviceId, Direction, OperationKind};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What was measured. The times of a [`Measurement`](super::Measurement) are of `count` repetitions
/// of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Quantity {
    /// Host time of calls made back to back to a stream that is held, so that nothing runs
    /// meanwhile.
    Call { call: TimedCall },
    /// Host time from issuing dependent operations to an idle device until a synchronisation
    /// returns. `across`: each is in another stream than the one before. `long`: each lasts until
    /// the next one has arrived and waits.
    RoundTrip { links: Vec<OperationKind>, across: bool, long: bool },
    /// Device time of a chain of short dependent operations that were all queued in advance.
    /// `across`: each is in another stream than the one before.
    Chain { links: Vec<OperationKind>, across: bool },
    /// Host time of a call on a graph of dependent short operations, which repeat the first of
    /// [`CYCLES`](super::CYCLES). The three calls are measured together; launches go into an idle
    /// stream and behind other launches of the graph.
    GraphCall { call: GraphCall, nodes: u64 },
    /// Like [`Quantity::Chain`], with the operations as nodes of one graph.
    GraphChain { links: Vec<OperationKind> },
    /// Device time of rows of `kernels` long kernels in one branch of a graph. `waits`: each row
    /// waits for a short H2D copy in a second branch. `awaited`: a short D2H copy in a third branch
    /// waits for each row.
    GraphRows { kernels: u64, waits: bool, awaited: bool },
    /// Host time from the launch of a graph into an idle stream until a synchronisation returns.
    /// Its nodes are a copy to the device of 4 bytes, one of `bytes`, and a short kernel.
    CopyBehindNode { bytes: Bytes },
    /// Device time from the end of an operation to the start of a dependent one that is already
    /// waiting. `across`: that one is in another stream. Only tables have this; hallway measures
    /// whole chains.
    HandOver { from: OperationKind, to: OperationKind, across: bool },
    /// Device time of copies that a copy engine takes in turn from `streams` streams, or from as
    /// many branches of a graph: in each, a kernel separates one copy from the next.
    Rotation {
        direction: Direction,
        bytes: Bytes,
        streams: usize,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_graph: bool,
    },
    /// Device time of small kernels back to back in a stream, while each of `others` streams holds
    /// a kernel that waits for an event. `copies`: whether large H2D copies, and D2H ones, go on
    /// meanwhile.
    Polled { others: usize, copies: [bool; 2] },
    /// Device time of pinned H2D copies back to back, while each of `streams` streams holds
    /// `kernels` kernels that wait for the last of the copies, each with a small D2H copy behind
    /// it.
    Refetched { bytes: Bytes, streams: usize, kernels: u64 },
    /// Device time of pinned copies back to back.
    Copy { direction: Direction, bytes: Bytes },
    /// Device time of pinned copies back to back, with a small kernel in another stream that waits
    /// for each copy (`kernels`), or without. The two are measured together.
    CopyBesideKernels { direction: Direction, bytes: Bytes, kernels: bool },
    /// Device time of the copies of one direction while as many go the other way and kernels run.
    /// Both directions are measured together, sample by sample. Each uses `footprint` bytes of host
    /// memory in turn.
    Shared { direction: Direction, bytes: Bytes, footprint: Bytes },
    /// Host time of a pageable copy until the call returns or, with `complete`, until the copy is
    /// done. Copies use `footprint` bytes of host memory in turn.
    Staged { direction: Direction, bytes: Bytes, footprint: Bytes, complete: bool },
    /// Device time of a kernel launched back to back on the same data.
    Kernel { variant: Variant, elements: u64 },
    /// Device time of a kernel launched back to back, each launch on data of its own that an H2D
    /// copy has brought and nothing has read yet.
    JustCopied { variant: Variant, elements: u64 },
    /// Device time of a kernel launched back to back, each launch on data of its own that was last
    /// used before other kernels used the rest of `footprint` bytes of device memory.
    KernelAround { variant: Variant, elements: u64, footprint: Bytes },
    /// Host time of a kernel's CPU twin. Runs use `footprint` bytes of memory in turn.
    Twin { variant: Variant, elements: u64, footprint: Bytes },
    /// Host time of a CPU twin whose data was last touched by other threads. Every `taker` and
    /// `part` is measured together.
    Handed { taker: Taker, part: Handing, elements: u64 },
    /// Host time of managing memory in a way, or of using it.
    Memory { work: MemoryWork, bytes: Bytes },
    /// Host time of calls among others, as a plan makes them, while the device works on what they
    /// issue. `one_stream`: each piece has all of its operations in one stream; otherwise copies
    /// and kernels have streams of their own that wait for each other. Without a `call`, the time
    /// of a whole turn of calls with no clock between them; it is left out where reading the clock
    /// is already subtracted from each call. All calls are measured together.
    CallInTurn {
        call: Option<TimedCall>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        one_stream: bool,
    },
    /// Host time of launches while a long copy of a direction is under way, or none. All cases are
    /// measured together.
    LaunchBeside { copy: Option<Direction> },
    /// Host time of a part of a trip: an operation is issued to an idle device, a short one behind
    /// it in its stream if there is a `next`, and then the host synchronises. All parts are
    /// measured together. `size`: bytes of a copy, or the degree of a polynomial over
    /// [`TRIP_ELEMENTS`](super::TRIP_ELEMENTS). `in_graph`: the operations are nodes, and the
    /// launch of the graph is the only call.
    Trip {
        first: OperationKind,
        size: u64,
        next: Option<OperationKind>,
        part: TripPart,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_graph: bool,
    },
    /// Like [`Quantity::Trip`], with the second call made [`LATE`](super::LATE) after the first has
    /// returned, so that the first operation is well under way. The pause is part of the time of
    /// the second call.
    LateTrip { first: OperationKind, size: u64, next: OperationKind, part: TripPart },
    /// Device time of moving `bytes` back to back. For managed memory that moves, host time from
    /// the call until a synchronisation returns. Where a kernel reads and writes, as many bytes go
    /// each way.
    Transfer { path: TransferPath, bytes: Bytes },
    /// Device time of pinned copies beside a load, or the time of that load. Both start together
    /// and are measured together, sample by sample.
    Beside { direction: Direction, bytes: Bytes, load: Load, of: Side },
    /// Host time of creating something that a plan needs.
    Setup { step: SetupStep },
    /// Device time of copies from GPU to GPU back to back. `direct`: the GPUs reach each other's
    /// memory. `both`: as many copies go the other way, and both ways are measured together.
    PeerCopy { from: DeviceId, to: DeviceId, bytes: Bytes, direct: bool, both: bool },
    /// Device time of pinned copies on each of `devices` GPUs at once, until the slowest GPU is
    /// done. `both`: as many copies go the other way on each, and both ways are measured together.
    Concurrent { direction: Direction, bytes: Bytes, devices: usize, both: bool },
    /// Host time from issuing a long kernel to one GPU, and one that depends on it to a second GPU,
    /// until a synchronisation returns. Not `whole`: only how much longer waiting for another GPU's
    /// event takes than for an event of the same GPU, which only tables have.
    Crossing { whole: bool },
    /// Another quantity, measured on one of several GPUs to compare them.
    On { device: DeviceId, of: Box<Quantity> },
    /// Device time of copies of rows, a [`GAP`](super::GAP) apart, back to back; of pageable
    /// memory, host time until one is complete.
    Rows { path: RowPath, row: Bytes, rows: u64 },
    /// Host time of copies from host memory to host memory, by one thread or by all. They use
    /// `footprint` bytes in turn, both sides together; with `into_cache`, all go to the same
    /// memory.
    HostCopy {
        by_all: bool,
        bytes: Bytes,
        footprint: Bytes,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        into_cache: bool,
    },
    /// Host time of memory management beside a load of the device, without one, and of the load.
    /// All parts are measured together, sample by sample.
    MemoryBeside { work: MemoryWork, part: WaitPart },
    /// A run of what a scenario brought along.
    Own(OwnRun),
    /// Device time of a kernel back to back while large pinned copies of a direction go on. Only
    /// tables have this; hallway measures one kernel, as [`Quantity::Beside`].
    KernelBeside { direction: Direction, variant: Variant, elements: u64 },
    /// A node of a graph: the device time from the end of the node that it depends on to its start.
    /// Without such a node, the host time of launching a graph of this node alone, from the call to
    /// the return of a synchronisation, on an idle device. Only tables have this.
    Node { after: Option<OperationKind>, of: OperationKind },
}

impl Quantity {
    /// Whether it is measured in processes that are started for it.
    pub fn is_of_new_process(&self) -> bool {
        matches!(self, Self::Setup { step } if SetupStep::IN_NEW_PROCESS.contains(step))
    }

    /// Everything about it but how it is probed and what is fitted to it.
    pub fn definition(&self) -> Definition {
        let is = Definition::new;
        let waits = || is(Work::Waiting);
        match self {
            Self::Call { .. } | Self::CallInTurn { .. } | Self::LaunchBeside { .. } => {
                is(Work::Issuing)
            }
            Self::Setup { step } => step.definition(),
            Self::CopyBehindNode { bytes } => waits().bytes(*bytes),
            Self::Crossing { .. } | Self::MemoryBeside { .. } | Self::Node { .. } => waits(),
            Self::RoundTrip { links, .. } => waits().count("links", links.len() as u64),
            Self::Trip { size, .. } | Self::LateTrip { size, .. } => waits().size("size", *size),
            Self::GraphCall { nodes, .. } => waits().count("nodes", *nodes),
            Self::Chain { links, .. } | Self::GraphChain { links } => {
                is(Work::Device).count("links", links.len() as u64)
            }
            Self::GraphRows { kernels, .. } => is(Work::Device).count("kernels", *kernels),
            Self::HandOver { .. } => is(Work::Together),
            Self::Rotation { bytes, streams, .. } => {
                is(Work::Device).count("streams", *streams as u64).bytes(*bytes)
            }
            Self::Polled { others, .. } => is(Work::Device).count_or_none("others", *others as u64),
            Self::Refetched { bytes, streams, kernels } => {
                let device = is(Work::Device).bytes(*bytes);
                device.count_or_none("streams", *streams as u64).count_or_none("kernels", *kernels)
            }
            Self::Copy { bytes, .. } => is(Work::Device).bytes(*bytes).of_rate(is_of_rate(*bytes)),
            Self::CopyBesideKernels { bytes, .. } => is(Work::Device).bytes(*bytes),
            Self::Shared { bytes, footprint, .. } => {
                let both = is(Work::Together).bytes(*bytes).of_rate(is_of_rate(*bytes));
                both.footprint(*footprint)
            }
            Self::Staged { bytes, footprint, .. } => {
                is(Work::Staging).bytes(*bytes).footprint(*footprint)
            }
            Self::Kernel { elements, .. }
            | Self::JustCopied { elements, .. }
            | Self::KernelBeside { elements, .. } => is(Work::Device).size("elements", *elements),
            Self::KernelAround { elements, footprint, .. } => {
                is(Work::Device).size("elements", *elements).footprint(*footprint)
            }
            Self::Twin { variant, elements, footprint } => {
                let by_team = variant.is_shared(*elements, footprint.get());
                let computing = is(Work::Computing).size("elements", *elements);
                computing.footprint(*footprint).by_team(by_team)
            }
            Self::Handed { elements, .. } => {
                is(Work::Computing).size("elements", *elements).by_team(true)
            }
            Self::Memory { work, bytes } => work.definition(*bytes),
            Self::Transfer { bytes, .. } | Self::Beside { bytes, .. } => {
                is(Work::Together).bytes(*bytes)
            }
            Self::PeerCopy { from, to, bytes, .. } => {
                is(Work::Device).bytes(*bytes).gpu("from", *from).gpu("to", *to)
            }
            Self::Concurrent { bytes, devices, .. } => {
                let all = is(Work::Together).bytes(*bytes).of_rate(is_of_rate(*bytes));
                all.gpus("devices", *devices)
            }
            Self::Rows { path, row, rows } => {
                let work = if path.is_staged() { Work::Staging } else { Work::Device };
                is(work).size("row", row.get()).count("rows", *rows)
            }
            Self::HostCopy { by_all, bytes, footprint, .. } => {
                is(Work::Computing).bytes(*bytes).footprint(*footprint).by_team(*by_all)
            }
            Self::Own(run) => run.definition(),
            Self::On { device, of } => {
                is(Work::Together).gpu("device", *device).with(of.definition())
            }
        }
    }
}

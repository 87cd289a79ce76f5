//! Raw measurements: what was timed, how often, and every time that was taken.
//!
//! Invariant: nothing here is fitted, smoothed or left out. A calibration writes one line of JSON
//! about the machine, one line for each measurement as it is taken, and an end mark. So an
//! interrupted calibration keeps what it has. A table (`.csv`) holds times that were measured
//! elsewhere.

mod agreed;
mod calls;
mod condition;
mod error;
mod file;
mod handing;
mod paths;
mod plausible;
mod provenance;
mod table;
mod timing;
mod trial;
mod trips;
mod words;

pub use agreed::{
    CYCLES, DEVICE_FOOTPRINT, IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, LATE, LONG_COPY, LONG_KERNEL,
    MEANWHILE, MEMORY_FOOTPRINT, MOST_OF_ONE_CORE, ONE_TEAM, ONE_THREAD, REFETCHED, ROTATED,
    ROTATED_IN_GRAPH, ROWS, SECOND_NODE, SHARED_FOOTPRINT, SHORT_COPY, SHORT_KERNEL, TRIP_ELEMENTS,
    TURNS, WRITTEN_KEPT, WRITTEN_THROUGH,
};
pub use calls::{GraphCall, MemoryWork, TimedCall};
pub use condition::Condition;
pub use error::{FORMAT, SamplesError};
pub use file::Recorder;
pub use handing::{Handing, Taker};
pub use paths::{Load, STREAMING_KERNEL, STREAMING_TWIN, SetupStep, Side, TransferPath};
pub use provenance::{Extent, Provenance};
pub use timing::Doer;
pub use trial::Trial;
pub use trips::TripPart;

use crate::kernels::Variant;
use crate::machine::{DeviceId, Direction};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// One operation of a chain on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// An H2D copy of pinned memory: [`SHORT_COPY`] bytes, or [`LONG_COPY`] in a long chain.
    CopyIn,
    /// A D2H copy into pinned memory: [`SHORT_COPY`] bytes, or [`LONG_COPY`] in a long chain.
    CopyOut,
    /// A kernel: [`SHORT_KERNEL`], or [`LONG_KERNEL`] in a long chain.
    Kernel,
    /// A copy from the first GPU to the second, of as many bytes as the others.
    PeerCopy,
}

impl Link {
    /// The operations that a single device has.
    pub const OF_ONE_DEVICE: [Self; 3] = [Self::CopyIn, Self::CopyOut, Self::Kernel];
    pub const ALL: [Self; 4] = [Self::CopyIn, Self::CopyOut, Self::Kernel, Self::PeerCopy];
}

/// What was measured. The times of a [`Measurement`] are of `count` repetitions of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Quantity {
    /// Host time of calls made back to back to a stream that is held, so that nothing runs
    /// meanwhile.
    Call {
        call: TimedCall,
    },
    /// Host time from issuing dependent operations to an idle device until a synchronisation
    /// returns. `across`: each is in another stream than the one before. `long`: each lasts until
    /// the next one has arrived and waits.
    RoundTrip {
        links: Vec<Link>,
        across: bool,
        long: bool,
    },
    /// Device time of a chain of short dependent operations that were all queued in advance.
    /// `across`: each is in another stream than the one before.
    Chain {
        links: Vec<Link>,
        across: bool,
    },
    /// Host time of a call on a graph of dependent short operations, which repeat the first of
    /// [`CYCLES`]. The three calls are measured together; launches go into an idle stream and
    /// behind other launches of the graph.
    GraphCall {
        call: GraphCall,
        nodes: u64,
    },
    /// Like [`Quantity::Chain`], with the operations as nodes of one graph.
    GraphChain {
        links: Vec<Link>,
    },
    /// Device time of rows of `kernels` long kernels in one branch of a graph. `waits`: each row
    /// waits for a short H2D copy in a second branch. `awaited`: a short D2H copy in a third branch
    /// waits for each row.
    GraphRows {
        kernels: u64,
        waits: bool,
        awaited: bool,
    },
    /// Device time from the end of an operation to the start of a dependent one that is already
    /// waiting. `across`: that one is in another stream. Only tables have this; hallway measures
    /// whole chains.
    HandOver {
        from: Link,
        to: Link,
        across: bool,
    },
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
    Polled {
        others: usize,
        copies: [bool; 2],
    },
    /// Device time of pinned H2D copies back to back, while each of `streams` streams holds
    /// `kernels` kernels that wait for the last of the copies, each with a small D2H copy behind
    /// it.
    Refetched {
        bytes: Bytes,
        streams: usize,
        kernels: u64,
    },
    /// Device time of pinned copies back to back.
    Copy {
        direction: Direction,
        bytes: Bytes,
        registered: bool,
    },
    /// Device time of pinned copies back to back, with a small kernel in another stream that waits
    /// for each copy (`kernels`), or without. The two are measured together.
    CopyBesideKernels {
        direction: Direction,
        bytes: Bytes,
        kernels: bool,
    },
    /// Device time of the copies of one direction while as many go the other way and kernels run.
    /// Both directions are measured together, sample by sample. Each uses `footprint` bytes of host
    /// memory in turn.
    Shared {
        direction: Direction,
        bytes: Bytes,
        #[serde(default = "agreed::written_through")]
        footprint: Bytes,
    },
    /// Host time of a pageable copy until the call returns or, with `complete`, until the copy is
    /// done. Copies use `footprint` bytes of host memory in turn.
    Staged {
        direction: Direction,
        bytes: Bytes,
        footprint: Bytes,
        complete: bool,
    },
    /// Device time of a kernel launched back to back on the same data.
    Kernel {
        variant: Variant,
        elements: u64,
    },
    /// Device time of a kernel launched back to back, each launch on data of its own that an H2D
    /// copy has brought and nothing has read yet.
    JustCopied {
        variant: Variant,
        elements: u64,
    },
    /// Device time of a kernel launched back to back, each launch on data of its own that was last
    /// used before other kernels used the rest of `footprint` bytes of device memory.
    KernelAround {
        variant: Variant,
        elements: u64,
        footprint: Bytes,
    },
    /// Host time of a kernel's CPU twin. Runs use `footprint` bytes of memory in turn.
    Twin {
        variant: Variant,
        elements: u64,
        footprint: Bytes,
    },
    /// Host time of a CPU twin whose data was last touched by other threads. Every `taker` and
    /// `part` is measured together.
    Handed {
        taker: Taker,
        part: Handing,
        elements: u64,
    },
    Memory {
        work: MemoryWork,
        bytes: Bytes,
    },
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
    LaunchBeside {
        copy: Option<Direction>,
    },
    /// Host time of a part of a trip: an operation is issued to an idle device, a short one behind
    /// it in its stream if there is a `next`, and then the host synchronises. All parts are
    /// measured together. `size`: bytes of a copy, or the degree of a polynomial over
    /// [`TRIP_ELEMENTS`]. `in_graph`: the operations are nodes, and the launch of the graph is the
    /// only call.
    Trip {
        first: Link,
        size: u64,
        next: Option<Link>,
        part: TripPart,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_graph: bool,
    },
    /// Like [`Quantity::Trip`], with the second call made [`LATE`] after the first has returned, so
    /// that the first operation is well under way. The pause is part of the time of the second
    /// call.
    LateTrip {
        first: Link,
        size: u64,
        next: Link,
        part: TripPart,
    },
    /// Host time of calls made one at a time on an idle device. The wait for what each call started
    /// is not timed.
    IdleCall {
        call: TimedCall,
    },
    /// Device time of moving `bytes` back to back. For managed memory that moves, host time from
    /// the call until a synchronisation returns. Where a kernel reads and writes, as many bytes go
    /// each way.
    Transfer {
        path: TransferPath,
        bytes: Bytes,
    },
    /// Device time of pinned copies beside a load, or the time of that load. Both start together
    /// and are measured together, sample by sample.
    Beside {
        direction: Direction,
        bytes: Bytes,
        load: Load,
        of: Side,
    },
    /// Host time of creating something that a plan needs.
    Setup {
        step: SetupStep,
    },
    /// Device time of copies from GPU to GPU back to back. `direct`: the GPUs reach each other's
    /// memory. `both`: as many copies go the other way, and both ways are measured together.
    PeerCopy {
        from: DeviceId,
        to: DeviceId,
        bytes: Bytes,
        direct: bool,
        both: bool,
    },
    /// Device time of pinned copies on each of `devices` GPUs at once, until the slowest GPU is
    /// done. `both`: as many copies go the other way on each, and both ways are measured together.
    Concurrent {
        direction: Direction,
        bytes: Bytes,
        devices: usize,
        both: bool,
    },
    /// Host time from issuing a long kernel to one GPU, and one that depends on it to a second GPU,
    /// until a synchronisation returns. Not `whole`: only how much longer waiting for another GPU's
    /// event takes than for an event of the same GPU, which only tables have.
    Crossing {
        whole: bool,
    },
    /// Another quantity, measured on one of several GPUs to compare them.
    On {
        device: DeviceId,
        of: Box<Quantity>,
    },
}

/// Why no more samples were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The confidence interval of the median is narrow enough.
    Settled,
    /// The confidence interval is wider, but the scatter has settled, and as many samples as may
    /// still be taken would not narrow it enough.
    Stable,
    /// The limit of time or of samples was reached first.
    Capped,
    /// The limit of time was reached, and something else used the core during most samples. All of
    /// them are kept.
    Shared,
    /// Unknown: the times come from a table.
    Elsewhere,
}

/// One quantity, measured several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub quantity: Quantity,
    /// Repetitions within one sample.
    pub count: u64,
    /// The time of each sample, in the order in which they were taken.
    pub times: Vec<Span>,
    pub stop: Stop,
    /// Times of samples during which something else used the core of the timed thread. They are
    /// kept apart if there are enough undisturbed ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Span>,
    /// Why the machine was not in its usual state, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
}

impl Measurement {
    /// A measurement that nothing disturbed.
    pub const fn new(quantity: Quantity, count: u64, times: Vec<Span>, stop: Stop) -> Self {
        Self { quantity, count, times, stop, beside: Vec::new(), disturbed: None }
    }
}

/// A calibration's measurements and the machine that they are of.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    pub machine: Provenance,
    pub measurements: Vec<Measurement>,
    pub trials: Vec<Trial>,
    /// The device's state at the beginning and the end of every sitting.
    pub conditions: Vec<Condition>,
    /// How many measurements were left out because hallway's own code that they timed is another
    /// by now.
    pub outdated: usize,
    /// Whether the calibration was interrupted: what it had not reached is missing.
    pub is_unfinished: bool,
}

impl Samples {
    /// Samples of a machine that has not been measured yet.
    pub fn none(machine: Provenance) -> Self {
        let (measurements, trials, conditions) = (Vec::new(), Vec::new(), Vec::new());
        let is_unfinished = false;
        Self { machine, measurements, trials, conditions, outdated: 0, is_unfinished }
    }
}

//! Raw measurements: what was timed, how often, and every figure that came out.
//!
//! Invariant: nothing here is fitted, smoothed or left out. A file is one line
//! of provenance and then one line of JSON per measurement, written as they
//! are taken, so that an interrupted calibration keeps what it has; or a table
//! that somebody else's measurements were written into.

mod agreed;
mod condition;
mod file;
mod handing;
mod paths;
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
pub use condition::Condition;
pub use file::{FORMAT, Recorder, SamplesError};
pub use handing::{Handing, Taker};
pub use paths::{Load, STREAMING_KERNEL, STREAMING_TWIN, SetupStep, Side, TransferPath};
pub use provenance::{Extent, Provenance};
pub use timing::Doer;
pub use trial::Trial;
pub use trips::TripPart;

use crate::kernels::Variant;
use crate::plan::{DeviceId, Direction};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// One operation of a chain on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// A copy from pinned memory of [`SHORT_COPY`], or [`LONG_COPY`] if long.
    CopyIn,
    /// A copy to pinned memory, likewise.
    CopyOut,
    /// A kernel: [`SHORT_KERNEL`], or [`LONG_KERNEL`] if long.
    Kernel,
    /// A copy from the first GPU to the second, of as many bytes as the others.
    PeerCopy,
}

impl Link {
    /// What there is with one device, and what cycles go through.
    pub const OF_ONE_DEVICE: [Self; 3] = [Self::CopyIn, Self::CopyOut, Self::Kernel];
    pub const ALL: [Self; 4] = [Self::CopyIn, Self::CopyOut, Self::Kernel, Self::PeerCopy];
}

/// A host API call whose duration is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimedCall {
    Launch,
    /// A launch by cuBLAS, and one by cuFFT.
    Multiply,
    Transform,
    CopyIn,
    CopyOut,
    Clear,
    /// A launch and a record of an event behind it.
    LaunchAndRecord,
    /// A wait for an event that has not happened, and a launch behind it.
    WaitAndLaunch,
    Record,
    Wait,
    Synchronize,
    PeerCopy,
    /// Making another GPU's context the current one.
    UseDevice,
}

/// What the host does about a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphCall {
    /// From the beginning of a capture to its end, with the calls captured.
    Capture,
    /// Making a captured graph ready to be launched.
    Instantiate,
    Launch,
}

impl GraphCall {
    pub const ALL: [Self; 3] = [Self::Capture, Self::Instantiate, Self::Launch];
}

/// A kind of memory management.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryWork {
    DeviceAllocate,
    PinnedAllocate,
    /// Page-locking memory that was touched before.
    Register,
    /// One thread writing to pages never touched.
    FirstTouch,
    /// One thread writing to pages that are there.
    SecondTouch,
    FirstTouchTeam,
    SecondTouchTeam,
    Renew,
    DeviceFree,
    PinnedFree,
    /// Giving up page-locks of memory that was registered.
    Unregister,
    /// One thread adding up write-combined memory.
    CombinedRead,
    /// One thread filling it.
    CombinedWrite,
    CombinedReadTeam,
    CombinedWriteTeam,
}

/// What was measured. Times are of `count` repetitions of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Quantity {
    /// Host time of calls issued one after the other to a stream that is held.
    Call {
        call: TimedCall,
    },
    /// Host time from issuing operations to an idle device, each depending on
    /// the one before, to the return of a synchronisation; `across`: each in
    /// another stream than the one before; `long`: so long that the next one
    /// is there and waits when one ends.
    RoundTrip {
        links: Vec<Link>,
        across: bool,
        long: bool,
    },
    /// Device time of a chain of short operations, queued up in advance, each
    /// depending on the one before; `across`: each in another stream than the
    /// one before.
    Chain {
        links: Vec<Link>,
        across: bool,
    },
    /// Host time of a call about a graph of so many nodes, each depending on the
    /// one before: short operations that go through the first of [`CYCLES`]. All three
    /// are measured at once, the launch into an idle stream and behind others of the graph.
    GraphCall {
        call: GraphCall,
        nodes: u64,
    },
    /// As [`Quantity::Chain`], of operations that are the nodes of one graph.
    GraphChain {
        links: Vec<Link>,
    },
    /// Device time of rows of so many long kernels, all in one branch of a graph; `waits`: each
    /// row for a short copy to the device, which is in a second branch; `awaited`: by a short
    /// copy from the device in a third.
    GraphRows {
        kernels: u64,
        waits: bool,
        awaited: bool,
    },
    /// Device time from the end of an operation to the start of one that depends
    /// on it and waits, above what the operations themselves take; `across`: in
    /// another stream. Only tables have it: hallway measures the whole way.
    HandOver {
        from: Link,
        to: Link,
        across: bool,
    },
    /// Device time of copies that a copy engine takes from `streams` streams in
    /// turn, or from as many branches of a graph, because in each a kernel lies between
    /// one and the next.
    Rotation {
        direction: Direction,
        bytes: Bytes,
        streams: usize,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_graph: bool,
    },
    /// Device time of small kernels, one after the other in a stream, while
    /// `others` streams each hold a kernel that waits for an event; `copies`:
    /// whether large copies to the device, and from it, go on meanwhile.
    Polled {
        others: usize,
        copies: [bool; 2],
    },
    /// Device time of pinned copies to the device, one after the other, while `streams`
    /// streams each hold so many kernels that wait for the last of them, a small copy from
    /// the device behind each.
    Refetched {
        bytes: Bytes,
        streams: usize,
        kernels: u64,
    },
    /// Device time of pinned copies, one after the other.
    Copy {
        direction: Direction,
        bytes: Bytes,
        registered: bool,
    },
    /// The same with a small kernel in another stream that waits for each, or with none. Both
    /// are measured at once.
    CopyBesideKernels {
        direction: Direction,
        bytes: Bytes,
        kernels: bool,
    },
    /// Device time of the copies of one direction while as many go the other
    /// way, and kernels are at work: both are measured at once, so their samples belong together.
    /// Each way goes round host memory of `footprint` bytes.
    Shared {
        direction: Direction,
        bytes: Bytes,
        #[serde(default = "agreed::written_through")]
        footprint: Bytes,
    },
    /// Host time of a copy of pageable memory until the call returns, or
    /// (`complete`) until the copy is done; copies go round host memory of
    /// `footprint` bytes.
    Staged {
        direction: Direction,
        bytes: Bytes,
        footprint: Bytes,
        complete: bool,
    },
    /// Device time of a kernel, one after the other.
    Kernel {
        variant: Variant,
        elements: u64,
    },
    /// The same where each launch is on data of its own, and the first to read what copies to
    /// the device have brought.
    JustCopied {
        variant: Variant,
        elements: u64,
    },
    /// The same where each launch is on data of its own, which was used before other kernels went
    /// round the rest of `footprint` bytes of the device's memory.
    KernelAround {
        variant: Variant,
        elements: u64,
        footprint: Bytes,
    },
    /// Host time of a kernel's CPU twin; runs go round memory of `footprint` bytes.
    Twin {
        variant: Variant,
        elements: u64,
        footprint: Bytes,
    },
    /// Host time of a kernel on so many elements in which others had a part just before.
    /// All are measured at once.
    Handed {
        taker: Taker,
        part: Handing,
        elements: u64,
    },
    Memory {
        work: MemoryWork,
        bytes: Bytes,
    },
    /// Host time of calls among others as a plan makes them, in several streams of a
    /// device that works on them meanwhile: all of a piece in the same one, or copies and
    /// kernels in streams of their own that wait for each other. Without a call, of a whole
    /// turn of them with no clock in between, or not measured where each call's time comes
    /// without that of its clock. All are measured at once.
    CallInTurn {
        call: Option<TimedCall>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        one_stream: bool,
    },
    /// Host time of launches while a long copy to the device is under way, or one from it, or
    /// none. All are measured at once.
    LaunchBeside {
        copy: Option<Direction>,
    },
    /// Host time of a part of a trip: issuing an operation to an idle device, and a
    /// short one behind it in its stream if there is a `next`, and synchronising. All
    /// parts are measured at once. `size`: bytes of a copy, or the degree of a
    /// polynomial over [`TRIP_ELEMENTS`]. Nodes of a graph have one call, its launch.
    Trip {
        first: Link,
        size: u64,
        next: Option<Link>,
        part: TripPart,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_graph: bool,
    },
    /// The same of a trip whose second call comes [`LATE`] after the first has returned: its
    /// operation reaches the device when the first is well under way. What lies between the calls
    /// is in the time of the second.
    LateTrip {
        first: Link,
        size: u64,
        next: Link,
        part: TripPart,
    },
    /// Host time of calls that are made one by one on an idle device: the end of
    /// what each began is waited for, untimed.
    IdleCall {
        call: TimedCall,
    },
    /// Device time of moving so many bytes, one after the other; of managed memory
    /// that moves, host time from the call to the return of a synchronisation.
    /// Where a kernel reads and writes, as many bytes go each way.
    Transfer {
        path: TransferPath,
        bytes: Bytes,
    },
    /// Device time of pinned copies beside a load, and the time of the load, both
    /// begun at once: they are measured together, so their samples belong together.
    Beside {
        direction: Direction,
        bytes: Bytes,
        load: Load,
        of: Side,
    },
    /// Host time of making something.
    Setup {
        step: SetupStep,
    },
    /// Device time of copies from GPU to GPU, one after the other; `direct`: they
    /// reach each other's memory; `both`: while as many go the other way, which is
    /// measured at once.
    PeerCopy {
        from: DeviceId,
        to: DeviceId,
        bytes: Bytes,
        direct: bool,
        both: bool,
    },
    /// Device time of as many pinned copies on each of so many GPUs at once, until
    /// those of the slowest are through; `both`: while as many go the other way on
    /// each, which is measured at once.
    Concurrent {
        direction: Direction,
        bytes: Bytes,
        devices: usize,
        both: bool,
    },
    /// Host time from issuing a long kernel to one GPU and another that depends on it
    /// to a second, to the return of a synchronisation. Not `whole`: what waiting for
    /// another GPU's event takes longer than for one of the same, which only tables have.
    Crossing {
        whole: bool,
    },
    /// The same on one of several GPUs, to compare them.
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
    /// It is not, but the scatter has stayed what it is for a while: that many more
    /// samples as would be taken do not narrow it enough.
    Stable,
    /// The time or the number of samples ran out first.
    Capped,
    /// So did the time, and something else used the core during most of the samples: these are
    /// all of them.
    Shared,
    /// A table does not say.
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
    /// The time of each sample during which something else used the core of the thread
    /// that was timed, if enough others could be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Span>,
    /// Why the machine was not as usual when they were taken, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
}

impl Measurement {
    /// One that nothing disturbed.
    pub const fn new(quantity: Quantity, count: u64, times: Vec<Span>, stop: Stop) -> Self {
        Self { quantity, count, times, stop, beside: Vec::new(), disturbed: None }
    }
}

/// A calibration's measurements with where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    pub machine: Provenance,
    pub measurements: Vec<Measurement>,
    pub trials: Vec<Trial>,
    /// The device's state at the beginning and the end of every sitting.
    pub conditions: Vec<Condition>,
    /// Measurements that an earlier hallway took of what is another by now: they are left out.
    pub outdated: usize,
}

impl Samples {
    /// None yet, of this machine.
    pub fn none(machine: Provenance) -> Self {
        let (measurements, trials, conditions) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, measurements, trials, conditions, outdated: 0 }
    }
}

//! Raw measurements: what was timed, how often, and every figure that came out.
//!
//! Invariant: nothing here is fitted, smoothed or left out. A file is one line
//! of provenance and then one line of JSON per measurement, written as they
//! are taken, so that an interrupted calibration keeps what it has; or a table
//! that somebody else's measurements were written into.

mod file;
mod table;
mod words;

pub use file::{FORMAT, Recorder, SamplesError};

use crate::kernels::{Kernel, Variant};
use crate::plan::{DeviceId, Direction};
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Where and when the samples behind a profile were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    pub gpu: String,
    pub compute_capability: String,
    pub multiprocessors: u32,
    pub device_memory_bytes: Bytes,
    pub copy_engines: u32,
    pub link: String,
    pub driver: String,
    pub cuda: String,
    pub cpu: String,
    pub cpu_threads: usize,
    pub numa_nodes: usize,
    /// Seconds since 1970 at the start of the calibration.
    pub unix_time: u64,
    pub hallway_version: String,
    /// The order in which quantities were measured was drawn with this seed.
    pub seed: u64,
    /// Older files do not say: theirs were full.
    #[serde(default)]
    pub extent: Extent,
    /// GPUs that were measured together, of which this is the first.
    #[serde(default = "one")]
    pub devices: usize,
    /// Whether the first and each of the others reach each other's memory.
    #[serde(default)]
    pub peer_access: bool,
}

const fn one() -> usize {
    1
}

impl Provenance {
    /// What differs from another sitting on what should be the same machine, in
    /// words. The time does of course, and the link's speed goes by its load.
    pub fn differences(&self, here: &Self) -> Vec<String> {
        let alike = Self { unix_time: here.unix_time, link: here.link.clone(), ..self.clone() };
        let fields = |machine: &Self| match serde_json::to_value(machine) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => unreachable!("it is plain data with names"),
        };
        let here = fields(here);
        let differing = fields(&alike).into_iter().filter(|(key, there)| here[key] != *there);
        differing.map(|(key, there)| format!("{key}: {there} there, {} here", here[&key])).collect()
    }
}

/// How much was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    #[default]
    Full,
    /// Fewer sizes, and what belongs to the CPU only once.
    Quick,
    /// Whatever a table has that was not measured by hallway.
    Elsewhere,
}

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

/// More than the cores' own caches hold and less than the shared one does.
pub const SHARED_FOOTPRINT: Bytes = Bytes::mib(96);
/// On going round so much or more, a CPU finds nothing in its caches.
pub const MEMORY_FOOTPRINT: Bytes = Bytes::mib(1024);
/// What one thread runs, going round ever more memory, to find out how much of
/// it its core keeps for itself.
/// Beyond [`MOST_OF_ONE_CORE`], it keeps nothing.
pub const ONE_THREAD: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 1 << 12);
pub const MOST_OF_ONE_CORE: Bytes = Bytes::mib(8);
pub const SHORT_COPY: Bytes = Bytes::kib(4);
pub const LONG_COPY: Bytes = Bytes::kib(256);
/// A kernel and its elements.
pub const SHORT_KERNEL: (Variant, u64) = (Variant { kernel: Kernel::Scale, extent: 0 }, 32);
pub const LONG_KERNEL: (Variant, u64) =
    (Variant { kernel: Kernel::Polynomial, extent: 1024 }, 1 << 18);

/// The two orders in which a chain can go through all engines.
pub const CYCLES: [[Link; 3]; 2] =
    [[Link::CopyIn, Link::Kernel, Link::CopyOut], [Link::CopyOut, Link::Kernel, Link::CopyIn]];

/// The size of copies that an engine takes from several streams in turn.
pub const ROTATED: Bytes = Bytes::mib(1);

/// Whether copies to the device, and from it, go on while kernels are timed.
pub const MEANWHILE: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

/// A host API call whose duration is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimedCall {
    Launch,
    CopyIn,
    CopyOut,
    Clear,
    /// A launch and a record of an event behind it.
    LaunchAndRecord,
    /// A wait for an event that has not happened, and a launch behind it.
    WaitAndLaunch,
    /// A record alone.
    Record,
    /// A wait alone.
    Wait,
    Synchronize,
    PeerCopy,
    /// Making another GPU's context the current one.
    UseDevice,
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
    /// One thread writing to the same pages again.
    SecondTouch,
    FirstTouchTeam,
    SecondTouchTeam,
    Renew,
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
    /// Device time from the end of an operation to the start of one that depends
    /// on it and waits, above what the operations themselves take; `across`: in
    /// another stream. Only tables have it: hallway measures the whole way.
    HandOver {
        from: Link,
        to: Link,
        across: bool,
    },
    /// Device time of copies that a copy engine takes from `streams` streams in
    /// turn, because in each stream a kernel lies between one and the next.
    Rotation {
        direction: Direction,
        bytes: Bytes,
        streams: usize,
    },
    /// Device time of small kernels, one after the other in a stream, while
    /// `others` streams each hold a kernel that waits for an event; `copies`:
    /// whether large copies to the device, and from it, go on meanwhile.
    Polled {
        others: usize,
        copies: [bool; 2],
    },
    /// Device time of pinned copies, one after the other.
    Copy {
        direction: Direction,
        bytes: Bytes,
        registered: bool,
    },
    /// Device time of the copies of one direction while as many go the other
    /// way: both are measured at once, so their samples belong together.
    Shared {
        direction: Direction,
        bytes: Bytes,
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
    /// Host time of a kernel's CPU twin; runs go round memory of `footprint` bytes.
    Twin {
        variant: Variant,
        elements: u64,
        footprint: Bytes,
    },
    Memory {
        work: MemoryWork,
        bytes: Bytes,
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
    /// The time or the number of samples ran out first.
    Capped,
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
}

/// A plan that was run when all else had been measured. Nothing that predicts a
/// time is fitted to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The text of a scenario.
    pub scenario: String,
    /// The name of one of its plans.
    pub plan: String,
    /// Host time of each pass over the body.
    pub passes: Vec<Span>,
}

/// A calibration's measurements with where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    pub machine: Provenance,
    pub measurements: Vec<Measurement>,
    pub trials: Vec<Trial>,
}

impl Samples {
    /// None yet, of this machine.
    pub const fn none(machine: Provenance) -> Self {
        Self { machine, measurements: Vec::new(), trials: Vec::new() }
    }
}

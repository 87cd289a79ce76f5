//! Raw measurements: what was timed, how often, and every figure that came out.
//!
//! Invariant: nothing here is fitted, smoothed or left out. A file is one line
//! of provenance and then one line of JSON per measurement, written as they
//! are taken, so that an interrupted calibration keeps what it has.

use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::Path;

/// Version of the file format.
pub const FORMAT: u32 = 1;

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
}

/// More than the cores' own caches hold and less than the shared one does.
pub const SHARED_FOOTPRINT: Bytes = Bytes::mib(96);
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
    Synchronize,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

/// Why no more samples were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The confidence interval of the median is narrow enough.
    Settled,
    /// The time or the number of samples ran out first.
    Capped,
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

/// A calibration's measurements with where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    pub machine: Provenance,
    pub measurements: Vec<Measurement>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    hallway_samples: u32,
    machine: Provenance,
}

/// What can be wrong with a file of samples.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    #[error("cannot read or write {path}: {source}")]
    File { path: String, source: std::io::Error },
    #[error("{path}:{line}: not a line of samples: {source}")]
    Line { path: String, line: usize, source: serde_json::Error },
    #[error("{path} has samples of format {found}; this hallway reads format {FORMAT}")]
    Format { path: String, found: u32 },
    #[error("{path} is empty")]
    Empty { path: String },
}

/// Writes measurements as they come.
pub struct Recorder<W: Write> {
    to: W,
}

impl<W: Write> Recorder<W> {
    /// # Errors
    /// If the header cannot be written.
    pub fn new(mut to: W, machine: &Provenance) -> std::io::Result<Self> {
        let header = Header { hallway_samples: FORMAT, machine: machine.clone() };
        serde_json::to_writer(&mut to, &header)?;
        writeln!(to)?;
        Ok(Self { to })
    }

    /// # Errors
    /// If the line cannot be written.
    pub fn add(&mut self, measurement: &Measurement) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.to, measurement)?;
        writeln!(self.to)
    }
}

impl Samples {
    /// # Errors
    /// If the file cannot be read or a line of it is not what it should be.
    pub fn load(path: &Path) -> Result<Self, SamplesError> {
        let name = path.display().to_string();
        let file = |source| SamplesError::File { path: name.clone(), source };
        let reader = std::io::BufReader::new(std::fs::File::open(path).map_err(file)?);
        let mut lines = reader.lines().enumerate();
        let bad = |line, source| SamplesError::Line { path: name.clone(), line, source };
        let Some((_, first)) = lines.next() else {
            return Err(SamplesError::Empty { path: name });
        };
        let header: Header =
            serde_json::from_str(&first.map_err(file)?).map_err(|source| bad(1, source))?;
        if header.hallway_samples != FORMAT {
            return Err(SamplesError::Format { path: name, found: header.hallway_samples });
        }
        let mut measurements = Vec::new();
        for (index, line) in lines {
            let line = line.map_err(file)?;
            measurements.push(serde_json::from_str(&line).map_err(|e| bad(index + 1, e))?);
        }
        Ok(Self { machine: header.machine, measurements })
    }
}

//! What `hallway record` wrote, as a [`Trace`]. The page `docs/reference/recording.md` describes
//! the file.

mod blocks;
mod join;
mod part;
mod process;

pub use part::Part;

use super::value::{Defect, Origin, Trace};
use crate::record::format::{self, Form, Note};
use blocks::{after_magic, next_block};
use join::Joined;
use process::Process;
use std::collections::BTreeMap;

/// The tool, as [`Origin`] names it.
const TOOL: &str = "hallway record";
/// Stands for the time that the recorder took for a digest.
pub const DIGEST_FUNCTION: &str = "hallway: digest";

/// Why a file is no recording that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    #[error("this is no recording: it does not begin with `hallway recording`")]
    NotARecording,
    #[error("the recording has version {0}; this hallway reads version 1")]
    Version(String),
    #[error("the recording is damaged at byte {0}")]
    Damaged(usize),
    #[error("the recording has a block at byte {0} that makes no sense")]
    Malformed(usize),
}

/// A recording: what happened, and what the recorder says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    pub trace: Trace,
    pub processes: Vec<RecordedProcess>,
}

/// A process that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedProcess {
    pub id: u64,
    /// The program with its arguments.
    pub program: Vec<String>,
    /// The library that the records come from, and its version.
    pub cupti: Option<(String, u64)>,
    /// What the recorder could not do, and why.
    pub notes: Vec<(Note, String)>,
    pub totals: Totals,
    /// What the recorder's own callbacks took, as far as that was measured.
    pub costs: BTreeMap<&'static str, OwnCost>,
    /// Whether the recording came to its end: the process was not killed.
    pub has_ended: bool,
}

/// What a process has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub calls: u64,
    pub copies: u64,
    pub copied: u64,
    pub kernels: u64,
}

/// The time of some callbacks of the recorder, one for each measured call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnCost {
    pub measured: u64,
    pub nanos: u64,
}

/// Reads a recording, without what the recorder says about itself.
///
/// # Errors
/// If it is no recording, has another version, is damaged or makes no sense. One that was only cut
/// off is read up to there.
pub fn read_recording(bytes: &[u8]) -> Result<Trace, RecordingError> {
    Recording::read(bytes).map(|recording| recording.trace)
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// As for [`read_recording`].
    pub fn read(bytes: &[u8]) -> Result<Self, RecordingError> {
        let mut rest = after_magic(bytes)?;
        let mut joined = Joined::default();
        let mut processes = Vec::new();
        let mut process: Option<Process> = None;
        let mut is_cut = false;
        loop {
            let Some(block) = next_block(&mut rest, bytes.len())? else {
                is_cut |= !rest.is_empty();
                break;
            };
            if block.kind == format::PROCESS {
                let next = Process::begin(block.payload)?;
                processes.extend(process.replace(next).map(|before| before.join(&mut joined)));
                continue;
            }
            let process = process.as_mut().ok_or(block.payload.malformed())?;
            process.read(block)?;
        }
        processes.extend(process.map(|last| last.join(&mut joined)));
        let version = String::from_utf8_lossy(format::VERSION).trim_end().to_owned();
        let mut trace = joined.finish(Origin { tool: TOOL, version: Some(version) });
        // A process without CUPTI says so, and that is all.
        let is_cut_off = |one: &&RecordedProcess| one.cupti.is_some() && !one.has_ended;
        let unfinished = processes.iter().filter(is_cut_off).count();
        let cut = unfinished.max(usize::from(is_cut || processes.is_empty()));
        if cut > 0 {
            trace.defects.insert(Defect::Cut, cut);
        }
        Ok(Self { trace, processes })
    }
}

/// The name of a form of call, for the recorder's own costs.
const fn name_of(form: Form) -> &'static str {
    match form {
        Form::Other => "other calls",
        Form::Copy => "copies",
        Form::BlockingCopy => "blocking copies",
        Form::Clear => "memory sets",
        Form::Launch => "launches",
        Form::LaunchGraph => "graph launches",
        Form::Record => "event records",
        Form::Wait => "waits of streams",
        Form::Synchronize => "waits for streams",
        Form::SynchronizeEvent => "waits for events",
        Form::SynchronizeDevice => "waits for devices",
        Form::AllocateDevice
        | Form::AllocatePinned
        | Form::AllocateManaged
        | Form::AllocateAsync => "allocations",
        Form::Free | Form::FreeAsync => "frees",
        Form::Register | Form::Unregister => "registrations",
        Form::Prefetch => "prefetches",
    }
}

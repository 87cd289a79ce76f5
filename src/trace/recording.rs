//! What `hallway record` wrote, as a [`Trace`]. The page `docs/reference/recording.md` describes
//! the file.

mod about;
mod blocks;
mod join;
mod part;
mod process;
mod ranges;

pub use about::{RecordedProcess, RecordingError, Totals};
pub use part::Part;

use super::value::{Defect, Origin, RECORDER, Trace};
use crate::record::format;
use blocks::{after_magic, next_block};
use join::Joined;
use process::Process;

/// A recording: what happened, and what the recorder says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    pub trace: Trace,
    pub processes: Vec<RecordedProcess>,
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
        let part = joined.part.take();
        let mut trace = joined.finish(Origin { tool: RECORDER, version: Some(version), part });
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

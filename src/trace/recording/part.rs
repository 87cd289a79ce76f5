//! A file that a recorded process is still writing, or has written.

use super::about::{RecordedProcess, Totals};
use super::blocks::{Block, next_block};
use super::process::Process;
use crate::record::format::{
    END, HEADER, LONGEST_BLOCK, MAGIC, NOTE, PROCESS, RANGES, TOTALS, VERSION,
};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The file of one process, read as far as its blocks are whole. Only what the recorder says about
/// itself is looked at.
pub struct Part {
    file: File,
    /// The end of the last block that is whole.
    whole: u64,
    process: Option<Process>,
}

impl Part {
    /// Opens a file, which may have no block yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let whole = (MAGIC.len() + VERSION.len()) as u64;
        Ok(Self { file: File::open(path)?, whole, process: None })
    }

    /// Looks at the blocks that have come since the last time.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn advance(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        let mut header = [0; HEADER];
        while self.whole + HEADER as u64 <= length {
            self.file.seek(SeekFrom::Start(self.whole))?;
            self.file.read_exact(&mut header)?;
            let size = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
            let next = self.whole + (HEADER + size) as u64;
            if size > LONGEST_BLOCK || next > length {
                break;
            }
            if matches!(header[0], PROCESS | TOTALS | NOTE | END | RANGES) {
                let mut block = header.to_vec();
                block.resize(HEADER + size, 0);
                self.file.read_exact(&mut block[HEADER..])?;
                let whole = block.len();
                if let Ok(Some(block)) = next_block(&mut block.as_slice(), whole) {
                    self.take(block);
                }
            }
            self.whole = next;
        }
        Ok(())
    }

    /// What does not make sense here is found when the recording is read.
    fn take(&mut self, block: Block) {
        if block.kind == PROCESS {
            self.process = Process::begin(block.payload).ok();
        } else if let Some(process) = &mut self.process {
            let _ = process.read(block);
            process.ranges.forget();
        }
    }

    pub fn about(&self) -> Option<&RecordedProcess> {
        self.process.as_ref().map(|process| &process.about)
    }

    pub fn totals(&self) -> Totals {
        self.about().map(|about| about.totals).unwrap_or_default()
    }

    /// Appends all whole blocks to a recording.
    ///
    /// # Errors
    /// If this file cannot be read or the other one cannot be written.
    pub fn append_to(&mut self, recording: &mut impl Write) -> io::Result<()> {
        let start = (MAGIC.len() + VERSION.len()) as u64;
        self.file.seek(SeekFrom::Start(start))?;
        let mut blocks = (&mut self.file).take(self.whole.saturating_sub(start));
        io::copy(&mut blocks, recording).map(|_| ())
    }
}

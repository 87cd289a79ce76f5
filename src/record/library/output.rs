//! The file that a process writes, block by block.

use super::format::{HEADER, MAGIC, NOTE, Note, VERSION, block_checksum};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether anything is recorded. Read before anything else: it is the one thing that a forked
/// child may touch.
pub static ON: AtomicBool = AtomicBool::new(false);

/// The file, for all threads.
pub struct Sink(pub Mutex<Output>);

impl Sink {
    /// Appends a block. If that fails, nothing more is recorded.
    pub fn write(&self, kind: u8, payload: &[u8]) {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = output.block(kind, payload);
        drop(output);
        if written.is_err() {
            ON.store(false, Ordering::Relaxed);
        }
    }

    pub fn note(&self, note: Note, text: &str) {
        self.write(NOTE, &[&[note as u8], text.as_bytes()].concat());
    }

    /// Switches the recorder off, and says why.
    pub fn fail(&self, why: &str) {
        ON.store(false, Ordering::Relaxed);
        self.note(Note::Failed, why);
    }
}

/// An open file, and room to put a block together in.
pub struct Output {
    file: File,
    /// The numbers of its device and of the file.
    identity: (u64, u64),
    whole: Vec<u8>,
}

impl Output {
    /// Makes the file for a process. A process that replaced its program writes another one.
    pub fn create(prefix: &OsStr, process: u32) -> io::Result<Self> {
        let open = |end: String| {
            let mut path = prefix.to_owned();
            path.push(end);
            OpenOptions::new().write(true).create_new(true).open(path)
        };
        let mut number = 1;
        let mut opened = open(format!(".{process}.part"));
        while opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
            number += 1;
            opened = open(format!(".{process}.{number}.part"));
        }
        let mut file = opened?;
        file.write_all(&[MAGIC, VERSION].concat())?;
        let found = file.metadata()?;
        Ok(Self { file, identity: (found.dev(), found.ino()), whole: Vec::new() })
    }

    /// Appends a block, with one call of the system.
    pub fn block(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.whole.clear();
        self.whole.reserve(HEADER + payload.len());
        self.whole.push(kind);
        self.whole.extend((payload.len() as u32).to_le_bytes());
        self.whole.extend(block_checksum(kind, payload).to_le_bytes());
        self.whole.extend_from_slice(payload);
        // A program may close files that it knows nothing of, and open its own under their numbers.
        let found = self.file.metadata()?;
        if (found.dev(), found.ino()) != self.identity {
            return Err(ErrorKind::NotFound.into());
        }
        self.file.write_all(&self.whole)
    }
}

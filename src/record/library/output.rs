//! The file that a process writes, block by block.

use super::format::{HEADER, MAGIC, VERSION, block_checksum};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;

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

//! The file that a process writes, block by block.

use super::format::{HEADER, MAGIC, VERSION, block_checksum};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};

/// An open file, and room to put a block together in.
pub struct Output {
    file: File,
    whole: Vec<u8>,
}

impl Output {
    /// Makes the file for a process. A process that replaced its program writes another one.
    pub fn create(prefix: &str, process: u32) -> io::Result<Self> {
        let open = |path: &str| OpenOptions::new().write(true).create_new(true).open(path);
        let mut number = 1;
        let mut opened = open(&format!("{prefix}.{process}.part"));
        while opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
            number += 1;
            opened = open(&format!("{prefix}.{process}.{number}.part"));
        }
        let mut file = opened?;
        file.write_all(&[MAGIC, VERSION].concat())?;
        Ok(Self { file, whole: Vec::new() })
    }

    /// Appends a block, with one call of the system.
    pub fn block(&mut self, kind: u8, payload: &[u8]) -> io::Result<()> {
        self.whole.clear();
        self.whole.reserve(HEADER + payload.len());
        self.whole.push(kind);
        self.whole.extend((payload.len() as u32).to_le_bytes());
        self.whole.extend(block_checksum(kind, payload).to_le_bytes());
        self.whole.extend_from_slice(payload);
        self.file.write_all(&self.whole)
    }
}

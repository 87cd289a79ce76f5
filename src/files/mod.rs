//! Reading and writing files: what is read is text of a sensible length, and what is written is
//! never seen half done.
//!
//! Invariant: a file appears under its name when it is whole and on the disk, or not at all; one
//! that was there before stays until then. A file that takes long to write grows under a name of
//! its own, which says that it is not whole yet.

mod decoder;
mod document;
mod fault;
mod text;
mod whole;

pub use decoder::TomlError;
pub(crate) use document::written_in_several_ways;
pub use document::{Spanned, decode, decode_table, one_of, parse};
pub use fault::{Fault, UNKNOWN_KEY, in_backquotes, nearest, unknown};
pub use text::{
    LONGEST_NAME, Place, code_point, ends_early, invisible, json_problem, name_problem, read,
    unprintable, with_line_feeds, without_controls,
};
pub use whole::{check_writable, write_whole};

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Sixteen hexadecimal digits that stand for some bytes: the beginning of their SHA-256.
pub fn digest(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.0.update(bytes);
    digest.finish()
}

/// A [`digest`] of bytes that are written to it.
#[derive(Default)]
pub struct Digest(hmac_sha256::Hash);

impl Digest {
    /// The digest of everything that was written.
    pub fn finish(self) -> String {
        self.0.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl io::Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name under which a file grows: `samples.partial.jsonl` for `samples.jsonl`.
pub fn partial(path: &Path) -> PathBuf {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(format!("partial.{extension}"))
}

/// Whether a name is one that [`partial`] gives: the file may end early.
pub fn is_partial(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| Path::new(stem).extension() == Some("partial".as_ref()))
}

/// Writes the beginning of a file that grows, and opens it for appending. The file stays locked
/// while it is open, so that no second process appends to it. What grew there before is replaced
/// once the beginning is whole.
///
/// # Errors
/// If the folder cannot be made, the file cannot be written, or another process has it open.
pub fn begin(path: &Path, beginning: &[u8]) -> io::Result<File> {
    let open = || OpenOptions::new().append(true).open(path);
    // The old file stays locked until the new one is there: of two processes that begin at once,
    // one is refused.
    let before = open().ok();
    before.as_ref().map_or(Ok(()), lock)?;
    write_whole(path, beginning)?;
    let file = open()?;
    lock(&file).map(|()| file)
}

/// Locks a file. On a file system without locks nobody is kept out.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is writing to it"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Gives a file that has grown up its own name.
///
/// # Errors
/// If it cannot be flushed or renamed; an old file stays as it was.
pub fn finish(grown: &Path, path: &Path) -> io::Result<()> {
    whole::rename_whole(&File::open(grown)?, grown, path)
}

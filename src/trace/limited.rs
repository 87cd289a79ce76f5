//! Content of a length that can be read, and why it could not be read on.

use super::TraceError;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of a trace, unpacked. A few kilobytes of gzip can unpack to all of a disk.
const MOST_BYTES: u64 = 4 << 30;

/// Passes on what it reads, up to the limit for traces.
pub(super) struct Limited<R> {
    content: R,
    /// Bytes until now.
    pub read: u64,
}

impl<R: Read> Limited<R> {
    pub fn of_trace(content: R) -> Self {
        Self { content, read: 0 }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(into)?;
        self.read += count as u64;
        if self.read > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(count)
    }
}

/// Why a file could not be read on, after `bytes` bytes of what it holds.
pub(super) fn unpacking(path: &Path, error: &io::Error, bytes: u64) -> TraceError {
    let file = path.to_owned();
    match error.kind() {
        io::ErrorKind::UnexpectedEof => TraceError::CutGzip { file, bytes },
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            TraceError::BadGzip { file, bytes, problem: error.to_string() }
        }
        io::ErrorKind::FileTooLarge => TraceError::TooLarge { file, most: MOST_BYTES },
        kind => {
            let source = error.raw_os_error().map_or(kind.into(), io::Error::from_raw_os_error);
            TraceError::Read { file, source }
        }
    }
}

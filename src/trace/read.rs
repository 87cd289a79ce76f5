//! Opens a trace, whichever tool wrote it. The content says which, not the name.

use super::limited::{Limited, unpacking};
use super::{Trace, TraceError, kineto, read_recording};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

/// The most bytes of a recording.
const MOST_RECORDED: u64 = 1 << 30;

/// The bytes at the beginning of a file that say what it is.
const HEAD: u64 = 512;

/// Reads a trace of the PyTorch profiler, an export of Nsight Systems or a recording of hallway's
/// own, gzipped or not.
///
/// # Errors
/// If the file cannot be read, is nothing of these, or has nothing that can be used.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let failed = |source| TraceError::Read { file: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    let head = head_of(&mut file).map_err(failed)?;
    let whole = Cursor::new(head.clone()).chain(file);
    let read = match Format::of(&head) {
        Some(Format::Gzip) => read_packed(path, MultiGzDecoder::new(whole)),
        Some(format) => read_as(format, path, Limited::of_trace(whole), false),
        None if head.is_empty() => Err(TraceError::Empty { file: path.to_owned() }),
        None => Err(unknown(path, &head)),
    };
    read.map(|mut trace| {
        trace.clean_names();
        trace
    })
}

/// Whether a file is a trace and not a text that a person wrote. One that cannot be read is none,
/// and neither is a pipe: what is read from one is gone.
pub fn is_trace(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let head = File::open(path).and_then(|mut file| head_of(&mut file));
    head.is_ok_and(|head| Format::of(&head).is_some())
}

fn read_packed(path: &Path, unpacked: impl Read) -> Result<Trace, TraceError> {
    let mut unpacked = Limited::of_trace(unpacked);
    let head = head_of(&mut unpacked).map_err(|error| unpacking(path, &error, 0))?;
    match Format::of(&head) {
        Some(format) => read_as(format, path, Cursor::new(head).chain(unpacked), true),
        None if head.is_empty() => Err(TraceError::Empty { file: path.to_owned() }),
        None => Err(unknown(path, &head)),
    }
}

fn read_as(
    format: Format,
    path: &Path,
    content: impl Read,
    is_packed: bool,
) -> Result<Trace, TraceError> {
    match format {
        Format::Json => kineto::read(path, content),
        Format::Sqlite => read_sqlite(path, content, is_packed),
        Format::Recording => read_own(path, content),
        Format::Gzip => {
            let hint = "it is gzipped more than once: decompress it once (gunzip)";
            Err(TraceError::Unknown { file: path.to_owned(), hint })
        }
    }
}

/// A recording is read whole: a million calls take 40 MB at most.
fn read_own(path: &Path, mut content: impl Read) -> Result<Trace, TraceError> {
    let mut bytes = Vec::new();
    let read = content.by_ref().take(MOST_RECORDED + 1).read_to_end(&mut bytes);
    read.map_err(|error| unpacking(path, &error, bytes.len() as u64))?;
    if bytes.len() as u64 > MOST_RECORDED {
        return Err(TraceError::TooLarge { file: path.to_owned(), most: MOST_RECORDED });
    }
    let trace = read_recording(&bytes);
    trace.map_err(|source| TraceError::Recording { file: path.to_owned(), source })
}

/// A database is read where it is. A packed one is unpacked to a temporary file.
#[cfg(feature = "nsight")]
fn read_sqlite(path: &Path, mut content: impl Read, is_packed: bool) -> Result<Trace, TraceError> {
    if !is_packed {
        return super::nsight::read(path, path);
    }
    let failed = |source| TraceError::Read { file: path.to_owned(), source };
    let mut unpacked = tempfile::NamedTempFile::new().map_err(failed)?;
    let mut counted = Limited::of_trace(&mut content);
    let copied = io::copy(&mut counted, &mut unpacked);
    copied.map_err(|error| unpacking(path, &error, counted.read))?;
    super::nsight::read(path, unpacked.path())
}

#[cfg(not(feature = "nsight"))]
fn read_sqlite(path: &Path, _: impl Read, _: bool) -> Result<Trace, TraceError> {
    let hint = "this build of hallway cannot read SQLite files: build it with the `nsight` feature";
    Err(TraceError::Unknown { file: path.to_owned(), hint })
}

fn head_of(content: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    content.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Gzip,
    Sqlite,
    Json,
    /// Hallway's own.
    Recording,
}

impl Format {
    fn of(head: &[u8]) -> Option<Self> {
        let marks: [(&[u8], Self); 3] = [
            (b"\x1f\x8b", Self::Gzip),
            (b"SQLite format 3\0", Self::Sqlite),
            (b"hallway recording", Self::Recording),
        ];
        let marked = marks.into_iter().find(|(mark, _)| head.starts_with(mark));
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut marks = text.iter().filter(|byte| !byte.is_ascii_whitespace());
        // A table of TOML begins with a bracket, too: an array of events has an object in it.
        let is_json = match [marks.next(), marks.next()] {
            [Some(b'{'), _] => true,
            [Some(b'['), second] => matches!(second, Some(b'{' | b']')),
            _ => false,
        };
        marked.map(|(_, format)| format).or(is_json.then_some(Self::Json))
    }
}

/// What to do with a file that is no trace.
fn unknown(path: &Path, head: &[u8]) -> TraceError {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let begins = |mark: &[u8]| head.starts_with(mark);
    let hint = match extension.as_str() {
        "nsys-rep" | "qdrep" | "qdstrm" => {
            "it is an Nsight Systems report, which must be exported first: nsys export --type \
             sqlite FILE"
        }
        "ncu-rep" => {
            "it is an Nsight Compute report, which only covers individual kernels. Record the \
             program with Nsight Systems or the PyTorch profiler"
        }
        _ if begins(b"PK\x03\x04") => "it is a zip archive: unpack it (unzip)",
        _ if begins(b"\x28\xb5\x2f\xfd") => "it is compressed with zstd: decompress it (zstd -d)",
        _ if begins(b"\xfd7zXZ") => "it is compressed with xz: decompress it (xz -d)",
        _ if begins(b"BZh") => "it is compressed with bzip2: decompress it (bzip2 -d)",
        _ => {
            "it is not a trace that hallway can read: PyTorch profiler JSON \
             (export_chrome_trace), Nsight Systems SQLite (nsys export --type sqlite FILE) or a \
             recording made by `hallway record`"
        }
    };
    TraceError::Unknown { file: path.to_owned(), hint }
}

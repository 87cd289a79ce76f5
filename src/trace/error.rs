//! Why a trace was refused.

use super::RecordingError;
use std::io;
use std::path::PathBuf;

/// A file that no importer can use. What is wrong with single events only is counted in the
/// trace, as a [`Defect`](super::Defect).
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("{}: {source}", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error(
        "{}: the file is empty. The profiler writes it on exit: was the program still running?",
        file.display()
    )]
    Empty { file: PathBuf },
    #[error(
        "{}: its gzip data is truncated after {bytes} uncompressed bytes. Copy the file again",
        file.display()
    )]
    CutGzip { file: PathBuf, bytes: u64 },
    #[error(
        "{}: its gzip data is damaged after {bytes} uncompressed bytes: {problem}",
        file.display()
    )]
    BadGzip { file: PathBuf, bytes: u64, problem: String },
    #[error(
        "{}: it contains more than {} GiB, the limit for traces. Record a shorter part of the \
         program",
        file.display(), most >> 30
    )]
    TooLarge { file: PathBuf, most: u64 },
    #[error(
        "{}: it contains more than {most} events ({place}), the limit for traces. Record a shorter \
         part of the program",
        file.display()
    )]
    TooMany { file: PathBuf, place: &'static str, most: usize },
    #[error("{}: {hint}", file.display())]
    Unknown { file: PathBuf, hint: &'static str },
    #[error("{}: {source}. Record the program again with `hallway record`", file.display())]
    Recording { file: PathBuf, source: RecordingError },
    #[error("{}: byte {byte}: {problem}", file.display())]
    Json { file: PathBuf, byte: u64, problem: String },
    #[error("{}: table {table}{}: {problem}", file.display(), of_row(*row))]
    Table { file: PathBuf, table: String, row: Option<usize>, problem: String },
    #[error(
        "{}: it contains no CUDA calls and no GPU work{}. {advice}",
        file.display(), if *cut { " before the point where it was cut off" } else { "" }
    )]
    Nothing { file: PathBuf, cut: bool, advice: &'static str },
}

fn of_row(row: Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!(", row {row}"))
}

//! What went wrong, and what `hallway check` found, for programs that read JSON.

use serde::{Deserialize, Serialize};

/// Printed as one line on standard error if JSON was requested and the command failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failed {
    /// What went wrong.
    pub error: Problem,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// The exit code.
    pub code: u8,
    /// The kind of problem.
    pub kind: ProblemKind,
    /// What is wrong, without its place in the file.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Its position, if it is at one position in a file.
    pub place: Option<FilePosition>,
}

/// The kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The arguments are wrong.
    Usage,
    /// A file or a value is wrong, or a file cannot be written.
    Input,
    /// The question has no answer.
    Unanswered,
    /// The command needs a GPU or a part of CUDA that is missing.
    NoGpu,
    /// The GPU or the machine failed.
    Machine,
    /// The command was interrupted by a signal.
    Interrupted,
}

impl ProblemKind {
    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Unanswered => 1,
            Self::Input | Self::Usage => 2,
            Self::NoGpu => 3,
            Self::Machine => 4,
            // As the shell has it for programs that an interrupt ends: 128 and its number.
            Self::Interrupted => 130,
        }
    }
}

/// A position in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilePosition {
    /// Path of the file, as given.
    pub file: String,
    /// Line number, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1. `null` if only the line is known.
    pub column: Option<usize>,
}

impl Problem {
    /// A message of ours that is about a file begins with `file:line:column: ` or `file:line: `.
    pub fn new(kind: ProblemKind, report: &miette::Report) -> Self {
        let (whole, help) = (report.to_string(), report.help().map(|help| help.to_string()));
        let (place, message) = match FilePosition::before(&whole) {
            Some((place, rest)) => (Some(place), rest),
            None => (None, whole.as_str()),
        };
        Self { code: kind.code(), kind, message: message.to_owned(), help, place }
    }
}

impl FilePosition {
    /// The place that a message begins with, and the rest of the message.
    fn before(message: &str) -> Option<(Self, &str)> {
        let is_place = |(at, _): (usize, &str)| {
            let (head, rest) = (&message[..at], &message[at + 2..]);
            let (file, last) = head.rsplit_once(':')?;
            let last = last.parse().ok()?;
            let line =
                file.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
            let (file, line, column) = match line {
                Some((file, line)) => (file, line, Some(last)),
                None => (file, last, None),
            };
            let file = file.to_owned();
            (!file.is_empty()).then_some((Self { file, line, column }, rest))
        };
        message.match_indices(": ").find_map(is_place)
    }
}

/// Every mistake in the given files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// The files, in the order given.
    pub files: Vec<CheckedFile>,
    /// Total number of mistakes.
    pub mistakes: usize,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedFile {
    /// Its path, as given.
    pub file: String,
    /// The kind of file that it was checked as.
    pub kind: FileKind,
    /// Its mistakes. Empty if there are none.
    pub errors: Vec<Problem>,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A scenario.
    Scenario,
    /// The profile of a machine.
    Profile,
    /// Samples written by `hallway calibrate`.
    Samples,
    /// A table of times measured with other tools.
    Table,
}

impl Checked {
    pub fn new(files: Vec<CheckedFile>) -> Self {
        let mistakes = files.iter().map(|file| file.errors.len()).sum();
        Self { files, mistakes }
    }

    /// In one line how it went.
    pub fn summary(&self) -> String {
        let are = |number: usize| match number {
            1 => "1 file is valid".to_owned(),
            number => format!("{number} files are valid"),
        };
        let wrong = self.files.iter().filter(|file| !file.errors.is_empty()).count();
        if wrong == 0 {
            return are(self.files.len()) + "\n";
        }
        let mistakes = super::words::plural(self.mistakes as u64, "mistake");
        let files = super::words::plural(wrong as u64, "file");
        match self.files.len() - wrong {
            0 => format!("{mistakes} in {files}\n"),
            fine => format!("{mistakes} in {files}; {}\n", are(fine)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_parted_from_its_place() {
        let found = |message| {
            let report = miette::Report::msg(message);
            let Problem { place, message, .. } = Problem::new(ProblemKind::Input, &report);
            (place.map(|place| (place.file, place.line, place.column)), message)
        };
        let (place, message) = found("my: dir/a.toml:3:14: `x` is 1:2: no");
        assert_eq!(place, Some(("my: dir/a.toml".to_owned(), 3, Some(14))));
        assert_eq!(message, "`x` is 1:2: no");
        let (place, message) = found("a.jsonl:7: not a line");
        assert_eq!(place, Some(("a.jsonl".to_owned(), 7, None)));
        assert_eq!(message, "not a line");
        for plain in ["cannot read a.toml: no such file", ":3: x", "12: x", ""] {
            assert_eq!(found(plain), (None, plain.to_owned()));
        }
    }
}

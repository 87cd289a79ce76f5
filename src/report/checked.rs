//! What `hallway check` found.

use super::Problem;
use serde::{Deserialize, Serialize};

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

//! What a program says that cannot be.

use std::fmt;

/// A part of a program's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Setup,
    Body,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Setup => "setup",
            Self::Body => "body",
        })
    }
}

/// What a program says that cannot be. It prints as `body[3] names stream 4 of 2, …`: the place is
/// that of the call in the program's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", self.place())]
pub struct Problem {
    /// The call that says it, by its position; `None` if it is no call.
    pub call: Option<(Part, usize)>,
    pub what: String,
}

impl Problem {
    pub(super) fn of_call(part: Part, at: usize, what: impl Into<String>) -> Self {
        Self { call: Some((part, at)), what: what.into() }
    }

    fn place(&self) -> String {
        self.call.map_or(String::new(), |(part, at)| format!("{part}[{at}] "))
    }
}

impl From<String> for Problem {
    fn from(what: String) -> Self {
        Self { call: None, what }
    }
}

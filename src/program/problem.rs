//! What a program says that cannot be.

use crate::units::words;

words! {
    /// A part of a program's calls.
    pub enum Part {
        Setup = "setup",
        Body = "body",
    }
}

/// What a program says that cannot be. It prints as `body[3] names stream 4 of 2, …`: the place is
/// that of the call in the program's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}{}", self.place(), self.other_place())]
pub struct Problem {
    /// The call that says it, by its position; `None` if it is no call.
    pub call: Option<(Part, usize)>,
    /// Another call that it disagrees with, and what that one is.
    pub other: Option<((Part, usize), &'static str)>,
    pub what: String,
}

impl Problem {
    pub(super) fn of_call(part: Part, at: usize, what: impl Into<String>) -> Self {
        Self { call: Some((part, at)), other: None, what: what.into() }
    }

    /// Also names another call.
    pub(super) fn and(self, other: Option<(Part, usize)>, label: &'static str) -> Self {
        Self { other: other.map(|other| (other, label)), ..self }
    }

    fn place(&self) -> String {
        self.call.map_or(String::new(), |(part, at)| format!("{part}[{at}] "))
    }

    fn other_place(&self) -> String {
        let place = |((part, at), label)| format!(" ({label}: {part}[{at}])");
        self.other.map_or(String::new(), place)
    }
}

impl From<String> for Problem {
    fn from(what: String) -> Self {
        Self { call: None, other: None, what }
    }
}

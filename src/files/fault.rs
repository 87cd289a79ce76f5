//! Mistakes in a text that a person wrote: what is wrong, where, and how to fix it.

use std::fmt;
use std::ops::Range;

/// A mistake at a place in a text, before the name of its file is known.
#[derive(Debug, Clone)]
pub struct Fault {
    pub message: String,
    /// Places in bytes of the text, each with a word or two to show there. The first is the
    /// mistake's; others are of what it disagrees with.
    pub labels: Vec<(Range<usize>, String)>,
    /// The fix.
    pub help: String,
}

impl Fault {
    /// `label` is a word or two to show at the place; `help` is the fix.
    pub fn new(
        message: impl Into<String>,
        span: Range<usize>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { message: message.into(), labels: vec![(span, label.into())], help: help.into() }
    }

    /// Also points at a second place.
    #[must_use]
    pub fn and(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    /// Appends where the mistake is to the message.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.message.push_str(place);
        self
    }

    /// Appends another way to fix it.
    #[must_use]
    pub fn or(mut self, help: &str) -> Self {
        self.help.push_str("; or ");
        self.help.push_str(help);
        self
    }
}

/// How the message about an unknown key begins: see [`unknown`].
pub const UNKNOWN_KEY: &str = "unknown key ";

/// The mistake of an unknown name. The fix proposes the nearest known one.
pub fn unknown(kind: &str, name: &str, span: Range<usize>, known: &[&str]) -> Fault {
    // The first names show what kind is meant, where there are many, such as a scenario's buffers.
    const LISTED: usize = 40;
    let more = known.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let list = in_backquotes(known.iter().take(LISTED)) + &rest;
    let help = match nearest(name, known) {
        _ if known.is_empty() => format!("remove it: no {kind} is allowed here"),
        Some(near) => format!("did you mean `{near}`? Choices: {list}"),
        None => format!("choices: {list}"),
    };
    Fault::new(format!("unknown {kind} `{name}`"), span, format!("no such {kind}"), help)
}

/// Names in a row, as messages show them: `a`, `b`.
pub fn in_backquotes(names: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The known name that is nearest to the given one, if it is near enough to be a slip.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let slips = |other: &str| name.chars().count().max(other.chars().count()).div_ceil(3);
    known
        .iter()
        .map(|other| (strsim::levenshtein(name, other), *other))
        .filter(|&(distance, other)| distance <= slips(other))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
}

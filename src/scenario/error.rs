//! Mistakes in a scenario: what is wrong, where, and how to fix it.

use crate::files::{Fault, Place, UNKNOWN_KEY, without_controls};
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// Why a scenario was refused.
///
/// `Display` gives one line that begins with `file:line:column`, for logs and pipes. A miette
/// handler draws the error with the lines of the file.
#[derive(Debug, Error)]
pub enum ScenarioError {
    #[error("cannot read the scenario {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },

    #[error("{}:{line}:{column}: {message}", file.name())]
    Invalid {
        message: String,
        /// Counted from one.
        line: usize,
        /// In characters, counted from one.
        column: usize,
        file: Arc<NamedSource<String>>,
        /// The first label marks the mistake. Further labels mark what it disagrees with.
        labels: Vec<LabeledSpan>,
        help: String,
    },
}

impl ScenarioError {
    /// Says with which changed value the scenario is wrong. The place in the file is that of the
    /// value before; there is none if `has_place` is false.
    #[must_use]
    pub(super) fn with_value(mut self, of: &str, has_place: bool) -> Self {
        if let Self::Invalid { message, labels, .. } = &mut self {
            *message = format!("with {of}: {message}");
            labels.retain(|_| has_place);
        }
        self
    }
}

impl Diagnostic for ScenarioError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(match self {
            Self::Unreadable { .. } => Box::new("pass the path of a readable TOML file in UTF-8"),
            Self::Invalid { help, .. } => Box::new(help),
        })
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Unreadable { .. } => None,
            Self::Invalid { file, .. } => Some(file),
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            Self::Unreadable { .. } => None,
            Self::Invalid { labels, .. } => Some(Box::new(labels.iter().cloned())),
        }
    }
}

impl Fault {
    /// `file` is what is shown of the text: it must do nothing to a terminal.
    fn in_file(self, file: &Arc<NamedSource<String>>, text: &str) -> ScenarioError {
        let labels: Vec<LabeledSpan> = self
            .labels
            .into_iter()
            .map(|(span, label)| LabeledSpan::new_with_span(Some(label), within_line(text, span)))
            .collect();
        let Place { line, column } = Place::at(text, labels.first().map_or(0, LabeledSpan::offset));
        ScenarioError::Invalid {
            message: without_controls(&self.message),
            line,
            column,
            file: file.clone(),
            labels,
            help: without_controls(&self.help),
        }
    }
}

/// A file as it is shown.
fn shown(name: &str, text: &str) -> Arc<NamedSource<String>> {
    Arc::new(NamedSource::new(name, without_controls(text)).with_language("TOML"))
}

/// Every mistake that was found, in the order in which they were.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub fn note(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// What was found, unless it is a mistake, which is noted.
    pub fn keep<T>(&mut self, found: Result<T, Fault>) -> Option<T> {
        found.map_err(|fault| self.note(fault)).ok()
    }

    /// All that was found, unless some of it is a mistake: every mistake is noted.
    pub fn keep_all<T>(&mut self, found: impl Iterator<Item = Result<T, Fault>>) -> Option<Vec<T>> {
        let kept: Vec<Option<T>> = found.map(|one| self.keep(one)).collect();
        kept.into_iter().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts the mistakes in the order of the file.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|fault| fault.labels.first().map(|(span, _)| span.start));
    }

    /// The first mistake. If that is an unknown key, all of these as one: they are usually slips
    /// of the same kind.
    pub fn first_in_file(self, name: &str, text: &str) -> Option<ScenarioError> {
        let is_unknown = |fault: &Fault| fault.message.starts_with(UNKNOWN_KEY);
        let mut faults = self.0.into_iter();
        let first = faults.next()?;
        if !is_unknown(&first) {
            return Some(first.in_file(&shown(name, text), text));
        }
        let all = faults.filter(is_unknown).fold(first, |mut all, next| {
            all.message += &format!("; {}", next.message);
            all.help += &format!("\n{}", next.help);
            all.labels.extend(next.labels);
            all
        });
        Some(all.in_file(&shown(name, text), text))
    }

    pub fn in_file(self, name: &str, text: &str) -> Vec<ScenarioError> {
        let file = shown(name, text);
        self.0.into_iter().map(|fault| fault.in_file(&file, text)).collect()
    }
}

/// The part of a span that lies on its first line: marking a whole table would bury the label.
/// Both ends are moved to character boundaries.
fn within_line(text: &str, span: Range<usize>) -> Range<usize> {
    let boundary = |index: usize| {
        (0..=index.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
    };
    let start = boundary(span.start);
    let end = boundary(span.end).max(start);
    let line = text[start..end].split(['\r', '\n']).next().unwrap_or_default();
    start..start + line.len()
}

//! What is wrong with a document.

use std::fmt;
use std::ops::Range;

/// What does not fit its type, or is not TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    pub message: String,
    /// In bytes of the text.
    pub span: Range<usize>,
    /// The keys that lead to the value, outermost first.
    pub keys: Vec<String>,
    pub(super) is_placed: bool,
}

impl TomlError {
    /// Places an error that has no place yet: the innermost value around it has.
    pub(super) fn or_at(mut self, span: &Range<usize>) -> Self {
        if !self.is_placed {
            self.span = span.clone();
            self.is_placed = true;
        }
        self
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.keys.is_empty() { Ok(()) } else { write!(f, " (in `{}`)", self.keys.join(".")) }
    }
}

impl std::error::Error for TomlError {}

impl serde::de::Error for TomlError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), span: 0..0, keys: Vec::new(), is_placed: false }
    }
}

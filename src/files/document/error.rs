//! What is wrong with a document.

use serde_path_to_error::Segment;
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
}

/// What the crate `toml` asks a type for that wants to know its place: no key of a document.
const PLACE: &str = "$__serde_spanned_private_";

impl From<serde_path_to_error::Error<toml::de::Error>> for TomlError {
    fn from(error: serde_path_to_error::Error<toml::de::Error>) -> Self {
        let keys = error.path().iter().filter_map(|segment| match segment {
            Segment::Map { key } if !key.starts_with(PLACE) => Some(key.clone()),
            _ => None,
        });
        let mut keys: Vec<String> = keys.collect();
        let error = error.into_inner();
        // An unknown key leads to no value: its table is what the error is about.
        if error.message().starts_with("unknown field `") {
            keys.pop();
        }
        let span = error.span().unwrap_or_default();
        Self { message: error.message().to_owned(), span, keys }
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.keys.is_empty() { Ok(()) } else { write!(f, " (in `{}`)", self.keys.join(".")) }
    }
}

impl std::error::Error for TomlError {}

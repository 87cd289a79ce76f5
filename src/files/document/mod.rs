//! TOML to Rust types, with the place and the key of what does not fit.
//!
//! `toml` parses; its own way on from there to a type is left out. It compiles each type for
//! four kinds of tables, of which ours need one, and that was a fifth of hallway's machine code. Its
//! errors also keep to themselves which key they are about.

mod access;
mod decoder;
mod spanned;

pub use spanned::Spanned;

use decoder::Decoder;
use serde::Deserialize;
use std::fmt;
use std::ops::Range;
use toml::de::DeTable;

/// What does not fit its type, or is not TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    pub message: String,
    /// In bytes of the text.
    pub span: Range<usize>,
    /// The keys that lead to the value, outermost first.
    pub keys: Vec<String>,
    is_placed: bool,
}

impl TomlError {
    /// Places an error that has no place yet: the innermost value around it has.
    fn or_at(mut self, span: &Range<usize>) -> Self {
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

/// Parses TOML and decodes it.
///
/// # Errors
/// If the text is not TOML, or something in it does not fit the type.
pub fn decode<'i, T: Deserialize<'i>>(text: &'i str) -> Result<T, TomlError> {
    let document = parse(text)?;
    let span = document.span();
    decode_table(document.into_inner(), span)
}

/// Parses TOML.
///
/// # Errors
/// If the text is not TOML.
pub fn parse(text: &str) -> Result<toml::Spanned<DeTable<'_>>, TomlError> {
    DeTable::parse(text).map_err(|error| TomlError {
        message: error.message().to_owned(),
        span: error.span().unwrap_or_default(),
        keys: Vec::new(),
        is_placed: true,
    })
}

/// Decodes a table that stands at `span` of the text.
///
/// # Errors
/// If something in it does not fit the type.
pub fn decode_table<'i, T: Deserialize<'i>>(
    table: DeTable<'i>,
    span: Range<usize>,
) -> Result<T, TomlError> {
    T::deserialize(Decoder::of(table, span))
}

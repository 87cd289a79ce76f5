//! TOML to Rust types, with the place and the key of what does not fit.
//!
//! Invariant: every error has the place of the innermost value that it is about.

use super::decoder::{Decoder, TomlError};
use super::fault::{Fault, unknown};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error};
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;
use toml::de::DeTable;

/// Parses TOML and decodes it.
///
/// # Errors
/// If the text is not TOML, or something in it does not fit the type.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    let document = parse(text)?;
    let span = document.span();
    decode_table(document.into_inner(), span)
}

/// Parses TOML.
///
/// # Errors
/// If the text is not TOML.
pub fn parse(text: &str) -> Result<toml::Spanned<DeTable<'_>>, TomlError> {
    DeTable::parse(text).map_err(|error| {
        let unplaced = TomlError::custom(error.message());
        unplaced.or_at(error.span().unwrap_or_default())
    })
}

/// Decodes a table that stands at `span` of the text.
///
/// # Errors
/// If something in it does not fit the type.
pub fn decode_table<T: DeserializeOwned>(
    table: DeTable<'_>,
    span: Range<usize>,
) -> Result<T, TomlError> {
    Decoder::of(table, span).decode()
}

/// A value with its place, in bytes of the text. A JSON Schema describes it as the value itself,
/// which the type of the crate `toml` cannot do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Spanned<T>(toml::Spanned<T>);

impl<T> Spanned<T> {
    pub fn new(span: Range<usize>, value: T) -> Self {
        Self(toml::Spanned::new(span, value))
    }

    pub fn span(&self) -> Range<usize> {
        self.0.span()
    }

    pub fn get_ref(&self) -> &T {
        self.0.get_ref()
    }
}

impl Spanned<i64> {
    /// The number, which is to lie within limits that are not below 0. Messages call it `what`.
    ///
    /// # Errors
    /// If it is too small or too large.
    pub fn within(&self, what: &str, allowed: RangeInclusive<i64>) -> Result<u64, Fault> {
        let value = *self.get_ref();
        let (least, most) = allowed.into_inner();
        let (limit, label) = if value < least {
            (format!("at least {least}"), "too small")
        } else if value > most {
            (format!("at most {most}"), "too large")
        } else {
            return Ok(value as u64);
        };
        let help = match most {
            i64::MAX => format!("write a whole number, {least} or more"),
            _ => format!("write a whole number from {least} to {most}"),
        };
        let message = format!("{what} is {value}, but must be {limit}");
        Err(Fault::new(message, self.span(), label, help))
    }
}

impl Spanned<String> {
    /// What the text says. `before` begins the message.
    ///
    /// # Errors
    /// If it is no such value.
    pub fn parsed<T: FromStr<Err: fmt::Display>>(
        &self,
        before: &str,
        label: &str,
        help: &str,
    ) -> Result<T, Fault> {
        let wrong = |error| Fault::new(format!("{before}{error}"), self.span(), label, help);
        self.get_ref().parse().map_err(wrong)
    }
}

/// The one of some choices that a text names.
///
/// # Errors
/// If it is the name of none. Messages call a choice a `kind`.
pub fn one_of<T: Copy>(
    kind: &str,
    name: &Spanned<String>,
    choices: &[(&str, T)],
) -> Result<T, Fault> {
    let found = choices.iter().find(|(known, _)| known == name.get_ref());
    let names = || choices.iter().map(|(known, _)| *known).collect::<Vec<_>>();
    let fault = || unknown(kind, name.get_ref(), name.span(), &names());
    found.map(|(_, one)| *one).ok_or_else(fault)
}

impl<T: fmt::Display> fmt::Display for Spanned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get_ref().fmt(f)
    }
}

#[cfg(feature = "schema")]
impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Reads such a value: what errors say is expected, and the visits of serde that make one. An
/// untagged enum of serde would not say which key of a table is wrong.
macro_rules! written_in_several_ways {
    ($Value:ident, $expected:literal, $($visits:tt)*) => {
        impl<'de> serde::de::Deserialize<'de> for $Value {
            fn deserialize<D: serde::de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Ways;

                impl<'de> serde::de::Visitor<'de> for Ways {
                    type Value = $Value;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }

                    $($visits)*
                }

                from.deserialize_any(Ways)
            }
        }
    };
}

pub(crate) use written_in_several_ways;

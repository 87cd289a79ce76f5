//! TOML to Rust types, with the place and the key of what does not fit.
//!
//! Invariant: every error has the place of the innermost value that it is about.

mod error;
mod several;
mod spanned;

pub use error::TomlError;
pub(crate) use several::written_in_several_ways;
pub use spanned::Spanned;

use serde::Deserialize;
use std::ops::Range;
use toml::de::DeTable;

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
    let document = toml::Deserializer::from(toml::Spanned::new(span, table));
    serde_path_to_error::deserialize(document).map_err(TomlError::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    struct Machine {
        name: Option<String>,
        seed: u64,
        pairs: Vec<(f64, f64)>,
        kind: Kind,
        #[serde(default)]
        links: BTreeMap<String, Kind>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    enum Kind {
        Plain,
        Wide(u8),
        Shared(Sharers),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sharers {
        by: i64,
    }

    const TEXT: &str = "seed = 0xffff_ffff_ffff_ffff\npairs = [[1, 2.5], [inf, -1e3]]\n\
                        kind = \"plain\"\n[links]\na = { wide = 16 }\nb.shared.by = -2\n";

    /// What is wrong, the text that the error marks, and the keys that lead there.
    fn wrong(from: &str, to: &str) -> (String, String, String) {
        let text = TEXT.replace(from, to);
        let error = decode::<Machine>(&text).expect_err("it does not fit");
        (error.message, text[error.span].to_owned(), error.keys.join("."))
    }

    #[test]
    fn errors_have_the_place_and_the_keys_of_what_is_wrong() {
        let found: Machine = decode(TEXT).expect("it fits");
        assert_eq!(found.links["b"], Kind::Shared(Sharers { by: -2 }));
        let (message, place, keys) = wrong("2.5", "true");
        assert!(message.starts_with("invalid type: boolean `true`"), "{message}");
        assert_eq!((place.as_str(), keys.as_str()), ("true", "pairs"));
        let (message, place, keys) = wrong("wide = 16", "wide = 256");
        assert!(message.contains("256"), "{message}");
        assert_eq!((place.as_str(), keys.as_str()), ("256", "links.a"));
        let (message, place, keys) = wrong("by = -2", "bye = -2");
        assert!(message.starts_with("unknown field `bye`"), "{message}");
        assert_eq!((place.as_str(), keys.as_str()), ("bye", "links.b"));
        let (message, place, _) = wrong("ffff\n", "ffff_f\n");
        assert!(message.contains("integer"), "{message}");
        assert_eq!(place, "0xffff_ffff_ffff_ffff_f");
        let (message, place, keys) = wrong("kind = \"plain\"", "kind = 1979-05-27");
        assert!(message.contains("string or table"), "{message}");
        assert_eq!((place.as_str(), keys.as_str()), ("1979-05-27", "kind"));
    }
}

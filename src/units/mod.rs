//! Quantities with their units in the type, and how people write them.
//!
//! Invariant: nothing here knows what a GPU is. Time inside plans, timelines and runs is integer
//! nanoseconds; `f64` seconds appear only where a model is fitted or a rate is solved for.

mod amount;
mod element;
mod time;
mod words;

pub use amount::{Bandwidth, Bytes};
pub use element::ElementType;
pub use time::{Instant, Span};
pub(crate) use words::words;

/// A text that does not describe the quantity that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ParseError {
    text: String,
    expected: &'static str,
}

/// Splits `"64 MiB"` into `(64.0, "MiB")`; the space and digit separators are optional.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim()))
}

//! Values that know where they stand in the text.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A value with its place in the text, for what is checked after decoding.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    span: Range<usize>,
    value: T,
}

impl<T> Spanned<T> {
    pub const fn new(value: T, span: Range<usize>) -> Self {
        Self { span, value }
    }

    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub const fn get_ref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Display> fmt::Display for Spanned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl<T: PartialOrd> PartialOrd for Spanned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<T: Ord> Ord for Spanned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.cmp(&other.value)
    }
}

/// By this name a [`Spanned`] asks the decoder for the place, too.
pub(super) const SPANNED: &str = "hallway::files::Spanned";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (start, end, value) = from.deserialize_tuple_struct(SPANNED, 3, Triple(PhantomData))?;
        Ok(Self { span: start..end, value })
    }
}

/// Takes the two ends of a place and the value there.
struct Triple<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Triple<T> {
    type Value = (usize, usize, T);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its place")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let missing = || A::Error::custom("only TOML has places");
        let start = items.next_element()?.ok_or_else(missing)?;
        let end = items.next_element()?.ok_or_else(missing)?;
        Ok((start, end, items.next_element()?.ok_or_else(missing)?))
    }
}

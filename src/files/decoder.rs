//! Values of a document, as serde asks for them.
//!
//! The crate `toml` parses. Its own way from there to a type, with `serde_path_to_error` for the
//! keys that lead to a mistake, compiles a type for several kinds of tables, keys and errors, and
//! for every kind of value that could stand there: the first build generated 5.0 million lines of
//! LLVM IR with it and took 183 s on two slow cores, which is more than the 110 s that were set as
//! its limit, and 4.2 million without. A decoder of our own asks each type one kind of question.

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess,
    Unexpected, Visitor, value::MapAccessDeserializer,
};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

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
    pub(super) fn or_at(mut self, span: Range<usize>) -> Self {
        if !self.is_placed {
            self.span = span;
            self.is_placed = true;
        }
        self
    }

    /// The error with the key that leads to where it was found.
    fn under(mut self, key: &str) -> Self {
        self.keys.insert(0, key.to_owned());
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

type Decoded<T> = Result<T, TomlError>;

/// A value with its place in the text.
pub(super) struct Decoder<'i> {
    value: Value<'i>,
    span: Range<usize>,
}

enum Value<'i> {
    Text(Cow<'i, str>),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Array(Vec<Decoder<'i>>),
    /// Keys and values.
    Table(Vec<(Decoder<'i>, Decoder<'i>)>),
    /// What follows the name of an enum's variant that holds nothing.
    Nothing,
    /// What no type of ours takes, in words.
    Other(&'static str),
}

const TOO_LONG: Value<'static> = Value::Other("number that exceeds 64 bits");

impl<'i> From<toml::Spanned<DeValue<'i>>> for Decoder<'i> {
    fn from(value: toml::Spanned<DeValue<'i>>) -> Self {
        let span = value.span();
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map_or(TOO_LONG, Value::Integer),
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() || number.as_str().ends_with(['f', 'n']) => {
                    Value::Float(value)
                }
                _ => TOO_LONG,
            },
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Datetime(_) => Value::Other("date or time"),
            DeValue::Array(items) => Value::Array(items.into_iter().map(Self::from).collect()),
            DeValue::Table(table) => return Self::of(table, span),
        };
        Self { value, span }
    }
}

impl<'i> Decoder<'i> {
    pub fn of(table: DeTable<'i>, span: Range<usize>) -> Self {
        let entries = table.into_iter().map(|(key, value)| {
            let place = key.span();
            (Self::key(key.into_inner(), place), value.into())
        });
        Self { value: Value::Table(entries.collect()), span }
    }

    fn key(name: impl Into<Cow<'i, str>>, span: Range<usize>) -> Self {
        Self { value: Value::Text(name.into()), span }
    }

    pub fn decode<T: DeserializeOwned>(self) -> Decoded<T> {
        self.give(PhantomData)
    }

    /// Hands the value to what asks for it. An error that has no place yet is about all of it.
    fn give<S: DeserializeSeed<'i>>(self, seed: S) -> Decoded<S::Value> {
        let span = self.span.clone();
        seed.deserialize(self).map_err(|error| error.or_at(span))
    }

    fn items(self, expected: &dyn Expected) -> Decoded<Items<'i>> {
        match self.value {
            Value::Array(items) => Ok(Items(items.into_iter())),
            _ => Err(self.wrong(expected)),
        }
    }

    fn entries(self, expected: &dyn Expected) -> Decoded<Entries<'i>> {
        match self.value {
            Value::Table(entries) => Ok(Entries::of(entries)),
            _ => Err(self.wrong(expected)),
        }
    }

    /// The table that the type [`Spanned`](toml::Spanned) asks for: start, end and value.
    fn with_place(self, fields: &'static [&'static str]) -> Self {
        let span = self.span.clone();
        let at = |place: usize| Self { value: Value::Integer(place as i128), span: span.clone() };
        let values = [at(span.start), at(span.end), self];
        let keys = fields.iter().map(|&field| Self::key(field, span.clone()));
        Self { value: Value::Table(keys.zip(values).collect()), span: span.clone() }
    }

    /// Says that this is not of the type that is expected.
    fn wrong(&self, expected: &dyn Expected) -> TomlError {
        let found = match &self.value {
            Value::Text(text) => Unexpected::Str(text),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => Unexpected::Signed(number),
                (_, Ok(number)) => Unexpected::Unsigned(number),
                _ => Unexpected::Other("integer that exceeds 64 bits"),
            },
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(value) => Unexpected::Bool(*value),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
            Value::Nothing => Unexpected::Unit,
            Value::Other(words) => Unexpected::Other(words),
        };
        TomlError::invalid_type(found, expected)
    }
}

/// By this name, a type asks for the place of its value, too.
const SPANNED: &str = "$__serde_spanned_private_Spanned";

/// With this begin the keys under which it asks.
const OF_SPANNED: &str = "$__serde_spanned_private_";

/// Each way to ask leads to one kind of value, so that a type is compiled for that kind alone.
impl<'i> Deserializer<'i> for Decoder<'i> {
    type Error = TomlError;

    fn deserialize_any<V: Visitor<'i>>(self, visitor: V) -> Decoded<V::Value> {
        match self.value {
            Value::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Value::Text(Cow::Owned(text)) => visitor.visit_string(text),
            Value::Integer(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => visitor.visit_i128(number),
            },
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Table(_) => self.deserialize_map(visitor),
            Value::Nothing => visitor.visit_unit(),
            Value::Other(_) => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_identifier<V: Visitor<'i>>(self, visitor: V) -> Decoded<V::Value> {
        match self.value {
            Value::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Value::Text(Cow::Owned(text)) => visitor.visit_str(&text),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'i>>(self, visitor: V) -> Decoded<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'i>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'i>>(self, visitor: V) -> Decoded<V::Value> {
        let items = self.items(&visitor)?;
        visitor.visit_seq(items)
    }

    fn deserialize_tuple<V: Visitor<'i>>(self, _: usize, visitor: V) -> Decoded<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'i>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Decoded<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'i>>(self, visitor: V) -> Decoded<V::Value> {
        let entries = self.entries(&visitor)?;
        visitor.visit_map(entries)
    }

    fn deserialize_struct<V: Visitor<'i>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        let of = if name == SPANNED { self.with_place(fields) } else { self };
        of.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'i>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        let entries = match self.value {
            Value::Text(_) => {
                let nothing = Self { value: Value::Nothing, span: self.span.clone() };
                vec![(self, nothing)]
            }
            Value::Table(entries) if entries.len() == 1 => entries,
            _ => return Err(TomlError::custom("wanted string or table")),
        };
        visitor.visit_enum(MapAccessDeserializer::new(Entries::of(entries)))
    }

    fn deserialize_ignored_any<V: Visitor<'i>>(self, visitor: V) -> Decoded<V::Value> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'i>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf unit unit_struct
    }
}

/// What is left of an array.
struct Items<'i>(std::vec::IntoIter<Decoder<'i>>);

impl<'i> SeqAccess<'i> for Items<'i> {
    type Error = TomlError;

    fn next_element_seed<S: DeserializeSeed<'i>>(&mut self, seed: S) -> Decoded<Option<S::Value>> {
        self.0.next().map(|item| item.give(seed)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// What is left of a table.
struct Entries<'i> {
    left: std::vec::IntoIter<(Decoder<'i>, Decoder<'i>)>,
    /// The value of the key that was handed out last, with that key.
    value: Option<(Cow<'i, str>, Decoder<'i>)>,
}

impl<'i> Entries<'i> {
    fn of(entries: Vec<(Decoder<'i>, Decoder<'i>)>) -> Self {
        Self { left: entries.into_iter(), value: None }
    }
}

impl<'i> MapAccess<'i> for Entries<'i> {
    type Error = TomlError;

    fn next_key_seed<S: DeserializeSeed<'i>>(&mut self, seed: S) -> Decoded<Option<S::Value>> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        let Value::Text(name) = &key.value else { unreachable!("keys are texts") };
        self.value = Some((name.clone(), value));
        // An unknown key leads to no value: its table is what the error is about.
        key.give(seed).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'i>>(&mut self, seed: S) -> Decoded<S::Value> {
        let (name, value) = self.value.take().expect("serde asks for the key first");
        value.give(seed).map_err(|error| match name.starts_with(OF_SPANNED) {
            true => error,
            false => error.under(&name),
        })
    }
}

//! The values of a document, as serde asks for them.

use super::error::TomlError;
use super::spanned::SPANNED;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use std::borrow::Cow;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A value with its place. serde asks it for what it is.
pub(super) struct Decoder<'i> {
    value: Value<'i>,
    span: Range<usize>,
}

enum Value<'i> {
    Text(Cow<'i, str>),
    /// A number of 64 bits, with a sign or without.
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Array(Vec<Decoder<'i>>),
    /// Keys and values.
    Table(Vec<(Decoder<'i>, Decoder<'i>)>),
    /// What no type of ours takes, in words.
    Other(&'static str),
}

impl<'i> From<toml::Spanned<DeValue<'i>>> for Decoder<'i> {
    fn from(value: toml::Spanned<DeValue<'i>>) -> Self {
        let span = value.span();
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(number) => {
                let value = i128::from_str_radix(number.as_str(), number.radix()).ok();
                let fits = |value: &i128| (i64::MIN.into()..=u64::MAX.into()).contains(value);
                let value = value.filter(fits);
                value.map_or(Value::Other("number that exceeds 64 bits"), Value::Integer)
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() || number.as_str().ends_with(['f', 'n']) => {
                    Value::Float(value)
                }
                _ => Value::Other("number that exceeds 64 bits"),
            },
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Datetime(_) => Value::Other("date or time"),
            DeValue::Array(items) => Value::Array(items.into_iter().map(Self::from).collect()),
            DeValue::Table(table) => Value::of(table),
        };
        Self { value, span }
    }
}

impl<'i> Value<'i> {
    fn of(table: DeTable<'i>) -> Self {
        let key = |key: toml::Spanned<Cow<'i, str>>| {
            let span = key.span();
            Decoder { value: Self::Text(key.into_inner()), span }
        };
        Self::Table(table.into_iter().map(|(name, value)| (key(name), value.into())).collect())
    }
}

impl<'i> Decoder<'i> {
    pub fn of(table: DeTable<'i>, span: Range<usize>) -> Self {
        Self { value: Value::of(table), span }
    }

    /// Shows a visitor a value that is neither array nor table.
    fn scalar<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Integer(number) => match i64::try_from(*number) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_u64(*number as u64),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Array(_) | Value::Table(_) | Value::Other(_) => Err(self.wrong(&visitor)),
        }
        .map_err(|error: TomlError| error.or_at(&self.span))
    }

    fn array<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        let Value::Array(items) = self.value else { return Err(self.wrong(&visitor)) };
        visitor.visit_seq(Items::of(items)).map_err(|error| error.or_at(&self.span))
    }

    fn table<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        let Value::Table(entries) = self.value else { return Err(self.wrong(&visitor)) };
        visitor.visit_map(Entries::of(entries)).map_err(|error| error.or_at(&self.span))
    }

    /// Says that this is not of the type that is expected.
    fn wrong(&self, expected: &dyn Expected) -> TomlError {
        let found = match &self.value {
            Value::Text(text) => Unexpected::Str(text),
            Value::Integer(number) => match i64::try_from(*number) {
                Ok(number) => Unexpected::Signed(number),
                Err(_) => Unexpected::Unsigned(*number as u64),
            },
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(value) => Unexpected::Bool(*value),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
            Value::Other(words) => Unexpected::Other(words),
        };
        TomlError::invalid_type(found, expected).or_at(&self.span)
    }
}

macro_rules! scalars {
    ($($ask:ident)*) => {$(
        fn $ask<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
            self.scalar(visitor)
        }
    )*};
}

/// Each way to ask leads to one kind of value, so that a type is compiled for that kind alone.
impl<'i> Deserializer<'i> for Decoder<'i> {
    type Error = TomlError;

    fn deserialize_any<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        match self.value {
            Value::Array(_) => self.array(visitor),
            Value::Table(_) => self.table(visitor),
            _ => self.scalar(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'i>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TomlError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        self.array(visitor)
    }

    fn deserialize_tuple<V: Visitor<'i>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, TomlError> {
        self.array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'i>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, TomlError> {
        if name != SPANNED {
            return self.array(visitor);
        }
        let Range { start, end } = self.span;
        let at = |place: usize| Decoder { value: Value::Integer(place as i128), span: start..end };
        Decoder { value: Value::Array(vec![at(start), at(end), self]), span: start..end }
            .array(visitor)
    }

    fn deserialize_map<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        self.table(visitor)
    }

    fn deserialize_struct<V: Visitor<'i>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TomlError> {
        self.table(visitor)
    }

    fn deserialize_enum<V: Visitor<'i>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TomlError> {
        let variant = match self.value {
            Value::Text(_) => Variant { name: self, content: None },
            Value::Table(mut entries) if entries.len() == 1 => {
                let entry = entries.pop();
                let (name, content) = entry.expect("a table with one entry has one");
                Variant { name, content: Some(content) }
            }
            _ => return Err(self.wrong(&"a word in quotation marks")),
        };
        let span = variant.name.span.clone();
        visitor.visit_enum(variant).map_err(|error| error.or_at(&span))
    }

    fn deserialize_ignored_any<V: Visitor<'i>>(self, visitor: V) -> Result<V::Value, TomlError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'i>> bytes byte_buf unit unit_struct i128 u128
    }

    scalars! {
        deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_identifier
    }
}

/// The items of an array, one after another.
struct Items<'i>(std::vec::IntoIter<Decoder<'i>>);

impl<'i> Items<'i> {
    fn of(items: Vec<Decoder<'i>>) -> Self {
        Self(items.into_iter())
    }
}

impl<'i> SeqAccess<'i> for Items<'i> {
    type Error = TomlError;

    fn next_element_seed<S: DeserializeSeed<'i>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TomlError> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The keys and values of a table, one after another.
struct Entries<'i> {
    left: std::vec::IntoIter<(Decoder<'i>, Decoder<'i>)>,
    /// The value of the key that was handed out last, with that key.
    value: Option<(String, Decoder<'i>)>,
}

impl<'i> Entries<'i> {
    fn of(entries: Vec<(Decoder<'i>, Decoder<'i>)>) -> Self {
        Self { left: entries.into_iter(), value: None }
    }
}

impl<'i> MapAccess<'i> for Entries<'i> {
    type Error = TomlError;

    fn next_key_seed<S: DeserializeSeed<'i>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TomlError> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        let name = match &key.value {
            Value::Text(name) => name.to_string(),
            _ => unreachable!("the keys of TOML are texts"),
        };
        self.value = Some((name, value));
        let span = key.span.clone();
        seed.deserialize(key).map(Some).map_err(|error| error.or_at(&span))
    }

    fn next_value_seed<S: DeserializeSeed<'i>>(&mut self, seed: S) -> Result<S::Value, TomlError> {
        let (name, value) = self.value.take().expect("serde asks for the key first");
        let span = value.span.clone();
        seed.deserialize(value).map_err(|error| {
            let mut error = error.or_at(&span);
            error.keys.insert(0, name);
            error
        })
    }
}

/// The variant of an enum: a word, or a table whose one key is that word.
struct Variant<'i> {
    name: Decoder<'i>,
    content: Option<Decoder<'i>>,
}

impl<'i> EnumAccess<'i> for Variant<'i> {
    type Error = TomlError;
    type Variant = Content<'i>;

    fn variant_seed<S: DeserializeSeed<'i>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Content<'i>), TomlError> {
        Ok((seed.deserialize(self.name)?, Content(self.content)))
    }
}

/// What a variant holds.
struct Content<'i>(Option<Decoder<'i>>);

impl<'i> Content<'i> {
    fn some(self) -> Result<Decoder<'i>, TomlError> {
        self.0.ok_or_else(|| TomlError::custom("this word needs a table of its keys"))
    }
}

impl<'i> VariantAccess<'i> for Content<'i> {
    type Error = TomlError;

    fn unit_variant(self) -> Result<(), TomlError> {
        match self.0 {
            None => Ok(()),
            Some(content) => Err(content.wrong(&"no table after this word")),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'i>>(self, seed: S) -> Result<S::Value, TomlError> {
        seed.deserialize(self.some()?)
    }

    fn tuple_variant<V: Visitor<'i>>(self, _: usize, visitor: V) -> Result<V::Value, TomlError> {
        self.some()?.array(visitor)
    }

    fn struct_variant<V: Visitor<'i>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TomlError> {
        self.some()?.table(visitor)
    }
}

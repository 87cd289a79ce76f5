//! What is inside of arrays, tables and enums, as serde asks for it.

use super::TomlError;
use super::decoder::{Decoder, Value};
use serde::de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

/// The items of an array, one after another.
pub(super) struct Items<'i>(std::vec::IntoIter<Decoder<'i>>);

impl<'i> Items<'i> {
    pub fn of(items: Vec<Decoder<'i>>) -> Self {
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
pub(super) struct Entries<'i> {
    left: std::vec::IntoIter<(Decoder<'i>, Decoder<'i>)>,
    /// The value of the key that was handed out last, with that key.
    value: Option<(String, Decoder<'i>)>,
}

impl<'i> Entries<'i> {
    pub fn of(entries: Vec<(Decoder<'i>, Decoder<'i>)>) -> Self {
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
pub(super) struct Variant<'i> {
    pub name: Decoder<'i>,
    pub content: Option<Decoder<'i>>,
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
pub(super) struct Content<'i>(Option<Decoder<'i>>);

impl<'i> Content<'i> {
    fn some(self) -> Result<Decoder<'i>, TomlError> {
        self.0.ok_or_else(|| TomlError::custom("this word needs a table with what belongs to it"))
    }
}

impl<'i> VariantAccess<'i> for Content<'i> {
    type Error = TomlError;

    fn unit_variant(self) -> Result<(), TomlError> {
        match self.0 {
            None => Ok(()),
            Some(content) => Err(content.wrong(&"nothing with this word")),
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

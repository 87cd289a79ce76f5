//! Values that a person may write in more than one way.

use crate::files::{Spanned, written_in_several_ways};
use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess};
use std::fmt;
use std::ops::Range;

/// Describes a value of several types in the JSON Schema.
macro_rules! described {
    ($value:ident, $($schema:tt)+) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $value {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($value).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($($schema)+)
            }
        }
    };
}

described!(OneOrMore, { "type": ["string", "array"], "items": { "type": "string" } });
described!(Number, { "type": ["number", "string"] });
described!(RawParameter, {
    "type": ["string", "object"],
    "additionalProperties": { "type": ["number", "string"] },
    "minProperties": 1,
    "maxProperties": 1,
});

/// A number of threads.
#[derive(Debug, Deserialize, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "1 or \"all\"")]
#[cfg_attr(feature = "schema", schemars(rename = "Threads"))]
pub enum RawThreads {
    Number(i64),
    Word(String),
}

/// A name, or a list of names.
#[derive(Debug, Clone)]
pub enum OneOrMore {
    One(String),
    More(Vec<Spanned<String>>),
}

impl OneOrMore {
    /// Every name with its place, given the place of the whole value.
    pub fn all(&self, place: Range<usize>) -> Vec<Spanned<String>> {
        match self {
            Self::One(name) => vec![Spanned::new(place, name.clone())],
            Self::More(names) => names.clone(),
        }
    }
}

written_in_several_ways! {
    OneOrMore, "a string such as \"d\", or a list of strings",

    fn visit_str<E: Error>(self, name: &str) -> Result<OneOrMore, E> {
        Ok(OneOrMore::One(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMore, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = items.next_element()? {
            names.push(name);
        }
        Ok(OneOrMore::More(names))
    }
}

/// A number, or an expression that gives one.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    Value(f64),
    Text(String),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

written_in_several_ways! {
    Number, "a number, or an expression such as \"ceil(columns / 32)\"",

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Value(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Value(value as f64))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number::Value(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        Ok(Number::Text(text.to_owned()))
    }
}

/// A parameter of a kernel: the name of what it reads or writes, or a number of a type.
#[derive(Debug, Clone)]
pub enum RawParameter {
    Memory(String),
    Number(Spanned<String>, Spanned<Number>),
}

impl fmt::Display for RawParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(name) => f.write_str(name),
            Self::Number(of, number) => write!(f, "{of} = {number}"),
        }
    }
}

written_in_several_ways! {
    RawParameter, "a name such as \"x\", or a number such as { i32 = \"columns\" }",

    fn visit_str<E: Error>(self, name: &str) -> Result<RawParameter, E> {
        Ok(RawParameter::Memory(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawParameter, A::Error> {
        let found = map.next_entry::<Spanned<String>, Spanned<Number>>()?;
        let (of, number) = found.ok_or_else(|| A::Error::custom(EMPTY))?;
        if map.next_key::<Spanned<String>>()?.is_some() {
            return Err(A::Error::custom("a parameter has exactly one type"));
        }
        Ok(RawParameter::Number(of, number))
    }
}

const EMPTY: &str = "a parameter needs a type, such as { i32 = 9 }";

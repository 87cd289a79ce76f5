//! What keys a call may have: whether one has those that its table asks for, and no others.

use crate::files::{Fault, in_backquotes};
use std::ops::Range;

/// A key that stands beside the one that says which call it is.
pub(super) struct Key {
    pub name: &'static str,
    /// Its lines in the table.
    pub help: &'static [&'static str],
    pub needed_by: &'static [&'static str],
    pub taken_by: &'static [&'static str],
    /// Keys that it makes no sense without.
    pub beside: &'static [&'static str],
}

/// Makes of one table whatever knows the keys of calls: what serde reads, with the JSON Schema;
/// what a call does; the text of a call; and the rules for which keys stand together. Braces after
/// a key's type say which calls need it or take it; without them, all calls take it. A number in
/// brackets is the smallest that the schema allows.
macro_rules! table_of_calls {
    (
        $(#[$about:meta])*
        calls { $(
            $(#[doc = $says:literal])*
            $call:ident: $value:ty $([$least_value:literal..])? => $Verb:ident,
        )* }
        keys { $(
            $(#[doc = $help:literal])*
            $key:ident: $type:ty $([$least:literal..])?
            $({ $($rule:ident: [$($name:ident),*]),* })?,
        )* }
    ) => {
        $(#[$about])*
        pub struct RawCall {
            $(
                $(#[doc = $says])*
                $(#[cfg_attr(feature = "schema", schemars(range(min = $least_value)))])?
                pub $call: Option<Spanned<$value>>,
            )*
            $(
                $(#[doc = $help])*
                $(#[cfg_attr(feature = "schema", schemars(range(min = $least)))])?
                pub $key: Option<Spanned<$type>>,
            )*
        }

        /// What a call does, with the value of the key that says so.
        pub(super) enum Verb<'r> { $($Verb(&'r Spanned<$value>),)* }

        const CALLS: &[&str] = &[$(stringify!($call)),*];

        const KEYS: &[Key] = &[$(Key {
            name: name_of(stringify!($key)),
            help: &[$($help),*],
            $($($rule: &[$(stringify!($name)),*],)*)?
            ..Key { name: "", help: &[], needed_by: &[], taken_by: &[], beside: &[] }
        }),*];

        impl RawCall {
            /// Which call this is, and where in the file it stands. `within` is the place of what
            /// it is in, for a call without any key.
            ///
            /// # Errors
            /// If it is no call or several, lacks a key, or has one that its call does not take.
            fn verb(&self, within: &Range<usize>) -> Result<(Verb<'_>, Range<usize>), Fault> {
                only_call((CALLS, KEYS), self.verbs(), &self.keys().collect::<Vec<_>>(), within)
            }

            /// Every key that says what the call does: its name, what it says, and its place.
            fn verbs(&self) -> impl Iterator<Item = (&'static str, Verb<'_>, Range<usize>)> {
                let verbs = [$(
                    self.$call.as_ref().map(|value| (Verb::$Verb(value), value.span()))
                ),*];
                let verbs = CALLS.iter().zip(verbs);
                verbs.filter_map(|(name, verb)| verb.map(|(verb, place)| (*name, verb, place)))
            }

            /// The other keys, each with its place.
            fn keys(&self) -> impl Iterator<Item = (&'static Key, Range<usize>)> {
                let places = [$(self.$key.as_ref().map(Spanned::span)),*];
                KEYS.iter().zip(places).filter_map(|(key, place)| Some((key, place?)))
            }
        }

        /// The values of a call's keys as text.
        #[derive(Default)]
        pub(super) struct WrittenCall {
            $(pub $call: Option<String>,)*
            $(pub $key: Option<String>,)*
        }

        impl WrittenCall {
            /// All keys in the order of the table.
            fn values(&self) -> impl Iterator<Item = (&'static str, &Option<String>)> {
                let values = [$(&self.$call,)* $(&self.$key,)*];
                CALLS.iter().copied().chain(KEYS.iter().map(|key| key.name)).zip(values)
            }
        }
    };
}

pub(super) use table_of_calls;

/// The name of a field, without the mark that lets a word of Rust be one.
pub(super) const fn name_of(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

impl Key {
    fn is_taken_by(&self, call: &str) -> bool {
        let belongs_to_all = self.needed_by.is_empty() && self.taken_by.is_empty();
        belongs_to_all || [self.needed_by, self.taken_by].concat().contains(&call)
    }

    /// How to add it: the first sentence of its help.
    fn fix(&self) -> String {
        let help = self.help.concat();
        let first = help.trim().split(". ").next().unwrap_or_default().trim_end_matches('.');
        let (letter, rest) = first.split_at(1);
        format!("add `{} = ...`: {}{rest}", self.name, letter.to_lowercase())
    }
}

/// The only one of `verbs`, each a key that says which call it is, with its place. `keys` are the
/// others that are there.
pub(super) fn only_call<V>(
    (calls, all): (&[&str], &[Key]),
    mut verbs: impl Iterator<Item = (&'static str, V, Range<usize>)>,
    keys: &[(&'static Key, Range<usize>)],
    within: &Range<usize>,
) -> Result<(V, Range<usize>), Fault> {
    let Some((call, verb, span)) = verbs.next() else {
        let span = keys.first().map_or(within, |(_, place)| place).clone();
        let message = "this call has no key that says what it does";
        let help = format!("add one of {}", in_backquotes(calls));
        return Err(Fault::new(message, span, "which call?", help));
    };
    if let Some((other, _, second)) = verbs.next() {
        let message = format!("this call has both `{call}` and `{other}`");
        let help = "split it into two calls";
        return Err(Fault::new(message, second, "a second call", help).and(span, "the first"));
    }
    if let Some((key, place)) = keys.iter().find(|(key, _)| !key.is_taken_by(call)) {
        let known = all.iter().filter(|key| key.is_taken_by(call)).map(|key| key.name);
        let help = format!("remove it: `{call}` only takes {}", in_backquotes(known));
        let message = format!("`{call}` has no key `{}`", key.name);
        return Err(Fault::new(message, place.clone(), "unknown here", help));
    }
    let lacks = |key: &&Key| !keys.iter().any(|(there, _)| there.name == key.name);
    if let Some(missing) = all.iter().filter(lacks).find(|key| key.needed_by.contains(&call)) {
        let message = format!("this `{call}` has no `{}`", missing.name);
        return Err(Fault::new(message, span, "incomplete", missing.fix()));
    }
    for (key, place) in keys {
        let mut missing = all.iter().filter(lacks);
        if let Some(missing) = missing.find(|other| key.beside.contains(&other.name)) {
            let message = format!("this `{call}` has `{}` but no `{}`", key.name, missing.name);
            return Err(Fault::new(message, place.clone(), "incomplete", missing.fix()));
        }
    }
    Ok((verb, span))
}

/// Adds to the schema of a call what the table says of several keys: a call is one of the calls,
/// has what that needs, and nothing that it does not take.
#[cfg(feature = "schema")]
pub(super) fn rules_of_keys(schema: &mut schemars::Schema, calls: &[&str], keys: &[Key]) {
    use serde_json::{Map, Value, json};
    let call = |call: &&str| {
        let needed = keys.iter().filter(|key| key.needed_by.contains(call)).map(|key| key.name);
        json!({ "required": std::iter::once(*call).chain(needed).collect::<Vec<_>>() })
    };
    schema.insert("oneOf".to_owned(), calls.iter().map(call).collect());
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = format!("{}: {}.", text.trim_end_matches('.'), in_backquotes(calls));
    }
    let mut dependencies = Map::new();
    for key in keys {
        let of = [key.needed_by, key.taken_by].concat();
        let rule: Vec<Value> = of.iter().map(|call| json!({ "required": [call] })).collect();
        if !rule.is_empty() {
            let rule = match key.beside {
                [] => json!({ "anyOf": rule }),
                beside => json!({ "anyOf": rule, "required": beside }),
            };
            dependencies.insert(key.name.to_owned(), rule);
            let description = schema.pointer_mut(&format!("/properties/{}/description", key.name));
            if let Some(Value::String(text)) = description {
                let verb = if key.needed_by.is_empty() { "Used" } else { "Required" };
                *text += &format!(" {verb} by {}.", in_backquotes(&of));
            }
        }
    }
    schema.insert("dependencies".to_owned(), dependencies.into());
}

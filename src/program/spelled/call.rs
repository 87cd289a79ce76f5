//! A call as it is spelled out: the table of all calls and their keys, and whether a call has the
//! keys that the table asks for and no others.

use super::values::{OneOrMore, RawThreads};
use crate::files::{Fault, Spanned};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A key that stands beside the one that says which call it is.
struct Key {
    name: &'static str,
    /// Its lines in the table.
    help: &'static [&'static str],
    needed_by: &'static [&'static str],
    taken_by: &'static [&'static str],
    /// Keys that it makes no sense without.
    beside: &'static [&'static str],
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

// The comments in the table are descriptions in the JSON Schema of scenarios, and their first
// sentences the help for a missing key: they are written for those who write a program.
table_of_calls! {
    /// A call made by the host, or a group of calls. Exactly one key says which call it is.
    #[derive(Debug, Deserialize, Default)]
    #[cfg_attr(feature = "schema", derive(JsonSchema))]
    #[serde(deny_unknown_fields, expecting = "a call such as { copy = \"x\", to = \"d\" }")]
    #[cfg_attr(feature = "schema", schemars(rename = "Call", transform = rules_of_keys))]
    calls {
        /// Memory to copy from; `to` is the target. With a `stream`, the copy is asynchronous
        /// (`cudaMemcpyAsync`); without one, the host waits for it (`cudaMemcpy`), unless it is
        /// within one GPU. If both sides are host memory, the CPU copies.
        copy: String => Copy,
        /// A kernel to launch on the GPU, from the library or a `[[kernel]]` table, with the memory
        /// that it `reads` and `writes`. `matmul` with `rows`, `inner` and `columns` is a product
        /// of any shape.
        launch: String => Launch,
        /// A kernel to run on the CPU with all its threads, while the host waits.
        compute: String => Compute,
        /// Other work on the host, as a time such as `"3.5 ms"`.
        work: String => Work,
        /// Device memory to fill with zeros.
        clear: String => Clear,
        /// An event to record in a stream.
        record: String => Record,
        /// An event that a stream waits for.
        wait: String => Wait,
        /// The stream that the host waits for.
        synchronize: String => Synchronize,
        /// The event that the host waits for.
        synchronize_event: String => SynchronizeEvent,
        /// The GPU, counted from 0, that the host waits for.
        synchronize_device: i64 [0..] => SynchronizeDevice,
        /// The host thread to wait for, until it has made all of its calls listed above this one.
        synchronize_thread: String => SynchronizeThread,
        /// Memory of the program to allocate; with a `stream`, in stream order
        /// (`cudaMallocAsync`).
        allocate: String => Allocate,
        /// Memory of the program to free; with a `stream`, in stream order (`cudaFreeAsync`).
        free: String => Free,
        /// Pageable memory to pin (`cudaHostRegister`).
        pin: String => Pin,
        /// Memory to unpin (`cudaHostUnregister`).
        unpin: String => Unpin,
        /// Host memory to free and allocate again, so that none of its pages has been touched.
        renew: String => Renew,
        /// Managed memory whose pages to move `to = "gpu"` or `to = "host"` if they are not there
        /// yet.
        prefetch: String => Prefetch,
        /// Number of times to make the `calls`, one round after another.
        repeat: i64 [1..] => Repeat,
        /// Calls to capture as one graph in the set-up; each run launches the graph.
        graph: Vec<RawCall> => Graph,
    }
    keys {
        /// The target of a `copy`; for a `prefetch`, `"gpu"` or `"host"`.
        to: String { needed_by: [copy, prefetch] },
        /// Number of rows that a `copy` moves, each `row` bytes long (`cudaMemcpy2D`). The first
        /// row is at the start of the ranges in `copy` and `to`; all rows have to fit into them.
        rows: i64 [1..] { taken_by: [copy], beside: [row] },
        /// Size of a row, such as `"2 KiB"`.
        row: String { taken_by: [copy], beside: [rows] },
        /// Distance between the starts of rows in the source. Default: `row`.
        pitch: String { taken_by: [copy], beside: [rows] },
        /// Distance between the starts of rows in the target. Default: `row`.
        to_pitch: String { taken_by: [copy], beside: [rows] },
        /// Number of threads for a copy within host memory: 1 or `"all"`. Default: 1.
        threads: RawThreads { taken_by: [copy] },
        /// Number of elements that your own kernel works on.
        elements: i64 [1..] { taken_by: [launch, compute] },
        /// The type of a `matmul` of any shape: `f32`, `tf32` or `bf16`, all accumulated in `f32`.
        /// Default: `f32`.
        r#type: String { taken_by: [launch] },
        /// The memory that a kernel reads, in the order of its parameters.
        reads: Vec<Spanned<String>> { needed_by: [launch, compute] },
        /// The memory that a kernel writes: one range, or a list of ranges for your own kernel.
        writes: OneOrMore { needed_by: [launch, compute] },
        /// Scalar arguments of a kernel.
        arguments: BTreeMap<Spanned<String>, Spanned<f64>> { taken_by: [launch, compute] },
        /// Number of elements that a kernel reads before the first output element. Default: 0.
        lead: i64 [0..] { taken_by: [launch, compute] },
        /// Name of the round's number, counted from 0, for use in the names and ranges in `calls`.
        index: String { taken_by: [repeat] },
        /// The calls to repeat.
        calls: Vec<RawCall> { needed_by: [repeat] },
        /// The stream of the call. Default: the legacy default stream.
        stream: String {
            taken_by: [copy, launch, clear, record, wait, allocate, free, prefetch, graph]
        },
        /// The host thread that makes the call, or the calls of a `repeat`. All threads start with
        /// the run, and the run ends when all of them have finished. Default: `main`.
        thread: String,
    }
}

/// The name of a field, without the mark that lets a word of Rust be one.
const fn name_of(field: &'static str) -> &'static str {
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

impl RawCall {
    /// Which call this is, and where in the file it stands. `within` is the place of what it is
    /// in, for a call without any key.
    ///
    /// # Errors
    /// If it is no call or several, lacks a key, or has one that its call does not take.
    pub(super) fn verb(&self, within: &Range<usize>) -> Result<(Verb<'_>, Range<usize>), Fault> {
        let mut verbs = self.verbs();
        let Some((call, verb, span)) = verbs.next() else {
            let span = self.keys().next().map_or_else(|| within.clone(), |(_, place)| place);
            let message = "this call has no key that says what it does";
            let help = format!("add one of {}", list(CALLS));
            return Err(Fault::new(message, span, "which call?", help));
        };
        if let Some((other, _, second)) = verbs.next() {
            let message = format!("this call is both a `{call}` and a `{other}`");
            let help = "split it into two calls";
            return Err(Fault::new(message, second, "a second call", help).and(span, "the first"));
        }
        if let Some((key, place)) = self.keys().find(|(key, _)| !key.is_taken_by(call)) {
            let known = KEYS.iter().filter(|key| key.is_taken_by(call)).map(|key| key.name);
            let help = format!("remove it: `{call}` takes {}", list(&known.collect::<Vec<_>>()));
            let message = format!("`{call}` has no key `{}`", key.name);
            return Err(Fault::new(message, place, "unknown here", help));
        }
        let lacks = |key: &&Key| !self.keys().any(|(there, _)| there.name == key.name);
        if let Some(missing) = KEYS.iter().filter(lacks).find(|key| key.needed_by.contains(&call)) {
            let message = format!("this `{call}` has no `{}`", missing.name);
            return Err(Fault::new(message, span, "incomplete", missing.fix()));
        }
        for (key, place) in self.keys() {
            let mut missing = KEYS.iter().filter(lacks);
            if let Some(missing) = missing.find(|other| key.beside.contains(&other.name)) {
                let message = format!("this `{call}` has `{}` but no `{}`", key.name, missing.name);
                return Err(Fault::new(message, place, "incomplete", missing.fix()));
            }
        }
        Ok((verb, span))
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The value of a key that [`RawCall::verb`] does not let a call be without.
pub(super) fn needed<T>(key: &Option<T>) -> &T {
    key.as_ref().expect("a call has all keys that the table says it needs")
}

/// A call of a kernel, with the keys that say what it works on.
pub(super) struct KernelCall<'r> {
    pub kernel: &'r Spanned<String>,
    pub keys: &'r RawCall,
}

impl KernelCall<'_> {
    pub fn reads(&self) -> &[Spanned<String>] {
        needed(&self.keys.reads).get_ref()
    }

    pub fn writes(&self) -> Vec<Spanned<String>> {
        let writes = needed(&self.keys.writes);
        writes.get_ref().all(writes.span())
    }

    pub fn arguments(&self) -> impl Iterator<Item = (&Spanned<String>, &Spanned<f64>)> {
        self.keys.arguments.iter().flat_map(|arguments| arguments.get_ref())
    }
}

impl fmt::Display for WrittenCall {
    /// An inline table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.values().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let written: Vec<String> = there.map(|(key, value)| format!("{key} = {value}")).collect();
        write!(f, "{{ {} }}", written.join(", "))
    }
}

/// Adds to the schema of a call what the table says of several keys: a call is one of the calls,
/// has what that needs, and nothing that it does not take.
#[cfg(feature = "schema")]
fn rules_of_keys(schema: &mut schemars::Schema) {
    use serde_json::{Map, Value, json};
    let call = |call: &&str| {
        let needed = KEYS.iter().filter(|key| key.needed_by.contains(call)).map(|key| key.name);
        json!({ "required": std::iter::once(*call).chain(needed).collect::<Vec<_>>() })
    };
    schema.insert("oneOf".to_owned(), CALLS.iter().map(call).collect());
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = format!("{}: {}.", text.trim_end_matches('.'), list(CALLS));
    }
    let mut dependencies = Map::new();
    for key in KEYS {
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
                let verb = if key.needed_by.is_empty() { "Taken" } else { "Needed" };
                *text += &format!(" {verb} by {}.", list(&of));
            }
        }
    }
    schema.insert("dependencies".to_owned(), dependencies.into());
}

//! A scenario as it is written, before anything is checked.
//!
//! What serde can refuse by itself (syntax, keys, types, words of a fixed list)
//! is refused here; everything that needs to know a second thing is in `check`.

use super::HostMemory;
use super::error::{Fault, unknown};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// The version of the file format that this hallway reads.
const SCHEMA_VERSION: i64 = 1;

/// In bytes.
const LONGEST_LINE: usize = 10_000;

/// Looked at first: a file of another version would otherwise be blamed for its new keys.
#[derive(Deserialize)]
#[serde(expecting = "a scenario")]
struct Versioned {
    schema_version: Spanned<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a scenario")]
pub(super) struct RawScenario {
    #[serde(rename = "schema_version")]
    _schema_version: i64,
    pub name: Spanned<String>,
    pub question: String,
    pub batches: Option<Spanned<i64>>,
    pub runs: Option<Spanned<i64>>,
    #[serde(default, rename = "buffer")]
    pub buffers: Vec<RawBuffer>,
    #[serde(default, rename = "task")]
    pub tasks: Vec<RawTask>,
    #[serde(default)]
    pub limits: RawLimits,
    #[serde(default)]
    pub plans: RawPlans,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[buffer]] table")]
pub(super) struct RawBuffer {
    pub name: Spanned<String>,
    #[serde(rename = "type")]
    _element_type: ElementType,
    pub elements: Spanned<i64>,
    pub home: RawHome,
    pub host: Option<Spanned<RawHost>>,
}

/// All kernels work on `f32`; the key is there so that a file says so.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ElementType {
    F32,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawHome {
    Host,
    Device,
    Scratch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { memory = \"pinned\" }")]
pub(super) struct RawHost {
    pub memory: Option<HostMemory>,
    pub state: Option<HostState>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HostState {
    Reused,
    Fresh,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[task]] table")]
pub(super) struct RawTask {
    pub name: Spanned<String>,
    pub kernel: Spanned<String>,
    pub reads: Spanned<Vec<Spanned<String>>>,
    pub writes: Spanned<Vec<Spanned<String>>>,
    pub iterations: Option<Spanned<i64>>,
    /// Which names and values are right depends on the kernel.
    #[serde(default)]
    pub arguments: BTreeMap<Spanned<String>, Spanned<f64>>,
    pub split: Option<Spanned<RawSplit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { along = \"elements\" }")]
pub(super) struct RawSplit {
    #[serde(rename = "along")]
    _along: Along,
    pub halo: Option<Spanned<i64>>,
}

/// All buffers have one dimension; the key is there so that a file says so.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Along {
    Elements,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, expecting = "a [limits] table")]
pub(super) struct RawLimits {
    pub device_memory: Option<Spanned<String>>,
    pub pinned_memory: Option<Spanned<String>>,
    pub cpu_threads: Option<Spanned<i64>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, expecting = "a [plans] table")]
pub(super) struct RawPlans {
    #[serde(default)]
    pub families: Vec<Spanned<String>>,
    #[serde(default)]
    pub chunks: Vec<Spanned<i64>>,
}

/// Reads the text of a scenario; nothing in it has been checked yet.
pub(super) fn read(text: &str) -> Result<RawScenario, Fault> {
    lines_can_be_shown(text)?;
    let document = DeTable::parse(text).map_err(|error| {
        Fault::new(
            format!("this is not TOML: {}", error.message()),
            error.span().unwrap_or_default(),
            "cannot be read",
            "correct the syntax here or just before; https://toml.io/en/v1.0.0 describes it",
        )
    })?;
    let version = decode::<Versioned>(&document)?.schema_version;
    if *version.get_ref() != SCHEMA_VERSION {
        return Err(Fault::new(
            format!("`schema_version` {version} is not read by this version of hallway"),
            version.span(),
            "unknown version",
            format!("only version {SCHEMA_VERSION} is read: set `schema_version = 1`"),
        ));
    }
    brackets(document.get_ref())?;
    decode(&document)
}

/// miette panics when it has to point beyond column 65 535 of a line.
fn lines_can_be_shown(text: &str) -> Result<(), Fault> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.len() > LONGEST_LINE {
            return Err(Fault::new(
                format!("this line has more than {LONGEST_LINE} bytes"),
                start..start,
                "starts here",
                "break the line; no scenario needs such a long one",
            ));
        }
        start += line.len();
    }
    Ok(())
}

/// Tells one pair of brackets from two, which serde would do in puzzling words.
fn brackets(document: &DeTable<'_>) -> Result<(), Fault> {
    for (key, repeated) in [("buffer", true), ("task", true), ("limits", false), ("plans", false)] {
        let Some(value) = document.get(key) else {
            continue;
        };
        let (found, fix) = match (value.get_ref(), repeated) {
            (DeValue::Array(_), true) | (DeValue::Table(_), false) => continue,
            (_, true) => ("is not a list of tables", format!("write `[[{key}]]` above each {key}")),
            (_, false) => ("is not a single table", format!("write `[{key}]`, once")),
        };
        return Err(Fault::new(format!("`{key}` {found}"), value.span(), "wrong type", fix));
    }
    Ok(())
}

fn decode<T: DeserializeOwned>(document: &Spanned<DeTable<'_>>) -> Result<T, Fault> {
    T::deserialize(Deserializer::from(document.clone())).map_err(|error| fault_of(&error))
}

/// Says in our words what serde says in its own.
///
/// serde hands over names only inside its message, between backquotes. Were its
/// wording to change, the last branch would still show the message as it is.
fn fault_of(error: &toml::de::Error) -> Fault {
    let message = error.message();
    let span = error.span().unwrap_or_default();
    let path = key_path(error);
    let mut names = message.split('`').skip(1).step_by(2);
    let name = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    if message.starts_with("unknown field `") {
        let place = path.map(|path| format!(" in `{path}`")).unwrap_or_default();
        unknown("key", name, span, &known).within(&place)
    } else if message.starts_with("unknown variant `") {
        let path = path.unwrap_or_default();
        let key = path.rsplit('.').next().unwrap_or_default();
        unknown(key, name, span, &known)
    } else if message.starts_with("missing field `") {
        let place = path.map_or_else(|| "scenario".to_owned(), |path| format!("`{path}`"));
        let value = if name == "schema_version" { "1" } else { "..." };
        Fault::new(
            format!("this {place} has no `{name}`"),
            span,
            format!("`{name}` is missing here"),
            format!("add `{name} = {value}`"),
        )
    } else {
        let path = path.unwrap_or_else(|| "scenario".to_owned());
        wrong_type(&path, message, span)
    }
}

fn wrong_type(path: &str, message: &str, span: Range<usize>) -> Fault {
    let array = match path.rsplit('.').next() {
        Some("chunks") => "expected an array such as [4, 16]",
        _ => "expected an array such as [\"x\"]",
    };
    let ours = [
        ("expected i64", "expected a 64-bit whole number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", array),
        ("wanted string or table", "expected a word in quotation marks"),
        ("invalid type: map", "invalid type: table"),
    ];
    let message =
        ours.iter().fold(message.to_owned(), |message, (serde, ours)| message.replace(serde, ours));
    let help = match message.rsplit_once("expected ") {
        Some((_, expected)) => format!("write {expected} here"),
        None => "write a value of the type that this key takes".to_owned(),
    };
    Fault::new(format!("`{path}`: {message}"), span, "wrong type", help)
}

/// The dotted path of the key that an error is about.
///
/// toml keeps the path to itself but prints it on the line after the message.
fn key_path(error: &toml::de::Error) -> Option<String> {
    let printed = error.to_string();
    let rest = printed.strip_prefix(error.message())?;
    let path = rest.trim().strip_prefix("in `")?.strip_suffix('`')?;
    Some(path.to_owned())
}

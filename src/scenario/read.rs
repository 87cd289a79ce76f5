//! Decodes the text of a scenario into the raw types, and finds every mistake in its shape.
//!
//! Tables are decoded one by one, and what is wrong in one is taken out and told, so that the
//! mistakes of the others are found, too.

use super::error::Faults;
use super::key::Key;
use super::raw::{
    RawBuffer, RawLimits, RawPlans, RawProcess, RawScenario, RawTask, SCHEMA_VERSION,
};
use crate::files::{self, Fault, Spanned, TomlError, nearest, unknown};
use crate::program::spelled::{RawKernel, RawProgram};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Mistakes of one table that are told at once. After so many, the next would not help any more,
/// and each takes another look at the whole table.
const MOST_MISTAKES: usize = 50;

/// Looked at first: a file of another version would otherwise be blamed for its new keys.
#[derive(Deserialize)]
#[serde(expecting = "a scenario")]
struct Versioned {
    schema_version: Spanned<i64>,
}

/// What could be read of a scenario.
pub(super) struct Reading {
    /// `None` where the keys above all tables are wrong.
    pub scenario: Option<RawScenario>,
    /// Whether every `[[buffer]]` is in it.
    pub has_all_buffers: bool,
    /// Whether every `[[task]]` is.
    pub has_all_tasks: bool,
    /// Whether every `[[program]]` is, and every `[[kernel]]`.
    pub has_all_programs: bool,
}

/// Reads the text of a scenario, with another value of one key if it is to be changed. `None` where
/// there is no telling what is in it.
pub(super) fn read<'i>(
    text: &'i str,
    change: Option<(&Key, &'i str)>,
    faults: &mut Faults,
) -> Option<Reading> {
    let document = faults.keep(files::parse(text).map_err(|error| {
        mixed_up(text).unwrap_or_else(|| {
            let message = format!("not valid TOML: {}", error.message);
            let help = "correct the syntax here or just before; see https://toml.io/en/v1.0.0";
            Fault::new(message, error.span, "syntax error", help)
        })
    }))?;
    let span = document.span();
    let version = files::decode_table(document.get_ref().clone(), span.clone());
    let version: Versioned = faults.keep(version.map_err(|error| fault_of(&error, "")))?;
    let version = version.schema_version;
    if *version.get_ref() != SCHEMA_VERSION {
        let message = format!("this version of hallway cannot read `schema_version` {version}");
        let help = format!("set `schema_version = {SCHEMA_VERSION}`, the only supported version");
        faults.note(Fault::new(message, version.span(), "unknown version", help));
        return None;
    }
    let mut document = document.into_inner();
    if let Some((key, literal)) = change {
        faults.keep(key.put(&mut document, literal))?;
    }
    let buffers = list::<RawBuffer>(&mut document, "buffer", faults);
    let tasks = list::<RawTask>(&mut document, "task", faults);
    let programs = list::<RawProgram>(&mut document, "program", faults);
    let kernels = list::<RawKernel>(&mut document, "kernel", faults);
    let limits = table::<RawLimits>(&mut document, "limits", faults);
    let plans = table::<RawPlans>(&mut document, "plans", faults);
    let process = table::<RawProcess>(&mut document, "process", faults);
    let mut scenario: Option<RawScenario> = decode(document, span, "", faults);
    let (has_all_buffers, has_all_tasks) = (buffers.is_some(), tasks.is_some());
    let has_all_programs = programs.is_some() && kernels.is_some();
    if let Some(scenario) = &mut scenario {
        scenario.buffers = buffers.unwrap_or_default();
        scenario.tasks = tasks.unwrap_or_default();
        scenario.programs = programs.unwrap_or_default();
        scenario.kernels = kernels.unwrap_or_default();
        scenario.limits = limits.unwrap_or_default();
        scenario.plans = plans.unwrap_or_default();
        scenario.process = process.unwrap_or_default();
    }
    faults.sort();
    Some(Reading { scenario, has_all_buffers, has_all_tasks, has_all_programs })
}

/// Takes the tables of a `[[key]]` out of the document. `None` if any of them is wrong.
fn list<T: DeserializeOwned>(
    document: &mut DeTable<'_>,
    key: &str,
    faults: &mut Faults,
) -> Option<Vec<T>> {
    let Some(value) = document.remove(key) else { return Some(Vec::new()) };
    let wrong = |span| {
        let message = format!("`{key}` is not a list of tables");
        Fault::new(message, span, "wrong type", brackets_fix(key, true))
    };
    let span = value.span();
    let DeValue::Array(items) = value.into_inner() else {
        faults.note(wrong(span));
        return None;
    };
    let one = |item: toml::Spanned<DeValue<'_>>| {
        let span = item.span();
        match item.into_inner() {
            DeValue::Table(table) => decode(table, span, key, faults),
            _ => {
                faults.note(wrong(span));
                None
            }
        }
    };
    let all: Vec<Option<T>> = items.into_iter().map(one).collect();
    all.into_iter().collect()
}

/// Takes the table of a `[key]` out of the document. `None` if it is wrong.
fn table<T: DeserializeOwned + Default>(
    document: &mut DeTable<'_>,
    key: &str,
    faults: &mut Faults,
) -> Option<T> {
    let Some(value) = document.remove(key) else { return Some(T::default()) };
    let span = value.span();
    if let DeValue::Table(table) = value.into_inner() {
        return decode(table, span, key, faults);
    }
    // serde would say so in puzzling words.
    let message = format!("`{key}` is not a single table");
    faults.note(Fault::new(message, span, "wrong type", brackets_fix(key, false)));
    None
}

/// Decodes a table, taking out of it, and telling of, every entry that stands in the way. If
/// none was needed, the rest is what was meant.
fn decode<T: DeserializeOwned>(
    mut table: DeTable<'_>,
    span: Range<usize>,
    within: &str,
    faults: &mut Faults,
) -> Option<T> {
    let mut taken = BTreeSet::new();
    let mut is_whole = true;
    for _ in 0..MOST_MISTAKES {
        let error = match files::decode_table(table.clone(), span.clone()) {
            Ok(found) => return is_whole.then_some(found),
            Err(error) => error,
        };
        let message = &error.message;
        if let Some(rest) = message.strip_prefix("missing field `") {
            // What was taken out, or has a slip in its name, is missing and was told of.
            let name = rest.split('`').next().unwrap_or_default();
            if !taken.iter().any(|taken: &String| nearest(taken, &[name]).is_some()) {
                faults.note(fault_of(&error, within));
            }
            return None;
        }
        // Nobody needs a key that nobody knows.
        is_whole &= message.starts_with("unknown field `");
        faults.note(fault_of(&error, within));
        taken.insert(take_out(&mut table, &error.span)?);
    }
    None
}

/// Takes the innermost entry around a place out of a table; its key.
fn take_out(table: &mut DeTable<'_>, place: &Range<usize>) -> Option<String> {
    let is_around =
        |span: Range<usize>| span.start <= place.start && place.end <= span.end && !span.is_empty();
    for (_, value) in table.iter_mut() {
        if let DeValue::Table(inner) = value.get_mut()
            && let Some(key) = take_out(inner, place)
        {
            return Some(key);
        }
    }
    let (key, _) =
        table.iter().find(|(key, value)| is_around(key.span()) || is_around(value.span()))?;
    let key = key.get_ref().to_string();
    table.remove(key.as_str()).map(|_| key)
}

/// Says in our words what serde says in its own.
///
/// serde hands over names only inside its message, between backquotes. Were its
/// wording to change, the last branch would still show the message as it is.
fn fault_of(error: &TomlError, within: &str) -> Fault {
    let message = error.message.as_str();
    let span = error.span.clone();
    let path = key_path(error, within);
    let mut names = message.split('`').skip(1).step_by(2);
    let name = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    if message.starts_with("unknown field `") {
        let place = path.map(|path| format!(" in `{path}`")).unwrap_or_default();
        unknown("key", name, span, &known).within(&place)
    } else if message.starts_with("unknown variant `") {
        let path = path.unwrap_or_default();
        let key = path.rsplit('.').next().unwrap_or_default();
        let noun = if matches!(key, "along" | "on" | "split") { "value" } else { key };
        unknown(noun, name, span, &known)
    } else if message.starts_with("missing field `") {
        let place = path.map_or_else(|| "scenario".to_owned(), |path| format!("`{path}`"));
        let value = if name == "schema_version" { "1" } else { "..." };
        let (label, help) =
            (format!("`{name}` is missing here"), format!("add `{name} = {value}`"));
        Fault::new(format!("this {place} has no `{name}`"), span, label, help)
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
        ("expected i64", "expected a 64-bit integer"),
        ("expected f64", "expected a number"),
        ("expected a sequence", array),
        ("expected a map", "expected a table"),
        ("invalid type: sequence", "invalid type: array"),
        ("invalid type: map", "invalid type: table"),
        ("wanted string or table", "expected a quoted string"),
    ];
    let message =
        ours.iter().fold(message.to_owned(), |message, (serde, ours)| message.replace(serde, ours));
    let help = match message.rsplit_once("expected ") {
        Some((_, expected)) => format!("write {expected} here"),
        None => "write a value of the type that this key takes".to_owned(),
    };
    Fault::new(format!("`{path}`: {message}"), span, "wrong type", help)
}

/// The dotted path of the key that an error is about, which stands in a table of the name
/// `within`.
fn key_path(error: &TomlError, within: &str) -> Option<String> {
    let keys = std::iter::once(within).chain(error.keys.iter().map(String::as_str));
    let keys: Vec<&str> = keys.filter(|key| !key.is_empty()).collect();
    (!keys.is_empty()).then(|| keys.join("."))
}

/// Every table, and whether there may be several: whether it stands in two pairs of brackets or in
/// one. TOML and serde would complain of a mix-up in words that do not say what to write.
const TABLES: [(&str, bool); 5] =
    [("buffer", true), ("task", true), ("limits", false), ("plans", false), ("process", false)];

/// What to write for a table.
fn brackets_fix(key: &str, repeated: bool) -> String {
    if repeated {
        format!("write `[[{key}]]` above each {key}")
    } else {
        format!("write a single `[{key}]`")
    }
}

/// Looks for the reason why a file is not TOML: the same table in one pair of brackets and in two,
/// or a single table twice.
fn mixed_up(text: &str) -> Option<Fault> {
    let headings = headings(text);
    TABLES.into_iter().find_map(|(key, repeated)| {
        let of = |brackets: usize| {
            let of_key = headings.iter().filter(move |one| one.key == key);
            of_key.filter(move |one| one.brackets == brackets)
        };
        let wrong = |heading: &Heading<'_>, message: String| {
            let label = "these brackets";
            Fault::new(message, heading.span.clone(), label, brackets_fix(key, repeated))
        };
        if repeated {
            let single = of(1).next()?;
            return Some(wrong(single, format!("`[{key}]` must be a list of tables")));
        }
        if let Some(double) = of(2).next() {
            return Some(wrong(double, format!("`[[{key}]]` must be a single table")));
        }
        let (first, again) = (of(1).next()?, of(1).nth(1)?);
        let message = format!("`[{key}]` appears twice");
        let help = format!("put all of its keys below one `[{key}]`");
        let fault = Fault::new(message, again.span.clone(), "second table", help);
        Some(fault.and(first.span.clone(), "first table"))
    })
}

/// A line that begins a table.
struct Heading<'t> {
    key: &'t str,
    brackets: usize,
    span: Range<usize>,
}

fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let heading = line.split('#').next().unwrap_or_default();
        let indent = heading.len() - heading.trim_start().len();
        let heading = heading.trim();
        let brackets = heading.len() - heading.trim_start_matches('[').len();
        let key = heading.trim_start_matches('[').strip_suffix(&"]".repeat(brackets));
        if let Some(key) = key.filter(|_| brackets > 0) {
            let at = start + indent;
            found.push(Heading { key: key.trim(), brackets, span: at..at + heading.len() });
        }
        start += line.len();
    }
    found
}

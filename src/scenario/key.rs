//! Which numbers of a scenario can be varied, and how another value is written.

use crate::files::Fault;
use crate::kernels::Kernel;
use crate::units::{Bytes, Span};
use std::fmt;
use toml::de::{DeTable, DeValue};

/// A number that a scenario has, or may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// From the top of the file to the number. A list of tables is followed by the name of one, or
    /// by its place where it has none.
    steps: Vec<String>,
    pub measure: Measure,
    /// Its value, if the file says it and a number can hold it.
    pub here: Option<f64>,
}

/// What a number counts, and so how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Whole,
    Real,
    /// A list of one whole number.
    List,
    Bytes,
    Time,
}

impl fmt::Display for Key {
    /// The path: `task.smooth.iterations`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.steps.join("."))
    }
}

impl Key {
    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.steps.last().map_or("", String::as_str)
    }

    /// Whether it goes by this name: its path, or the end of that from a dot on.
    pub fn is_called(&self, name: &str) -> bool {
        let path = self.to_string();
        let before = path.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }

    /// Whether it takes whole numbers alone.
    pub const fn is_whole(&self) -> bool {
        matches!(self.measure, Measure::Whole | Measure::List | Measure::Bytes)
    }

    /// A value as TOML. What is not whole stays so: the checks of the scenario say why it must be.
    pub(super) fn literal(&self, value: f64) -> String {
        match self.measure {
            Measure::Whole | Measure::Real => number(value),
            Measure::List => format!("[{}]", number(value)),
            Measure::Bytes => format!("\"{} B\"", number(value)),
            Measure::Time => format!("\"{} ns\"", number(value)),
        }
    }

    /// Puts a value into a document that has this key, or may have it.
    pub(super) fn put<'i>(
        &self,
        document: &mut DeTable<'i>,
        literal: &'i str,
    ) -> Result<(), Fault> {
        let value = DeValue::parse(literal).map_err(|_| self.lost())?;
        // `chunks` stands under [plans].
        let steps: Vec<&str> = match self.measure {
            Measure::List => ["plans"].into_iter().chain(self.steps()).collect(),
            _ => self.steps().collect(),
        };
        let (last, above) = steps.split_last().ok_or_else(|| self.lost())?;
        let mut table = document;
        let mut above = above.iter().copied();
        while let Some(step) = above.next() {
            if !table.contains_key(step) {
                // Only tables of optional keys are missing.
                let place = toml::Spanned::new(0..0, step.to_owned().into());
                let empty = toml::Spanned::new(0..0, DeValue::Table(DeTable::new()));
                table.insert(place, empty);
            }
            let inner = table.get_mut(step).ok_or_else(|| self.lost())?.get_mut();
            table = match inner {
                DeValue::Table(inner) => inner,
                DeValue::Array(items) => {
                    let name = above.next().ok_or_else(|| self.lost())?;
                    let mut items = items.iter_mut().enumerate();
                    let found = items.find_map(|(place, item)| match item.get_mut() {
                        DeValue::Table(table) if called(table, place) == name => Some(table),
                        _ => None,
                    });
                    found.ok_or_else(|| self.lost())?
                }
                _ => return Err(self.lost()),
            };
        }
        let value = value.into_inner();
        match table.get_mut(*last) {
            Some(there) => *there.get_mut() = value,
            None => {
                let key = toml::Spanned::new(0..0, (*last).to_owned().into());
                table.insert(key, toml::Spanned::new(0..0, value));
            }
        }
        Ok(())
    }

    fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(String::as_str)
    }

    fn lost(&self) -> Fault {
        let message = format!("the scenario has no `{self}`");
        Fault::new(message, 0..0, "not here", "sweep another key")
    }
}

/// The shortest text that gives this number again, whole if it is.
fn number(value: f64) -> String {
    /// Up to here, every whole number is one of 64 bits.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
    if is_whole { (value as i64).to_string() } else { format!("{value:?}") }
}

/// Keys whose values are words, even where these look like a size.
const WORDS: [&str; 2] = ["name", "question"];

/// Numbers that a scenario may leave out, beside those of each task.
const OPTIONAL: [(&[&str], Measure); 6] = [
    (&["batches"], Measure::Whole),
    (&["runs"], Measure::Whole),
    (&["chunks"], Measure::List),
    (&["limits", "device_memory"], Measure::Bytes),
    (&["limits", "pinned_memory"], Measure::Bytes),
    (&["limits", "cpu_threads"], Measure::Whole),
];

/// All numbers that a scenario has, and then those that it may have.
pub(super) fn all_keys(document: &DeTable<'_>) -> Vec<Key> {
    let mut found = Vec::new();
    in_table(document, &[], &mut found);
    found.retain(|key| key.steps != ["schema_version"] && !WORDS.contains(&key.name()));
    let optional = OPTIONAL.iter().map(|(steps, measure)| (owned(steps), *measure));
    for (steps, measure) in optional.chain(of_tasks(document)) {
        if !found.iter().any(|key| key.steps == steps) {
            found.push(Key { steps, measure, here: None });
        }
    }
    found
}

fn owned(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|&step| step.to_owned()).collect()
}

/// Iterations and arguments of tasks, which have defaults.
fn of_tasks(document: &DeTable<'_>) -> Vec<(Vec<String>, Measure)> {
    let Some(DeValue::Array(tasks)) = document.get("task").map(|tasks| tasks.get_ref()) else {
        return Vec::new();
    };
    let of_task = |task: &DeTable<'_>| {
        let text = |key: &str| task.get(key)?.get_ref().as_str();
        let Some(name) = text("name") else { return Vec::new() };
        let kernel = text("kernel").and_then(Kernel::from_name);
        let arguments = kernel.map(Kernel::arguments).unwrap_or_default().into_iter();
        let arguments = arguments
            .map(|argument| (owned(&["task", name, "arguments", argument]), Measure::Real));
        let iterations = (owned(&["task", name, "iterations"]), Measure::Whole);
        std::iter::once(iterations).chain(arguments).collect()
    };
    let tables = tasks.iter().filter_map(|task| task.get_ref().as_table());
    tables.flat_map(of_task).collect()
}

fn in_table(table: &DeTable<'_>, above: &[String], found: &mut Vec<Key>) {
    // A table has no order; its numbers are in that of the file.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let steps = [above, &[key.get_ref().to_string()]].concat();
        in_value(value.get_ref(), steps, found);
    }
}

fn in_value(value: &DeValue<'_>, steps: Vec<String>, found: &mut Vec<Key>) {
    let (measure, here) = match value {
        DeValue::Integer(number) => {
            let here = i64::from_str_radix(number.as_str(), number.radix());
            (Measure::Whole, here.ok().map(|here| here as f64))
        }
        DeValue::Float(number) => (Measure::Real, number.as_str().parse().ok()),
        DeValue::String(text) => match (text.parse::<Bytes>(), Span::nanos_in(text)) {
            (Ok(bytes), _) => (Measure::Bytes, Some(bytes.as_f64())),
            (_, Ok(nanos)) => (Measure::Time, Some(nanos)),
            _ => return,
        },
        DeValue::Table(table) => return in_table(table, &steps, found),
        DeValue::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                // Lists of plain numbers are no single number.
                if let DeValue::Table(table) = item.get_ref() {
                    let steps = [&steps[..], &[called(table, place)]].concat();
                    in_table(table, &steps, found);
                }
            }
            return;
        }
        _ => return,
    };
    found.push(Key { steps, measure, here });
}

/// What a path calls a table of a list.
fn called(table: &DeTable<'_>, place: usize) -> String {
    let name = table.get("name").and_then(|name| name.get_ref().as_str());
    name.map_or_else(|| place.to_string(), str::to_owned)
}

//! The parameters of a profile by name, whatever its models are called.
//!
//! They are found in the profile's file form: a number with a decimal point was fitted, and so was
//! the second number of each pair in a list of pairs. Words, whole numbers and truth values say
//! what a model is about and become part of the name. So a new model needs no code here.

use super::Profile;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A fitted number or a fitted curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its place in the file, such as `calls.launch` or `kernel(saxpy).time`.
    pub name: String,
    /// The section of the file.
    pub section: String,
    /// Pairs of size and value, sizes increasing. A single number is one pair of size 0.
    pub points: Vec<(f64, f64)>,
    pub is_curve: bool,
}

impl Parameter {
    /// The value at a size; `None` outside of the sizes of its curve.
    pub fn at(&self, size: f64) -> Option<f64> {
        let (first, last) = (self.points.first()?.0, self.points.last()?.0);
        (first..=last).contains(&size).then(|| crate::stats::interpolate(&self.points, size))
    }
}

/// Sections of the file that hold no model.
const DESCRIPTIONS: [&str; 3] = ["machine", "accuracy", "intervals"];
/// Keys that describe a parameter and are none: how much its samples scatter, and the rarer of its
/// two values.
const REMARKS: [&str; 2] = ["scatter", "other"];

impl Profile {
    /// Every parameter, in the same order for the same models.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Value::Object(sections) = self.plain() else {
            unreachable!("a profile is plain data with names")
        };
        let mut found = Vec::new();
        for (section, value) in &sections {
            if !DESCRIPTIONS.contains(&section.as_str()) {
                walk(section, section, value, &mut found);
            }
        }
        number_namesakes(&mut found);
        found
    }
}

fn walk(section: &str, name: &str, value: &Value, found: &mut Vec<Parameter>) {
    let mut add = |points, is_curve| {
        let (name, section) = (name.to_owned(), section.to_owned());
        found.push(Parameter { name, section, points, is_curve });
    };
    match value {
        Value::Number(number) if number.is_f64() => {
            add(vec![(0.0, number.as_f64().unwrap_or_default())], false);
        }
        Value::Array(items) => match items.iter().map(pair).collect::<Option<Vec<_>>>() {
            Some(points) if !points.is_empty() => add(points, true),
            _ => {
                for (at, item) in items.iter().enumerate() {
                    let identity = match item {
                        Value::Object(fields) => identity(fields),
                        _ => at.to_string(),
                    };
                    walk(section, &format!("{name}({identity})"), item, found);
                }
            }
        },
        Value::Object(fields) => {
            for (key, field) in fields.iter().filter(|(key, _)| !REMARKS.contains(&key.as_str())) {
                match key.as_str() {
                    // The table is named after what it is of.
                    "ns" | "knots" => walk(section, name, field, found),
                    _ => walk(section, &format!("{name}.{key}"), field, found),
                }
            }
        }
        _ => {}
    }
}

/// A point of a curve.
fn pair(value: &Value) -> Option<(f64, f64)> {
    match value.as_array()?.as_slice() {
        [size, value] if size.is_f64() => Some((size.as_f64()?, value.as_f64()?)),
        _ => None,
    }
}

/// What distinguishes one table of a list from the others: its words, then its numbers.
fn identity(fields: &Map<String, Value>) -> String {
    let (mut words, mut others) = (Vec::new(), Vec::new());
    for (key, value) in fields {
        match value {
            Value::String(word) => words.push(word.clone()),
            Value::Bool(true) => others.push(key.replace('_', " ")),
            Value::Bool(false) => others.push(format!("not {}", key.replace('_', " "))),
            Value::Number(number) if !number.is_f64() => others.push(format!("{key} {number}")),
            Value::Array(items) if items.iter().all(|item| item.is_boolean() || item.is_u64()) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                others.push(format!("{key} {}", items.join(" ")));
            }
            Value::Object(inner) if !is_fitted(value) => words.push(identity(inner)),
            _ => {}
        }
    }
    words.extend(others);
    words.join(", ")
}

/// Whether a value contains a fitted number.
fn is_fitted(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(is_fitted),
        Value::Object(fields) => fields.values().any(is_fitted),
        _ => false,
    }
}

/// Numbers models that nothing else distinguishes by their place in the list.
fn number_namesakes(found: &mut [Parameter]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for parameter in found {
        let count = seen.entry(parameter.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            parameter.name += &format!(" #{count}");
        }
    }
}

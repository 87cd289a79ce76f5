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
const DESCRIPTIONS: [&str; 4] = ["machine", "accuracy", "intervals", "borrowed"];
/// Keys that describe a parameter and are none: how much its samples scatter, and the rarer of its
/// two values.
const REMARKS: [&str; 2] = ["scatter", "other"];

impl Profile {
    /// Every parameter, in the same order for the same models.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Value::Object(mut sections) = self.plain() else {
            unreachable!("a profile is plain data with names")
        };
        let mut found = Vec::new();
        visit(&mut sections, &mut |section, name, value| {
            let (name, section) = (name.to_owned(), section.to_owned());
            let (points, is_curve) = match value {
                Value::Array(items) => (items.iter().filter_map(pair).collect(), true),
                number => (vec![(0.0, number.as_f64().unwrap_or_default())], false),
            };
            found.push(Parameter { name, section, points, is_curve });
        });
        number_namesakes(&mut found);
        found
    }
}

/// What is done with each parameter: its section, its name, and its number or its list of pairs.
type Visitor<'v> = dyn FnMut(&str, &str, &mut Value) + 'v;

/// Goes through every parameter of a profile in its file form.
pub(super) fn visit(sections: &mut Map<String, Value>, visitor: &mut Visitor<'_>) {
    for (section, value) in sections {
        if is_model(section) {
            walk(section, section, value, visitor);
        }
    }
}

/// Whether a section of the file holds models.
pub(super) fn is_model(section: &str) -> bool {
    !DESCRIPTIONS.contains(&section)
}

fn walk(section: &str, name: &str, value: &mut Value, visitor: &mut Visitor<'_>) {
    match value {
        Value::Number(number) if number.is_f64() => visitor(section, name, value),
        Value::Array(items) if !items.is_empty() && items.iter().all(|one| pair(one).is_some()) => {
            visitor(section, name, value);
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                let identity = match item {
                    Value::Object(fields) => identity(fields),
                    _ => at.to_string(),
                };
                walk(section, &format!("{name}({identity})"), item, visitor);
            }
        }
        Value::Object(fields) => {
            for (key, field) in
                fields.iter_mut().filter(|(key, _)| !REMARKS.contains(&key.as_str()))
            {
                match key.as_str() {
                    // The table is named after what it is of.
                    "ns" | "knots" => walk(section, name, field, visitor),
                    _ => walk(section, &format!("{name}.{key}"), field, visitor),
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
pub(super) fn identity(fields: &Map<String, Value>) -> String {
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

//! The prices of a profile by name: what intervals, comparisons and reports speak of.

use super::Profile;
use super::prices::{Amount, Key, Price, Step};
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

impl Profile {
    /// Every parameter, in the same order for the same models.
    pub fn parameters(&self) -> Vec<Parameter> {
        let plain = self.plain();
        let mut machine = self.clone();
        let prices = machine.prices_mut().into_iter();
        let mut found: Vec<Parameter> = prices.map(|price| parameter(&price, &plain)).collect();
        number_namesakes(&mut found);
        found
    }
}

impl Key {
    /// The name of the price in a profile of this file form. Items of lists are named after what
    /// they are of.
    pub(super) fn name(&self, plain: &Value) -> String {
        let (mut name, mut at) = (String::new(), plain);
        for step in &self.0 {
            match *step {
                Step::Field(field) => {
                    at = &at[field];
                    name += if name.is_empty() { "" } else { "." };
                    name += field;
                }
                Step::Item(number) => {
                    at = &at[number];
                    name += &format!("({})", at.as_object().map(identity).unwrap_or_default());
                }
            }
        }
        name
    }
}

fn parameter(price: &Price<'_>, plain: &Value) -> Parameter {
    let (name, section) = (price.key.name(plain), price.key.section().to_owned());
    let single = |value: f64| (vec![(0.0, value)], false);
    let (points, is_curve) = match &price.amount {
        Amount::Time(time) => single(time.ns),
        Amount::Number(number) => single(**number),
        Amount::Rate(rate) => single(rate.bytes_per_second()),
        Amount::Curve(curve) => (curve.knots.clone(), true),
        Amount::Shares(pairs) => ((**pairs).clone(), true),
    };
    Parameter { name, section, points, is_curve }
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

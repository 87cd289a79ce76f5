//! Rules of a kernel of one's own, applied to the numbers of a launch.

use super::expression::{Indices, Part, evaluate_rule};
use super::values::Number;
use crate::files::{Fault, Spanned};
use std::collections::BTreeMap;
use std::ops::Range;

/// What rules of a kernel are applied to: the numbers of one launch.
pub(super) struct Rules<'k> {
    pub name: &'k str,
    pub numbers: &'k BTreeMap<String, f64>,
    pub known: &'k Indices,
    pub call: Range<usize>,
}

impl Rules<'_> {
    pub fn whole(&self, number: &Spanned<Number>) -> Result<i64, Fault> {
        match number.get_ref() {
            Number::Value(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(*value as i64),
            Number::Value(value) => {
                let message = format!("{value} in kernel `{}` is not a whole number", self.name);
                Err(Fault::new(message, number.span(), "not whole", "write a whole number"))
            }
            Number::Text(text) => {
                let value = evaluate_rule(Part::new(text, &number.span()), self.known);
                value.map_err(|fault| fault.and(self.call.clone(), "by this call"))
            }
        }
    }

    pub fn real(&self, number: &Spanned<Number>) -> Result<f64, Fault> {
        match number.get_ref() {
            Number::Value(value) => Ok(*value),
            Number::Text(text) => match self.numbers.get(text.trim()) {
                Some(value) => Ok(*value),
                None => self.whole(number).map(|value| value as f64),
            },
        }
    }
}

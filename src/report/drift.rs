//! The text of `hallway calibrate --check`.

use super::table::{Column, Table};
use super::words::{folded, percent, plural, signed_percent};
use crate::compare::{Drift, DriftAnswer};
use crate::samples::Quantity;
use crate::units::Span;

/// One line for each quantity, and a summary, in at most `width` columns if a number is given.
pub fn drifts(found: &[(Quantity, Drift)], width: Option<usize>) -> String {
    let time = |ns: f64| Span::from_nanos_f64(ns.max(0.0)).to_string();
    let table = Table::of(found)
        .with(Column::words("quantity"), |(quantity, _)| quantity.to_string())
        .with(Column::number("before").if_room(2), |(_, drift)| time(drift.before))
        .with(Column::number("now").if_room(2), |(_, drift)| time(drift.now))
        .with(Column::number("change"), |(_, drift)| signed_percent(drift.change()))
        .with(Column::number("same within").if_room(1), |(_, drift)| percent(drift.margin))
        .with(Column::words("answer"), |(_, drift)| word(drift.answer).to_owned());
    let count = |answer| found.iter().filter(|(_, drift)| drift.answer == answer).count() as u64;
    let (same, changed) = (count(DriftAnswer::Same), count(DriftAnswer::Changed));
    let sums = format!("{same} same, {changed} changed, {} unsure", count(DriftAnswer::Unsure));
    let advice = if changed > 0 {
        "The machine has changed: calibrate it again."
    } else if same == 0 {
        "The measurements are too noisy to tell: calibrate again to be sure."
    } else {
        "No sign that the machine has changed."
    };
    let quantities = plural(found.len() as u64, "time");
    let text = format!("{}\n{quantities}: {sums}. {advice}\n", table.text(width));
    folded(&text, width)
}

const fn word(answer: DriftAnswer) -> &'static str {
    match answer {
        DriftAnswer::Same => "same",
        DriftAnswer::Changed => "changed",
        DriftAnswer::Unsure => "unsure",
    }
}

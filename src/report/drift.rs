//! The text of `hallway calibrate --check`.

use super::table::table;
use super::words::{percent, plural, signed_percent};
use crate::compare::{Drift, DriftAnswer};
use crate::samples::Quantity;
use crate::units::Span;

/// One line for each quantity, and a summary.
pub fn drifts(found: &[(Quantity, Drift)]) -> String {
    let header = ["quantity", "before", "now", "change", "same within", "answer"];
    let time = |ns: f64| Span::from_nanos_f64(ns.max(0.0)).to_string();
    let row = |(quantity, drift): &(Quantity, Drift)| {
        vec![
            quantity.to_string(),
            time(drift.before),
            time(drift.now),
            signed_percent(drift.change()),
            percent(drift.margin),
            word(drift.answer).to_owned(),
        ]
    };
    let count = |answer| found.iter().filter(|(_, drift)| drift.answer == answer).count() as u64;
    let (same, changed) = (count(DriftAnswer::Same), count(DriftAnswer::Changed));
    let sums = format!("{same} same, {changed} changed, {} unsure", count(DriftAnswer::Unsure));
    let advice = if changed > 0 {
        "The machine is not what it was: calibrate it again."
    } else if same == 0 {
        "Too little to tell: calibrate again to be sure."
    } else {
        "Nothing shows that the machine has changed."
    };
    let quantities = plural(found.len() as u64, "time");
    format!(
        "{}\n{quantities}: {sums}. {advice}\n",
        table(&header, &[0, 5], found.iter().map(row).collect())
    )
}

const fn word(answer: DriftAnswer) -> &'static str {
    match answer {
        DriftAnswer::Same => "same",
        DriftAnswer::Changed => "changed",
        DriftAnswer::Unsure => "unsure",
    }
}

//! The text of `hallway compare`: which parameters of two profiles agree.

use super::sureness::kind_name;
use super::table::{Column, Table};
use super::words::{fine_percent, folded, if_known, or_dash, percent, plural, signed_percent};
use crate::compare::{Agreement, Drift, DriftAnswer, Pair};
use crate::samples::Quantity;
use crate::stats::median;
use crate::units::Span;
use std::collections::BTreeMap;

/// A table by kind, at most `most` of the parameters that changed, and the summary, in at most
/// `width` columns if a number is given.
pub fn agreement(found: &Agreement, most: usize, width: Option<usize>) -> String {
    let changed: Vec<&Pair> = found.pairs.iter().filter(|pair| !pair.is_same()).collect();
    let mut text = by_kind(&found.pairs, width);
    if !changed.is_empty() {
        text += "\n";
        text += &Table::of(changed.iter().take(most).copied())
            .with(Column::words("changed"), |pair| {
                format!("{}{}", pair.name, if_known(pair.size, |size| format!(" at {size}")))
            })
            .with(Column::number("before").if_room(2), |pair| significant(pair.values[0]))
            .with(Column::number("now").if_room(2), |pair| significant(pair.values[1]))
            .with(Column::number("change"), |pair| {
                or_dash(Some(pair.change()).filter(|change| change.is_finite()).map(signed_percent))
            })
            .with(Column::number("95% interval").if_room(1), |pair| {
                format!("\u{b1} {}", significant(narrower(pair)))
            })
            .with(Column::number("/ interval"), |pair| {
                or_dash((narrower(pair) > 0.0).then(|| format!("{:.1}", pair.distance())))
            })
            .text(width);
    }
    if changed.len() > most {
        text += &format!("{} more; `--all` shows them\n", changed.len() - most);
    }
    let share = if_known(found.share(), |share| {
        format!("; {} agree within their 95% intervals", fine_percent(share))
    });
    text += &format!("\n{}{share}.\n", plural(found.pairs.len() as u64, "parameter"));
    if !found.unpaired.is_empty() {
        let unpaired = plural(found.unpaired.len() as u64, "parameter");
        text += &format!(
            "{unpaired} not compared: in only one profile, or measured in only one pass.\n"
        );
    }
    folded(&text, width)
}

fn by_kind(pairs: &[Pair], width: Option<usize>) -> String {
    let mut kinds: BTreeMap<&str, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        kinds.entry(kind_name(&pair.section)).or_default().push(pair);
    }
    let kinds: Vec<(&str, Vec<&Pair>)> = kinds.into_iter().collect();
    let same = |pairs: &[&Pair]| pairs.iter().filter(|pair| pair.is_same()).count();
    let middle = |pairs: &[&Pair], figure: fn(&Pair) -> f64| {
        let figures = pairs.iter().map(|pair| figure(pair)).filter(|one| one.is_finite());
        or_dash(median(&figures.collect::<Vec<f64>>()).map(fine_percent))
    };
    Table::of(&kinds)
        .with(Column::words("kind"), |(kind, _)| kind)
        .with(Column::number("parameters").if_room(1), |(_, pairs)| pairs.len())
        .with(Column::number("same").if_room(2), |(_, pairs)| same(pairs))
        .with(Column::number("changed"), |(_, pairs)| pairs.len() - same(pairs))
        .with(Column::number("same"), |(_, pairs)| {
            fine_percent(same(pairs) as f64 / pairs.len() as f64)
        })
        .with(Column::number("median change"), |(_, pairs)| {
            middle(pairs, |pair| pair.change().abs())
        })
        .with(Column::number("interval \u{b1}").if_room(3), |(_, pairs)| {
            middle(pairs, |pair| pair.half_widths[0] / pair.values[0].abs())
        })
        .text(width)
}

fn narrower(pair: &Pair) -> f64 {
    pair.half_widths[0].min(pair.half_widths[1])
}

/// A number with four significant digits.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = 3 - value.abs().log10().floor() as i32;
    format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
}

/// One line for each quantity, and a summary, in at most `width` columns if a number is given.
pub fn drifts(found: &[(Quantity, Drift)], width: Option<usize>) -> String {
    let time = |ns: f64| Span::from_nanos_f64(ns.max(0.0));
    let table = Table::of(found)
        .with(Column::words("quantity"), |(quantity, _)| quantity)
        .with(Column::number("before").if_room(2), |(_, drift)| time(drift.before))
        .with(Column::number("now").if_room(2), |(_, drift)| time(drift.now))
        .with(Column::number("change"), |(_, drift)| signed_percent(drift.change()))
        .with(Column::number("same within").if_room(1), |(_, drift)| percent(drift.margin))
        .with(Column::words("answer"), |(_, drift)| match drift.answer {
            DriftAnswer::Same => "same",
            DriftAnswer::Changed => "changed",
            DriftAnswer::Unsure => "uncertain",
        });
    let count = |answer| found.iter().filter(|(_, drift)| drift.answer == answer).count() as u64;
    let (same, changed) = (count(DriftAnswer::Same), count(DriftAnswer::Changed));
    let sums = format!("{same} same, {changed} changed, {} uncertain", count(DriftAnswer::Unsure));
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

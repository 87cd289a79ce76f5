//! The text of `hallway compare`: which parameters of two profiles agree.

use super::sureness::kind_name;
use super::table::{Column, table};
use super::words::{fine_percent, folded, plural, signed_percent};
use crate::compare::{Agreement, Pair};
use crate::stats::median;
use std::collections::BTreeMap;

/// A table by kind, at most `most` of the parameters that changed, and the summary, in at most
/// `width` columns if a number is given.
pub fn agreement(found: &Agreement, most: usize, width: Option<usize>) -> String {
    let changed: Vec<&Pair> = found.pairs.iter().filter(|pair| !pair.is_same()).collect();
    let mut text = by_kind(&found.pairs, width);
    if !changed.is_empty() {
        let header = [
            Column::words("changed"),
            Column::number("before").if_room(2),
            Column::number("now").if_room(2),
            Column::number("change"),
            Column::number("95% interval").if_room(1),
            Column::number("times as far"),
        ];
        let rows: Vec<_> = changed.iter().take(most).map(|pair| row(pair)).collect();
        text += "\n";
        text += &table(&header, &rows, width);
    }
    if changed.len() > most {
        text += &format!("and {} more; --all shows them\n", changed.len() - most);
    }
    let count = found.pairs.len() as u64;
    let share = found.share().map_or_else(String::new, |share| {
        format!("; {} agree within their 95% intervals", fine_percent(share))
    });
    text += &format!("\n{}{share}.\n", plural(count, "parameter"));
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
    let row = |(kind, pairs): (&str, Vec<&Pair>)| {
        let same = pairs.iter().filter(|pair| pair.is_same()).count();
        let of_all = |figure: &dyn Fn(&Pair) -> f64| {
            let figures: Vec<f64> = pairs.iter().map(|pair| figure(pair)).collect();
            let finite: Vec<f64> = figures.into_iter().filter(|f| f.is_finite()).collect();
            median(&finite).map_or_else(|| "-".to_owned(), fine_percent)
        };
        vec![
            kind.to_owned(),
            pairs.len().to_string(),
            same.to_string(),
            (pairs.len() - same).to_string(),
            fine_percent(same as f64 / pairs.len() as f64),
            of_all(&|pair| pair.change().abs()),
            of_all(&|pair| pair.half_widths[0] / pair.values[0].abs()),
        ]
    };
    let header = [
        Column::words("kind"),
        Column::number("parameters").if_room(1),
        Column::number("same").if_room(2),
        Column::number("changed"),
        Column::number("same"),
        Column::number("median change"),
        Column::number("interval \u{b1}").if_room(3),
    ];
    table(&header, &kinds.into_iter().map(row).collect::<Vec<_>>(), width)
}

fn row(pair: &Pair) -> Vec<String> {
    let size = pair.size.map_or_else(String::new, |size| format!(" at {size}"));
    let [before, now] = pair.values;
    let narrower = pair.half_widths[0].min(pair.half_widths[1]);
    let share = |value: f64, text: String| if value.is_finite() { text } else { "-".to_owned() };
    vec![
        format!("{}{size}", pair.name),
        significant(before),
        significant(now),
        share(pair.change(), signed_percent(pair.change())),
        format!("\u{b1} {}", significant(narrower)),
        if narrower > 0.0 { format!("{:.1}", pair.distance()) } else { "-".to_owned() },
    ]
}

/// A number with four significant digits.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = 3 - value.abs().log10().floor() as i32;
    format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
}

//! A table of what would be, beside what is.

use super::table::{Column, Table};
use super::words::{self, cells, folded, or_dash, plural, signed_percent, times};
use crate::findings::{Answer, Assessment, InBrief, Turning, WhatIf, times_as_long};
use crate::units::Span;
use crate::what_if::SEARCHED;

impl Assessment {
    /// A table of what would be, under today's answer.
    pub(super) fn what_if_table(&self, width: Option<usize>) -> Option<String> {
        let today = self.today.as_ref()?;
        // Set-up is paid before the first pass, so only the program shows what it changes.
        let changes_set_up = |one: &WhatIf| {
            one.answer.predicted_ns == today.predicted_ns
                && one.answer.program_ns != today.program_ns
        };
        let has_programs = self.what_if.iter().any(changes_set_up);
        let today_row = Row { change: "as it is", brief: today, turns: String::new() };
        let changed = self.what_if.iter().map(|one| Row {
            change: &one.change,
            brief: &one.answer,
            turns: or_dash(one.turning.as_ref().map(turns)),
        });
        let rows: Vec<Row<'_>> = std::iter::once(today_row).chain(changed).collect();
        let [verdict, winner, time, range, bound] =
            [0, 1, 2, 3, 4].map(|cell| move |row: &Row<'_>| cells(row.brief)[cell].clone());
        let has_sides = rows.iter().any(|row| row.brief.probability.is_some());
        let mut table = Table::of(&rows).with(Column::words("what if"), |row| row.change);
        table = if has_sides {
            table
                .with(Column::words("verdict"), verdict)
                .with(Column::words("winner"), winner)
                .with(Column::number("one run").if_room(2), time)
                .with(Column::number("vs today").if_room(2), |row| against(row.brief, today))
                .with(Column::number("CPU"), |row| or_dash(row.brief.cpu_ns))
                .with(Column::number("range").if_room(3), |row| range_of(row.brief.cpu_range_ns))
                .with(Column::number("GPU"), |row| or_dash(row.brief.gpu_ns))
                .with(Column::number("range").if_room(4), |row| range_of(row.brief.gpu_range_ns))
                .with(Column::number("sure"), |row| {
                    or_dash(row.brief.probability.map(short_chance))
                })
                .with(Column::words("limited by").if_room(1), bound)
                .with(Column::words("break-even").if_folded(2), |row| &row.turns)
        } else {
            table
                .with(Column::words("winner"), winner)
                .with(Column::number("one run"), time)
                .with(Column::number("range"), range)
                .with(Column::number("vs today"), |row| against(row.brief, today))
                .with(Column::words("limited by").if_room(1), bound)
        };
        if has_programs {
            let title = format!("and {}", plural(self.runs, "run"));
            table = table.with(Column::number(&title), |row| or_dash(row.brief.program_ns));
        }
        let mut text = table.text(width);
        let said = self.assumptions();
        if !said.is_empty() {
            text += &folded(&format!("\nAssumed: {}", said.join(" ")), width);
        }
        for WhatIf { change, unknown, .. } in &self.what_if {
            if let Some(unknown) = unknown {
                text += &folded(&format!("\nNot predicted with {change}: {unknown}"), width);
            }
        }
        let [least, most] = SEARCHED;
        let ends = format!(
            "`sure`: the probability that the side predicted to be faster in one run is faster. \
             `break-even`: the factor below or above which the other side is faster in one run \
             (searched from 1/{}x to {most}x).",
            1.0 / least
        );
        Some(if has_sides { text + &folded(&ends, width) } else { text })
    }
}

/// What would be with a change, or what is.
struct Row<'a> {
    change: &'a str,
    brief: &'a InBrief,
    turns: String,
}

fn range_of(range: Option<[Span; 2]>) -> String {
    or_dash(range.map(|[low, high]| words::range(low, high)))
}

/// A chance in a column. No calibration knows a hundredth of it.
fn short_chance(probability: f64) -> String {
    match probability {
        0.99.. => "> 99%".to_owned(),
        _ => format!("{:.0}%", (100.0 * probability).floor()),
    }
}

/// A time beside that of today.
pub(super) fn against(brief: &InBrief, today: &InBrief) -> String {
    let both = brief.predicted_ns.zip(today.predicted_ns);
    let Some((time, today)) = both else { return "-".to_owned() };
    let ratio = times_as_long(time, today);
    match ratio {
        1.0 => "same".to_owned(),
        0.5..1.995 => signed_percent(ratio - 1.0),
        ..0.5 => format!("1/{} x", times(1.0 / ratio.max(1e-9))),
        _ => format!("{} x", times(ratio)),
    }
}

/// The factor beyond which the other side is faster.
pub(super) fn turns(turning: &Turning) -> String {
    let side = match turning.to {
        Some(Answer::Gpu) => "GPU",
        _ => "CPU",
    };
    match turning.at {
        Some(at) if at < 1.0 => format!("{side} below {}x", factor(at)),
        Some(at) => format!("{side} above {}x", factor(at)),
        None => "never".to_owned(),
    }
}

/// Two significant digits.
fn factor(factor: f64) -> String {
    match factor {
        ..0.0995 => format!("{factor:.3}"),
        ..9.95 => format!("{factor:.2}"),
        _ => format!("{factor:.0}"),
    }
}

//! A table of what would be, beside what is.

use super::evaluation::Assessment;
use super::in_brief::InBrief;
use super::table::{Column, table};
use super::what_if::{Turning, WhatIf, in_cell};
use super::words::{signed_percent, times};
use crate::units::Span;
use crate::what_if::SEARCHED;

impl Assessment {
    /// Says what the answer would be if something were different.
    #[must_use]
    pub fn varied(mut self, today: InBrief, what_if: Vec<WhatIf>) -> Self {
        self.today = Some(today).filter(|_| !what_if.is_empty());
        self.what_if = what_if;
        self
    }

    /// A table of what would be, under today's answer.
    pub(super) fn what_if_table(&self, width: Option<usize>) -> Option<String> {
        let today = self.today.as_ref()?;
        let header = [
            Column::words("what if"),
            Column::words("verdict"),
            Column::words("winner"),
            Column::number("one run"),
            Column::number("90% range").if_room(3),
            Column::number("vs today"),
            Column::number("CPU").if_room(1),
            Column::number("GPU").if_room(2),
            Column::words("bound by").if_folded(1),
            Column::words("turns").if_folded(2),
        ];
        let row = |change: &str, brief: &InBrief, turns: String| {
            let [verdict, winner, time, range, bound] = brief.cells();
            let against = against(brief.predicted_ns, today.predicted_ns);
            let sides = [brief.cpu_ns, brief.gpu_ns].map(in_cell);
            let change = change.to_owned();
            [change, verdict, winner, time, range, against]
                .into_iter()
                .chain(sides)
                .chain([bound, turns])
                .collect()
        };
        let mut rows = vec![row("as it is", today, String::new())];
        rows.extend(self.what_if.iter().map(|one| {
            let turns = one.turning.as_ref().map_or_else(|| "-".to_owned(), Turning::words);
            row(&one.change, &one.answer, turns)
        }));
        let mut text = table(&header, &rows, width);
        let mut said: Vec<&str> = Vec::new();
        for assumption in self.what_if.iter().flat_map(|one| &one.assumptions) {
            if !said.contains(&assumption.as_str()) {
                said.push(assumption);
            }
        }
        if !said.is_empty() {
            text += &format!("\nTaken for granted: {}\n", said.join(" "));
        }
        let [least, most] = SEARCHED;
        let ends = format!(
            "Ranges are as wide as those of today's machine. `turns`: the factor beyond which the \
             other side wins a pass, of 1/{}x to {most}x.\n",
            1.0 / least
        );
        Some(format!("{text}{ends}\n"))
    }
}

/// A time beside that of today.
pub(super) fn against(time: Option<Span>, today: Option<Span>) -> String {
    let Some((time, today)) = time.zip(today) else { return "-".to_owned() };
    let ratio = time.nanos_f64() / today.nanos_f64().max(1.0);
    match ratio {
        1.0 => "same".to_owned(),
        0.5..1.995 => signed_percent(ratio - 1.0),
        ..0.5 => format!("1/{} x", times(1.0 / ratio.max(1e-9))),
        _ => format!("{} x", times(ratio)),
    }
}

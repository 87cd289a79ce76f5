//! What would be, beside what is.

use super::evaluation::Assessment;
use super::in_brief::InBrief;
use super::table::{Column, table};
use super::verdict::Answer;
use super::words::{range, signed_percent, times};
use crate::units::Span;
use crate::what_if::{SEARCHED, Turn};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer if something were different.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WhatIf {
    /// What would be different, as `--what-if` names it.
    pub change: String,
    #[serde(flatten)]
    pub answer: InBrief,
    /// Where the verdict of a pass turns. `null` where the change scales nothing, or several
    /// things, or a side has no plan.
    pub turning: Option<Turning>,
    /// What is taken for granted that nobody has measured.
    pub assumptions: Vec<String>,
}

/// From which factor on the other side is faster in a pass, with the plans that a break-even tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Turning {
    /// The factor nearest to 1. `null` if the verdict does not turn at any that was tried.
    pub at: Option<f64>,
    /// Who is faster there.
    pub to: Option<Answer>,
    /// The smallest and the largest factor that were tried.
    pub tried: [f64; 2],
}

impl Turning {
    pub fn of(turn: Option<&Turn>) -> Self {
        let side = |turn: &Turn| if turn.to_gpu { Answer::Gpu } else { Answer::Cpu };
        Self { at: turn.map(|turn| turn.at), to: turn.map(side), tried: SEARCHED }
    }

    fn words(&self) -> String {
        let side = match self.to {
            Some(Answer::Gpu) => "GPU",
            _ => "CPU",
        };
        match self.at {
            Some(at) if at < 1.0 => format!("{side} below {}x", factor(at)),
            Some(at) => format!("{side} above {}x", factor(at)),
            None => "never".to_owned(),
        }
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
            Column::number("90% range").if_folded(2),
            Column::number("vs today"),
            Column::number("CPU").if_room(1),
            Column::number("GPU").if_room(1),
            Column::words("bound by").if_folded(1),
            Column::words("turns").if_room(2),
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
        let ends = "Ranges are as wide as today's machine needs them; `turns`: from which factor \
                    on the other side is faster in a pass, of 0.016x to 64x.\n";
        Some(format!("{text}{ends}\n"))
    }
}

/// A time beside that of today.
fn against(time: Option<Span>, today: Option<Span>) -> String {
    let Some((time, today)) = time.zip(today) else { return "-".to_owned() };
    let ratio = time.nanos_f64() / today.nanos_f64().max(1.0);
    match ratio {
        1.0 => "same".to_owned(),
        0.5..1.995 => signed_percent(ratio - 1.0),
        ..0.5 => format!("1/{} x", times(1.0 / ratio.max(1e-9))),
        _ => format!("{} x", times(ratio)),
    }
}

/// A time, or that it is not known.
pub(super) fn in_cell(time: Option<Span>) -> String {
    time.map_or_else(|| "-".to_owned(), |one| one.to_string())
}

impl InBrief {
    /// Verdict, winner, time, range and what bounds it, for a row of a table.
    pub(super) fn cells(&self) -> [String; 5] {
        let range = self.low_ns.zip(self.high_ns).map(|(low, high)| range(low, high));
        [
            match self.answer == self.pass_answer {
                true => self.answer.in_a_word().to_owned(),
                false => {
                    let [program, pass] = [self.answer, self.pass_answer].map(Answer::in_a_word);
                    format!("{program}; a pass: {pass}")
                }
            },
            self.winner.clone().unwrap_or_else(|| "-".to_owned()),
            in_cell(self.predicted_ns),
            range.unwrap_or_else(|| "-".to_owned()),
            self.bottleneck.map_or_else(|| "-".to_owned(), |one| one.to_string()),
        ]
    }
}

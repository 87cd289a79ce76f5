//! A verification of many random workloads: sums by kind, where a table of each would be too much.

use super::table::{Column, markdown_table, table};
use super::verification::{Check, KindFigures, Verification, called_right};
use super::words::{fine_percent, folded, percent};
use crate::stats::{median, quantile};
use std::fmt::Write;

/// Columns, in the order in which a narrow terminal loses them: the worst error, the baselines.
fn columns() -> [Column; 9] {
    [
        Column::words("kind"),
        Column::number("plans"),
        Column::number("median error"),
        Column::number("95%"),
        Column::number("worst").if_room(1),
        Column::number("in range"),
        Column::number("12 GB/s").if_room(4),
        Column::number("no overlap").if_room(3),
        Column::number("all overlaps").if_room(2),
    ]
}

const BASELINES: &str = "The last columns show median errors of simpler predictions: kernels \
                         plus bytes at 12 GB/s; all calls one after another; and the busiest \
                         resource alone.\n";

fn row(of: &KindFigures) -> Vec<String> {
    let KindFigures { kind, errors, textbook, one_by_one, busiest } = of;
    vec![
        kind.clone(),
        errors.plans.to_string(),
        fine_percent(errors.median),
        fine_percent(errors.p95),
        fine_percent(errors.worst),
        percent(errors.coverage),
        fine_percent(*textbook),
        fine_percent(*one_by_one),
        fine_percent(*busiest),
    ]
}

impl Verification {
    /// Errors by kind of plan, beside the median errors of three baselines, and what the choices of
    /// plans would have cost.
    pub fn text_by_kind(&self, width: Option<usize>) -> String {
        let rows: Vec<Vec<String>> = self.kinds.iter().map(row).collect();
        let mut text = format!("{}\n\n{}\n", self.profile, table(&columns(), &rows, width));
        text.push_str(BASELINES);
        text.push_str(&self.passes_beside());
        text.push_str(&self.choices(""));
        folded(&text, width)
    }

    /// What [`text_by_kind`](Self::text_by_kind) says, in Markdown.
    pub fn markdown_by_kind(&self) -> String {
        let rows: Vec<Vec<String>> = self.kinds.iter().map(row).collect();
        let text = markdown_table(&columns(), &rows);
        text + "\n" + BASELINES + "\n" + &self.choices("- ")
    }

    /// How the choice of a plan, and of a side, came out over all workloads.
    fn choices(&self, bullet: &str) -> String {
        let regrets: Vec<f64> = self.scenarios.iter().filter_map(|one| one.regret).collect();
        let mut text = String::new();
        let figures = (median(&regrets), quantile(&regrets, 0.95), quantile(&regrets, 1.0));
        if let (Some(median), Some(p95), Some(worst)) = figures {
            let [median, p95, worst] = [median, p95, worst].map(fine_percent);
            let _ = writeln!(
                text,
                "{bullet}regret over {} workloads: median {median}, 95th percentile {p95}, \
                 maximum {worst}",
                regrets.len()
            );
        }
        if let Some(Check { what, .. }) = called_right(&self.scenarios) {
            let _ = writeln!(text, "{bullet}{what}");
        }
        text
    }
}

//! A verification of many random workloads: sums by kind, where a table of each would be too much.

use super::table::{Column, Table};
use super::verification::{Check, Verification, called_right};
use super::words::{fine_percent, folded, percent};
use crate::compare::KindFigures;
use crate::stats::{median, quantile};
use std::fmt::Write;

/// Columns go in a narrow terminal in this order: the worst error, then the baselines.
fn by_kind(kinds: &[KindFigures]) -> Table<'_, KindFigures> {
    Table::of(kinds)
        .with(Column::words("kind"), |of| of.kind.clone())
        .with(Column::number("plans"), |of| of.errors.plans.to_string())
        .with(Column::number("median error"), |of| fine_percent(of.errors.median))
        .with(Column::number("95%"), |of| fine_percent(of.errors.p95))
        .with(Column::number("worst").if_room(1), |of| fine_percent(of.errors.worst))
        .with(Column::number("in range"), |of| percent(of.errors.coverage))
        .with(Column::number("12 GB/s").if_room(4), |of| fine_percent(of.textbook))
        .with(Column::number("no overlap").if_room(3), |of| fine_percent(of.one_by_one))
        .with(Column::number("all overlaps").if_room(2), |of| fine_percent(of.busiest))
}

const BASELINES: &str = "The last columns show median errors of simpler predictions: kernels \
                         plus bytes at 12 GB/s; all calls one after another; and the busiest \
                         resource alone.\n";

impl Verification {
    /// Errors by kind of plan, beside the median errors of three baselines, and what the choices of
    /// plans would have cost.
    pub fn text_by_kind(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n\n{}\n", self.profile, by_kind(&self.kinds).text(width));
        text.push_str(BASELINES);
        text.push_str(&self.passes_beside());
        text.push_str(&self.choices(""));
        folded(&text, width)
    }

    /// What [`text_by_kind`](Self::text_by_kind) says, in Markdown.
    pub fn markdown_by_kind(&self) -> String {
        by_kind(&self.kinds).markdown() + "\n" + BASELINES + "\n" + &self.choices("- ")
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

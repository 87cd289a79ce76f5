//! How far predictions of what plans take once were from new processes.

use super::table::{Column, Table};
use super::words::{fine_percent, or_dash, plural};
use crate::compare::{FailedSetUp, PartFigures, ScoredSetUp, SetUpFigures};
use serde::{Deserialize, Serialize};

/// First use and set-up: predictions compared with new processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetUpReport {
    /// Errors over the plans whose first use and set-up can be predicted. `null` if there are none.
    pub errors: Option<SetUpFigures>,
    /// The plans that were set up in new processes.
    pub plans: Vec<ScoredSetUp>,
    /// Plans that a new process could not set up. Empty if saved runs were scored.
    pub failed: Vec<FailedSetUp>,
}

impl SetUpReport {
    /// `None` if no process was started.
    pub fn of(plans: Vec<ScoredSetUp>, failed: Vec<FailedSetUp>) -> Option<Self> {
        let errors = SetUpFigures::of(&plans);
        (!plans.is_empty() || !failed.is_empty()).then_some(Self { errors, plans, failed })
    }

    /// The summary, in lines of at most `width` columns if a width is given.
    pub(super) fn text(&self, width: Option<usize>) -> String {
        let table = self.errors.as_ref().map(|errors| {
            let table = parts(&errors.parts).text(width);
            format!("{}\n\n{table}{LEGEND}", summary(errors))
        });
        table.unwrap_or_default() + &self.others("")
    }

    pub(super) fn markdown(&self) -> String {
        let table = self.errors.as_ref().map(|errors| {
            let table = parts(&errors.parts).markdown();
            format!("{}\n\n{table}\n{LEGEND}", summary(errors))
        });
        let others = self.others("- ");
        let gap = if others.is_empty() || table.is_none() { "" } else { "\n" };
        table.unwrap_or_default() + gap + &others
    }

    /// Plans without a score.
    fn others(&self, bullet: &str) -> String {
        let mut text = String::new();
        let unknown = self.plans.iter().filter(|plan| plan.predicted_ns.is_none()).count();
        if unknown > 0 {
            let plans = plural(unknown as u64, "plan");
            text += &format!(
                "{bullet}Set-up not scored: {plans}, because the profile lacks a cost, or the \
                 start of cuBLAS or cuFFT is not predicted.\n"
            );
        }
        let failed = self.failed.iter().map(|FailedSetUp { scenario, plan, why }| {
            format!("{bullet}Set-up failed: {scenario}: `{plan}`: a new process {why}\n")
        });
        text + &failed.collect::<String>()
    }
}

const LEGEND: &str = "Medians over plans. First run: by how much it takes longer than a later \
                      one.\n";

fn summary(errors: &SetUpFigures) -> String {
    let SetUpFigures { plans, median, worst, .. } = errors;
    let [median, worst] = [*median, *worst].map(fine_percent);
    let plans = plural(*plans as u64, "plan");
    format!("Set-up in new processes: {plans}, median error {median}, worst {worst}")
}

fn parts(parts: &[PartFigures]) -> Table<'_, PartFigures> {
    Table::of(parts)
        .with(Column::words("part"), |of| of.part)
        .with(Column::number("plans").if_room(1), |of| of.plans)
        .with(Column::number("predicted"), |of| or_dash(of.predicted_ns))
        .with(Column::number("measured"), |of| or_dash(of.measured_ns))
        .with(Column::number("median error"), |of| or_dash(of.median.map(fine_percent)))
}

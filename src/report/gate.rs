//! How an evaluation stands to an earlier one.

use super::answer::Answer;
use super::table::{Column, table};
use super::what_if::in_cell;
use super::words::{percent, quoted, signed_percent};
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What fails a check against an earlier evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Limits {
    /// By what share the fastest plan may become slower.
    pub slower: Option<f64>,
    /// Whether another verdict fails.
    pub verdict: bool,
    /// Whether a scenario that only one of the two has fails.
    pub missing: bool,
}

/// How some scenarios stand to an earlier evaluation of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Gate {
    /// Path of the earlier evaluation.
    pub baseline: String,
    /// What fails.
    pub limits: Limits,
    /// The scenarios that both have.
    pub compared: Vec<Compared>,
    /// Scenarios that only the earlier evaluation has.
    pub only_before: Vec<String>,
    /// Scenarios that only this one has.
    pub only_now: Vec<String>,
    /// What was asked otherwise then, in words: of another machine, or for other numbers of runs.
    pub differences: Vec<String>,
    /// Everything that fails, in words. Empty if the check holds.
    pub failures: Vec<String>,
}

/// A scenario before and now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Compared {
    /// Its name.
    pub scenario: String,
    /// Time of a pass of the fastest plan, before.
    pub before_ns: Option<Span>,
    /// Time of a pass of the fastest plan, now.
    pub now_ns: Option<Span>,
    /// Name of the fastest plan before.
    pub plan_before: Option<String>,
    /// Name of the fastest plan now.
    pub plan_now: Option<String>,
    /// The verdict of a whole program, before.
    pub verdict_before: Answer,
    /// The verdict of a whole program, now.
    pub verdict_now: Answer,
    /// Why it fails, in words. Empty if it does not.
    pub failures: Vec<String>,
}

impl Gate {
    pub(super) fn text(&self, width: Option<usize>) -> String {
        let header = [
            Column::words("scenario"),
            Column::number("before"),
            Column::number("now"),
            Column::number("change"),
            Column::words("verdict"),
            Column::words("fastest plan").if_folded(1),
            Column::words("result"),
        ];
        let rows: Vec<Vec<String>> = self.compared.iter().map(Compared::cells).collect();
        let mut text = format!("\nCompared with {} ({}):\n\n", self.baseline, self.limits.words());
        text += &table(&header, &rows, width);
        for (names, what) in
            [(&self.only_before, "Only in the baseline"), (&self.only_now, "Not in the baseline")]
        {
            if !names.is_empty() {
                text += &format!("{what}: {}.\n", quoted(names).join(", "));
            }
        }
        text.extend(self.differences.iter().map(|line| format!("{line}\n")));
        text
    }
}

impl Limits {
    fn words(&self) -> String {
        let slower = self
            .slower
            .map(|share| format!("the fastest plan is more than {} slower", percent(share)));
        let verdict = self.verdict.then(|| "the verdict changes".to_owned());
        let missing = self.missing.then(|| "a scenario is missing".to_owned());
        let said: Vec<String> = [slower, verdict, missing].into_iter().flatten().collect();
        format!("fails if {}", said.join(" or "))
    }
}

impl Compared {
    /// By what share the fastest plan is slower; below 0, faster.
    pub(super) fn change(&self) -> Option<f64> {
        let (before, now) = self.before_ns.zip(self.now_ns)?;
        Some(now.nanos_f64() / before.nanos_f64().max(1.0) - 1.0)
    }

    fn cells(&self) -> Vec<String> {
        let (before, now) = (self.verdict_before.in_a_word(), self.verdict_now.in_a_word());
        let arrow = |before: &str, now: &str| match before == now {
            true => now.to_owned(),
            false => format!("{before} -> {now}"),
        };
        let plan = |plan: &Option<String>| plan.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            self.scenario.clone(),
            in_cell(self.before_ns),
            in_cell(self.now_ns),
            self.change().map_or_else(|| "-".to_owned(), signed_percent),
            arrow(before, now),
            arrow(&plan(&self.plan_before), &plan(&self.plan_now)),
            if self.failures.is_empty() { "ok" } else { "FAILS" }.to_owned(),
        ]
    }
}

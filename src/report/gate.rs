//! How an evaluation stands to an earlier one.

use super::table::{Column, Table};
use super::words::{in_a_word, or_dash, percent, quoted, signed_percent};
use crate::findings::Answer;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// What makes a comparison with an earlier evaluation fail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// The share by which the fastest plan may become slower.
    pub slower: Option<f64>,
    /// Whether a changed verdict is a failure.
    pub verdict: bool,
    /// Whether a scenario that is in only one of the two evaluations is a failure.
    pub missing: bool,
}

/// The comparison with an earlier evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    /// Path of the earlier evaluation.
    pub baseline: String,
    /// The limits of the comparison.
    pub limits: Limits,
    /// The scenarios in both evaluations.
    pub compared: Vec<Compared>,
    /// Scenarios that are only in the earlier evaluation.
    pub only_before: Vec<String>,
    /// Scenarios that are only in this evaluation.
    pub only_now: Vec<String>,
    /// Differences in what was asked, in words: another machine, or other numbers of runs.
    pub differences: Vec<String>,
    /// All failures, in words. Empty if there are none.
    pub failures: Vec<String>,
}

/// A scenario before and now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// Its name.
    pub scenario: String,
    /// Time of a run of the fastest plan, before.
    pub before_ns: Option<Span>,
    /// Time of a run of the fastest plan, now.
    pub now_ns: Option<Span>,
    /// Name of the fastest plan before.
    pub plan_before: Option<String>,
    /// Name of the fastest plan now.
    pub plan_now: Option<String>,
    /// The verdict for all runs, before.
    pub verdict_before: Answer,
    /// The verdict for all runs, now.
    pub verdict_now: Answer,
    /// Its failures, in words. Empty if there are none.
    pub failures: Vec<String>,
}

impl Gate {
    pub(super) fn text(&self, width: Option<usize>) -> String {
        let mut text = format!("\nCompared with {} ({}):\n\n", self.baseline, self.limits.words());
        text += &Table::of(&self.compared)
            .with(Column::words("scenario"), |one| one.scenario.clone())
            .with(Column::number("before"), |one| or_dash(one.before_ns))
            .with(Column::number("now"), |one| or_dash(one.now_ns))
            .with(Column::number("change"), |one| or_dash(one.change().map(signed_percent)))
            .with(Column::words("verdict"), |one| {
                arrow([one.verdict_before, one.verdict_now].map(|of| in_a_word(of).to_owned()))
            })
            .with(Column::words("fastest plan").if_folded(1), |one| {
                arrow([&one.plan_before, &one.plan_now].map(|plan| or_dash(plan.as_ref())))
            })
            .with(Column::words("result"), |one| {
                if one.failures.is_empty() { "ok" } else { "FAILS" }.to_owned()
            })
            .text(width);
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
}

/// What it was and what it is; once if that is the same.
fn arrow([before, now]: [String; 2]) -> String {
    if before == now { now } else { format!("{before} -> {now}") }
}

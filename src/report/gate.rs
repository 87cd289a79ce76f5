//! How an evaluation stands to an earlier one: did anything get worse?

use super::origin::Origin;
use super::table::{Column, Table};
use super::words::{
    date, if_known, in_a_word, joined, or_dash, percent, plural, quoted, said, signed_percent,
};
use crate::findings::{Answer, Assessment, Verdict, titled};
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;

/// The conditions that make a comparison with an earlier evaluation fail.
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
    /// Differences between the two questions, in words, such as a different machine or number of
    /// runs.
    pub differences: Vec<String>,
    /// All failures, in words. Empty if there are none.
    pub failures: Vec<String>,
}

/// A scenario in the earlier evaluation and in this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// Name of the scenario.
    pub scenario: String,
    /// Time of a run of the fastest plan before.
    pub before_ns: Option<Span>,
    /// Time of a run of the fastest plan now.
    pub now_ns: Option<Span>,
    /// Name of the fastest plan before.
    pub plan_before: Option<String>,
    /// Name of the fastest plan now.
    pub plan_now: Option<String>,
    /// The earlier verdict for all runs.
    pub verdict_before: Answer,
    /// The current verdict for all runs.
    pub verdict_now: Answer,
    /// Its failures, in words. Empty if there are none.
    pub failures: Vec<String>,
}

impl Limits {
    fn words(&self) -> String {
        let slower = self
            .slower
            .map(|share| format!("the fastest plan is more than {} slower", percent(share)));
        let verdict = self.verdict.then(|| "the verdict changes".to_owned());
        let missing = self.missing.then(|| "a scenario is missing".to_owned());
        format!("fails if {}", joined([slower, verdict, missing].into_iter().flatten(), " or "))
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
fn arrow<W: Display + PartialEq>([before, now]: [W; 2]) -> String {
    if before == now { now.to_string() } else { format!("{before} -> {now}") }
}

/// An earlier evaluation, as far as it is compared with.
#[derive(Debug, Clone, Deserialize)]
pub struct Baseline {
    profile: EarlierProfile,
    scenarios: Vec<Earlier>,
}

#[derive(Debug, Clone, Deserialize)]
struct EarlierProfile {
    gpu: String,
    calibration_unix_time: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Earlier {
    scenario: String,
    #[serde(default)]
    part: Option<String>,
    runs: u64,
    verdict: EarlierVerdict,
    plans: Vec<EarlierPlan>,
}

#[derive(Debug, Clone, Deserialize)]
struct EarlierVerdict {
    answer: Answer,
    run_answer: Answer,
}

/// Plans are in order, the fastest first.
#[derive(Debug, Clone, Deserialize)]
struct EarlierPlan {
    plan: String,
    predicted_ns: Span,
}

impl Earlier {
    fn title(&self) -> String {
        titled(&self.scenario, self.part.as_deref())
    }
}

impl Baseline {
    /// Reads what `hallway evaluate --format json` wrote.
    ///
    /// # Errors
    /// If it is something else, with the reason in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let baseline: Self = super::read_json(text, "an evaluation")?;
        let mut names = BTreeSet::new();
        let twice = baseline.scenarios.iter().find(|one| !names.insert((&one.scenario, &one.part)));
        match twice {
            Some(twice) => Err(format!("it contains the scenario `{}` twice", twice.scenario)),
            None => Ok(baseline),
        }
    }
}

impl Gate {
    pub(super) fn text(&self, width: Option<usize>) -> String {
        let mut text = format!("\nCompared with {} ({}):\n\n", self.baseline, self.limits.words());
        text += &Table::of(&self.compared)
            .with(Column::words("scenario"), |one| &one.scenario)
            .with(Column::number("before"), |one| or_dash(one.before_ns))
            .with(Column::number("now"), |one| or_dash(one.now_ns))
            .with(Column::number("change"), |one| or_dash(one.change().map(signed_percent)))
            .with(Column::words("verdict"), |one| {
                arrow([one.verdict_before, one.verdict_now].map(in_a_word))
            })
            .with(Column::words("fastest plan").if_folded(1), |one| {
                arrow([&one.plan_before, &one.plan_now].map(|plan| or_dash(plan.as_ref())))
            })
            .with(
                Column::words("result"),
                |one| {
                    if one.failures.is_empty() { "ok" } else { "FAILS" }
                },
            )
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

    /// Holds an evaluation against an earlier one, which has a path.
    pub fn new(
        (profile, now): (&Origin, &[Assessment]),
        (path, baseline): (&str, &Baseline),
        limits: Limits,
    ) -> Self {
        let compared = now.iter().filter_map(|one| {
            let before = baseline.scenarios.iter().find(|old| old.title() == one.title())?;
            Some(compared(before, one, &limits))
        });
        let compared: Vec<Compared> = compared.collect();
        let is_rest = |name: &String| compared.iter().all(|one| one.scenario != *name);
        let before = baseline.scenarios.iter().map(Earlier::title);
        let only_before: Vec<String> = before.filter(is_rest).collect();
        let only_now: Vec<String> = now.iter().map(Assessment::title).filter(is_rest).collect();
        let failed = compared
            .iter()
            .flat_map(|one| one.failures.iter().map(move |why| format!("{}: {why}", one.scenario)));
        let mut failures: Vec<String> = failed.collect();
        if compared.is_empty() {
            let nothing = "nothing to compare: the two evaluations have no scenario in common";
            failures.push(nothing.to_owned());
        }
        if limits.missing {
            let gone = only_before.iter().map(|name| format!("{name}: only in the baseline"));
            let new = only_now.iter().map(|name| format!("{name}: not in the baseline"));
            failures.extend(gone.chain(new));
        }
        let differences = differences(baseline, profile, now);
        let baseline = path.to_owned();
        Self { baseline, limits, compared, only_before, only_now, differences, failures }
    }
}

/// What was asked otherwise then, in words.
fn differences(baseline: &Baseline, profile: &Origin, now: &[Assessment]) -> Vec<String> {
    let calibrated = |gpu: &str, time: Option<u64>| {
        format!("{gpu}{}", if_known(time, |at| format!(", calibrated {}", date(at))))
    };
    let EarlierProfile { gpu, calibration_unix_time: time } = &baseline.profile;
    let is_other = (gpu, time) != (&profile.gpu, &profile.calibration_unix_time);
    let profile = is_other.then(|| {
        format!(
            "The baseline uses a different calibration: {}; this evaluation uses {}.",
            calibrated(gpu, *time),
            calibrated(&profile.gpu, profile.calibration_unix_time)
        )
    });
    let runs = now.iter().filter_map(|now| {
        let before = baseline.scenarios.iter().find(|old| old.title() == now.title())?;
        (before.runs != now.runs).then(|| {
            let (many, name) = (plural(before.runs, "run"), &now.scenario);
            format!("`{name}` had {many} in the baseline; now it has {}.", now.runs)
        })
    });
    profile.into_iter().chain(runs).collect()
}

fn compared(before: &Earlier, now: &Assessment, limits: &Limits) -> Compared {
    let (first, fastest) = (before.plans.first(), now.plans.first());
    let Verdict { answer, run_answer, .. } = now.verdict;
    let mut one = Compared {
        scenario: now.title(),
        before_ns: first.map(|plan| plan.predicted_ns),
        now_ns: fastest.map(|plan| plan.predicted_ns),
        plan_before: first.map(|plan| plan.plan.clone()),
        plan_now: fastest.map(|plan| plan.plan.clone()),
        verdict_before: before.verdict.answer,
        verdict_now: answer,
        failures: Vec::new(),
    };
    one.failures.extend(limits.slower.and_then(|limit| slower_than(&one, limit)));
    if limits.verdict {
        let of = [
            ("", before.verdict.answer, answer),
            (" for a single run", before.verdict.run_answer, run_answer),
        ];
        let turned = of.into_iter().find(|(_, before, now)| before != now);
        one.failures.extend(turned.map(|(what, before, now)| {
            format!("the verdict{what} changed from {} to {}", said(before), said(now))
        }));
    }
    one
}

fn slower_than(one: &Compared, limit: f64) -> Option<String> {
    let before = one.before_ns?;
    let (Some(now), Some(change)) = (one.now_ns, one.change()) else {
        return Some(format!("a run took {before}, but no plan can be predicted now"));
    };
    (change > limit).then(|| {
        let plan = one.plan_now.as_deref().unwrap_or_default();
        format!(
            "the fastest plan, `{plan}`, takes {now}, {} compared with {before}; the limit is {}",
            signed_percent(change),
            signed_percent(limit)
        )
    })
}

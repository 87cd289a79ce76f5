//! An evaluation against an earlier one: did anything get worse?

use super::evaluation::{Assessment, Evaluation};
use super::table::{Column, table};
use super::verdict::Answer;
use super::what_if::in_cell;
use super::words::{percent, quoted, signed_percent};
use super::{SCHEMA_VERSION, verdict::Verdict};
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

/// An earlier evaluation, as far as it is compared with.
#[derive(Debug, Clone, Deserialize)]
pub struct Baseline {
    scenarios: Vec<Earlier>,
}

#[derive(Debug, Clone, Deserialize)]
struct Earlier {
    scenario: String,
    verdict: EarlierVerdict,
    plans: Vec<EarlierPlan>,
}

#[derive(Debug, Clone, Deserialize)]
struct EarlierVerdict {
    answer: Answer,
    pass_answer: Answer,
}

/// Plans are in order, the fastest first.
#[derive(Debug, Clone, Deserialize)]
struct EarlierPlan {
    plan: String,
    predicted_ns: Span,
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
    /// The same now.
    pub now_ns: Option<Span>,
    /// Name of the fastest plan before.
    pub plan_before: Option<String>,
    /// Name of the fastest plan now.
    pub plan_now: Option<String>,
    /// The verdict of a whole program, before.
    pub verdict_before: Answer,
    /// The same now.
    pub verdict_now: Answer,
    /// Why it fails, in words. Empty if it does not.
    pub failures: Vec<String>,
}

impl Baseline {
    /// Reads what `hallway evaluate --format json` wrote.
    ///
    /// # Errors
    /// If it is something else, with the reason in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
        match version {
            Some(version) if version == u64::from(SCHEMA_VERSION) => {}
            Some(version) => {
                return Err(format!(
                    "it has schema version {version}; this hallway reads version {SCHEMA_VERSION}"
                ));
            }
            None => return Err("it has no `schema_version`".to_owned()),
        }
        serde_json::from_value(value).map_err(|error| format!("it is no evaluation: {error}"))
    }
}

impl Gate {
    /// Holds an evaluation against an earlier one.
    pub fn new(baseline: (&str, &Baseline), limits: Limits, evaluation: &Evaluation) -> Self {
        let (path, baseline) = baseline;
        let now = &evaluation.scenarios;
        let compared = now.iter().filter_map(|one| {
            let before = baseline.scenarios.iter().find(|old| old.scenario == one.scenario)?;
            Some(Compared::new(before, one, &limits))
        });
        let compared: Vec<Compared> = compared.collect();
        let is_compared = |name: &String| compared.iter().any(|one| one.scenario == *name);
        let rest = |names: Vec<String>| -> Vec<String> {
            names.into_iter().filter(|name| !is_compared(name)).collect()
        };
        let only_before = rest(baseline.scenarios.iter().map(|one| one.scenario.clone()).collect());
        let only_now = rest(now.iter().map(|one| one.scenario.clone()).collect());
        let failed = compared
            .iter()
            .flat_map(|one| one.failures.iter().map(move |why| format!("{}: {why}", one.scenario)));
        let mut failures: Vec<String> = failed.collect();
        if limits.missing {
            let gone = only_before.iter().map(|name| format!("{name}: it is not evaluated now"));
            let new = only_now.iter().map(|name| format!("{name}: the baseline does not have it"));
            failures.extend(gone.chain(new));
        }
        Self { baseline: path.to_owned(), limits, compared, only_before, only_now, failures }
    }

    pub fn text(&self, width: Option<usize>) -> String {
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
        let mut text = format!("\nAgainst {} ({}):\n\n", self.baseline, self.limits.words());
        text += &table(&header, &rows, width);
        for (names, what) in
            [(&self.only_before, "Only in the baseline"), (&self.only_now, "Not in the baseline")]
        {
            if !names.is_empty() {
                text += &format!("{what}: {}.\n", quoted(names).join(", "));
            }
        }
        text
    }
}

impl Limits {
    fn words(&self) -> String {
        let slower = self.slower.map(|share| format!("slower by more than {}", percent(share)));
        let verdict = self.verdict.then(|| "another verdict".to_owned());
        let missing = self.missing.then(|| "a missing scenario".to_owned());
        let said: Vec<String> = [slower, verdict, missing].into_iter().flatten().collect();
        format!("fails if {}", said.join(", "))
    }
}

impl Compared {
    fn new(before: &Earlier, now: &Assessment, limits: &Limits) -> Self {
        let (first, fastest) = (before.plans.first(), now.plans.first());
        let Verdict { answer, pass_answer, .. } = now.verdict;
        let mut one = Self {
            scenario: now.scenario.clone(),
            before_ns: first.map(|plan| plan.predicted_ns),
            now_ns: fastest.map(|plan| plan.predicted_ns),
            plan_before: first.map(|plan| plan.plan.clone()),
            plan_now: fastest.map(|plan| plan.plan.clone()),
            verdict_before: before.verdict.answer,
            verdict_now: answer,
            failures: Vec::new(),
        };
        one.failures.extend(limits.slower.and_then(|limit| one.slower_than(limit)));
        if limits.verdict {
            let of = [
                ("", before.verdict.answer, answer),
                (" of one pass", before.verdict.pass_answer, pass_answer),
            ];
            let turned = of.into_iter().find(|(_, before, now)| before != now);
            one.failures.extend(turned.map(|(what, before, now)| {
                format!("the verdict{what} was {}, and is {}", before.said(), now.said())
            }));
        }
        one
    }

    /// By what share the fastest plan is slower; below 0, faster.
    fn change(&self) -> Option<f64> {
        let (before, now) = self.before_ns.zip(self.now_ns)?;
        Some(now.nanos_f64() / before.nanos_f64().max(1.0) - 1.0)
    }

    fn slower_than(&self, limit: f64) -> Option<String> {
        let before = self.before_ns?;
        let (Some(now), Some(change)) = (self.now_ns, self.change()) else {
            return Some(format!("a pass took {before}, and no plan can be predicted now"));
        };
        (change > limit).then(|| {
            let plan = self.plan_now.as_deref().unwrap_or_default();
            format!(
                "the fastest plan, `{plan}`, takes {now}, {} on {before}; {} is allowed",
                signed_percent(change),
                signed_percent(limit)
            )
        })
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

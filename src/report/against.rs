//! Holding an evaluation against an earlier one: did anything get worse?

use super::evaluation::Evaluation;
use super::gate::{Compared, Gate, Limits};
use super::words::{date, plural, said, signed_percent};
use crate::findings::{Answer, Assessment, Verdict, titled};
use crate::units::Span;
use serde::Deserialize;
use std::collections::BTreeSet;

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
            Some(twice) => Err(format!("it has the scenario `{}` twice", twice.scenario)),
            None => Ok(baseline),
        }
    }
}

impl Evaluation {
    /// Says how it stands to an earlier evaluation, which has a path.
    #[must_use]
    pub fn against(mut self, (path, baseline): (&str, &Baseline), limits: Limits) -> Self {
        let now = &self.scenarios;
        let compared = now.iter().filter_map(|one| {
            let before = baseline.scenarios.iter().find(|old| old.title() == one.title())?;
            Some(compared(before, one, &limits))
        });
        let compared: Vec<Compared> = compared.collect();
        let is_compared = |name: &String| compared.iter().any(|one| one.scenario == *name);
        let rest = |names: Vec<String>| -> Vec<String> {
            names.into_iter().filter(|name| !is_compared(name)).collect()
        };
        let only_before = rest(baseline.scenarios.iter().map(Earlier::title).collect());
        let only_now = rest(now.iter().map(Assessment::title).collect());
        let failed = compared
            .iter()
            .flat_map(|one| one.failures.iter().map(move |why| format!("{}: {why}", one.scenario)));
        let mut failures: Vec<String> = failed.collect();
        if compared.is_empty() {
            failures.push(
                "nothing to compare: the two evaluations have no scenario in common".to_owned(),
            );
        }
        if limits.missing {
            let gone = only_before.iter().map(|name| format!("{name}: only in the baseline"));
            let new = only_now.iter().map(|name| format!("{name}: not in the baseline"));
            failures.extend(gone.chain(new));
        }
        let differences = self.differences(baseline);
        let baseline = path.to_owned();
        let gate =
            Gate { baseline, limits, compared, only_before, only_now, differences, failures };
        self.gate = Some(gate);
        self
    }

    /// What was asked otherwise then, in words.
    fn differences(&self, baseline: &Baseline) -> Vec<String> {
        let EarlierProfile { gpu, calibration_unix_time } = &baseline.profile;
        let is_other = *gpu != self.profile.gpu
            || *calibration_unix_time != self.profile.calibration_unix_time;
        let day =
            |time: Option<u64>| time.map_or_else(String::new, |at| format!(" of {}", date(at)));
        let profile = is_other.then(|| {
            format!(
                "The baseline uses a different calibration: {gpu}{}; this evaluation uses {}{}.",
                day(*calibration_unix_time),
                self.profile.gpu,
                day(self.profile.calibration_unix_time)
            )
        });
        let runs = self.scenarios.iter().filter_map(|now| {
            let before = baseline.scenarios.iter().find(|old| old.title() == now.title())?;
            (before.runs != now.runs).then(|| {
                let (many, name) = (plural(before.runs, "run"), &now.scenario);
                format!("`{name}` had {many} in the baseline; now it has {}.", now.runs)
            })
        });
        profile.into_iter().chain(runs).collect()
    }
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

//! What `hallway verify` found: how far predictions were from runs, and whether that is good
//! enough. For the terminal, as JSON, and for a README.

use super::table::{Column, Table};
use super::words::{
    fine_percent, folded, heading, if_known, or_dash, or_unknown, percent, plural, range,
    signed_percent,
};
use super::{Origin, SetUpReport};
use crate::compare::{Cell, ErrorFigures, KindFigures, Score, ScoredPlan};
use crate::machine::Side;
use crate::stats::{median, quantile, rounded};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Largest median of the absolute relative errors over all plans.
pub const MEDIAN_ERROR_LIMIT: f64 = 0.03;
/// Largest 95% quantile of the absolute relative errors over all plans.
pub const P95_ERROR_LIMIT: f64 = 0.10;
/// Largest regret in any scenario: by which share the chosen plan may be slower than the fastest.
pub const REGRET_LIMIT: f64 = 0.03;

/// Predictions compared with measured runs on one machine.
///
/// The keys are stable. Times are whole nanoseconds, and their keys end in `_ns`; errors and shares
/// are fractions, not percentages. Every key is always present. Values that are unknown or do not
/// apply are `null`, never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verification {
    /// The profile behind the predictions.
    pub profile: Origin,
    /// Digest of the profile, the plans and their predictions, computed before anything ran.
    pub predictions: Option<String>,
    /// The scenarios, in the order given.
    pub scenarios: Vec<ScoredScenario>,
    /// Errors over the plans of all scenarios.
    pub overall: Option<ErrorFigures>,
    /// Errors over the plans of each kind and over all plans, compared with three simpler
    /// predictions.
    pub kinds: Vec<KindFigures>,
    /// First use and set-up, which `--set-up` times in new processes. `null` if that was not done.
    pub set_up: Option<SetUpReport>,
    /// The checks, and whether they passed.
    pub checks: Vec<Check>,
}

/// One scenario: predictions compared with measured runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoredScenario {
    /// Name of the scenario.
    pub scenario: String,
    /// The plans that were predicted and run.
    pub plans: Vec<ScoredPlan>,
    /// Errors over its plans.
    pub errors: Option<ErrorFigures>,
    /// The plan predicted to be fastest.
    pub predicted_winner: Option<String>,
    /// The plan measured to be fastest.
    pub measured_winner: Option<String>,
    /// The share by which the chosen plan was slower than the fastest one measured.
    pub regret: Option<f64>,
    /// True if the verdict (CPU, GPU or both) was right. `null` unless both a plan on the CPU alone
    /// and another plan were run.
    pub verdict_right: Option<bool>,
    /// Kernels with stated times. When the plans were run, stand-ins that take these times
    /// replaced the kernels, so results could not be checked.
    pub stand_ins: Vec<String>,
}

/// A check, and whether it passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Whether it passed.
    pub passed: bool,
    /// What was checked, with the value found.
    pub what: String,
}

fn checks(scenarios: &[ScoredScenario], overall: Option<&ErrorFigures>) -> Vec<Check> {
    let missing = scenarios.iter().filter(|one| one.plans.is_empty());
    let missing = missing.map(|ScoredScenario { scenario, .. }| Check {
        passed: false,
        what: format!(
            "no run of {scenario} matches any of its plans: run `hallway verify` on the GPU again"
        ),
    });
    let mut checks: Vec<Check> = missing.collect();
    if let Some(errors) = overall {
        let of = format!(" over {}", plural(errors.plans as u64, "plan"));
        checks.push(at_most("median error", errors.median, &of, MEDIAN_ERROR_LIMIT));
        checks.push(at_most("95th percentile of errors", errors.p95, &of, P95_ERROR_LIMIT));
    }
    let regrets = scenarios.iter().filter_map(|one| Some((one.regret?, one.scenario.as_str())));
    let largest = regrets.max_by(|one, other| one.0.total_cmp(&other.0));
    checks.extend(largest.map(|(regret, scenario)| {
        at_most("largest regret", regret, &format!(", in {scenario}"), REGRET_LIMIT)
    }));
    checks.extend(called_right(scenarios));
    checks
}

/// In how many scenarios the verdict is right. `None` if it is not known of any.
fn called_right(scenarios: &[ScoredScenario]) -> Option<Check> {
    let verdicts: Vec<bool> = scenarios.iter().filter_map(|one| one.verdict_right).collect();
    let (right, all) = (verdicts.iter().filter(|&&right| right).count(), verdicts.len());
    let what = format!("correct verdicts (GPU or CPU): {right} of {all}");
    (all > 0).then_some(Check { passed: right == all, what })
}

fn at_most(what: &str, found: f64, of: &str, limit: f64) -> Check {
    let (shown, allowed) = (fine_percent(found), fine_percent(limit));
    Check { passed: found <= limit, what: format!("{what}: {shown}{of} (limit: {allowed})") }
}

impl From<&Score> for ScoredScenario {
    fn from(score: &Score) -> Self {
        let name = |cell: Option<&Cell>| cell.map(|cell| cell.scored.plan.clone());
        Self {
            scenario: score.scenario.clone(),
            plans: score.cells.iter().map(|cell| cell.scored.clone()).collect(),
            errors: ErrorFigures::of(&score.cells),
            predicted_winner: name(score.predicted_winner()),
            measured_winner: name(score.measured_winner()),
            regret: score.regret().map(rounded),
            verdict_right: score.verdict_is_right(),
            stand_ins: Vec::new(),
        }
    }
}

/// The scores of one verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Version of this form.
    hallway_scores: u32,
    /// Start of the calibration that the profile is from, in seconds since 1970.
    calibration_unix_time: Option<u64>,
    scenarios: Vec<String>,
    #[serde(flatten)]
    errors: ErrorFigures,
}

const FORM: u32 = 1;

impl Scores {
    /// What a verification says over all of its scenarios. `None` if no plan was scored.
    pub fn of(verification: &Verification) -> Option<Self> {
        Some(Self {
            hallway_scores: FORM,
            calibration_unix_time: verification.profile.calibration_unix_time,
            scenarios: verification.scenarios.iter().map(|one| one.scenario.clone()).collect(),
            errors: verification.overall?,
        })
    }

    /// The number of plans that were scored.
    pub fn plans(&self) -> usize {
        self.errors.plans
    }

    /// The JSON form, with a newline at its end.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("scores are plain data") + "\n"
    }

    /// The errors in what [`json`](Self::json) wrote. `None` if it is something else, or of another
    /// calibration: then nothing is known of this one.
    pub fn read(text: &str, calibration_unix_time: Option<u64>) -> Option<ErrorFigures> {
        let Self { hallway_scores, calibration_unix_time: at, errors, .. } =
            serde_json::from_str(text).ok()?;
        (hallway_scores == FORM && at == calibration_unix_time).then_some(errors)
    }
}

/// A row of the summary: a scenario, or all of them.
struct Summary<'a> {
    name: &'a str,
    errors: Option<&'a ErrorFigures>,
    /// `None` of all scenarios.
    scenario: Option<&'a ScoredScenario>,
}

/// In the order in which a narrow terminal loses them: how many plans there are, how many lie in
/// range, the worst error; then, with names folded, both winners.
fn summary<'a>(rows: &'a [Summary<'a>]) -> Table<'a, Summary<'a>> {
    let figure = |say: fn(&ErrorFigures) -> String| {
        move |row: &Summary<'_>| row.errors.map(say).unwrap_or_default()
    };
    let of = |say: fn(&ScoredScenario) -> Option<String>| {
        move |row: &Summary<'_>| row.scenario.and_then(say).unwrap_or_default()
    };
    Table::of(rows)
        .with(Column::words("scenario"), |row| row.name)
        .with(Column::number("plans").if_room(1), figure(|errors| errors.plans.to_string()))
        .with(Column::number("median error"), figure(|errors| fine_percent(errors.median)))
        .with(Column::number("95%"), figure(|errors| fine_percent(errors.p95)))
        .with(Column::number("worst").if_room(3), figure(|errors| fine_percent(errors.worst)))
        .with(Column::number("in range").if_room(2), figure(|errors| percent(errors.coverage)))
        .with(
            Column::words("predicted winner").if_folded(1),
            of(|one| one.predicted_winner.clone()),
        )
        .with(Column::words("measured winner").if_folded(1), of(measured_winner))
        .with(Column::number("regret"), of(|one| one.regret.map(fine_percent)))
        .with(
            Column::words("verdict"),
            of(|one| {
                Some(or_dash(
                    one.verdict_right.map(|is_right| if is_right { "right" } else { "WRONG" }),
                ))
            }),
        )
}

fn measured_winner(of: &ScoredScenario) -> Option<String> {
    let winner = of.measured_winner.clone()?;
    Some(if of.predicted_winner.as_ref() == Some(&winner) { "same".to_owned() } else { winner })
}

/// The table of runs. Where it is too wide, the spread of the passes goes first, then whether
/// the time lies in the range; with names folded, the range itself.
fn cells(plans: &[ScoredPlan], width: Option<usize>) -> String {
    Table::of(plans)
        .with(Column::words("plan"), |plan| &plan.plan)
        .with(Column::number("predicted"), |plan| plan.predicted_ns)
        .with(Column::number("range").if_folded(1), |plan| range(plan.low_ns, plan.high_ns))
        .with(Column::number("measured"), |plan| plan.measured_ns)
        .with(Column::number("spread").if_room(1), |plan| or_unknown(plan.spread.map(fine_percent)))
        .with(Column::number("error"), |plan| signed_percent(plan.error))
        .with(
            Column::number("in range").if_room(2),
            |plan| {
                if plan.is_covered() { "yes" } else { "no" }
            },
        )
        .text(width)
}

/// Columns go in a narrow terminal in this order: the worst error, then the baselines.
fn by_kind(kinds: &[KindFigures]) -> Table<'_, KindFigures> {
    Table::of(kinds)
        .with(Column::words("kind"), |of| &of.kind)
        .with(Column::number("plans"), |of| of.errors.plans)
        .with(Column::number("median error"), |of| fine_percent(of.errors.median))
        .with(Column::number("95%"), |of| fine_percent(of.errors.p95))
        .with(Column::number("worst").if_room(1), |of| fine_percent(of.errors.worst))
        .with(Column::number("in range"), |of| percent(of.errors.coverage))
        .with(Column::number("12 GB/s").if_room(4), |of| fine_percent(of.textbook))
        .with(Column::number("no overlap").if_room(3), |of| fine_percent(of.one_by_one))
        .with(Column::number("all overlaps").if_room(2), |of| fine_percent(of.busiest))
}

const BASELINES: &str = "The last columns show median errors of simpler predictions: kernels plus \
                         bytes at 12 GB/s; all calls one after another; only the busiest \
                         resource.\n";

impl Verification {
    pub fn new(profile: Origin, scores: &[Score]) -> Self {
        let cells = || scores.iter().flat_map(|score| &score.cells);
        let overall = ErrorFigures::of(cells());
        let kinds = KindFigures::of(cells());
        let scenarios: Vec<ScoredScenario> = scores.iter().map(ScoredScenario::from).collect();
        let checks = checks(&scenarios, overall.as_ref());
        Self { profile, predictions: None, scenarios, overall, kinds, set_up: None, checks }
    }

    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    fn plans(&self) -> impl Iterator<Item = &ScoredPlan> {
        self.scenarios.iter().flat_map(|scenario| &scenario.plans)
    }

    /// Every plan of every scenario, then the summary and what was checked, in lines of at most so
    /// many columns, if a number is given.
    pub fn text_within(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        for scenario in &self.scenarios {
            let _ = write!(text, "\n{}\n", heading(&scenario.scenario, "", width));
            text.push_str(&cells(&scenario.plans, width));
        }
        let _ = write!(text, "\n{}\n", summary(&self.summaries()).text(width));
        text += &(self.passes_beside() + &self.stand_ins() + &self.on_cpu(""));
        text += &self.check_lines("");
        folded(&(text + &self.set_up_text(width)), width)
    }

    fn set_up_text(&self, width: Option<usize>) -> String {
        if_known(self.set_up.as_ref(), |set_up| format!("\n{}", set_up.text(width)))
    }

    fn set_up_markdown(&self) -> String {
        if_known(self.set_up.as_ref(), |set_up| format!("\n{}", set_up.markdown()))
    }

    /// How many passes do not count; empty if all do.
    fn passes_beside(&self) -> String {
        let beside: usize = self.plans().map(|plan| plan.passes_beside).sum();
        let all = beside + self.plans().map(|plan| plan.passes).sum::<usize>();
        if beside == 0 {
            return String::new();
        }
        let share = percent(beside as f64 / all as f64);
        format!(
            "Not counted: {beside} of {all} timed runs ({share}), during which something else used \
             the calling thread's core.\n"
        )
    }

    /// In whose place stand-ins ran; empty if in none.
    fn stand_ins(&self) -> String {
        let of = |one: &ScoredScenario| {
            let kernels = plural(one.stand_ins.len() as u64, "kernel");
            format!(
                "{}: stand-ins ran in place of {kernels} whose times are stated. They take those \
                 times and leave memory as it is, so results were not checked.\n",
                one.scenario
            )
        };
        self.scenarios.iter().filter(|one| !one.stand_ins.is_empty()).map(of).collect()
    }

    /// How far off the CPU's plans are. They are few, but each decides a verdict.
    fn on_cpu(&self, bullet: &str) -> String {
        let plans = self.plans().filter(|plan| plan.side == Side::Cpu);
        let mut errors: Vec<f64> = plans.map(|plan| plan.error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let middle = fine_percent(median(&sizes).unwrap_or_default());
        match errors.into_iter().map(signed_percent).collect::<Vec<_>>().as_slice() {
            [] => String::new(),
            [only] => format!("{bullet}error of the plan on the CPU: {only}\n"),
            [low, .., high] => {
                format!(
                    "{bullet}errors of plans on the CPU: {low} to {high}; median magnitude \
                     {middle}\n"
                )
            }
        }
    }

    /// The summary and the checks in Markdown.
    pub fn markdown(&self) -> String {
        let summary = summary(&self.summaries()).markdown();
        let lines = self.on_cpu("- ") + &self.check_lines("- ");
        format!("{summary}\n{lines}{}", self.set_up_markdown())
    }

    fn check_lines(&self, bullet: &str) -> String {
        let line = |Check { passed, what }: &Check| {
            format!("{bullet}{}  {what}\n", if *passed { "pass" } else { "FAIL" })
        };
        self.checks.iter().map(line).collect()
    }

    fn summaries(&self) -> Vec<Summary<'_>> {
        let all = Summary { name: "all", errors: self.overall.as_ref(), scenario: None };
        let rows = self.scenarios.iter().map(|one| Summary {
            name: &one.scenario,
            errors: one.errors.as_ref(),
            scenario: Some(one),
        });
        rows.chain((self.scenarios.len() > 1).then_some(all)).collect()
    }

    /// Errors by kind of plan, beside the median errors of three baselines, and what the choices of
    /// plans would have cost.
    pub fn text_by_kind(&self, width: Option<usize>) -> String {
        let text = format!("{}\n\n{}\n", self.profile, by_kind(&self.kinds).text(width));
        let text = text + BASELINES + &self.passes_beside() + &self.choices("");
        folded(&(text + &self.set_up_text(width)), width)
    }

    /// What [`text_by_kind`](Self::text_by_kind) says, in Markdown.
    pub fn markdown_by_kind(&self) -> String {
        let kinds = by_kind(&self.kinds).markdown() + "\n" + BASELINES;
        kinds + "\n" + &self.choices("- ") + &self.set_up_markdown()
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
        let right = called_right(&self.scenarios);
        text + &if_known(right, |Check { what, .. }| format!("{bullet}{what}\n"))
    }
}

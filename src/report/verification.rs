//! What `hallway verify` found, as values: how far predictions were from runs,
//! and whether that is good enough.

use super::Origin;
use super::words::{fine_percent, plural};
use crate::compare::{Cell, ErrorFigures, KindFigures, Score};
use crate::machine::Side;
use crate::stats::rounded;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Largest median of the absolute relative errors over all plans.
pub const MEDIAN_ERROR_LIMIT: f64 = 0.03;
/// Largest 95% quantile of the absolute relative errors over all plans.
pub const P95_ERROR_LIMIT: f64 = 0.10;
/// Largest regret in any scenario: by which share the chosen plan may be slower than the fastest.
pub const REGRET_LIMIT: f64 = 0.03;

/// Predictions compared with measured runs on one machine.
///
/// The keys are stable. Times end in `_ns` and are whole nanoseconds; errors and shares are
/// fractions, not percentages. Every key is always present: values that are unknown or do not apply
/// are `null`, never a number.
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
    /// Errors over the plans of each kind and of all, compared with three simpler predictions.
    pub kinds: Vec<KindFigures>,
    /// The checks, and whether they passed.
    pub checks: Vec<Check>,
}

/// One scenario: predictions compared with runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoredScenario {
    /// Its name.
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
    /// True if the verdict (CPU, GPU or both) was right. `null` if no plan on the CPU alone was
    /// run, or no other plan.
    pub verdict_right: Option<bool>,
}

/// A plan that was predicted and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoredPlan {
    /// Name of the plan.
    pub plan: String,
    /// The processors that compute.
    pub side: Side,
    /// Predicted time of one run.
    pub predicted_ns: Span,
    /// Lower end of the predicted range.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// Median time of the measured runs.
    pub measured_ns: Span,
    /// Robust relative spread of the measured runs. `null` if there is only one.
    pub spread: Option<f64>,
    /// Number of measured runs.
    pub passes: usize,
    /// Number of runs that are not counted because something else used the core of the calling
    /// thread.
    pub passes_beside: usize,
    /// Relative error of the prediction; positive if the prediction was too long.
    pub error: f64,
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

impl Verification {
    pub fn new(profile: Origin, scores: &[Score]) -> Self {
        let cells = || scores.iter().flat_map(|score| &score.cells);
        let overall = ErrorFigures::of(cells());
        let kinds = KindFigures::of(cells());
        let scenarios: Vec<ScoredScenario> = scores.iter().map(ScoredScenario::from).collect();
        let checks = checks(&scenarios, overall.as_ref());
        Self { profile, predictions: None, scenarios, overall, kinds, checks }
    }

    /// The figures as they were found, without limits that they must keep.
    #[must_use]
    pub fn without_checks(self) -> Self {
        Self { checks: Vec::new(), ..self }
    }

    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

fn checks(scenarios: &[ScoredScenario], overall: Option<&ErrorFigures>) -> Vec<Check> {
    let mut checks = Vec::new();
    let missing = scenarios.iter().filter(|scenario| scenario.plans.is_empty());
    checks.extend(missing.map(|scenario| Check {
        passed: false,
        what: format!(
            "no run of {} matches any of its plans: verify it on the GPU again",
            scenario.scenario
        ),
    }));
    if let Some(errors) = overall {
        let plans = errors.plans;
        checks.push(at_most("median error", errors.median, MEDIAN_ERROR_LIMIT, plans));
        checks.push(at_most("95th percentile of errors", errors.p95, P95_ERROR_LIMIT, plans));
    }
    let regrets = scenarios.iter().filter_map(|one| Some((one.regret?, one.scenario.as_str())));
    if let Some((regret, scenario)) = regrets.max_by(|one, other| one.0.total_cmp(&other.0)) {
        let (found, limit) = (fine_percent(regret), fine_percent(REGRET_LIMIT));
        checks.push(Check {
            passed: regret <= REGRET_LIMIT,
            what: format!("largest regret: {found}, in {scenario} (limit: {limit})"),
        });
    }
    checks.extend(called_right(scenarios));
    checks
}

/// In how many scenarios the verdict is right. `None` if it is not known of any.
pub(super) fn called_right(scenarios: &[ScoredScenario]) -> Option<Check> {
    let verdicts: Vec<bool> = scenarios.iter().filter_map(|one| one.verdict_right).collect();
    let (right, all) = (verdicts.iter().filter(|&&right| right).count(), verdicts.len());
    let what = format!("correct verdicts (GPU or CPU): {right} of {all}");
    (all > 0).then_some(Check { passed: right == all, what })
}

fn at_most(what: &str, found: f64, limit: f64, plans: usize) -> Check {
    let (shown, allowed) = (fine_percent(found), fine_percent(limit));
    Check {
        passed: found <= limit,
        what: format!("{what}: {shown} over {} (limit: {allowed})", plural(plans as u64, "plan")),
    }
}

impl From<&Score> for ScoredScenario {
    fn from(score: &Score) -> Self {
        let name = |cell: Option<&Cell>| cell.map(|cell| cell.plan.clone());
        Self {
            scenario: score.scenario.clone(),
            plans: score.cells.iter().map(ScoredPlan::from).collect(),
            errors: ErrorFigures::of(&score.cells),
            predicted_winner: name(score.predicted_winner()),
            measured_winner: name(score.measured_winner()),
            regret: score.regret().map(rounded),
            verdict_right: score.verdict_is_right(),
        }
    }
}

impl From<&Cell> for ScoredPlan {
    fn from(cell: &Cell) -> Self {
        Self {
            plan: cell.plan.clone(),
            side: cell.side,
            predicted_ns: cell.predicted,
            low_ns: cell.low,
            high_ns: cell.high,
            measured_ns: cell.measured,
            spread: cell.spread.map(rounded),
            passes: cell.passes,
            passes_beside: cell.beside,
            error: rounded(cell.error()),
        }
    }
}

impl ScoredPlan {
    pub fn is_covered(&self) -> bool {
        self.low_ns <= self.measured_ns && self.measured_ns <= self.high_ns
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
        let json = serde_json::to_string_pretty(self).expect("scores are plain data");
        json + "\n"
    }

    /// The errors in what [`json`](Self::json) wrote. `None` if it is something else, or of another
    /// calibration: then nothing is known of this one.
    pub fn read(text: &str, calibration_unix_time: Option<u64>) -> Option<ErrorFigures> {
        let Self { hallway_scores, calibration_unix_time: at, errors, .. } =
            serde_json::from_str(text).ok()?;
        (hallway_scores == FORM && at == calibration_unix_time).then_some(errors)
    }
}

//! What `hallway verify` found, as values: how far predictions were from runs,
//! and whether that is good enough.

use super::Origin;
use super::words::{fine_percent, rounded};
use crate::compare::{Cell, Errors, KindErrors, Score};
use crate::machine::Side;
use crate::profile::Handling;
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest median of the absolute relative errors over all plans.
pub const MEDIAN_ERROR_LIMIT: f64 = 0.03;
/// Largest 95% quantile of the absolute relative errors over all plans.
pub const P95_ERROR_LIMIT: f64 = 0.10;
/// Largest regret in any scenario: by which share the chosen plan may be slower than the fastest.
pub const REGRET_LIMIT: f64 = 0.03;

/// Predictions beside runs for some scenarios on one machine.
///
/// These names are the keys of the JSON form; they are stable. Times end in
/// `_ns` and are whole nanoseconds; errors and shares are fractions, not percent. Every key is
/// always there: what is not known, or does not apply, is `null` and never a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Verification {
    /// The profile that predictions are made from.
    pub profile: Origin,
    /// A digest of the profile, the plans and their predictions, made before anything ran.
    pub predictions: Option<String>,
    /// The scenarios, in the order in which they were named.
    pub scenarios: Vec<ScoredScenario>,
    /// Over the plans of all scenarios.
    pub overall: Option<ErrorFigures>,
    /// Over the plans of each kind, and then of all, beside three baselines.
    pub kinds: Vec<KindFigures>,
    /// What must hold, and whether it does.
    pub checks: Vec<Check>,
}

/// One scenario: predictions beside runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ScoredScenario {
    /// Its name.
    pub scenario: String,
    /// The plans that were predicted and run.
    pub plans: Vec<ScoredPlan>,
    /// Errors over its plans.
    pub errors: Option<ErrorFigures>,
    /// The plan that was predicted to be the fastest.
    pub predicted_winner: Option<String>,
    /// The plan that was measured to be the fastest.
    pub measured_winner: Option<String>,
    /// By which share the chosen plan is slower than the fastest one measured.
    pub regret: Option<f64>,
    /// Whether CPU, GPU or both was called right; `null` where the CPU alone was not tried, or
    /// nothing else was.
    pub verdict_right: Option<bool>,
}

/// A plan that was predicted and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ScoredPlan {
    /// Name of the plan.
    pub plan: String,
    /// Who computes.
    pub side: Side,
    /// Predicted time of one pass.
    pub predicted_ns: Span,
    /// Lower end of the range that the prediction gave with 90% confidence.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// Median of the measured passes.
    pub measured_ns: Span,
    /// Robust relative spread of the passes. `null` for a single pass.
    pub spread: Option<f64>,
    /// How many passes were measured.
    pub passes: usize,
    /// How many passes do not count because something else used the core of the issuing thread.
    pub passes_beside: usize,
    /// Relative error of the prediction, positive where it was too slow.
    pub error: f64,
}

/// A summary of prediction errors. `median`, `p95` and `worst` are of absolute relative errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ErrorFigures {
    /// Number of plans.
    pub plans: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// 95% quantile of the absolute relative errors.
    pub p95: f64,
    /// Largest absolute relative error.
    pub worst: f64,
    /// Share of the measurements inside their predicted range.
    pub coverage: f64,
}

/// Errors over the plans of one kind, beside those of three simpler predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct KindFigures {
    /// The kind: `cpu`, `pageable`, `pinned` or `graph`, by what the plan copies and how it is
    /// launched; `all` for all of them.
    pub kind: String,
    /// Errors over these plans.
    pub errors: ErrorFigures,
    /// Median of the absolute relative errors of a textbook's rule of thumb: what the kernels take,
    /// and the copied bytes at 12 GB/s.
    pub textbook: f64,
    /// Median of the absolute relative errors of a prediction without overlap: the sum of what each
    /// call takes.
    pub one_by_one: f64,
    /// Median of the absolute relative errors of a prediction with perfect overlap: the time for
    /// which the busiest resource works.
    pub busiest: f64,
}

/// Something that must hold, and whether it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Check {
    /// Whether it holds.
    pub passed: bool,
    /// What was checked, and the figure that was found.
    pub what: String,
}

impl Verification {
    pub fn new(profile: Origin, scores: &[Score]) -> Self {
        let cells = || scores.iter().flat_map(|score| &score.cells);
        let overall = Errors::of(cells()).map(ErrorFigures::from);
        let kinds = KindErrors::of(cells()).into_iter().map(KindFigures::from).collect();
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

    /// The JSON form, with a newline at its end.
    pub fn json(&self) -> String {
        super::json(self)
    }
}

fn checks(scenarios: &[ScoredScenario], overall: Option<&ErrorFigures>) -> Vec<Check> {
    let mut checks = Vec::new();
    let missing = scenarios.iter().filter(|scenario| scenario.plans.is_empty());
    checks.extend(missing.map(|scenario| Check {
        passed: false,
        what: format!(
            "no run of {} matches one of its plans: verify it on the GPU again",
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
        what: format!("{what}: {shown} over {plans} plans (limit: {allowed})"),
    }
}

impl From<&Score> for ScoredScenario {
    fn from(score: &Score) -> Self {
        let name = |cell: Option<&Cell>| cell.map(|cell| cell.plan.clone());
        Self {
            scenario: score.scenario.clone(),
            plans: score.cells.iter().map(ScoredPlan::from).collect(),
            errors: score.errors().map(ErrorFigures::from),
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

impl From<KindErrors> for KindFigures {
    fn from(of: KindErrors) -> Self {
        let kind = match of.kind {
            None => "all",
            Some(Handling::Cpu) => "cpu",
            Some(Handling::Pageable) => "pageable",
            Some(Handling::Pinned) => "pinned",
            Some(Handling::Graph) => "graph",
        };
        Self {
            kind: kind.to_owned(),
            errors: of.errors.into(),
            textbook: rounded(of.textbook),
            one_by_one: rounded(of.one_by_one),
            busiest: rounded(of.busiest),
        }
    }
}

impl From<Errors> for ErrorFigures {
    fn from(errors: Errors) -> Self {
        Self {
            plans: errors.plans,
            median: rounded(errors.median),
            p95: rounded(errors.p95),
            worst: rounded(errors.worst),
            coverage: rounded(errors.coverage),
        }
    }
}

//! Predicted against measured: errors, regret, verdicts. And measured against
//! measured: whether a machine is what it was, and whether two profiles of it agree.
//!
//! Invariant: both sides arrive as finished numbers; nothing here can change
//! either of them.

mod agreement;
mod drift;
mod ledger;
mod replay;
mod set_up;

pub use agreement::{Agreement, Pair};
pub use drift::{Answer as DriftAnswer, Drift};
pub use ledger::{Effect, Ledger, LedgerMachine, Worth};
pub use replay::Replay;
pub use set_up::{
    FailedSetUp, PartFigures, ScoredPart, ScoredSetUp, SetUpFigures, SetUpMeasured, SetUpPart,
};

use crate::machine::Side;
use crate::profile::Handling;
use crate::stats::{median, quantile, rounded};
use crate::units::Span;
use serde::{Deserialize, Serialize};

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

impl ScoredPlan {
    pub fn is_covered(&self) -> bool {
        self.low_ns <= self.measured_ns && self.measured_ns <= self.high_ns
    }
}

/// One plan, predicted and measured, beside what simpler predictions would have been.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub scored: ScoredPlan,
    pub kind: Handling,
    /// The rule of thumb of a textbook: kernels and bytes at 12 GB/s.
    pub textbook: Span,
    /// All calls one after another, without any overlap.
    pub one_by_one: Span,
    /// Perfect overlap, in which only the busiest resource counts.
    pub busiest: Span,
}

impl Cell {
    /// Relative error of the prediction, positive where it was too slow.
    pub fn error(&self) -> f64 {
        self.error_of(self.scored.predicted_ns)
    }

    /// Relative error of another prediction.
    pub fn error_of(&self, predicted: Span) -> f64 {
        predicted.nanos_f64() / self.scored.measured_ns.nanos_f64() - 1.0
    }
}

/// All plans of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    pub scenario: String,
    pub cells: Vec<Cell>,
    /// Which of the cells has the plan that the prediction says to choose: not always the one with
    /// the shortest prediction, for others may tie with it and be simpler.
    pub chosen: Option<usize>,
    /// Median passes of the chosen plan and of the one measured the fastest when the two were run
    /// again, in turn; `None` if they were not, or are one plan.
    pub rerun: Option<[Span; 2]>,
}

/// A summary of prediction errors. `median`, `p95` and `worst` are absolute relative errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorFigures {
    /// Number of plans.
    pub plans: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// 95th percentile of the absolute relative errors.
    pub p95: f64,
    /// Largest absolute relative error.
    pub worst: f64,
    /// Share of the measurements within their predicted ranges.
    pub coverage: f64,
}

impl ErrorFigures {
    /// `None` if there are no cells.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<Self> {
        let cells: Vec<&Cell> = cells.into_iter().collect();
        let errors: Vec<f64> = cells.iter().map(|cell| cell.error().abs()).collect();
        let covered = cells.iter().filter(|cell| cell.scored.is_covered()).count();
        Some(Self {
            plans: cells.len(),
            median: rounded(median(&errors)?),
            p95: rounded(quantile(&errors, 0.95)?),
            worst: rounded(quantile(&errors, 1.0)?),
            coverage: rounded(covered as f64 / cells.len() as f64),
        })
    }
}

/// Errors over the plans of one kind, compared with those of three simpler predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindFigures {
    /// The kind: `cpu`, `pageable`, `pinned` or `graph`, by what the plan copies and how it is
    /// launched; `all` for all of them.
    pub kind: String,
    /// Errors over these plans.
    pub errors: ErrorFigures,
    /// Median of the absolute relative errors of a textbook rule of thumb: kernel times plus copied
    /// bytes at 12 GB/s.
    pub textbook: f64,
    /// Median of the absolute relative errors of a prediction without overlap: the sum of the times
    /// of all calls.
    pub one_by_one: f64,
    /// Median of the absolute relative errors of a prediction with perfect overlap: the time for
    /// which the busiest resource is busy.
    pub busiest: f64,
}

impl KindFigures {
    /// Each kind of which there are cells, and then all.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<Self> {
        let cells: Vec<&Cell> = cells.into_iter().collect();
        let kinds = Handling::ALL.map(Some).into_iter().chain([None]);
        let of = |kind: Option<Handling>| {
            let alike = cells.iter().filter(|cell| kind.is_none_or(|kind| cell.kind == kind));
            let alike: Vec<&Cell> = alike.copied().collect();
            let of = |baseline: fn(&Cell) -> Span| {
                let errors = alike.iter().map(|cell| cell.error_of(baseline(cell)).abs());
                median(&errors.collect::<Vec<f64>>()).map(rounded)
            };
            Some(Self {
                kind: kind.map_or("all", Handling::name).to_owned(),
                textbook: of(|cell| cell.textbook)?,
                one_by_one: of(|cell| cell.one_by_one)?,
                busiest: of(|cell| cell.busiest)?,
                errors: ErrorFigures::of(alike)?,
            })
        };
        kinds.filter_map(of).collect()
    }
}

impl Score {
    /// The plan that the prediction says to choose.
    pub fn predicted_winner(&self) -> Option<&Cell> {
        self.cells.get(self.chosen?)
    }

    /// The plan that was measured the fastest.
    pub fn measured_winner(&self) -> Option<&Cell> {
        self.cells.iter().min_by_key(|cell| cell.scored.measured_ns)
    }

    /// By which share the chosen plan is slower than the fastest one measured: by their reruns, if
    /// there are any. One that turns out to be faster is not slower.
    pub fn regret(&self) -> Option<f64> {
        let measured = [self.predicted_winner()?, self.measured_winner()?];
        let measured = measured.map(|cell| cell.scored.measured_ns);
        let [chosen, fastest] = self.rerun.unwrap_or(measured).map(Span::nanos_f64);
        Some((chosen / fastest - 1.0).max(0.0))
    }

    /// Whether prediction and measurement agree on CPU, GPU or both; `None` where the CPU alone was
    /// not tried, or nothing else was.
    pub fn verdict_is_right(&self) -> Option<bool> {
        let is_on_cpu = |cell: &Cell| cell.scored.side == Side::Cpu;
        let has_other = !self.cells.iter().all(is_on_cpu);
        let are_told = has_other && self.cells.iter().any(is_on_cpu);
        let [predicted, measured] = [self.predicted_winner()?, self.measured_winner()?];
        are_told.then_some(predicted.scored.side == measured.scored.side)
    }
}

//! Predicted against measured: errors, regret, verdicts. And measured against
//! measured: whether a machine is what it was, and whether two profiles of it agree.
//!
//! Invariant: both sides arrive as finished numbers; nothing here can change
//! either of them.

mod agreement;
mod drift;

pub use agreement::{Agreement, Pair};
pub use drift::{Answer as DriftAnswer, Drift};

use crate::machine::Side;
use crate::profile::Handling;
use crate::stats::{median, quantile};
use crate::units::Span;
use serde::Serialize;

/// One plan, predicted and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub plan: String,
    pub side: Side,
    pub kind: Handling,
    pub predicted: Span,
    /// The range that the prediction gave with 90% confidence.
    pub low: Span,
    pub high: Span,
    /// What simpler predictions would have been: the rule of thumb of a textbook, kernels and bytes
    /// at 12 GB/s; all calls one after another, without any overlap; and perfect overlap, in which
    /// only the busiest resource counts.
    pub textbook: Span,
    pub one_by_one: Span,
    pub busiest: Span,
    /// Median of the measured passes.
    pub measured: Span,
    /// Robust relative spread of the measured passes, if there are several.
    pub spread: Option<f64>,
    /// How many passes the median is of, and how many were set apart because something else used
    /// the core.
    pub passes: usize,
    pub beside: usize,
}

impl Cell {
    /// Relative error of the prediction, positive where it was too slow.
    pub fn error(&self) -> f64 {
        self.error_of(self.predicted)
    }

    /// Relative error of another prediction.
    pub fn error_of(&self, predicted: Span) -> f64 {
        predicted.nanos_f64() / self.measured.nanos_f64() - 1.0
    }

    pub fn is_covered(&self) -> bool {
        self.low <= self.measured && self.measured <= self.high
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

/// A summary of prediction errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    pub plans: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    pub p95: f64,
    pub worst: f64,
    /// Share of measurements inside the predicted range.
    pub coverage: f64,
}

impl Errors {
    /// `None` if there are no cells.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<Self> {
        let cells: Vec<&Cell> = cells.into_iter().collect();
        let errors: Vec<f64> = cells.iter().map(|cell| cell.error().abs()).collect();
        let covered = cells.iter().filter(|cell| cell.is_covered()).count();
        Some(Self {
            plans: cells.len(),
            median: median(&errors)?,
            p95: quantile(&errors, 0.95)?,
            worst: quantile(&errors, 1.0)?,
            coverage: covered as f64 / cells.len() as f64,
        })
    }
}

/// The errors over plans of one kind, or of all kinds, beside those of three baselines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KindErrors {
    /// `None` is all kinds.
    pub kind: Option<Handling>,
    pub errors: Errors,
    /// Medians of the absolute relative errors of the baselines: [`Cell::textbook`],
    /// [`Cell::one_by_one`] and [`Cell::busiest`].
    pub textbook: f64,
    pub one_by_one: f64,
    pub busiest: f64,
}

impl KindErrors {
    /// Each kind of which there are cells, and then all.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<Self> {
        let cells: Vec<&Cell> = cells.into_iter().collect();
        let kinds = Handling::ALL.into_iter().map(Some).chain([None]);
        let of = |kind: Option<Handling>| {
            let alike = cells.iter().filter(|cell| kind.is_none_or(|kind| cell.kind == kind));
            let alike: Vec<&Cell> = alike.copied().collect();
            let of = |baseline: fn(&Cell) -> Span| {
                let errors = alike.iter().map(|cell| cell.error_of(baseline(cell)).abs());
                median(&errors.collect::<Vec<f64>>())
            };
            let (one_by_one, busiest) = (of(|cell| cell.one_by_one)?, of(|cell| cell.busiest)?);
            let textbook = of(|cell| cell.textbook)?;
            Some(Self { kind, errors: Errors::of(alike)?, textbook, one_by_one, busiest })
        };
        kinds.filter_map(of).collect()
    }
}

impl Score {
    pub fn errors(&self) -> Option<Errors> {
        Errors::of(&self.cells)
    }

    /// The plan that the prediction says to choose.
    pub fn predicted_winner(&self) -> Option<&Cell> {
        self.cells.get(self.chosen?)
    }

    /// The plan that was measured the fastest.
    pub fn measured_winner(&self) -> Option<&Cell> {
        self.cells.iter().min_by_key(|cell| cell.measured)
    }

    /// By which share the chosen plan is slower than the fastest one measured: by their reruns, if
    /// there are any. One that turns out to be faster is not slower.
    pub fn regret(&self) -> Option<f64> {
        let measured = [self.predicted_winner()?.measured, self.measured_winner()?.measured];
        let [chosen, fastest] = self.rerun.unwrap_or(measured).map(Span::nanos_f64);
        Some((chosen / fastest - 1.0).max(0.0))
    }

    /// Whether prediction and measurement agree on CPU, GPU or both; `None` where the CPU alone was
    /// not tried, or nothing else was.
    pub fn verdict_is_right(&self) -> Option<bool> {
        let is_on_cpu = |cell: &Cell| cell.side == Side::Cpu;
        let has_other = !self.cells.iter().all(is_on_cpu);
        let are_told = has_other && self.cells.iter().any(is_on_cpu);
        are_told.then_some(self.predicted_winner()?.side == self.measured_winner()?.side)
    }
}

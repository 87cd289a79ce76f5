//! What plans take once in a new process: predicted against measured.

use crate::stats::{median, quantile, rounded};
use crate::units::{Span, words};
use serde::{Deserialize, Serialize};

words! {
    /// A part of what a program takes once in a new process.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum SetUpPart {
        /// The first calls of the driver, up to a context on each GPU.
        Context = "context",
        /// Loading the kernels' module.
        Module = "module",
        /// Streams, events, memory and graphs.
        SetUp = "set-up",
        /// By how much the first run takes longer than a later one: first launches, first touches
        /// of memory.
        FirstRun = "first run",
    }
}

/// A part of what a plan takes once, predicted and measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoredPart {
    /// The part.
    pub part: SetUpPart,
    /// Predicted time. `null` if not all of what the plan takes once can be predicted.
    pub predicted_ns: Option<Span>,
    /// Median time in the new processes.
    pub measured_ns: Span,
}

/// A plan that was set up in new processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScoredSetUp {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the plan.
    pub plan: String,
    /// Number of new processes.
    pub processes: usize,
    /// Predicted time of first use and set-up together. `null` if the profile does not know all of
    /// it, or if the plan calls cuBLAS or cuFFT, whose start is not predicted.
    pub predicted_ns: Option<Span>,
    /// Median of the measured times.
    pub measured_ns: Span,
    /// Relative error of the prediction; positive if the prediction was too long.
    pub error: Option<f64>,
    /// Predicted and measured time of each part.
    pub parts: Vec<ScoredPart>,
}

/// A plan that a new process could not set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedSetUp {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the plan.
    pub plan: String,
    /// What happened.
    pub why: String,
}

/// A summary of the errors of a part, over the plans that have it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartFigures {
    /// The part.
    pub part: SetUpPart,
    /// Number of plans in which the part took any time.
    pub plans: usize,
    /// Median over these plans of the predicted time.
    pub predicted_ns: Option<Span>,
    /// Median over these plans of the measured time.
    pub measured_ns: Option<Span>,
    /// Median of the absolute relative errors.
    pub median: Option<f64>,
}

/// A summary of errors over plans. `median` and `worst` are absolute relative errors of what a plan
/// takes once in a new process, all parts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetUpFigures {
    /// Number of plans.
    pub plans: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// Largest absolute relative error.
    pub worst: f64,
    /// Errors of each part.
    pub parts: Vec<PartFigures>,
}

impl ScoredSetUp {
    /// Compares a prediction, with a time for each part, with some new processes. `None` if there
    /// are none.
    pub fn new(
        (scenario, plan): (&str, &str),
        predicted: Option<[Span; SetUpPart::ALL.len()]>,
        processes: &[SetUpMeasured],
    ) -> Option<Self> {
        let middle = |of: &dyn Fn(&SetUpMeasured) -> Span| {
            let times: Vec<f64> = processes.iter().map(|one| of(one).nanos_f64()).collect();
            median(&times).map(Span::from_nanos_f64)
        };
        let measured_ns = middle(&|one| one.once)?;
        let part = |(at, part): (usize, SetUpPart)| {
            let predicted_ns = predicted.map(|parts| parts[at]);
            Some(ScoredPart { part, predicted_ns, measured_ns: middle(&|one| one.parts[at])? })
        };
        let parts = SetUpPart::ALL.into_iter().enumerate().map(part).collect::<Option<_>>()?;
        let predicted_ns = predicted.map(|parts| parts.into_iter().sum());
        Some(Self {
            scenario: scenario.to_owned(),
            plan: plan.to_owned(),
            processes: processes.len(),
            predicted_ns,
            measured_ns,
            error: predicted_ns.and_then(|predicted| error(predicted, measured_ns)).map(rounded),
            parts,
        })
    }
}

/// What one new process took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUpMeasured {
    /// In the order of [`SetUpPart::ALL`]. A first run that took less than a later one counts as
    /// nothing here.
    pub parts: [Span; SetUpPart::ALL.len()],
    /// All together.
    pub once: Span,
}

/// The relative error of a prediction; `None` if the measured time is zero.
fn error(predicted: Span, measured: Span) -> Option<f64> {
    (measured > Span::ZERO).then(|| predicted.nanos_f64() / measured.nanos_f64() - 1.0)
}

impl SetUpFigures {
    /// `None` if no plan was predicted and measured.
    pub fn of(plans: &[ScoredSetUp]) -> Option<Self> {
        let errors: Vec<f64> = plans.iter().filter_map(|plan| plan.error).map(f64::abs).collect();
        let scored = || plans.iter().filter(|plan| plan.error.is_some());
        let part = |part: SetUpPart| PartFigures::of(part, scored().flat_map(|plan| &plan.parts));
        Some(Self {
            plans: errors.len(),
            median: rounded(median(&errors)?),
            worst: rounded(quantile(&errors, 1.0)?),
            parts: SetUpPart::ALL.into_iter().map(part).collect(),
        })
    }
}

impl PartFigures {
    fn of<'p>(part: SetUpPart, all: impl Iterator<Item = &'p ScoredPart>) -> Self {
        let times = all.filter(|one| one.part == part).filter_map(|one| {
            let predicted = one.predicted_ns?;
            Some((predicted, one.measured_ns, error(predicted, one.measured_ns)?))
        });
        let times: Vec<(Span, Span, f64)> = times.collect();
        let middle = |of: &dyn Fn(&(Span, Span, f64)) -> f64| {
            median(&times.iter().map(of).collect::<Vec<f64>>())
        };
        Self {
            part,
            plans: times.len(),
            predicted_ns: middle(&|one| one.0.nanos_f64()).map(Span::from_nanos_f64),
            measured_ns: middle(&|one| one.1.nanos_f64()).map(Span::from_nanos_f64),
            median: middle(&|one| one.2.abs()).map(rounded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(parts: [u64; 4]) -> [Span; 4] {
        parts.map(Span::from_micros)
    }

    fn measured(parts: [u64; 4]) -> SetUpMeasured {
        let parts = micros(parts);
        SetUpMeasured { parts, once: parts.into_iter().sum() }
    }

    fn plan(predicted: Option<[u64; 4]>, processes: &[[u64; 4]]) -> ScoredSetUp {
        let processes: Vec<SetUpMeasured> = processes.iter().map(|&one| measured(one)).collect();
        ScoredSetUp::new(("s", "p"), predicted.map(micros), &processes).expect("processes")
    }

    /// The total is that of the middle process, not of the middle of each part.
    #[test]
    fn the_median_process_counts() {
        let processes = [[100, 10, 40, 50], [200, 20, 10, 70], [300, 30, 20, 10]];
        let one = plan(Some([210, 18, 22, 50]), &processes);
        assert_eq!((one.processes, one.measured_ns), (3, Span::from_micros(300)));
        assert_eq!((one.predicted_ns, one.error), (Some(Span::from_micros(300)), Some(0.0)));
        let parts = one.parts.iter().map(|part| part.measured_ns.nanos() / 1_000);
        assert_eq!(parts.collect::<Vec<_>>(), [200, 20, 20, 50]);
        assert_eq!(ScoredSetUp::new(("s", "p"), None, &[]), None);
    }

    #[test]
    fn what_is_not_predicted_is_not_scored() {
        let plans = [
            plan(Some([100, 0, 50, 50]), &[[100, 0, 40, 60]]),
            plan(Some([110, 0, 50, 50]), &[[100, 0, 50, 50]]),
            plan(Some([100, 0, 10, 40]), &[[100, 0, 40, 60]]),
            plan(None, &[[100, 0, 40, 600]]),
        ];
        assert_eq!(plans[2].error, Some(-0.25));
        assert_eq!((plans[3].predicted_ns, plans[3].error), (None, None));
        let figures = SetUpFigures::of(&plans).expect("some are predicted");
        assert_eq!((figures.plans, figures.median, figures.worst), (3, 0.05, 0.25));
        let [context, module, setup, first] = figures.parts[..] else { panic!("four parts") };
        assert_eq!((context.plans, context.median), (3, Some(0.0)));
        // No plan has kernels.
        assert_eq!((module.plans, module.measured_ns, module.median), (0, None, None));
        assert_eq!((setup.median, first.median), (Some(0.25), Some(0.166_667)));
        assert_eq!(SetUpFigures::of(&plans[3..]), None);
    }
}

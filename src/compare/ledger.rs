//! What each rule of the simulator and each filter of the fit is worth: errors on recorded runs
//! with it and without it.

use super::{Cell, ErrorFigures, Score};
use serde::{Deserialize, Serialize};

/// A rule or a filter is exercised by plans whose prediction changes by more than this share
/// without it.
const CHANGED: f64 = 1e-3;

/// A rule or a filter pays if it lowers the median error by this much, or the 95th percentile.
const LEAST_AT_MEDIAN: f64 = 1e-3;
const LEAST_AT_P95: f64 = 5e-3;

/// What rules and filters are worth on some machines.
///
/// The keys are stable. Errors are fractions, not percentages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// The machines.
    pub machines: Vec<LedgerMachine>,
    /// The rules, in the order of the documentation.
    pub rules: Vec<Worth>,
    /// The filters, in the order of the documentation.
    pub filters: Vec<Worth>,
}

/// A machine with recorded runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LedgerMachine {
    /// Its name: that of the profile's folder.
    pub name: String,
    /// Errors over all recorded plans, with all rules and filters.
    pub errors: ErrorFigures,
}

/// What one rule or filter is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worth {
    /// The name of the rule or the filter.
    pub name: String,
    /// Plans of all machines that exercise it. `null` if none does.
    pub all: Option<Effect>,
    /// Plans of each machine that exercise it.
    pub machines: Vec<Option<Effect>>,
    /// Whether errors over the plans of all machines are larger without it: the median by at least
    /// 0.001, or the 95th percentile by at least 0.005. `null` if no plan exercises it.
    pub pays: Option<bool>,
}

/// Errors over the plans that exercise a rule or a filter: those whose prediction changes by more
/// than 0.1% without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// With it.
    pub with: ErrorFigures,
    /// Without it.
    pub without: ErrorFigures,
}

/// A plan as predicted with a rule or a filter and without it, in this order.
type Pair<'c> = [&'c Cell; 2];

impl Worth {
    /// Compares scores with and without a rule or a filter, on each machine. A plan that cannot be
    /// predicted without it does not count.
    pub fn new(name: &str, with: &[Vec<Score>], without: &[Vec<Score>]) -> Self {
        let machines = with.iter().zip(without).map(|(with, without)| exercised(with, without));
        let machines: Vec<Vec<Pair<'_>>> = machines.collect();
        let all = Effect::over(machines.iter().flatten());
        let machines = machines.iter().map(Effect::over).collect();
        Self { name: name.to_owned(), all, machines, pays: all.map(Effect::pays) }
    }
}

impl Effect {
    fn over<'p, 'c: 'p>(pairs: impl IntoIterator<Item = &'p Pair<'c>> + Clone) -> Option<Self> {
        let side = |side: usize| pairs.clone().into_iter().map(move |pair| pair[side]);
        Some(Self { with: ErrorFigures::of(side(0))?, without: ErrorFigures::of(side(1))? })
    }

    fn pays(self) -> bool {
        let Self { with, without } = self;
        without.median - with.median >= LEAST_AT_MEDIAN || without.p95 - with.p95 >= LEAST_AT_P95
    }
}

/// The plans of one machine whose predictions differ.
fn exercised<'c>(with: &'c [Score], without: &'c [Score]) -> Vec<Pair<'c>> {
    let mut pairs = Vec::new();
    for one in with {
        let Some(other) = without.iter().find(|other| other.scenario == one.scenario) else {
            continue;
        };
        for cell in &one.cells {
            let is_same = |found: &&Cell| found.scored.plan == cell.scored.plan;
            let Some(found) = other.cells.iter().find(is_same) else { continue };
            let [before, after] =
                [cell, found].map(|cell| cell.scored.predicted_ns.nanos_f64().max(1.0));
            if (after / before - 1.0).abs() > CHANGED {
                pairs.push([cell, found]);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ScoredPlan;
    use crate::machine::Side;
    use crate::profile::Handling;
    use crate::units::Span;

    fn score(predicted: &[u64]) -> Score {
        let cell = |(at, &predicted): (usize, &u64)| {
            let predicted_ns = Span::from_nanos(predicted);
            let scored = ScoredPlan {
                plan: at.to_string(),
                side: Side::Gpu,
                predicted_ns,
                low_ns: predicted_ns,
                high_ns: predicted_ns,
                measured_ns: Span::from_nanos(10_000),
                spread: None,
                passes: 1,
                passes_beside: 0,
                error: predicted as f64 / 10_000.0 - 1.0,
            };
            let baseline = Span::ZERO;
            Cell {
                scored,
                kind: Handling::Pinned,
                textbook: baseline,
                one_by_one: baseline,
                busiest: baseline,
            }
        };
        let cells = predicted.iter().enumerate().map(cell).collect();
        Score { scenario: "s".to_owned(), cells, chosen: None, rerun: None }
    }

    /// A plan that a rule leaves alone, within a thousandth, is not counted.
    #[test]
    fn only_plans_that_change_count() {
        let with = [vec![score(&[10_000, 11_000, 9_000])]];
        let without = [vec![score(&[10_500, 11_005, 8_000])]];
        let figures = Worth::new("refetches", &with, &without);
        let all = figures.all.expect("two plans change");
        assert_eq!((all.with.plans, all.with.median, all.without.median), (2, 0.05, 0.125));
        assert_eq!((figures.pays, figures.machines.len()), (Some(true), 1));
        let worse = Worth::new("refetches", &without, &with);
        assert_eq!(worse.pays, Some(false));
        let same = Worth::new("refetches", &with, &with);
        assert_eq!((same.all, same.pays), (None, None));
    }
}

//! A plan as one side of a comparison.

use crate::machine::Side;
use crate::search::Ranked;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// A plan, and the time that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contender {
    /// Name of the plan.
    pub plan: String,
    /// The processors that compute.
    pub side: Side,
    /// Predicted time: of one run, or of the whole program.
    pub time_ns: Span,
    /// Lower end of the range of that time.
    pub low_ns: Span,
    /// Upper end of that range.
    pub high_ns: Span,
    /// The part of the program's time for the first use of the GPU and of memory. `null` if single
    /// runs are compared.
    pub first_use_ns: Option<Span>,
    /// The part of the program's time for set-up. `null` if single runs are compared.
    pub setup_ns: Option<Span>,
}

impl Contender {
    /// For one run.
    pub(super) fn run(ranked: &Ranked) -> Self {
        let (low_ns, high_ns) = ranked.forecast.interval();
        Self {
            plan: ranked.plan.name(),
            side: ranked.plan.side(),
            time_ns: ranked.makespan(),
            low_ns,
            high_ns,
            first_use_ns: None,
            setup_ns: None,
        }
    }

    /// For a whole program, if its set-up is known.
    pub(super) fn program(ranked: &Ranked, runs: u64) -> Option<Self> {
        let (low_ns, high_ns) = ranked.program_interval(runs)?;
        Some(Self {
            time_ns: ranked.program(runs)?,
            low_ns,
            high_ns,
            first_use_ns: Some(ranked.first_use.known),
            setup_ns: ranked.setup.as_ref().ok().copied(),
            ..Self::run(ranked)
        })
    }
}

/// Where a workload should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The GPU is faster.
    Gpu,
    /// The CPU is faster.
    Cpu,
    /// Both together are faster than the CPU alone and than GPUs alone.
    Both,
    /// All plans use the same side, and one of them is the fastest.
    Plan,
    /// The machine's scatter leaves open which plan is faster, and their times differ by at most a
    /// tenth.
    Tie,
    /// There is at most one plan.
    NothingToCompare,
}

//! At which sizes the GPU is faster.

use super::{Answer, Verdict};
use crate::machine::Side;
use crate::program::BufferId;
use crate::scenario::Workload;
use crate::search::{BreakEven, Ranking, Wins};
use serde::{Deserialize, Serialize};

/// The result of the search over other sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// The sizes at which the GPU is faster.
    Known(Threshold),
    /// Why these sizes are unknown.
    Unknown(NoThreshold),
}

/// The sizes at which the GPU is faster in one run, among the plans that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threshold {
    /// The ranges of sizes in which the GPU wins. Empty if no plan tried on the GPU beats the CPU
    /// at any size that was tried.
    pub gpu_wins: Vec<Wins>,
    /// The smallest and the largest size tried.
    pub tried: [u64; 2],
    /// Whether only a few sizes in between were tried, because the plans make very many calls.
    pub coarse: bool,
    /// The smallest number of elements at which no plan tried on the GPU fits into memory.
    pub too_large_for_gpu: Option<u64>,
    /// The smallest number of elements at which no plan tried on the CPU fits into memory.
    pub too_large_for_cpu: Option<u64>,
    /// The buffer whose elements are counted: the largest one that is scaled.
    pub buffer: String,
    /// Number of elements of this buffer in the scenario.
    pub elements: u64,
    /// Buffers that keep their size: inputs that tasks read whole, and results of reductions.
    pub fixed: Vec<String>,
}

/// Why the sizes at which the GPU is faster are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoThreshold {
    /// At the scenario's own size, the plans that fit into memory were found by a longer search
    /// than is made at other sizes. Without the longer search, no plan on that side fits.
    PlansThatFit,
    /// The plan that is faster at the scenario's own size was found by a longer search than is made
    /// at other sizes. Without the longer search, the other side is faster.
    FasterPlans,
}

impl Sizes {
    /// What is known of other sizes, as far as it agrees with what is known of the scenario's own.
    pub(super) fn new(
        workload: &Workload,
        (ranking, verdict): (&Ranking, &Verdict),
        found: BreakEven,
    ) -> Option<Self> {
        let BreakEven { gpu_wins, tried, coarse, too_large_for_gpu, too_large_for_cpu } = found;
        let largest = workload.largest_scaled()?;
        let elements = largest.elements;
        let wins_here = gpu_wins.iter().any(|wins| {
            let from = wins.from.is_none_or(|from| from.0 <= elements as f64);
            from && wins.until.is_none_or(|until| elements as f64 <= until.0)
        });
        let agrees = match verdict.run_answer {
            Answer::Gpu | Answer::Both => wins_here,
            Answer::Cpu => !wins_here,
            Answer::Plan | Answer::Tie | Answer::NothingToCompare => true,
        };
        // The quick search says that nothing fits; the long one here has found a plan.
        let does_fit_after_all = |side: Side, from: Option<u64>| {
            ranking.plans.iter().any(|one| one.plan.side() == side)
                && from.is_some_and(|from| from <= elements)
        };
        if does_fit_after_all(Side::Gpu, too_large_for_gpu)
            || does_fit_after_all(Side::Both, too_large_for_gpu)
            || does_fit_after_all(Side::Cpu, too_large_for_cpu)
        {
            return Some(Self::Unknown(NoThreshold::PlansThatFit));
        }
        if !agrees {
            return Some(Self::Unknown(NoThreshold::FasterPlans));
        }
        let fixed = workload.buffers.iter().enumerate();
        let fixed = fixed.filter(|&(id, _)| workload.keeps_size(BufferId(id)));
        let fixed = fixed.map(|(_, buffer)| buffer.name.clone()).collect();
        Some(Self::Known(Threshold {
            gpu_wins,
            tried,
            coarse,
            too_large_for_gpu,
            too_large_for_cpu,
            buffer: largest.name.clone(),
            elements,
            fixed,
        }))
    }
}

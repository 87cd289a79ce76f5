//! What changes for somebody who cannot pin memory.

use super::Comparison;
use crate::search::{Ranked, Ranking};

/// Compares the plans that pin nothing, on both sides. `None` if neither side's plan to choose
/// pins, or if every plan does.
pub(super) fn without_pinning(ranking: &Ranking) -> Option<Comparison> {
    let pins = |ranked: &Ranked| ranked.plan.program.pins();
    let chosen = [ranking.best_on_gpu(), ranking.best_on_cpu()];
    if !chosen.into_iter().flatten().any(pins) {
        return None;
    }
    Comparison::of_runs_among(ranking, |ranked| !pins(ranked))
}

//! At which sizes the GPU wins: a sweep over the size.

use super::fastest::Fastest;
use super::scaling::{largest, scaled};
use super::sweep::{Compared, Contest, Sweep};
use super::turns::{Lead, Scale, Wins, wins};
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::simulate::{DRAWS, Draws, Tally};
use std::ops::RangeInclusive;

/// At which sizes which side wins, with the plans that [`candidates_over`](super::candidates_over)
/// tries, and tasks scheduled without much search. Other plans may win, or fit, where none of these
/// does.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakEven {
    /// Where the best plan on the GPU beats the one on the CPU: nowhere if there are none.
    pub gpu_wins: Vec<Wins>,
    /// The smallest and the largest size tried.
    pub tried: [u64; 2],
    /// Whether only few sizes between them were tried, because plans make very many calls.
    pub coarse: bool,
    /// From about so many elements on, none of the plans on the GPU fits into memory, while one on
    /// the CPU does.
    pub too_large_for_gpu: Option<u64>,
    /// From about so many elements on, none of the plans on the CPU fits into memory, while one on
    /// the GPU does.
    pub too_large_for_cpu: Option<u64>,
}

/// Sizes of the largest buffer that are tried, as powers of two.
const TRIED: RangeInclusive<u32> = 8..=28;

/// About how many calls the plans of all sizes may have together. Where they would have more, fewer
/// powers are tried, all plans are tried only at both ends and at the workload's own size, and
/// turns are found less exactly.
const MOST_CALLS: u64 = 1_000_000;
/// At most so many powers lie from one that is tried to the next.
const WIDEST: u64 = 5;

/// Finds the sizes at which the best GPU plan beats the best CPU plan. All buffers are scaled
/// together, but for those that keep their size. A plan that does not fit has lost. `None` if the
/// profile does not know what a side takes, or the workload has no plan for a side.
pub fn break_even(workload: &Workload, profile: &Profile) -> Option<BreakEven> {
    break_even_counted(workload, profile, Draws::new(DRAWS, 1), &Tally::default())
}

/// Like [`break_even`], with ranges from so many draws with a seed. Counts the calls of each plan
/// that is simulated.
pub fn break_even_counted(
    workload: &Workload,
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Option<BreakEven> {
    // The workload's own size is tried, too, so that the result agrees with its verdict: times may
    // jump between two powers, for example where the CPU begins to use all threads. How many calls
    // its plans have shows how many those of other sizes have.
    let own = Fastest::of(workload, profile, done);
    let step = (own.calls.saturating_mul(TRIED.count() as u64) / MOST_CALLS).clamp(1, WIDEST);
    let powers = TRIED.step_by(step as usize).map(|power| 1 << power);
    let mut tried: Vec<u64> = powers.chain([largest(workload)]).collect();
    tried.sort_unstable();
    tried.dedup();
    let sweep = Sweep {
        workload: &|elements: f64| scaled(workload, elements as u64),
        values: tried.into_iter().map(|elements| elements as f64).collect(),
        here: Some(largest(workload) as f64),
        scale: Scale { is_whole: true, is_coarse: step > 1 },
        compared: Compared::FastestRuns,
        profile,
        draws,
        done,
    };
    let contest = Contest::new(&sweep);
    contest.note(largest(workload) as f64, &own);
    let leads = contest.leads();
    let fit = leads.iter().take_while(|lead| **lead != Lead::NoPlan).count();
    let (values, leads) = (&sweep.values[..fit], &leads[..fit]);
    // About the size from which on a lead is the wanted one.
    let start_of = |wanted: Lead| {
        let at = leads.iter().position(|lead| *lead == wanted)?;
        let Some(before) = at.checked_sub(1) else { return Some(values[0] as u64) };
        let ends = (values[before], values[at]);
        let (_, start) = sweep.scale.narrowed(ends, |size| Some(contest.lead(size) != wanted))?;
        Some(start as u64)
    };
    let known = values.iter().zip(leads).map(|(size, lead)| Some((*size, lead.known()?)));
    let known = known.collect::<Option<Vec<_>>>()?;
    Some(BreakEven {
        tried: [*values.first()? as u64, *values.last()? as u64],
        coarse: sweep.scale.is_coarse,
        gpu_wins: wins(&known, &contest.turns(values, 0..fit)),
        too_large_for_gpu: start_of(Lead::Of(f64::NEG_INFINITY)),
        too_large_for_cpu: start_of(Lead::Of(f64::INFINITY)),
    })
}

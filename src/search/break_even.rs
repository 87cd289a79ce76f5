//! At which sizes the GPU wins.

use super::fastest::Fastest;
use super::scaling::{largest, scaled};
use super::turns::{Contest, Lead, Scale, Wins, drawn_lead, turns, wins};
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::simulate::{DRAWS, Draws, Tally};
use rayon::prelude::*;
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
    /// From about so many elements on, none of the plans on the GPU fits into memory, while one on
    /// the CPU does.
    pub too_large_for_gpu: Option<u64>,
    /// From about so many elements on, none of the plans on the CPU fits into memory, while one on
    /// the GPU does.
    pub too_large_for_cpu: Option<u64>,
}

/// Sizes of the largest buffer that are tried, as powers of two.
const TRIED: RangeInclusive<u32> = 8..=28;

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
    // jump between two powers, for example where the CPU begins to use all threads.
    let powers = TRIED.map(|power| 1 << power);
    let mut tried: Vec<u64> = powers.chain([largest(workload)]).collect();
    tried.sort_unstable();
    tried.dedup();
    let fastest =
        |elements: f64| Some(Fastest::of(&scaled(workload, elements as u64)?, profile, done));
    let new = |elements: f64| fastest(elements).map_or(Lead::Unknown, |fastest| fastest.lead());
    let tried = tried.into_par_iter().map(|elements| elements as f64);
    let all: Vec<(f64, Lead)> = tried.map(|elements| (elements, new(elements))).collect();
    let known: Vec<_> = all.into_iter().take_while(|(_, lead)| *lead != Lead::NoPlan).collect();
    let lead = |elements: f64| {
        let known = known.iter().find(|(at, _)| *at == elements);
        known.map_or_else(|| new(elements), |(_, lead)| *lead)
    };
    let range = |elements: f64| {
        let programs = fastest(elements)?.programs()?;
        let calls: usize = programs.iter().map(|program| program.body.len()).sum();
        let count = draws.count.min((DRAWN_FREELY / calls.max(1)).max(FEW));
        drawn_lead(&programs, profile, Draws { count, ..draws }, done)
    };
    // About the size from which on a lead is the wanted one.
    let start_of = |wanted: Lead| {
        let at = known.iter().position(|(_, lead)| *lead == wanted)?;
        let Some(before) = at.checked_sub(1) else { return Some(known[0].0 as u64) };
        let ends = (known[before].0, known[at].0);
        let (_, start) = WHOLE.narrowed(ends, |size| Some(lead(size) != wanted))?;
        Some(start as u64)
    };
    let (smallest, largest) = (known.first()?.0, known.last()?.0);
    let of = |&(elements, lead): &(f64, Lead)| Some((elements, lead.known()?));
    let leads = known.iter().map(of).collect::<Option<Vec<_>>>()?;
    let values: Vec<f64> = leads.iter().map(|(elements, _)| *elements).collect();
    let contest = Contest { lead: &lead, range: &range };
    Some(BreakEven {
        gpu_wins: wins(&leads, &turns(&values, 0..values.len(), WHOLE, contest)),
        tried: [smallest as u64, largest as u64],
        too_large_for_gpu: start_of(Lead::Of(f64::NEG_INFINITY)),
        too_large_for_cpu: start_of(Lead::Of(f64::INFINITY)),
    })
}

const WHOLE: Scale = Scale { is_whole: true };

/// A range near a turn comes from fewer draws, if not less than the second number, where these many
/// calls are not enough.
const DRAWN_FREELY: usize = 250_000;
const FEW: usize = 20;

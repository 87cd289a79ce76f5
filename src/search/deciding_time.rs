//! What a side lacks for a verdict, and at which time of it the verdict would turn.

use super::halving::halved;
use super::ranking::Ranking;
use crate::kernels::{CpuSide, GpuSide, OwnCost};
use crate::profile::{Processor, Profile};
use crate::program::{Program, Step};
use crate::simulate::makespan;
use crate::units::Span;
use std::collections::BTreeSet;

/// A kernel whose time on one side is not known, where that is all that a comparison lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidingTime {
    pub kernel: String,
    /// The side whose time is not known.
    pub on: Processor,
    /// The fastest plan of the other side.
    pub other: String,
    /// Time of the kernel in a pass, in all of its runs together, with which the plan takes as long
    /// as the other side. `None`: the plan takes longer whatever the kernel takes.
    pub at: Option<Span>,
}

/// Halvings between nothing and the time of the other side: to a millionth of it.
const STEPS: usize = 20;

/// For each side without a plan whose time is known, the plan that one missing time keeps out.
pub fn deciding_times(ranking: &Ranking, profile: &Profile) -> Vec<DecidingTime> {
    let mut found: Vec<DecidingTime> = Vec::new();
    for (plan, _) in &ranking.unknown {
        let program = &plan.program;
        let on_cpu = plan.is_on_cpu();
        let (mine, other) = match on_cpu {
            true => (ranking.fastest_on_cpu(), ranking.fastest_on_gpu()),
            false => (ranking.fastest_on_gpu(), ranking.fastest_on_cpu()),
        };
        let (None, Some(other)) = (mine, other) else { continue };
        let Some((kernel, on)) = the_missing_one(program, profile) else { continue };
        let runs = program.body.iter().filter(|call| {
            let facts = call.facts();
            let is_there = facts.is_host_work == (on == Processor::Cpu);
            is_there && facts.step.and_then(Step::own).is_some_and(|step| step.kernel == kernel)
        });
        let runs = runs.count() as u64;
        let Ok(at) = turn((program, kernel, on), profile, other.makespan()) else { continue };
        let deciding = DecidingTime {
            kernel: program.kernels[kernel].name.clone(),
            on,
            other: other.plan.name(),
            at: at.map(|each| each * runs),
        };
        // The plan with the better chance counts if two plans lack the same time.
        match found.iter_mut().find(|one| (&one.kernel, one.on) == (&deciding.kernel, on)) {
            Some(known) if deciding.at > known.at => *known = deciding,
            Some(_) => {}
            None => found.push(deciding),
        }
    }
    found
}

/// The only kernel whose time is not known, with the side that it is not known of.
fn the_missing_one(program: &Program, profile: &Profile) -> Option<(usize, Processor)> {
    let missing = program.own_steps().filter_map(|(step, on_cpu)| {
        let kernel = program.own_kernel(step);
        let (is_known, on) = match on_cpu {
            true => (profile.own_on_cpu(kernel, step).is_ok(), Processor::Cpu),
            false => (profile.own_on_gpu(kernel, step).is_ok(), Processor::Gpu),
        };
        (!is_known).then_some((step.kernel, on))
    });
    let missing: BTreeSet<(usize, Processor)> = missing.collect();
    missing.first().copied().filter(|_| missing.len() == 1)
}

/// The time of each run of a kernel with which a program takes as long as `wanted`. An error if
/// something else is not known, too; `Ok(None)` if it takes longer whatever the kernel takes.
fn turn(
    (program, kernel, on): (&Program, usize, Processor),
    profile: &Profile,
    wanted: Span,
) -> Result<Option<Span>, ()> {
    let is_faster = |each: u64| {
        let mut stated = program.clone();
        let cost = OwnCost::Stated {
            fixed: Span::from_nanos(each).nanos_f64(),
            per_element: 0.0,
            range: None,
        };
        match on {
            Processor::Gpu => stated.kernels[kernel].gpu = GpuSide::Cost(cost),
            Processor::Cpu => stated.kernels[kernel].cpu = CpuSide::Cost(cost),
        }
        Some(makespan(&stated, profile).ok()? < wanted)
    };
    if !is_faster(0).ok_or(())? {
        return Ok(None);
    }
    let mut steps = 0..STEPS;
    let between = |low: u64, high: u64| steps.next().map(|_| low.midpoint(high));
    let (_, at) = halved((0, wanted.nanos()), between, is_faster).ok_or(())?;
    Ok(Some(Span::from_nanos(at)))
}

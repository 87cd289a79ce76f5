//! What a side lacks for a verdict, and at which time of it the verdict would turn.

use super::halving::halved;
use super::ranking::Ranking;
use crate::kernels::{CpuSide, GpuSide, OwnCost};
use crate::profile::{Processor, Profile};
use crate::program::{Program, Step};
use crate::simulate::{makespan, simulate};
use crate::timeline::Lane;
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A kernel whose time on one side is unknown, if a comparison lacks nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingTime {
    /// Name of the kernel.
    pub kernel: String,
    /// True if its time on the CPU is missing, false if its time on the GPU is missing.
    pub on_cpu: bool,
    /// The fastest plan on the other side.
    pub other: String,
    /// The kernel's time in one run above which the other plan is faster. `null`: the other plan is
    /// faster even if the kernel takes no time.
    pub other_wins_above_ns: Option<Span>,
    /// Time of a run on the side with the missing time, if the kernel took no time.
    pub rest_ns: Span,
    /// The part of `rest_ns` that is copies over the link.
    pub rest_copies_ns: Span,
}

/// Halvings between nothing and the time of the other side: to a millionth of it.
const STEPS: usize = 20;

/// For each side without a plan whose time is known, the plan that one missing time keeps out.
pub fn deciding_times(ranking: &Ranking, profile: &Profile) -> Vec<MissingTime> {
    let mut found: Vec<MissingTime> = Vec::new();
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
            let is_there = call.is_host_work() == (on == Processor::Cpu);
            is_there
                && call.step().and_then(Step::own_step).is_some_and(|step| step.kernel == kernel)
        });
        let runs = runs.count() as u64;
        let with = |each: u64| makespan(&stated((program, kernel, on), each), profile).ok();
        let Ok(rest) = simulate(&stated((program, kernel, on), 0), profile) else { continue };
        let path = rest.critical_path();
        let wanted = other.makespan();
        let at = turn(wanted, |each| Some(with(each)? < wanted));
        let missing = MissingTime {
            kernel: program.kernels[kernel].name.clone(),
            on_cpu: on == Processor::Cpu,
            other: other.plan.name(),
            other_wins_above_ns: at.map(|each| each * runs),
            rest_ns: rest.makespan,
            rest_copies_ns: path.on(Lane::CopyIn) + path.on(Lane::CopyOut),
        };
        // The plan with the better chance counts if two plans lack the same time.
        let is_same =
            |one: &&mut MissingTime| (&one.kernel, one.on_cpu) == (&missing.kernel, missing.on_cpu);
        match found.iter_mut().find(is_same) {
            Some(known) if missing.other_wins_above_ns > known.other_wins_above_ns => {
                *known = missing;
            }
            Some(_) => {}
            None => found.push(missing),
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

/// A program with so many nanoseconds as the time of each run of a kernel.
fn stated((program, kernel, on): (&Program, usize, Processor), each: u64) -> Program {
    let mut stated = program.clone();
    let fixed = Span::from_nanos(each).nanos_f64();
    let cost = OwnCost::Stated { fixed, per_element: 0.0, range: None };
    match on {
        Processor::Gpu => stated.kernels[kernel].gpu = GpuSide::Cost(cost),
        Processor::Cpu => stated.kernels[kernel].cpu = CpuSide::Cost(cost),
    }
    stated
}

/// The time of each run of a kernel with which a program takes as long as `wanted`. `None` if it
/// takes longer whatever the kernel takes.
fn turn(wanted: Span, is_faster: impl Fn(u64) -> Option<bool>) -> Option<Span> {
    is_faster(0).filter(|is_faster| *is_faster)?;
    let mut steps = 0..STEPS;
    let between = |low: u64, high: u64| steps.next().map(|_| low.midpoint(high));
    let (_, at) = halved((0, wanted.nanos()), between, is_faster)?;
    Some(Span::from_nanos(at))
}

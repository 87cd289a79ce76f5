//! `hallway verify`: run the plans, score the predictions, keep the runs.

use super::calibrate::team;
use super::profiles::{Found, deliver};
use super::{Failure, Outcome, Predicting};
use crate::compare::{Cell, Score};
use crate::execute::{Effort, ExecuteError, Executor};
use crate::gpu::Device;
use crate::host::Team;
use crate::plan::{Family, Plan, Whose, check_fits};
use crate::report::{Origin, Verification};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{Candidates, Ranking, candidates_over};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Score runs that were saved before instead of running: needs no GPU
    #[arg(long)]
    recorded: bool,
    /// Which GPU, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Also time every call of this plan, by its name in the table, for the
    /// picture of it; the fastest plan on the GPU is always timed so
    #[arg(long, value_name = "PLAN")]
    trace: Vec<String>,
    #[arg(long, value_enum, default_value = "table")]
    format: Style,
    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How the scores are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Style {
    Table,
    /// The summary alone
    Markdown,
    Json,
}

pub(super) fn run(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    let found = arguments.predicting.profile()?;
    let workloads = arguments.predicting.workloads()?;
    if !arguments.recorded {
        let device = Device::open(arguments.gpu)?;
        let threads = found.profile.machine.cpu_threads;
        let team = team((threads > 0).then_some(threads))?;
        for (workload, runs) in
            workloads.iter().zip(execute(&device, &team, &workloads, &found, &arguments.trace)?)
        {
            runs.save(&found.runs_of(workload)).map_err(Failure::machine)?;
        }
    }
    let mut scores = Vec::new();
    for workload in &workloads {
        let path = found.runs_of(workload);
        let runs = RunSet::load(&path).map_err(Failure::input)?;
        found.check_sitting(&runs)?;
        let ranking = arguments.predicting.ranking(workload, &found);
        scores.push(score(workload, &ranking, &runs));
    }
    let origin = Origin::new(&found.path.display().to_string(), &found.profile);
    let verification = Verification::new(origin, &scores);
    let text = match arguments.format {
        Style::Table => verification.text(),
        Style::Markdown => verification.markdown(),
        Style::Json => verification.json(),
    };
    deliver(&text, arguments.output.as_deref())?;
    Ok(if verification.passed() { Outcome::Done } else { Outcome::CheckFailed })
}

/// How often every plan of every scenario is run: in rounds, so that what a
/// machine does for a minute falls on all plans alike.
const ROUNDS: usize = 3;

/// Runs every candidate of every workload. Nothing here has seen a prediction.
fn execute(
    device: &Device,
    team: &Team,
    workloads: &[Workload],
    found: &Found,
    trace: &[String],
) -> Result<Vec<RunSet>, Failure> {
    let machine = &found.profile.machine;
    let mut sets: Vec<RunSet> =
        workloads.iter().map(|w| RunSet::new(&w.name, machine.unix_time)).collect();
    for round in 1..=ROUNDS {
        for (workload, set) in workloads.iter().zip(&mut sets) {
            let gpus = found.profile.gpu_counts();
            let Candidates { mut plans, .. } = candidates_over(workload, &gpus);
            // They are not predicted either.
            let fits = |plan: &Plan| check_fits(plan, machine.capacities(), Whose::Machine).is_ok();
            plans.retain(fits);
            let executor = Executor::new(Some(device), team, workload, machine.seed);
            for (index, plan) in plans.iter().enumerate() {
                let run = executor.run(plan, Effort::FULL).map_err(|error| match error {
                    ExecuteError::Gpu(error) => Failure::from(error),
                    other => Failure::machine(other),
                })?;
                match set.runs.get_mut(index) {
                    None => set.runs.push(run),
                    Some(before) => before.add(run),
                }
            }
            if round == ROUNDS {
                follow(&executor, &plans, set, trace)?;
            }
        }
    }
    Ok(sets)
}

/// Times every call of the fastest plan on the GPU, and of those asked for.
fn follow(
    executor: &Executor<'_>,
    plans: &[Plan],
    set: &mut RunSet,
    trace: &[String],
) -> Result<(), Failure> {
    let fastest = set.runs.iter().filter(|run| run.plan != "cpu").min_by_key(|run| run.makespan());
    let fastest = fastest.map(|run| run.plan.clone());
    for plan in plans {
        let name = plan.strategy.to_string();
        if plan.needs_device() && (trace.contains(&name) || Some(name) == fastest) {
            set.traces.push(executor.trace(plan).map_err(Failure::machine)?);
        }
    }
    Ok(())
}

/// Sets predictions beside the runs of the same plans.
pub(super) fn score(workload: &Workload, ranking: &Ranking, runs: &RunSet) -> Score {
    let mut cells = Vec::new();
    for ranked in &ranking.plans {
        let Some(run) = runs.run_of(&ranked.plan.identity()) else { continue };
        let (low, high) = ranked.forecast.interval();
        cells.push(Cell {
            plan: run.plan.clone(),
            on_cpu: ranked.plan.strategy.family == Family::Cpu,
            predicted: ranked.makespan(),
            low,
            high,
            measured: run.makespan(),
            spread: run.spread(),
            passes: run.passes_ns.len(),
            beside: run.beside_ns.len(),
        });
    }
    Score { scenario: workload.name.clone(), cells }
}

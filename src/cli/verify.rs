//! `hallway verify`: run the plans, score the predictions, keep the runs.

use super::calibrate::team;
use super::outputs::check_outputs;
use super::profiles::{Found, check_runs, deliver};
use super::{Failure, Outcome, Predicting};
use crate::compare::{Cell, Score};
use crate::execute::{Effort, ExecuteError, Executor};
use crate::gpu::Device;
use crate::host::Team;
use crate::plan::{Family, Plan, Whose, check_fits};
use crate::report::{Origin, Verification};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{Candidates, Ranked, Ranking, candidates_over};
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
    #[arg(long, value_name = "PLAN", conflicts_with = "recorded")]
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
    let runs: Vec<PathBuf> = workloads.iter().map(|workload| found.runs_of(workload)).collect();
    let runs = || runs.iter().map(PathBuf::as_path);
    let (inputs, output) = (arguments.predicting.inputs(&found), arguments.output.as_deref());
    match arguments.recorded {
        true => check_outputs(inputs.chain(runs()), output),
        false => check_outputs(inputs, runs().chain(output)),
    }?;
    let sets = if arguments.recorded {
        workloads.iter().map(|workload| found.saved_runs(workload)).collect::<Result<_, _>>()?
    } else {
        let device = Device::open(arguments.gpu)?;
        let threads = found.profile.machine.cpu_threads;
        let team = team((threads > 0).then_some(threads))?;
        let time = found.profile.machine.unix_time;
        let mut sets: Vec<RunSet> = workloads.iter().map(|w| RunSet::new(&w.name, time)).collect();
        let executed = execute((&device, &team), (&workloads, &mut sets), &found, &arguments.trace);
        for (workload, runs) in workloads.iter().zip(&sets) {
            let path = found.runs_of(workload);
            // What there is by then is better than nothing, and no better than all.
            if !runs.runs.is_empty() && (executed.is_ok() || !path.exists()) {
                runs.save(&path)?;
            }
        }
        executed.map(|()| sets)?
    };
    let mut scores = Vec::new();
    for (workload, runs) in workloads.iter().zip(&sets) {
        let ranking = arguments.predicting.ranking(workload, &found);
        check_runs(workload, &ranking, runs)?;
        let score = score(workload, &ranking, runs);
        let (predicted, scored) = (ranking.plans.len(), score.cells.len());
        if scored < predicted {
            let name = &workload.name;
            eprintln!("{name}: of {predicted} plans that are predicted, {scored} were run");
        }
        scores.push(score);
    }
    let origin = Origin::new(&found.path.display().to_string(), &found.profile);
    let verification = Verification::new(origin, &scores);
    let text = match arguments.format {
        Style::Table => verification.text(),
        Style::Markdown => verification.markdown(),
        Style::Json => verification.json(),
    };
    deliver(&text, arguments.output.as_deref())?;
    if let (false, Some(path)) = (verification.passed(), &arguments.output) {
        eprintln!("not all checks passed: they stand at the end of {}", path.display());
    }
    Ok(if verification.passed() { Outcome::Done } else { Outcome::CheckFailed })
}

/// How often every plan of every scenario is run: in rounds, so that what a
/// machine does for a minute falls on all plans alike.
const ROUNDS: usize = 3;

/// Runs every candidate of every workload, but those for which there is no room. Nothing here
/// has seen a prediction.
fn execute(
    (device, team): (&Device, &Team),
    (workloads, sets): (&[Workload], &mut [RunSet]),
    found: &Found,
    trace: &[String],
) -> Result<(), Failure> {
    let machine = &found.profile.machine;
    for round in 1..=ROUNDS {
        for (workload, set) in workloads.iter().zip(&mut *sets) {
            let gpus = found.profile.gpu_counts();
            let Candidates { mut plans, .. } = candidates_over(workload, &gpus);
            // They are not predicted either.
            let fits = |plan: &Plan| check_fits(plan, machine.capacities(), Whose::Machine).is_ok();
            plans.retain(fits);
            let executor = Executor::new(Some(device), team, workload, machine.seed);
            for plan in &plans {
                match executor.run(plan, Effort::FULL) {
                    Ok(run) => set.add(run),
                    Err(error @ ExecuteError::DoesNotFit { .. }) if round == 1 => {
                        eprintln!("{}: left out: {error}", workload.name);
                    }
                    Err(ExecuteError::DoesNotFit { .. }) => {}
                    Err(ExecuteError::Gpu(error)) => return Err(error.into()),
                    Err(other) => return Err(Failure::machine(other)),
                }
            }
            if round == ROUNDS {
                follow(&executor, &plans, set, trace)?;
            }
        }
    }
    Ok(())
}

/// Times every call of the fastest plan on the GPU, and of those asked for.
fn follow(
    executor: &Executor<'_>,
    plans: &[Plan],
    set: &mut RunSet,
    trace: &[String],
) -> Result<(), Failure> {
    let on_gpu = plans.iter().filter(|plan| plan.strategy.family != Family::Cpu);
    let runs = on_gpu.filter_map(|plan| set.run_of(&plan.identity()));
    let fastest = runs.min_by_key(|run| run.makespan()).map(|run| run.plan.clone());
    for plan in plans {
        let name = plan.name();
        if plan.needs_device() && (trace.contains(&name) || Some(name) == fastest) {
            set.traces.push(executor.trace(plan).map_err(Failure::machine)?);
        }
    }
    Ok(())
}

/// Sets predictions beside the runs of the same plans. Who was not run cannot be chosen.
pub(super) fn score(workload: &Workload, ranking: &Ranking, runs: &RunSet) -> Score {
    let run_of = |ranked: &Ranked| runs.run_of(&ranked.plan.identity());
    let is_run = |ranked: &Ranked| run_of(ranked).is_some();
    let winner = ranking.choice(is_run);
    let (mut cells, mut chosen) = (Vec::new(), None);
    for ranked in &ranking.plans {
        let Some(run) = run_of(ranked) else { continue };
        if winner.is_some_and(|winner| std::ptr::eq(winner, ranked)) {
            chosen = Some(cells.len());
        }
        let (low, high) = ranked.forecast.interval();
        cells.push(Cell {
            plan: run.plan.clone(),
            on_cpu: ranked.is_cpu(),
            predicted: ranked.makespan(),
            low,
            high,
            measured: run.makespan(),
            spread: run.spread(),
            passes: run.passes_ns.len(),
            beside: run.beside_ns.len(),
        });
    }
    Score { scenario: workload.name.clone(), cells, chosen }
}

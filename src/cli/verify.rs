//! `hallway verify`: run the plans, score the predictions, keep the runs.

use super::calibrate::team;
use super::outputs::check_outputs;
use super::profiles::{Found, check_runs, deliver, write_whole};
use super::progress::Progress;
use super::terminal::{NARROWEST, width};
use super::traces::traced;
use super::{Failure, Outcome, Predicting};
use crate::compare::{Cell, Score};
use crate::execute::{Effort, ExecuteError, Executor};
use crate::gpu::Device;
use crate::host::Team;
use crate::program::{Program, Whose, check_fits};
use crate::report::{Origin, Verification, trace};
use crate::runs::RunSet;
use crate::scenario::Workload;
use crate::search::{Ranked, Ranking, candidates_over};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Shown below the arguments.
const NARROW: &str = "\
In a narrow terminal the tables lose columns in this order: of plans, the spread, whether the time
lies in the range, and, with names folded, the range itself; of the summary, the number of plans,
the share in range, the worst error, and, with names folded, both winners.";

#[derive(Debug, Args)]
#[command(after_help = NARROW)]
pub(super) struct VerifyArguments {
    #[command(flatten)]
    predicting: Predicting,
    /// Score the runs that an earlier `verify` saved, instead of running; needs no GPU
    #[arg(long)]
    recorded: bool,
    /// GPU to run on, counted from 0
    #[arg(long, default_value_t = 0)]
    gpu: usize,
    /// Also time every call of this plan, by its name in the table, for pictures and traces of
    /// it; the calls of the fastest plan on the GPU are always timed
    #[arg(long, value_name = "PLAN", conflicts_with = "recorded")]
    time_calls: Vec<String>,
    /// Also write the timeline of one plan of each scenario, predicted and measured, for Perfetto
    /// or Holistic Trace Analysis: the fastest on the GPU whose calls were timed
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Trace this plan instead, by its name in the table, and time its calls
    #[arg(long, value_name = "NAME", requires = "trace")]
    plan: Option<String>,
    #[arg(long, value_enum, default_value = "table")]
    format: Style,
    /// Fit the table into so many columns [default: as COLUMNS says, or the terminal; any number
    /// elsewhere]
    #[arg(long, value_name = "COLUMNS",
        value_parser = clap::value_parser!(u16).range(i64::from(NARROWEST)..))]
    width: Option<u16>,
    /// Write to this file instead of to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Format of the scores.
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
    let written = output.into_iter().chain(arguments.trace.as_deref());
    match arguments.recorded {
        true => check_outputs(inputs.chain(runs()), written),
        false => check_outputs(inputs, runs().chain(written)),
    }?;
    let sets = if arguments.recorded {
        workloads.iter().map(|workload| found.saved_runs(workload)).collect::<Result<_, _>>()?
    } else {
        run_all(arguments, &workloads, &found)?
    };
    let progress = Progress::of(workloads.len());
    let (mut scores, mut traces) = (Vec::new(), Vec::new());
    for (workload, runs) in workloads.iter().zip(&sets) {
        let ranking = arguments.predicting.ranking(workload, &found, (&progress, 0));
        check_runs(workload, &ranking, runs)?;
        let score = score(workload, &ranking, runs);
        let (predicted, scored) = (ranking.plans.len(), score.cells.len());
        if scored < predicted {
            let name = &workload.name;
            progress.note(&format!("{name}: {scored} of {predicted} predicted plans were run"));
        }
        scores.push(score);
        if arguments.trace.is_some() {
            let plan = arguments.plan.as_deref();
            let traced = traced((&ranking, workload), plan, Some(runs))?;
            if traced.measured.is_none() {
                let (name, plan) = (&workload.name, &traced.program.label);
                progress.note(&format!(
                    "{name}: the calls of `{plan}` were not timed: its trace is predicted"
                ));
            }
            traces.push(traced);
        }
    }
    drop(progress);
    let origin = Origin::new(&found.path.display().to_string(), &found.profile);
    let verification = Verification::new(origin, &scores);
    let text = match arguments.format {
        Style::Table => verification.text_within(width(arguments.width, output)),
        Style::Markdown => verification.markdown(),
        Style::Json => verification.json(),
    };
    if let Some(path) = &arguments.trace {
        write_whole(path, &trace(&found.profile.machine, &traces))?;
    }
    deliver(&text, arguments.output.as_deref())?;
    if let (false, Some(path)) = (verification.passed(), &arguments.output) {
        eprintln!("not all checks passed: see the end of {}", path.display());
    }
    Ok(if verification.passed() { Outcome::Done } else { Outcome::CheckFailed })
}

/// Runs all plans on this machine and keeps the runs beside the profile.
fn run_all(
    arguments: &VerifyArguments,
    workloads: &[Workload],
    found: &Found,
) -> Result<Vec<RunSet>, Failure> {
    let timed: Vec<String> = arguments.time_calls.iter().chain(&arguments.plan).cloned().collect();
    check_names(&timed, workloads, found)?;
    let device = Device::open(arguments.gpu)?;
    let threads = found.profile.machine.cpu_threads;
    let team = team((threads > 0).then_some(threads))?;
    let time = found.profile.machine.unix_time;
    let mut sets: Vec<RunSet> = workloads.iter().map(|w| RunSet::new(&w.name, time)).collect();
    let executed = execute((&device, &team), (workloads, &mut sets), found, &timed);
    for (workload, runs) in workloads.iter().zip(&sets) {
        let path = found.runs_of(workload);
        // What there is by then is better than nothing, and no better than all.
        if !runs.runs.is_empty() && (executed.is_ok() || !path.exists()) {
            runs.save(&path)?;
        }
    }
    executed.map(|()| sets)
}

/// Refuses a plan that no scenario has before minutes are spent on the others.
fn check_names(names: &[String], workloads: &[Workload], found: &Found) -> Result<(), Failure> {
    let gpus = found.profile.gpu_counts();
    let plans = || workloads.iter().flat_map(|one| candidates_over(one, &gpus).plans);
    let unknown = |name: &&String| plans().all(|plan| plan.name() != **name);
    match names.iter().find(unknown) {
        None => Ok(()),
        Some(name) => Err(Failure::Input(miette::miette!(
            help = "`hallway evaluate --all` lists all plans; quote the name as a whole",
            "no scenario has a plan that is called `{name}`"
        ))),
    }
}

/// How often every plan of every scenario is run: in rounds, so that what a
/// machine does for a minute falls on all plans alike.
const ROUNDS: usize = 3;

/// Runs every candidate of every workload that fits into memory. Nothing here has seen a
/// prediction.
fn execute(
    (device, team): (&Device, &Team),
    (workloads, sets): (&[Workload], &mut [RunSet]),
    found: &Found,
    timed: &[String],
) -> Result<(), Failure> {
    let machine = &found.profile.machine;
    let progress = Progress::of(ROUNDS * workloads.len());
    for round in 1..=ROUNDS {
        for (workload, set) in workloads.iter().zip(&mut *sets) {
            let gpus = found.profile.gpu_counts();
            let mut programs = candidates_over(workload, &gpus).programs();
            // Plans too large for the machine are not predicted either.
            programs.retain(|program| {
                check_fits(program, machine.capacities(), Whose::Machine).is_ok()
            });
            let executor = Executor::new(Some(device), team, workload, machine.seed);
            progress.begin(&format!("running {}", workload.name), programs.len() as u64);
            for program in &programs {
                match executor.run(program, Effort::FULL) {
                    Ok(run) => set.add(run),
                    Err(error @ ExecuteError::DoesNotFit { .. }) if round == 1 => {
                        progress.note(&format!("{}: left out: {error}", workload.name));
                    }
                    Err(ExecuteError::DoesNotFit { .. }) => {}
                    Err(ExecuteError::Gpu(error)) => return Err(error.into()),
                    Err(other) => return Err(Failure::machine(other)),
                }
                progress.tally().add(1);
            }
            if round == ROUNDS {
                follow(&executor, &programs, set, timed)?;
            }
        }
    }
    Ok(())
}

/// Times every call of the fastest plan on the GPU, and of the plans that were asked for.
fn follow(
    executor: &Executor<'_>,
    programs: &[Program],
    set: &mut RunSet,
    timed: &[String],
) -> Result<(), Failure> {
    let on_gpu = programs.iter().filter(|program| !program.computes_on_cpu());
    let runs = on_gpu.filter_map(|program| set.run_of(&program.identity()));
    let fastest = runs.min_by_key(|run| run.makespan()).map(|run| run.plan.clone());
    for program in programs {
        let is_fastest = fastest.as_ref() == Some(&program.label);
        if program.needs_device() && (timed.contains(&program.label) || is_fastest) {
            set.traces.push(executor.trace(program).map_err(Failure::machine)?);
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

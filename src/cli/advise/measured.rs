//! The program and its changes, written as one scenario and run on this machine.

use super::Asked;
use crate::advise::{Advised, Measured, Rewritten};
use crate::cli::calibrate::team;
use crate::cli::progress::Progress;
use crate::cli::terminal::{interrupts, unless_stopped};
use crate::cli::{Failure, profiles::LoadedProfile};
use crate::execute::{Effort, ExecuteError, Executor};
use crate::files;
use crate::gpu::Device;
use crate::program::Program;
use crate::scenario::Workload;
use crate::units::Span;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use std::ops::ControlFlow;

/// How often each program is run, all of them in another order each time.
/// The program as it is, and the changed ones in the order of the answer, each with its number of
/// passes.
pub(super) fn programs(asked: &Asked, advised: &Advised) -> Vec<(Program, u64)> {
    let named = |name: String, of: &Rewritten| {
        let program = Program { label: name, ..of.program.clone() };
        (program, of.passes)
    };
    let changes = advised.advice.changes.iter().zip(&advised.changes);
    let only_if = advised.advice.only_if.iter().zip(&advised.only_if);
    let mut all = vec![(asked.subject.program.clone(), 1)];
    all.extend(changes.map(|(change, of)| named(change.remedy.to_string(), of)));
    all.extend(only_if.map(|(change, of)| named(format!("{}, if it may", change.remedy), of)));
    let together = advised.advice.best.as_ref().zip(advised.best.as_ref());
    if let Some((best, of)) = together.filter(|(best, _)| best.steps.len() > 1) {
        let steps = best.steps.iter().map(|step| step.remedy.to_string());
        all.push(named(steps.collect::<Vec<_>>().join(" + "), of));
    }
    all
}

/// The programs as a scenario, which predicts and runs them as they are.
pub(super) fn scenario(workload: &Workload, programs: &[(Program, u64)]) -> String {
    let programs: Vec<&Program> = programs.iter().map(|(program, _)| program).collect();
    workload.all_spelled_out(&programs)
}

/// Runs the programs, and notes beside each prediction what was measured.
pub(super) fn measure(
    advised: &mut Advised,
    asked: &Asked,
    found: &LoadedProfile,
    (gpu, seed): (usize, u64),
) -> Result<(), Failure> {
    let predicted = serde_json::to_vec(&advised.advice).expect("plain data");
    eprintln!("Predictions: {}", files::digest(&predicted));
    let programs = programs(asked, advised);
    let text = scenario(&asked.workload, &programs);
    let workload = Workload::from_toml(&asked.name, &text);
    let workload = workload.map_err(|error| Failure::of_machine(error.to_string()))?;
    let device = Device::open(gpu)?;
    let threads = found.profile.machine.cpu_threads;
    let team = team((threads > 0).then_some(threads))?;
    let executor = Executor::new(Some(&device), &team, &workload, found.profile.machine.seed);
    let passes = programs.iter().map(|(_, passes)| *passes).collect::<Vec<_>>();
    let times = times(&executor, &workload, (&passes, seed))?;
    note(advised, &times);
    Ok(())
}

/// The time of a pass of each program. A program that does not fit, or that nothing here can run,
/// has none.
fn times(
    executor: &Executor<'_>,
    workload: &Workload,
    (passes, seed): (&[u64], u64),
) -> Result<Vec<Option<f64>>, Failure> {
    let is_stopped = interrupts().map_err(Failure::of_machine)?;
    let stops = || match unless_stopped(&is_stopped) {
        ControlFlow::Break(()) => {
            Err(Failure::interrupted("hallway: interrupted; nothing was kept"))
        }
        ControlFlow::Continue(()) => Ok(()),
    };
    let effort = Effort::IN_TURN;
    let progress = Progress::over_stages(1);
    progress.begin("running", ((effort.turns + 2) * workload.programs.len()) as u64);
    let mut running = Vec::new();
    for (at, program) in workload.programs.iter().enumerate() {
        stops()?;
        match executor.set_up(std::slice::from_ref(program), effort) {
            Ok(ready) => running.push((at, ready)),
            Err(error @ (ExecuteError::DoesNotFit { .. } | ExecuteError::OnlyPredicted { .. })) => {
                progress.note(&format!("skipped: {error}"))
            }
            Err(error) => return Err(failure(error)),
        }
        progress.tally().add(1);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..effort.turns {
        running.shuffle(&mut random);
        for (_, program) in &mut running {
            stops()?;
            program.turn().map_err(failure)?;
            progress.tally().add(1);
        }
    }
    let mut times = vec![None; workload.programs.len()];
    for (at, program) in running {
        let runs = program.finish().map_err(failure)?;
        let pass = runs.first().map(|run| run.makespan().nanos_f64() / passes[at] as f64);
        times[at] = pass;
        progress.tally().add(1);
    }
    Ok(times)
}

fn failure(error: ExecuteError) -> Failure {
    match error {
        ExecuteError::Gpu(error) if error.is_absence() => error.into(),
        other => Failure::of_machine(other),
    }
}

/// Writes the times to the answer that they belong to.
fn note(advised: &mut Advised, times: &[Option<f64>]) {
    let (today, rest) = times.split_first().expect("the program as it is comes first");
    let advice = &mut advised.advice;
    advice.today_measured_ns = today.map(Span::from_nanos_f64);
    let measured = |after: &Option<f64>| {
        let (before, after) = today.zip(*after)?;
        Some(Measured { pass_ns: Span::from_nanos_f64(after), factor: before / after.max(1.0) })
    };
    let mut rest = rest.iter();
    for change in advice.changes.iter_mut().chain(&mut advice.only_if) {
        change.measured = rest.next().and_then(measured);
    }
    if let Some(best) = &mut advice.best {
        best.measured = match best.steps.as_slice() {
            [step] => {
                let same = advice.changes.iter().find(|change| change.remedy == step.remedy);
                same.and_then(|change| change.measured)
            }
            _ => rest.next().and_then(measured),
        };
    }
}

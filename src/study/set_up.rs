//! What plans take once: each is set up in new processes, which time themselves, and the times are
//! compared with the prediction.
//!
//! The processes are started before this one uses the GPU: a driver may have less to do for a
//! context while another process has one.

use super::runner::{Along, Event, Job, StudyError, stops};
use crate::compare::{FailedSetUp, ScoredSetUp, SetUpMeasured};
use crate::cost::{FirstUseOf, first_use};
use crate::execute::{ExecuteError, Executor, FirstPass};
use crate::files;
use crate::gpu::{AnyDevice, Device};
use crate::host::Team;
use crate::machine::DeviceId;
use crate::profile::Profile;
use crate::program::{Process, Program};
use crate::runs::{NewProcessTimes, RunSet};
use crate::scenario::Workload;
use crate::search::{Ranked, Ranking};
use crate::units::Span;
use std::collections::BTreeSet;
use std::time::Instant;

/// How a process is started for a plan of a workload: its times, or what happened instead.
type Start<'a> = dyn Fn(&Workload, &Program) -> Result<NewProcessTimes, String> + 'a;

/// Sets plans up in new processes.
pub struct NewProcesses<'a> {
    /// How many processes each plan gets: in rounds, so that what a machine does for a minute falls
    /// on all plans alike.
    pub repeats: usize,
    /// Starts a process and waits for its end.
    pub start: &'a Start<'a>,
}

/// Whether a plan is set up in new processes: not if it runs on the CPU alone, nor if it has
/// kernels that are not of the library. Each process would compile these, which is not predicted.
fn is_meant(program: &Program) -> bool {
    program.needs_device() && program.own_steps().next().is_none()
}

impl NewProcesses<'_> {
    /// Sets up all plans of the jobs that use a GPU and have no kernels of their own. The times are
    /// written as they come, and go to the plans' runs when these are there. A plan that fails once
    /// is not tried again, and is among those returned.
    ///
    /// # Errors
    /// If a file cannot be written, or `along` says to stop.
    pub fn time(
        &self,
        jobs: &mut [Job<'_>],
        along: &mut Along<'_>,
    ) -> Result<Vec<FailedSetUp>, StudyError> {
        let (mut failed, mut without) = (Vec::new(), BTreeSet::new());
        for round in 0..self.repeats {
            for (number, job) in jobs.iter_mut().enumerate() {
                for plan in 0..job.programs.len() {
                    let (program, identity) = &job.programs[plan];
                    let is_done = job.kept.new_processes_of(identity) > round;
                    if is_done || !is_meant(program) || without.contains(&(number, plan)) {
                        continue;
                    }
                    if let Some(one) = self.time_one(job, plan, along)? {
                        without.insert((number, plan));
                        failed.push(one);
                    }
                }
            }
        }
        Ok(failed)
    }

    /// Starts one process for a plan, given by its place in the job. Returns what failed.
    fn time_one(
        &self,
        job: &mut Job<'_>,
        plan: usize,
        along: &mut Along<'_>,
    ) -> Result<Option<FailedSetUp>, StudyError> {
        stops(along(Event::Begins))?;
        let (program, identity) = &job.programs[plan];
        match (self.start)(job.workload, program) {
            Ok(times) => {
                job.kept.add_new_process(identity, times);
                job.kept.save(&files::partial(&job.path))?;
                stops(along(Event::Kept))?;
                Ok(None)
            }
            Err(why) => {
                let (scenario, plan) = (job.workload.name.clone(), program.label.clone());
                let failed = FailedSetUp { scenario, plan, why };
                // An interrupt ends the new process as well, which is no failure of the plan.
                stops(along(Event::NotSetUp(&failed)))?;
                Ok(Some(failed))
            }
        }
    }

    /// The number of processes that are still to be started.
    pub fn left(&self, jobs: &[Job<'_>]) -> usize {
        let plans = jobs.iter().flat_map(|job| job.programs.iter().map(move |plan| (job, plan)));
        let meant = plans.filter(|(_, (program, _))| is_meant(program));
        let left = |(job, (_, identity)): (&Job<'_>, &(&Program, String))| {
            self.repeats.saturating_sub(job.kept.new_processes_of(identity))
        };
        meant.map(left).sum()
    }
}

/// The new process's side: sets a plan up and times that. `image` is the kernel library as another
/// process compiled it, so that it is in the driver's cache; `threads` and `contents` are as for a
/// [`Runner`](super::Runner).
///
/// # Errors
/// If there is no such GPU, or the plan does not run or computes a wrong result.
pub fn time_new_process(
    (gpu, image): (usize, &str),
    (threads, contents): (usize, u64),
    (workload, program): (&Workload, &Program),
) -> Result<NewProcessTimes, ExecuteError> {
    let start = Instant::now();
    let device = Device::open(gpu)?;
    (1..program.devices()).try_for_each(|other| device.nth(other).map(|_| ()))?;
    let opened = Instant::now();
    for DeviceId(id) in launching(program) {
        device.nth(id)?.load_module(image)?;
    }
    let loaded = Instant::now();
    let team = Team::new(threads)?;
    let executor = Executor::new(Some(&device), &team, workload, contents);
    let FirstPass { setup, first, later } = executor.first_pass(program)?;
    Ok(NewProcessTimes {
        context_ns: (opened - start).into(),
        module_ns: (loaded - opened).into(),
        setup_ns: setup,
        first_pass_ns: first,
        later_pass_ns: later,
    })
}

/// The devices that run kernels.
fn launching(program: &Program) -> BTreeSet<DeviceId> {
    let streams = program.body.iter().filter_map(|call| call.launched());
    streams.map(|(stream, _)| program.device_of(stream)).collect()
}

/// Compares what plans are predicted to take once with the new processes that were started for
/// them. Whatever process the scenario describes, these were new and loaded no framework.
pub fn score_set_up(
    workload: &Workload,
    ranking: &Ranking,
    runs: &RunSet,
    profile: &Profile,
) -> Vec<ScoredSetUp> {
    let scored = |ranked: &Ranked| {
        let run = runs.run_of(&ranked.plan.identity())?;
        let processes: Vec<SetUpMeasured> = run.new_processes.iter().map(measured).collect();
        let names = (workload.name.as_str(), run.plan.as_str());
        ScoredSetUp::new(names, predicted(ranked, profile), &processes)
    };
    ranking.plans.iter().filter_map(scored).collect()
}

fn measured(times: &NewProcessTimes) -> SetUpMeasured {
    let NewProcessTimes { context_ns, module_ns, setup_ns, .. } = *times;
    let parts = [context_ns, module_ns, setup_ns, times.first_pass_more()];
    SetUpMeasured { parts, once: times.once() }
}

/// The time of each part. `None` if the profile lacks a cost, or if a library of NVIDIA is started.
/// The first touch of memory that the set-up pins is predicted as part of the first run.
fn predicted(ranked: &Ranked, profile: &Profile) -> Option<[Span; 4]> {
    let first = first_use(&ranked.plan.program, &Process::default(), profile);
    let setup = *ranked.setup.as_ref().ok()?;
    let is_known = first.missing.is_none() && first.libraries.is_empty();
    let of = |wanted: FirstUseOf| {
        let parts = first.parts.iter().filter(|(of, _)| *of == wanted);
        parts.map(|(_, time)| *time).sum::<Span>()
    };
    let first_run = of(FirstUseOf::Kernels) + of(FirstUseOf::Memory);
    is_known.then(|| [of(FirstUseOf::Gpu), of(FirstUseOf::Module), setup, first_run])
}

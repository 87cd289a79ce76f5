//! Runs the plans of workloads in random order, and keeps every run.

use super::predicted::{Predicted, Which, dealt};
use crate::compare::FailedSetUp;
use crate::execute::{Effort, ExecuteError, Executor};
use crate::files;
use crate::gpu::{AnyDevice, Device};
use crate::host::Team;
use crate::profile::Profile;
use crate::program::Program;
use crate::runs::{PartialRuns, RunSet, RunsError};
use crate::scenario::Workload;
use crate::search::{Plan, Ranking};
use crate::units::Bytes;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The contents of buffers that are held at once, so that plans of many workloads can be mixed.
/// Above this, some workloads are run before others; a larger one is run by itself.
const HELD: Bytes = Bytes::mib(4096);

/// Why plans were not all run. What was run is kept.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    #[error("`{plan}` of `{scenario}`: {source}")]
    Execute { scenario: String, plan: String, source: ExecuteError },
    #[error(transparent)]
    Runs(#[from] RunsError),
    #[error("cannot resume {}: {why}", path.display())]
    CannotResume { path: PathBuf, why: String },
    #[error("interrupted")]
    Interrupted,
}

/// What a runner tells while it works. The answer says whether to go on.
#[derive(Debug)]
pub enum Event<'e> {
    Begins,
    /// A run is on the disk.
    Kept,
    /// A plan does not fit into the memory that is free now.
    LeftOut {
        scenario: &'e str,
        error: &'e ExecuteError,
    },
    /// A new process did not set a plan up.
    NotSetUp(&'e FailedSetUp),
}

/// Who is told, and answers.
pub(super) type Along<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// The plans to run of one workload.
#[derive(Debug)]
pub struct Job<'p> {
    pub workload: &'p Workload,
    /// Each with its identity.
    pub(super) programs: Vec<(&'p Program, String)>,
    /// Where the runs go when there are all. They grow beside it.
    pub path: PathBuf,
    pub(super) kept: PartialRuns,
    ranking: &'p Ranking,
    /// Whether another process runs the other plans.
    is_part: bool,
}

impl<'p> Job<'p> {
    /// Some plans of workloads, with a file for the runs of each. A workload of which there is none
    /// to run has no job. `predictions` is the [digest](super::digest) of all.
    pub fn all(
        all: &'p [Predicted],
        (profile, predictions): (&Profile, &str),
        which: Which,
        path: impl Fn(&Workload) -> PathBuf,
    ) -> Vec<Self> {
        let programs = dealt(all, profile, which);
        let job = |(one, programs): (&'p Predicted, Vec<_>)| {
            let workload = &one.workload;
            let set = RunSet::new(&workload.name, profile.machine.unix_time);
            let kept = PartialRuns::new(predictions, set);
            let (ranking, is_part) = (&one.ranking, which.shard.is_some());
            Self { workload, programs, path: path(workload), kept, ranking, is_part }
        };
        let jobs = all.iter().zip(programs).filter(|(_, programs)| !programs.is_empty());
        jobs.map(job).collect()
    }

    pub fn programs(&self) -> impl Iterator<Item = &'p Program> {
        self.programs.iter().map(|(program, _)| *program)
    }

    /// Takes up what an interrupted process kept, if it kept anything. Returns the number of runs.
    ///
    /// # Errors
    /// If that cannot be read, or belongs to other predictions.
    pub fn resume(&mut self) -> Result<usize, StudyError> {
        let path = files::partial(&self.path);
        if !path.exists() {
            return Ok(0);
        }
        let kept = PartialRuns::load(&path)?;
        let time = |kept: &PartialRuns| kept.set.calibration_unix_time;
        let why = if time(&kept) != time(&self.kept) {
            "the existing runs belong to another calibration".to_owned()
        } else if kept.predictions != self.kept.predictions {
            let (there, here) = (&kept.predictions, &self.kept.predictions);
            format!("the predictions have changed: their digest was {there}, and is now {here}")
        } else if kept.set.scenario != self.kept.set.scenario {
            format!(
                "it contains runs of `{}`, not of `{}`",
                kept.set.scenario, self.kept.set.scenario
            )
        } else {
            self.kept = kept;
            return Ok(self.kept.rounds.values().sum());
        };
        Err(StudyError::CannotResume { path, why })
    }

    /// The plan to choose of those that were run, and the one that was the fastest, if these are
    /// two plans and this process has run all.
    fn finalists(&self) -> Option<[(&'p Program, &str); 2]> {
        let run_of = |identity: &str| self.kept.set.run_of(identity);
        let choice = self.ranking.choice(|ranked| run_of(&ranked.plan.identity()).is_some())?;
        let chosen = choice.plan.identity();
        let runs = self.programs.iter().filter_map(|(program, identity)| {
            Some((run_of(identity)?.makespan(), *program, identity.as_str()))
        });
        let (_, program, fastest) = runs.min_by_key(|(time, ..)| *time)?;
        let of_choice = self.programs.iter().find(|(_, identity)| *identity == chosen)?;
        let are_two = fastest != chosen && !self.is_part;
        are_two.then_some([(of_choice.0, &of_choice.1), (program, fastest)])
    }

    fn lacks(&self, identity: &str, round: usize) -> bool {
        self.kept.rounds_of(identity) <= round
    }

    /// The bytes of what buffers hold before and must hold after the workload.
    fn contents(&self) -> u64 {
        let buffers = self.workload.buffers.iter();
        2 * buffers.map(|buffer| buffer.bytes(self.workload.batches).get()).sum::<u64>()
    }

    fn failure(&self, program: &Program, source: ExecuteError) -> StudyError {
        let (scenario, plan) = (self.workload.name.clone(), program.label.clone());
        StudyError::Execute { scenario, plan, source }
    }
}

/// How plans are run.
pub struct Runner<'a, D = Device> {
    /// Plans on the CPU need none.
    pub device: Option<&'a D>,
    pub team: &'a Team,
    /// Seed of what buffers hold.
    pub contents: u64,
    /// Seed of the order of runs.
    pub order: u64,
    /// How often every plan is run: in rounds, so that what a machine does for a minute falls on
    /// all plans alike.
    pub rounds: usize,
    /// How often each of the plan to choose and the fastest one is run again, in turn.
    pub reruns: usize,
    pub effort: Effort,
    /// The plans that are run once more, to time each call, after all plans have run: the plan to
    /// choose and the fastest one among those on the GPU, and the plans with these names. `None`:
    /// no plan.
    pub traced: Option<&'a [String]>,
}

impl<D: AnyDevice> Runner<'_, D> {
    /// Runs all plans of the jobs that were not run in every round yet. Each run is written as it
    /// comes. When all are there, they replace the runs of an earlier process, and are returned.
    ///
    /// # Errors
    /// If a plan does not run or computes a wrong result, a file cannot be written, or `along` says
    /// to stop. What was run is kept, and [`Job::resume`] takes it up.
    pub fn run(
        &self,
        jobs: &mut [Job<'_>],
        along: &mut Along<'_>,
    ) -> Result<Vec<RunSet>, StudyError> {
        let mut left_out = BTreeSet::new();
        for round in 0..self.rounds {
            let mut random = ChaCha8Rng::seed_from_u64(self.order);
            random.set_stream(round as u64);
            for group in groups(jobs, &mut random) {
                self.run_group(jobs, group, (round, &mut left_out), along)?;
            }
        }
        for job in &mut *jobs {
            self.rerun(job, along)?;
        }
        // A library that records may slow down whatever runs after it.
        for job in &mut *jobs {
            self.trace(job, along)?;
        }
        for job in &mut *jobs {
            job.kept.settle_new_processes();
            job.kept.set.sort();
            job.kept.set.save(&job.path)?;
        }
        // Only now is nothing left to resume.
        for job in &*jobs {
            let _ = std::fs::remove_file(files::partial(&job.path));
        }
        Ok(jobs.iter().map(|job| job.kept.set.clone()).collect())
    }

    /// Runs some plans once, each given by its job and its place there, in this order.
    fn run_group(
        &self,
        jobs: &mut [Job<'_>],
        mut group: Vec<(usize, usize)>,
        (round, left_out): (usize, &mut BTreeSet<(usize, usize)>),
        along: &mut Along<'_>,
    ) -> Result<(), StudyError> {
        group.retain(|&(job, plan)| jobs[job].lacks(&jobs[job].programs[plan].1, round));
        let mut executors: BTreeMap<usize, Executor<'_, D>> = BTreeMap::new();
        for (job, plan) in group {
            stops(along(Event::Begins))?;
            let (workload, program) = (jobs[job].workload, jobs[job].programs[plan].0);
            let executor = executors
                .entry(job)
                .or_insert_with(|| Executor::new(self.device, self.team, workload, self.contents));
            match executor.run(program, self.effort) {
                Ok(run) => {
                    let job = &mut jobs[job];
                    job.kept.add(run);
                    job.kept.save(&files::partial(&job.path))?;
                    stops(along(Event::Kept))?;
                }
                Err(
                    error @ (ExecuteError::DoesNotFit { .. } | ExecuteError::OnlyPredicted { .. }),
                ) => {
                    if left_out.insert((job, plan)) {
                        let scenario = &workload.name;
                        stops(along(Event::LeftOut { scenario, error: &error }))?;
                    }
                }
                Err(other) => return Err(jobs[job].failure(program, other)),
            }
        }
        Ok(())
    }

    /// The number of runs that are still to come.
    pub fn left(&self, jobs: &[Job<'_>]) -> usize {
        let of = |job: &Job<'_>| -> usize {
            let done = |identity: &str| job.kept.rounds_of(identity).min(self.rounds);
            job.programs.iter().map(|(_, identity)| self.rounds - done(identity)).sum()
        };
        jobs.iter().map(of).sum()
    }

    /// Runs the plan to choose and the fastest one in turn, each first as often as second.
    fn rerun(&self, job: &mut Job<'_>, along: &mut Along<'_>) -> Result<(), StudyError> {
        let is_done = self.reruns == 0 || !job.kept.set.reruns.is_empty();
        let Some([one, other]) = job.finalists().filter(|_| !is_done) else { return Ok(()) };
        let turns = [one, other, other, one].into_iter().cycle().take(2 * self.reruns);
        let executor = Executor::new(self.device, self.team, job.workload, self.contents);
        let RunSet { scenario, calibration_unix_time, .. } = &job.kept.set;
        let mut reruns = RunSet::new(scenario, *calibration_unix_time);
        for (program, _) in turns {
            stops(along(Event::Begins))?;
            let run = executor.run(program, self.effort);
            reruns.add(run.map_err(|source| job.failure(program, source))?);
        }
        job.kept.set.reruns = reruns.runs;
        Ok(job.kept.save(&files::partial(&job.path))?)
    }

    /// Times every call of the plans that are to be traced and are not yet.
    fn trace(&self, job: &mut Job<'_>, along: &mut Along<'_>) -> Result<(), StudyError> {
        let Some(names) = self.traced else { return Ok(()) };
        let set = &job.kept.set;
        let on_gpu = job.programs.iter().filter(|(program, _)| program.needs_device());
        let run = on_gpu.clone().filter_map(|(program, identity)| {
            (!program.computes_on_cpu()).then_some(set.run_of(identity)?).map(|run| (run, identity))
        });
        let fastest = run.min_by_key(|(run, _)| run.makespan()).map(|(_, identity)| identity);
        let has_run = |plan: &Plan| set.run_of(&plan.identity()).is_some();
        let choice = job.ranking.choice(|ranked| !ranked.is_cpu() && has_run(&ranked.plan));
        let chosen = choice.map(|ranked| ranked.plan.identity());
        let is_meant = |(program, identity): &&(&Program, String)| {
            let is_named = names.contains(&program.label)
                || fastest == Some(identity)
                || chosen.as_ref() == Some(identity);
            // What was left out as too large has no run, and would not fit now either.
            is_named && set.run_of(identity).is_some() && set.trace_of(identity).is_none()
        };
        let meant: Vec<&Program> = on_gpu.filter(is_meant).map(|(program, _)| *program).collect();
        if meant.is_empty() {
            return Ok(());
        }
        let executor = Executor::new(self.device, self.team, job.workload, self.contents);
        for program in meant {
            stops(along(Event::Begins))?;
            let trace = executor.trace(program).map_err(|source| job.failure(program, source))?;
            job.kept.set.traces.push(trace);
        }
        Ok(job.kept.save(&files::partial(&job.path))?)
    }
}

pub(super) fn stops(answer: ControlFlow<()>) -> Result<(), StudyError> {
    if answer.is_break() { Err(StudyError::Interrupted) } else { Ok(()) }
}

/// Shuffles all plans, given by their jobs and their places there, in as few groups as the contents
/// of their buffers need. Who follows whom in time says nothing about what they are.
fn groups(jobs: &[Job<'_>], random: &mut ChaCha8Rng) -> Vec<Vec<(usize, usize)>> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.shuffle(random);
    let (mut groups, mut held) = (vec![Vec::new()], 0);
    for job in order {
        let contents = jobs[job].contents();
        if held > 0 && held + contents > HELD.get() {
            groups.push(Vec::new());
            held = 0;
        }
        held += contents;
        let group = groups.last_mut().expect("there is one");
        group.extend((0..jobs[job].programs.len()).map(|plan| (job, plan)));
    }
    for group in &mut groups {
        group.shuffle(random);
    }
    groups
}

//! `hallway verify --set-up`: new processes, before this one uses the GPU.

use crate::cli::Failure;
use crate::cli::new_process::{Reread, SetUpRequest, kernel_library, set_up};
use crate::cli::progress::Progress;
use crate::cli::terminal::{interrupts, unless_stopped};
use crate::compare::FailedSetUp;
use crate::gpu::Device;
use crate::profile::Profile;
use crate::program::Program;
use crate::scenario::Workload;
use crate::study::{Event, Job, NewProcesses};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// New processes for each plan, and for each random one.
const REPEATS: usize = 3;
const REPEATS_OF_RANDOM: usize = 1;

/// The GPU that plans run on.
pub(super) enum Gpu {
    /// Nothing runs, or no plan needs one.
    None,
    Opened(Device),
    /// New processes use it first. This one opens it when they are done.
    Later {
        number: usize,
        /// The kernel library as another process compiled it.
        image: String,
    },
}

impl Gpu {
    /// Opens a GPU, unless `new_processes` come first.
    ///
    /// # Errors
    /// If there is no GPU, or if a first new process fails.
    pub fn new(number: usize, new_processes: bool) -> Result<Self, Failure> {
        if !new_processes {
            return Ok(Self::Opened(Device::open(number)?));
        }
        match kernel_library(number) {
            Ok(image) => Ok(Self::Later { number, image }),
            Err(why) => {
                // Where there is no GPU, that is the reason.
                Device::open(number)?;
                Err(Failure::of_machine(format!("cannot score set-up: a new process {why}")))
            }
        }
    }

    /// Sets plans up in new processes, if that was asked for. Returns those that failed.
    pub fn set_up(
        &self,
        is_random: bool,
        (profile, sources): (&Profile, &BTreeMap<String, Reread>),
        jobs: &mut [Job<'_>],
    ) -> Result<Vec<FailedSetUp>, Failure> {
        let Self::Later { number, image } = self else { return Ok(Vec::new()) };
        let start = |workload: &Workload, program: &Program| {
            let request = SetUpRequest {
                threads: profile.machine.cpu_threads,
                contents: profile.machine.seed,
                image: image.clone(),
                scenario: sources[&workload.name].clone(),
                program,
            };
            set_up(*number, &request)
        };
        let repeats = if is_random { REPEATS_OF_RANDOM } else { REPEATS };
        let processes = NewProcesses { repeats, start: &start };
        let is_stopped = interrupts().map_err(Failure::of_machine)?;
        let progress = Progress::over_stages(1);
        progress.begin("setting up", processes.left(jobs) as u64);
        let failed = processes.time(jobs, &mut |event| {
            match event {
                Event::Kept => progress.tally().add(1),
                Event::NotSetUp(FailedSetUp { scenario, plan, why })
                    if !is_stopped.load(Ordering::Relaxed) =>
                {
                    progress.note(&format!("{scenario}: `{plan}`: a new process {why}"));
                }
                _ => {}
            }
            unless_stopped(&is_stopped)
        });
        Ok(failed?)
    }

    /// The GPU, for the runs.
    pub fn opened(self) -> Result<Option<Device>, Failure> {
        Ok(match self {
            Self::None => None,
            Self::Opened(device) => Some(device),
            Self::Later { number, .. } => Some(Device::open(number)?),
        })
    }
}

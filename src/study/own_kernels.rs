//! What scenarios bring along to be measured, and adding it to a machine's samples and profile.

use super::library_sizes::library_jobs;
use crate::calibrate::{OwnJob, ScenarioJob};
use crate::fit::{own_models, with_library_sizes};
use crate::kernels::{CpuSide, OwnKernel};
use crate::profile::Profile;
use crate::program::{OwnStep, ProductShape, Program, Slice};
use crate::samples::{Measurement, OwnRun, Quantity, Samples, Stop};
use crate::scenario::{FamilyName, Workload};
use crate::search::candidates;
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;

/// A command to time.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandJob {
    pub name: String,
    digest: String,
    pub command: Vec<String>,
    pub elements: u64,
}

/// Programs that make every launch of a workload's plans. Plans by task are made from prices, which
/// are what is missing here; plans of the other families make the same launches.
fn programs_to_measure(workload: &Workload) -> Vec<Program> {
    let mut workload = workload.clone();
    if workload.plans.families.contains(&FamilyName::ByTask) {
        workload.plans.families.clear();
    }
    candidates(&workload).programs()
}

/// What some scenarios need that some samples do not have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wanted {
    /// What needs a GPU, or runs long: measured in a process of its own.
    pub kernels: Vec<ScenarioJob>,
    pub commands: Vec<CommandJob>,
}

impl Wanted {
    /// Every launch of kernels that can be run, every command, and every size of the library's
    /// kernels that the profile lacks, each once.
    pub fn new(workloads: &[Workload], samples: &Samples, profile: &Profile) -> Self {
        let mut wanted = Self::default();
        let mut kernels: Vec<OwnJob> = Vec::new();
        let programs: Vec<Program> = workloads.iter().flat_map(programs_to_measure).collect();
        for (program, (step, on_cpu)) in
            programs.iter().flat_map(|program| program.own_steps().map(move |step| (program, step)))
        {
            let kernel = program.own_kernel(step);
            if on_cpu {
                wanted.add_command(kernel, step, samples);
            } else if kernel.runs() {
                let job = job(program, step);
                let is_there = has(samples, |run| job.is_of(run));
                let is_known = |other: &OwnJob| {
                    (&other.numbers, other.elements) == (&job.numbers, job.elements)
                        && other.kernel.digest() == job.kernel.digest()
                };
                if !is_there && !kernels.iter().any(is_known) {
                    kernels.push(job);
                }
            }
        }
        let library = library_jobs(&programs, profile, &samples.measurements);
        let library = library.into_iter().map(ScenarioJob::Library);
        wanted.kernels =
            kernels.into_iter().map(|job| ScenarioJob::Own(Box::new(job))).chain(library).collect();
        wanted
    }

    fn add_command(&mut self, kernel: &OwnKernel, step: &OwnStep, samples: &Samples) {
        let CpuSide::Command(command) = &kernel.cpu else { return };
        let elements = step.elements;
        let words = command.iter().map(|word| word.replace("{elements}", &elements.to_string()));
        let job = CommandJob {
            name: kernel.name.clone(),
            digest: kernel.command_digest(),
            command: words.collect(),
            elements,
        };
        if !has(samples, |run| job.is_of(run)) && !self.commands.contains(&job) {
            self.commands.push(job);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.commands.is_empty()
    }
}

fn has(samples: &Samples, is_it: impl Fn(&OwnRun) -> bool) -> bool {
    samples.measurements.iter().any(|one| match &one.quantity {
        Quantity::Own(run) => is_it(run),
        _ => false,
    })
}

impl CommandJob {
    fn is_of(&self, run: &OwnRun) -> bool {
        matches!(run, OwnRun::Command { command, elements, .. }
            if *command == self.digest && *elements == self.elements)
    }

    /// The times of some runs.
    pub fn measured(&self, times: Vec<Span>) -> Measurement {
        let (name, command, elements) = (self.name.clone(), self.digest.clone(), self.elements);
        let quantity = Quantity::Own(OwnRun::Command { name, command, elements });
        Measurement::new(quantity, 1, times, Stop::Stable)
    }
}

/// A launch with memory of its own: as much of each allocation as it uses.
fn job(program: &Program, step: &OwnStep) -> OwnJob {
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    let mut memory: Vec<Bytes> = Vec::new();
    for slice in step.slices() {
        let next = memory.len();
        let place = *places.entry(slice.allocation.0).or_insert(next);
        if place == next {
            memory.push(Bytes::ZERO);
        }
        memory[place] = memory[place].max(slice.end());
    }
    let at = |slice: &Slice| (places[&slice.allocation.0], slice.offset);
    OwnJob {
        kernel: program.own_kernel(step).clone(),
        reads: step.reads.iter().map(at).collect(),
        writes: step.writes.iter().map(at).collect(),
        memory,
        elements: step.elements,
        numbers: step.signature(),
        geometry: step.geometry,
        parameters: step.parameters.clone(),
        shape: step.product().map(|ProductShape { rows, inner, columns }| [rows, inner, columns]),
    }
}

/// The profile with models of all kernels and commands, and all sizes of the library's kernels,
/// that the samples have.
#[must_use]
pub fn with_own_models(profile: Profile, samples: &Samples) -> Profile {
    let (own_kernels, own_commands) = own_models(samples);
    with_library_sizes(Profile { own_kernels, own_commands, ..profile }, samples)
}

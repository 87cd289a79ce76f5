//! A worker of a job queue that asks hallway, for every kind and size of job, where to run it.
//!
//! ```sh
//! cargo run --release --example choose_plan
//! ```
//!
//! The worker loads the profile of its machine once, when it starts. Jobs come in any size, so it
//! rounds sizes up to powers of two and asks once for each: a prediction takes tens of
//! milliseconds, and looking up an earlier one takes next to nothing.
//!
//! What is left out is running the plan: that is the worker's own code, or hallway's
//! `execute` room.

use hallway::profile::Profile;
use hallway::scenario::Workload;
use hallway::search::{Ranked, candidates_for, rank};
use hallway::units::Span;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::path::Path;

/// Jobs of one kind and size that a worker gets before it is replaced. Set-up, such as pinning
/// memory, is paid once and pays off over so many.
const JOBS_PER_WORKER: u64 = 1_000;
/// Draws behind each predicted range, and their seed: an equal seed gives an equal answer.
const DRAWS: usize = 100;
const SEED: u64 = 1;

/// A job of the queue: so many elements of a kind of work.
pub struct Job {
    pub kind: &'static str,
    pub elements: u64,
}

/// Where jobs of one kind and size run.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub on_gpu: bool,
    /// The plan's name, as `hallway evaluate` prints it.
    pub plan: String,
    /// Predicted time of one job.
    pub time: Span,
    /// What the best plan of the other side takes, if it has one that fits.
    pub other_side: Option<Span>,
}

/// Decides for one machine, and remembers what it decided.
pub struct Dispatcher {
    profile: Profile,
    /// By kind of job, what one of them computes.
    workloads: BTreeMap<&'static str, Workload>,
    /// By kind and size class.
    decided: BTreeMap<(&'static str, u64), Decision>,
}

impl Dispatcher {
    /// `scenarios`: for each kind of job, the file that says what it computes. Its own sizes do
    /// not matter.
    pub fn new(
        profile: &Path,
        scenarios: &[(&'static str, &Path)],
    ) -> Result<Self, Box<dyn Error>> {
        let workloads = scenarios
            .iter()
            .map(|&(kind, path)| Ok((kind, Workload::load(path)?)))
            .collect::<Result<_, Box<dyn Error>>>()?;
        Ok(Self { profile: Profile::load(profile)?, workloads, decided: BTreeMap::new() })
    }

    /// Where to run a job, and whether that had to be predicted first.
    pub fn decide(&mut self, job: &Job) -> Result<(&Decision, bool), Box<dyn Error>> {
        // Rounded up, so that the prediction is never below what the job takes.
        let class = job.elements.next_power_of_two();
        match self.decided.entry((job.kind, class)) {
            Entry::Occupied(known) => Ok((known.into_mut(), false)),
            Entry::Vacant(new) => {
                let workload =
                    self.workloads.get(job.kind).ok_or_else(|| format!("no kind {}", job.kind))?;
                Ok((new.insert(predict(workload, class, &self.profile)?), true))
            }
        }
    }
}

/// Asks hallway for the best plan of a workload with so many elements in each buffer.
fn predict(
    workload: &Workload,
    elements: u64,
    profile: &Profile,
) -> Result<Decision, Box<dyn Error>> {
    let mut workload = workload.clone();
    for buffer in &mut workload.buffers {
        buffer.elements = elements;
    }
    let candidates = candidates_for(&workload, profile);
    let ranking = rank(candidates, profile, DRAWS, SEED);
    let winner = ranking.winner_over(JOBS_PER_WORKER).or_else(|| ranking.winner());
    // Plans of which the profile does not know some cost are not ranked; it says which cost.
    let winner = winner.ok_or_else(|| match ranking.unknown.first() {
        Some((_, unknown)) => format!("{}: {unknown}", workload.name),
        None => format!("{}: no plan fits into this machine", workload.name),
    })?;
    let on_gpu = !winner.is_cpu();
    let other_side = if on_gpu { ranking.best_on_cpu() } else { ranking.best_on_gpu() };
    Ok(Decision {
        on_gpu,
        plan: winner.plan.name(),
        time: winner.makespan(),
        other_side: other_side.map(Ranked::makespan),
    })
}

/// The jobs of a quiet minute.
const QUEUE: [Job; 10] = [
    Job { kind: "pricing", elements: 2_000 },
    Job { kind: "pricing", elements: 1_500_000 },
    Job { kind: "smoothing", elements: 40_000 },
    Job { kind: "pricing", elements: 1_900 },
    Job { kind: "smoothing", elements: 9_000_000 },
    Job { kind: "pricing", elements: 2_000_000 },
    Job { kind: "pricing", elements: 30_000 },
    Job { kind: "smoothing", elements: 16_000_000 },
    Job { kind: "smoothing", elements: 50_000 },
    Job { kind: "pricing", elements: 1_200_000 },
];

#[allow(dead_code, reason = "the test suite includes this file and has a `main` of its own")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut dispatcher = Dispatcher::new(
        &folder.join("calibration/h200/profile.toml"),
        &[
            ("pricing", &folder.join("scenarios/option-pricing.toml")),
            ("smoothing", &folder.join("scenarios/stencil-halo.toml")),
        ],
    )?;
    let (mut mixed, mut one_sided) = (Span::default(), Span::default());
    for job in &QUEUE {
        let (decision, is_new) = dispatcher.decide(job)?;
        let Decision { on_gpu, plan, time, other_side } = decision;
        println!(
            "{:<9} of {:>10} elements: {} by `{plan}`, {time}{}",
            job.kind,
            job.elements,
            if *on_gpu { "GPU" } else { "CPU" },
            if is_new { "" } else { " (known)" },
        );
        mixed += *time;
        one_sided += if *on_gpu { other_side.unwrap_or(*time) } else { *time };
    }
    println!("all jobs: {mixed}; on the CPU alone: {one_sided}");
    Ok(())
}

//! What is asked: workloads that are drawn, and those that are shipped at other sizes, and what
//! their text says about the answer.

use super::super::predicted::scenarios;
use super::super::workloads::{ON_DEVICE, ON_HOST, PINNED, SCRATCH, floats, head, read, task};
use hallway::program::{BufferId, ProcessState};
use hallway::scenario::{FamilyName, Home, PlanMemory, Workload};
use hallway::search::scaled;
use hallway::study::draw;
use hallway::units::{Bytes, Span};
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// A scenario, and what is known of its answer without predicting anything.
pub(super) struct Asked {
    pub workload: Workload,
    pub known: Known,
    /// Whether other sizes are tried, which takes longest.
    pub sizes: bool,
}

/// What a scenario says about its answer.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Whether its plans may pin nothing.
    pub pageable_only: bool,
    /// Whether the process is a new one, and what its start takes then.
    pub is_new: Option<bool>,
    pub start_ns: u64,
    pub is_home_on_device: bool,
    /// Its programs by the results that they leave.
    pub groups: Option<Vec<Vec<String>>>,
    /// Its programs that do not use the GPU.
    pub on_cpu: Vec<String>,
    /// Pairs of programs that make the same calls.
    pub equal: Vec<[String; 2]>,
    pub facts: Vec<Fact>,
    /// Whether its programs may use the default stream, which need not be created.
    pub uses_default_stream: bool,
    /// Bytes that have to cross to the device in each run, since only the GPU knows the kernel.
    pub bytes_down: u64,
}

/// What is known of a program.
#[derive(Debug)]
pub(super) struct Fact {
    pub program: String,
    /// Its kernels in one stream have stated times without a range of their own: a run takes no
    /// less.
    pub least_ns: u64,
    /// What does not bound it.
    pub never_bound_by: Vec<&'static str>,
    /// Whether it launches kernels whose times have no range.
    pub is_stated_alone: bool,
}

impl Known {
    fn of(workload: &Workload) -> Self {
        Self {
            pageable_only: workload.plans.memory == [PlanMemory::Pageable],
            is_new: Some(workload.process.state == ProcessState::New),
            start_ns: workload.process.start.nanos(),
            is_home_on_device: workload.buffers.iter().any(|one| one.home == Home::Device),
            uses_default_stream: true,
            ..Self::default()
        }
    }
}

const RUNS: [u64; 6] = [1, 2, 10, 100, 3_000, 200_000];

/// Families that need a longer search are asked for one at a time.
const FAMILIES: [&[FamilyName]; 7] = [
    &[FamilyName::Cpu, FamilyName::Resident, FamilyName::RoundTrip],
    &[FamilyName::Cpu, FamilyName::Resident, FamilyName::ByChunk],
    &[FamilyName::Cpu, FamilyName::Staged, FamilyName::ByEngine],
    &[FamilyName::Cpu, FamilyName::Hybrid, FamilyName::Resident],
    &[FamilyName::Cpu, FamilyName::ZeroCopy, FamilyName::Buffered],
    &[FamilyName::Cpu, FamilyName::Managed, FamilyName::Graph, FamilyName::Resident],
    &[FamilyName::Resident, FamilyName::ByChunk],
];

const MEMORY: [&[PlanMemory]; 5] = [
    &[PlanMemory::Pageable],
    &[PlanMemory::Pinned],
    &[PlanMemory::Pageable, PlanMemory::Pinned],
    &[PlanMemory::Pinned, PlanMemory::WriteCombined],
    &[PlanMemory::Pageable, PlanMemory::PinnedEachPass],
];

/// Changes what a scenario asks for, but not its work.
fn varied(workload: &mut Workload, random: &mut ChaCha8Rng) {
    workload.runs = *RUNS.choose(random).expect("some");
    workload.plans.chunks = vec![*[2, 3, 8].choose(random).expect("some")];
    if random.random_bool(0.8) {
        workload.plans.families = FAMILIES.choose(random).expect("some").to_vec();
    }
    if random.random_bool(0.4) {
        workload.plans.memory = MEMORY.choose(random).expect("some").to_vec();
    }
    match random.random_range(0..8) {
        0 => workload.process.state = ProcessState::Running,
        1 => {
            workload.process.state = ProcessState::New;
            workload.process.start = Span::from_millis(random.random_range(1..4_000));
        }
        _ => {}
    }
    if workload.programs.is_empty() && random.random_bool(0.2) {
        put_results_into_new_memory(workload);
    }
    let bytes = workload.buffers.iter().map(|one| 4 * one.elements * workload.batches).sum::<u64>();
    let mut limit = |chance| {
        let share = random.random_range(0.1..1.5);
        random.random_bool(chance).then(|| Bytes::new((share * bytes as f64) as u64 + 1))
    };
    workload.limits.device_memory = limit(0.12);
    workload.limits.pinned_memory = limit(0.12);
}

/// Every run writes what no task reads into host memory of its own.
fn put_results_into_new_memory(workload: &mut Workload) {
    for id in 0..workload.buffers.len() {
        let is_read = workload.tasks.iter().any(|task| task.reads.contains(&BufferId(id)));
        if workload.is_output(BufferId(id)) && !is_read {
            let buffer = &mut workload.buffers[id];
            buffer.fresh |= matches!(buffer.home, Home::Host(_));
        }
    }
}

fn asked(mut workload: Workload, random: &mut ChaCha8Rng, sizes: bool) -> Asked {
    varied(&mut workload, random);
    Asked { known: Known::of(&workload), workload, sizes }
}

/// Tasks with library kernels, as studies draw them, some with a kernel that only a GPU knows, and
/// some whose weights do not fit into the GPU's memory at once.
pub(super) fn drawn_tasks(count: usize) -> Vec<Asked> {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    // `draw` counts plans, and up to six of them share a workload.
    let drawn = draw(6 * count, 58).into_iter().map(|drawn| drawn.workload).take(count);
    let drawn: Vec<Workload> = drawn.collect();
    assert_eq!(drawn.len(), count, "enough are drawn");
    let drawn = drawn.into_iter().enumerate().map(|(at, workload)| {
        if at % 13 == 5 {
            for_the_gpu_alone(at, &mut random)
        } else if at % 41 == 7 {
            in_little_memory(at, &mut random)
        } else {
            asked(workload, &mut random, at % 20 == 0)
        }
    });
    drawn.collect()
}

/// A scenario of matrix products in a row, each with weights of its own.
pub(super) fn layers(name: &str, count: u64, inner: u64) -> String {
    let mut text = head(name, "");
    for layer in 0..=count {
        let home = if layer % count == 0 { PINNED } else { SCRATCH };
        text += &floats([&format!("h{layer}")], 512 * inner, home);
    }
    for layer in 0..count {
        let [data, weights] = ["h", "w"].map(|kind| format!("{kind}{layer}"));
        text += &floats([&weights], inner * inner, PINNED);
        let (name, next) = (format!("layer{layer}"), format!("h{}", layer + 1));
        let arguments = format!("arguments = {{ inner = {inner} }}");
        text += &task(&name, "matmul", &[&data, &weights], &next, &arguments);
    }
    text
}

/// Layers with weights of their own. Only plans that free what a layer has used fit, and those are
/// not looked for at other sizes.
fn in_little_memory(at: usize, random: &mut ChaCha8Rng) -> Asked {
    let count = random.random_range(4..=8_u64);
    let inner = *[1_024, 2_048, 4_096].choose(random).expect("some");
    let text = layers(&format!("layers-{at}"), count, inner);
    let mut workload = read(&text);
    workload.runs = *RUNS.choose(random).expect("some");
    // Room for the weights of two layers and a half.
    workload.limits.device_memory = Some(Bytes::new(10 * inner * inner));
    Asked { known: Known::of(&workload), workload, sizes: true }
}

/// A task with a kernel whose time on the CPU nobody knows.
fn for_the_gpu_alone(at: usize, random: &mut ChaCha8Rng) -> Asked {
    let elements = random.random_range(100_000..4_000_000_u64);
    const OWN: &str = r#"
[[kernel]]
name = "own"
reads = ["in"]
writes = ["out"]
stated = { fixed = "2 us", per_element = "0.002 ns" }
"#;
    let buffers = floats(["x"], elements, ON_HOST) + &floats(["y"], elements, ON_DEVICE);
    let text = buffers + OWN + &task("t", "own", &["x"], "y", "");
    let workload = read(&(head(&format!("gpu-alone-{at}"), "") + &text));
    let mut asked = asked(workload, random, false);
    asked.known.bytes_down = 4 * elements;
    asked
}

/// The most calls of a program that is worth its time here.
const MOST_CALLS: usize = 300;

/// The committed scenarios in turn: their tasks at other sizes, and their programs as they are.
pub(super) fn shipped(count: usize) -> Vec<Asked> {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let paths = scenarios(&["", "faq", "graphs", "kernels", "memory", "programs"]);
    let workloads: Vec<Workload> =
        paths.iter().map(|path| Workload::load(path).expect("a scenario")).collect();
    let is_short = |workload: &&Workload| {
        let calls = workload.programs.iter().map(|program| program.body.len());
        workload.tasks.len() <= 12 && workload.batches <= 16 && calls.sum::<usize>() <= MOST_CALLS
    };
    let short: Vec<&Workload> = workloads.iter().filter(is_short).collect();
    let other_size = |(at, workload): (usize, &&Workload)| {
        let elements = 10_f64.powf(random.random_range(3.0..6.5)) as u64;
        let workload = scaled(workload, elements).unwrap_or_else(|| (*workload).clone());
        asked(workload, &mut random, at % 20 == 0)
    };
    short.iter().cycle().take(count).enumerate().map(other_size).collect()
}

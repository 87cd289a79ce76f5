//! Random scenarios. Those to verify predictions with are stratified: one after another, they go
//! through all shapes of work and through all kernels. Those for the trials of a calibration are
//! quick to run, and of five kernels.

use crate::kernels::{Arguments, Kernel, Shape};
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;

/// Elements of the largest buffers in all batches together: five orders of magnitude.
const ELEMENTS: [f64; 2] = [100.0, 10_000_000.0];
/// Kernels whose cost grows faster than the elements get no more than so many.
const MOST_HEAVY: f64 = 1_000_000.0;

/// What the tasks of a workload look like together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    OneTask,
    Chain,
    ForkJoin,
    Iterations,
    Batches,
}

const LAYOUTS: [Layout; 5] =
    [Layout::OneTask, Layout::Chain, Layout::ForkJoin, Layout::Iterations, Layout::Batches];

/// The kernels of single tasks. A kernel that the library gains later is not among them: a seed is
/// to give the plans of which runs were recorded.
const ALONE: [Kernel; 11] = [
    Kernel::Scale,
    Kernel::Saxpy,
    Kernel::Polynomial,
    Kernel::Sum,
    Kernel::Stencil,
    Kernel::BlackScholes,
    Kernel::Convolution,
    Kernel::Histogram,
    Kernel::Transpose,
    Kernel::Matmul,
    Kernel::Fft,
];

/// Kernels that read one array and write another of the same length.
const ONE_TO_ONE: [Kernel; 3] = [Kernel::Scale, Kernel::Polynomial, Kernel::Stencil];

/// Kernels of [`ONE_TO_ONE`] that keep values small, however often they are applied. Polynomials of
/// polynomials would enlarge differences of rounding between CPU and GPU until outputs looked
/// wrong.
const TAME: [Kernel; 2] = [Kernel::Scale, Kernel::Stencil];

/// The values of a kernel's whole-number argument to draw from.
const fn extents(kernel: Kernel) -> &'static [u32] {
    match kernel {
        Kernel::Polynomial => &[8, 32, 128, 512],
        Kernel::Convolution => &[3, 9, 33],
        Kernel::Histogram => &[64, 256, 1024],
        Kernel::Transpose => &[256, 1024],
        Kernel::Matmul => &[256, 1024],
        Kernel::Fft => &[256, 1024, 4096],
        _ => &[16],
    }
}

/// The range of elements per buffer of trials, from plans that are all latency to plans that are
/// all bandwidth. Larger buffers would take most of the time and tell nothing new.
const TRIED_ELEMENTS: [f64; 2] = [8_192.0, 4_194_304.0];
const MOST_TRIED_TASKS: usize = 3;

/// The kernels that trials draw from; there is no time for all kernels. A reduction comes last: it
/// leaves one number, so no task can follow it.
pub const TRIAL_KERNELS: [Kernel; 5] =
    [Kernel::Scale, Kernel::Saxpy, Kernel::Stencil, Kernel::Polynomial, Kernel::Sum];

/// Draws `count` workloads for trials: chains of kernels over buffers of one size, which may be cut
/// anywhere. A seed always gives the same texts.
pub fn trial_scenarios(count: usize, seed: u64) -> Vec<String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|number| trial_scenario(number, &mut random)).collect()
}

fn trial_scenario(number: usize, random: &mut ChaCha8Rng) -> String {
    let batches = [1, 1, 2, 4][random.random_range(0..4)];
    // All batches together stay within the largest size.
    let [least, most] = TRIED_ELEMENTS;
    let elements = elements([least, most / f64::from(batches)], random);
    let tasks = random.random_range(1..=MOST_TRIED_TASKS);
    let mut text = Text::new(random, elements, "\"host\"");
    let mut last = text.input();
    for at in 1..=tasks {
        let is_last = at == tasks;
        let kernels = TRIAL_KERNELS.len() - usize::from(!is_last);
        let kernel = TRIAL_KERNELS[text.random.random_range(0..kernels)];
        let degrees = extents(Kernel::Polynomial);
        let extent = match kernel {
            Kernel::Polynomial => degrees[text.random.random_range(0..degrees.len())],
            _ => 0,
        };
        last = text.task((kernel, extent), &[last], is_last);
    }
    text.whole(&format!("trial-{number}"), batches)
}

/// Draws the scenario with a number. It has its place in the strata by its number, and everything
/// else by chance.
pub(super) fn scenario(number: usize, name: &str, random: &mut ChaCha8Rng) -> String {
    let layout = LAYOUTS[number % LAYOUTS.len()];
    // Every layout with a first task of any kind meets each kernel in turn.
    let turn = number / LAYOUTS.len();
    let kernel = match layout {
        Layout::OneTask | Layout::Batches => ALONE[turn % ALONE.len()],
        Layout::Iterations => TAME[turn % TAME.len()],
        Layout::Chain | Layout::ForkJoin => ONE_TO_ONE[turn % ONE_TO_ONE.len()],
    };
    let batches: u32 =
        if layout == Layout::Batches { *[2, 4, 8].choose(random).expect("some") } else { 1 };
    let is_heavy = kernel == Kernel::Matmul;
    let most = if is_heavy { MOST_HEAVY } else { ELEMENTS[1] } / f64::from(batches);
    let elements = elements([ELEMENTS[0], most], random);
    let home = match random.random_range(0..8) {
        0 => "\"device\"",
        1 | 2 => "\"host\"\nhost = { memory = \"pinned\" }",
        3 => "\"host\"\nhost = { state = \"fresh\" }",
        _ => "\"host\"",
    };
    let mut text = Text::new(random, elements, home);
    match layout {
        Layout::OneTask | Layout::Batches => {
            let input = text.input();
            text.any_task(kernel, &[input], true);
        }
        Layout::Chain => {
            let (input, length) = (text.input(), text.random.random_range(2..=4));
            let mut last = text.any_task(kernel, &[input], false);
            for place in 2..=length {
                let next = *TAME.choose(text.random).expect("some");
                last = text.any_task(next, &[last], place == length);
            }
        }
        Layout::ForkJoin => {
            let [one, other] = [text.input(), text.input()];
            let one = text.any_task(kernel, &[one], false);
            let next = *ONE_TO_ONE.choose(text.random).expect("some");
            let other = text.any_task(next, &[other], false);
            text.any_task(Kernel::Saxpy, &[one, other], true);
        }
        Layout::Iterations => {
            let (input, count) = (text.input(), *[2, 5, 20].choose(text.random).expect("some"));
            text.iterations = count;
            text.any_task(kernel, &[input], true);
        }
    }
    text.whole(name, batches)
}

/// Draws a number of elements, each order of magnitude as often as another.
fn elements([from, below]: [f64; 2], random: &mut ChaCha8Rng) -> u64 {
    random.random_range(from.ln()..below.ln()).exp() as u64
}

/// The text of a scenario as it grows.
struct Text<'r> {
    random: &'r mut ChaCha8Rng,
    elements: u64,
    buffers: String,
    tasks: String,
    count: usize,
    /// Where inputs and results are: TOML, with whatever belongs to it on further lines.
    home: &'static str,
    /// How often each task is done.
    iterations: u64,
}

impl<'r> Text<'r> {
    fn new(random: &'r mut ChaCha8Rng, elements: u64, home: &'static str) -> Self {
        let (buffers, tasks) = (String::new(), String::new());
        Self { random, elements, buffers, tasks, count: 0, home, iterations: 1 }
    }

    fn whole(self, name: &str, batches: u32) -> String {
        let Self { buffers, tasks, .. } = self;
        format!(
            "schema_version = 1\nname = \"{name}\"\nquestion = \"How far off?\"\n\
             batches = {batches}\n\n{buffers}{tasks}"
        )
    }

    /// An array that is there before the tasks.
    fn input(&mut self) -> String {
        self.read(self.elements)
    }

    fn read(&mut self, elements: u64) -> String {
        // Only outputs can be fresh.
        let home = if self.home.contains("fresh") { "\"host\"" } else { self.home };
        self.buffer(elements, home)
    }

    fn buffer(&mut self, elements: u64, home: &str) -> String {
        let name = format!("b{}", self.count);
        self.count += 1;
        let _ = writeln!(
            self.buffers,
            "[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\nelements = {elements}\nhome = {home}\n"
        );
        name
    }

    /// A task of a kernel with any of its arguments.
    fn any_task(&mut self, kernel: Kernel, given: &[String], is_last: bool) -> String {
        let extent = *extents(kernel).choose(self.random).expect("some");
        self.task((kernel, extent), given, is_last)
    }

    /// A task that reads what is given, and whatever else its kernel needs. Returns what it writes.
    fn task(&mut self, of: (Kernel, u32), given: &[String], is_last: bool) -> String {
        let (kernel, extent) = of;
        let arguments = Arguments { extent, ..Default::default() };
        let grain = kernel.grain(&arguments);
        if !self.elements.is_multiple_of(grain) {
            // Only a first task has rows, and its buffers are made anew.
            self.elements = (self.elements / grain).max(1) * grain;
            (self.buffers, self.count) = (String::new(), 0);
            self.input();
        }
        let mut reads = given.to_vec();
        for input in given.len()..kernel.inputs() {
            let whole = kernel.whole(input, &arguments);
            reads.push(self.read(whole.unwrap_or(self.elements)));
        }
        let reduces = kernel.shape() == Shape::Reduction;
        let length = if reduces { kernel.results(&arguments) } else { self.elements };
        let home = if is_last { self.home } else { "\"scratch\"" };
        let written = self.buffer(length, home);
        let _ = writeln!(
            self.tasks,
            "[[task]]\nname = \"make {written}\"\nkernel = \"{kernel}\"\nreads = {reads:?}\n\
             writes = [{written:?}]"
        );
        if self.iterations > 1 {
            let _ = writeln!(self.tasks, "iterations = {}", self.iterations);
        }
        if let Some(of) = kernel.extent() {
            let _ = writeln!(self.tasks, "arguments = {{ {} = {extent} }}", of.name);
        }
        if kernel.can_be_cut() {
            self.tasks += "split = { along = \"elements\" }\n";
        }
        self.tasks.push('\n');
        written
    }
}

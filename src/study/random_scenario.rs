//! Random scenarios, stratified: one after another, they go through all shapes of work and through
//! all kernels.

use super::scenario_text::{SPLIT, argument, buffer, elements, head, task};
use crate::kernels::{Kernel, Shape};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
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

/// Kernels that read one array and write another of the same length.
const ONE_TO_ONE: [Kernel; 3] = [Kernel::Scale, Kernel::Polynomial, Kernel::Stencil];

/// Those of them that keep values small, however often they are applied. Polynomials of polynomials
/// would enlarge differences of rounding between CPU and GPU until outputs looked wrong.
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

/// The text of a scenario as it grows.
struct Text<'r> {
    random: &'r mut ChaCha8Rng,
    elements: u64,
    buffers: String,
    tasks: String,
    count: usize,
    /// Where inputs and results are.
    home: &'static str,
}

/// Draws the scenario with a number. It has its place in the strata by its number, and everything
/// else by chance.
pub(super) fn scenario(number: usize, name: &str, random: &mut ChaCha8Rng) -> String {
    let layout = LAYOUTS[number % LAYOUTS.len()];
    // Every layout with a first task of any kind meets each kernel in turn.
    let turn = number / LAYOUTS.len();
    let kernel = match layout {
        Layout::OneTask | Layout::Batches => Kernel::ALL[turn % Kernel::ALL.len()],
        Layout::Iterations => TAME[turn % TAME.len()],
        Layout::Chain | Layout::ForkJoin => ONE_TO_ONE[turn % ONE_TO_ONE.len()],
    };
    let batches: u32 =
        if layout == Layout::Batches { *[2, 4, 8].choose(random).expect("some") } else { 1 };
    let is_heavy = kernel == Kernel::Matmul;
    let most = if is_heavy { MOST_HEAVY } else { ELEMENTS[1] } / f64::from(batches);
    let elements = elements(ELEMENTS[0], most, random);
    let home = match random.random_range(0..8) {
        0 => "\"device\"",
        1 | 2 => "\"host\"\nhost = { memory = \"pinned\" }",
        3 => "\"host\"\nhost = { state = \"fresh\" }",
        _ => "\"host\"",
    };
    let (buffers, tasks) = (String::new(), String::new());
    let mut text = Text { random, elements, buffers, tasks, count: 0, home };
    match layout {
        Layout::OneTask | Layout::Batches => {
            let input = text.input();
            text.task(kernel, &[input], true, 1);
        }
        Layout::Chain => {
            let (input, length) = (text.input(), text.random.random_range(2..=4));
            let mut last = text.task(kernel, &[input], false, 1);
            for place in 2..=length {
                let next = *TAME.choose(text.random).expect("some");
                last = text.task(next, &[last], place == length, 1);
            }
        }
        Layout::ForkJoin => {
            let [one, other] = [text.input(), text.input()];
            let one = text.task(kernel, &[one], false, 1);
            let next = *ONE_TO_ONE.choose(text.random).expect("some");
            let other = text.task(next, &[other], false, 1);
            text.task(Kernel::Saxpy, &[one, other], true, 1);
        }
        Layout::Iterations => {
            let (input, count) = (text.input(), *[2, 5, 20].choose(text.random).expect("some"));
            text.task(kernel, &[input], true, count);
        }
    }
    let Text { buffers, tasks, .. } = text;
    format!("{}\n{buffers}{tasks}", head(name, batches))
}

impl Text<'_> {
    /// An array that is there before the tasks.
    fn input(&mut self) -> String {
        // Only outputs can be fresh.
        let home = if self.home.contains("fresh") { "\"host\"" } else { self.home };
        self.buffer(self.elements, home)
    }

    fn buffer(&mut self, elements: u64, home: &str) -> String {
        let name = format!("b{}", self.count);
        self.count += 1;
        self.buffers += &buffer(&name, elements, home);
        self.buffers.push('\n');
        name
    }

    /// A task that reads what is given, and whatever else its kernel needs. Returns what it writes.
    fn task(&mut self, kernel: Kernel, given: &[String], is_last: bool, times: u64) -> String {
        let extent = *extents(kernel).choose(self.random).expect("some");
        let arguments = crate::kernels::Arguments { extent, ..Default::default() };
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
            let home = if self.home.contains("fresh") { "\"host\"" } else { self.home };
            reads.push(self.buffer(whole.unwrap_or(self.elements), home));
        }
        let reduces = kernel.shape() == Shape::Reduction;
        let length = if reduces { kernel.results(&arguments) } else { self.elements };
        let home = if is_last { self.home } else { "\"scratch\"" };
        let written = self.buffer(length, home);
        self.tasks += &task(&format!("make {written}"), kernel, &reads, &written);
        if times > 1 {
            let _ = writeln!(self.tasks, "iterations = {times}");
        }
        if let Some(of) = kernel.extent() {
            self.tasks += &argument(of.name, extent);
        }
        if kernel.can_be_cut() {
            self.tasks += SPLIT;
        }
        self.tasks.push('\n');
        written
    }
}

//! Random workloads, written as scenarios in TOML.

use crate::kernels::{Kernel, Shape};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;

/// The range of elements per buffer, from plans that are all latency to plans that are all
/// bandwidth. Larger buffers would take most of the time and tell nothing new.
const ELEMENTS: std::ops::Range<f64> = 8_192.0..4_194_304.0;
const MOST_TASKS: usize = 3;
const DEGREES: [u32; 4] = [8, 32, 128, 512];
const BATCHES: [u64; 4] = [1, 1, 2, 4];

/// Draws `count` workloads: chains of kernels over buffers of one size, which may be cut anywhere.
/// A seed always gives the same texts.
pub fn scenarios(count: usize, seed: u64) -> Vec<String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|number| scenario(number, &mut random)).collect()
}

fn scenario(number: usize, random: &mut ChaCha8Rng) -> String {
    let batches = BATCHES[random.random_range(0..BATCHES.len())];
    // All batches together stay within the largest size.
    let most = ELEMENTS.end / batches as f64;
    let elements = random.random_range(ELEMENTS.start.ln()..most.ln()).exp() as u64;
    let tasks = random.random_range(1..=MOST_TASKS);
    let mut text = format!(
        "schema_version = 1\nname = \"trial-{number}\"\nquestion = \"How far off?\"\n\
         batches = {batches}\n"
    );
    buffer(&mut text, "b0", elements, "host");
    let mut steps = String::new();
    for task in 0..tasks {
        let is_last = task + 1 == tasks;
        let kernel = kernel(is_last, random);
        let reduces = kernel.shape() == Shape::Reduction;
        let (from, to) = (format!("b{task}"), format!("b{}", task + 1));
        let home = if is_last { "host" } else { "scratch" };
        buffer(&mut text, &to, if reduces { 1 } else { elements }, home);
        let mut reads = format!("{from:?}");
        if kernel == Kernel::Saxpy {
            // Reading one array twice would move only half the data.
            let other = format!("y{task}");
            buffer(&mut text, &other, elements, "host");
            let _ = write!(reads, ", {other:?}");
        }
        let name = kernel.name();
        let _ = write!(
            steps,
            "[[task]]\nname = \"t{task}\"\nkernel = \"{name}\"\nreads = [{reads}]\n\
             writes = [{to:?}]\nsplit = {{ along = \"elements\" }}\n"
        );
        if kernel == Kernel::Polynomial {
            let degree = DEGREES[random.random_range(0..DEGREES.len())];
            let _ = writeln!(steps, "arguments = {{ degree = {degree} }}");
        }
    }
    text + &steps
}

fn buffer(text: &mut String, name: &str, elements: u64, home: &str) {
    let _ = write!(
        text,
        "[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\nelements = {elements}\nhome = \"{home}\"\n"
    );
}

/// The kernels that trials draw from; there is no time for all kernels. A reduction comes last: it
/// leaves one number, so no task can follow it.
pub const TRIAL_KERNELS: [Kernel; 5] =
    [Kernel::Scale, Kernel::Saxpy, Kernel::Stencil, Kernel::Polynomial, Kernel::Sum];

/// Draws a kernel, a reduction only for the last task.
fn kernel(is_last: bool, random: &mut ChaCha8Rng) -> Kernel {
    let count = TRIAL_KERNELS.len() - usize::from(!is_last);
    TRIAL_KERNELS[random.random_range(0..count)]
}

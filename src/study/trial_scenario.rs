//! Random scenarios for the trials of a calibration: quick to run, and of five kernels.

use super::scenario_text::{SPLIT, argument, buffer, elements, head, task};
use crate::kernels::{Kernel, Shape};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The range of elements per buffer, from plans that are all latency to plans that are all
/// bandwidth. Larger buffers would take most of the time and tell nothing new.
const ELEMENTS: std::ops::Range<f64> = 8_192.0..4_194_304.0;
const MOST_TASKS: usize = 3;
const HOST: &str = "\"host\"";
const DEGREES: [u32; 4] = [8, 32, 128, 512];
const BATCHES: [u32; 4] = [1, 1, 2, 4];

/// Draws `count` workloads: chains of kernels over buffers of one size, which may be cut anywhere.
/// A seed always gives the same texts.
pub fn trial_scenarios(count: usize, seed: u64) -> Vec<String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|number| scenario(number, &mut random)).collect()
}

fn scenario(number: usize, random: &mut ChaCha8Rng) -> String {
    let batches = BATCHES[random.random_range(0..BATCHES.len())];
    // All batches together stay within the largest size.
    let most = ELEMENTS.end / f64::from(batches);
    let elements = elements(ELEMENTS.start, most, random);
    let tasks = random.random_range(1..=MOST_TASKS);
    let mut text = head(&format!("trial-{number}"), batches);
    text += &buffer("b0", elements, HOST);
    let mut steps = String::new();
    for at in 0..tasks {
        let is_last = at + 1 == tasks;
        let kernel = kernel(is_last, random);
        let reduces = kernel.shape() == Shape::Reduction;
        let to = format!("b{}", at + 1);
        let home = if is_last { HOST } else { "\"scratch\"" };
        text += &buffer(&to, if reduces { 1 } else { elements }, home);
        let mut reads = vec![format!("b{at}")];
        if kernel == Kernel::Saxpy {
            // Reading one array twice would move only half the data.
            let other = format!("y{at}");
            text += &buffer(&other, elements, HOST);
            reads.push(other);
        }
        steps += &task(&format!("t{at}"), kernel, &reads, &to);
        steps += SPLIT;
        if kernel == Kernel::Polynomial {
            let degree = DEGREES[random.random_range(0..DEGREES.len())];
            steps += &argument("degree", degree);
        }
    }
    text + &steps
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

//! The pieces of TOML that random scenarios are put together from.

use crate::kernels::Kernel;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// What stands above the buffers.
pub(super) fn head(name: &str, batches: u32) -> String {
    format!(
        "schema_version = 1\nname = \"{name}\"\nquestion = \"How far off?\"\nbatches = {batches}\n"
    )
}

/// An array; `home` is TOML, with whatever belongs to it on further lines.
pub(super) fn buffer(name: &str, elements: u64, home: &str) -> String {
    format!("[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\nelements = {elements}\nhome = {home}\n")
}

/// The beginning of a task. Its arguments and the like follow.
pub(super) fn task(name: &str, kernel: Kernel, reads: &[String], writes: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nkernel = \"{kernel}\"\nreads = {reads:?}\n\
         writes = [{writes:?}]\n"
    )
}

/// That a task may be cut.
pub(super) const SPLIT: &str = "split = { along = \"elements\" }\n";

pub(super) fn argument(name: &str, value: u32) -> String {
    format!("arguments = {{ {name} = {value} }}\n")
}

/// Draws a number of elements, each order of magnitude as often as another.
pub(super) fn elements(from: f64, below: f64, random: &mut ChaCha8Rng) -> u64 {
    random.random_range(from.ln()..below.ln()).exp() as u64
}

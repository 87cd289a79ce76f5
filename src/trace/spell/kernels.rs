//! The kernels of a spelled program: one for each name and grid.

use crate::stats::median;
use crate::trace::{DeviceWork, Trace, WorkKind};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// A kind of kernel: launches of one name and grid take about as long.
type Kind<'t> = (&'t Arc<str>, [u32; 3], [u32; 3]);

pub(super) struct Kernels<'t> {
    /// Nanoseconds of all launches of each kind in the trace.
    times: BTreeMap<Kind<'t>, Vec<f64>>,
    names: BTreeMap<Kind<'t>, String>,
    each: bool,
    /// Those that the program launches, in the order of their names.
    used: BTreeMap<String, Kind<'t>>,
}

/// Characters of a kernel's full name that a comment shows.
const SHOWN: usize = 90;

impl<'t> Kernels<'t> {
    pub fn of(trace: &'t Trace, each: bool) -> Self {
        let mut times: BTreeMap<Kind<'t>, Vec<f64>> = BTreeMap::new();
        for work in &trace.work {
            if let Some(kind) = kind(work) {
                let time = work.end.since(work.start).nanos_f64();
                times.entry(kind).or_default().push(time);
            }
        }
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let names = times.keys().map(|&kind| {
            let short = short(kind.0);
            let count = taken.entry(short.clone()).or_insert(0);
            *count += 1;
            (kind, if *count == 1 { short } else { format!("{short} {count}") })
        });
        let names = names.collect();
        Self { times, names, each, used: BTreeMap::new() }
    }

    /// The name and the number of elements of a launch.
    pub fn launched(&mut self, work: &'t DeviceWork) -> (String, u64) {
        let kind = kind(work).expect("a kernel");
        let name = self.names[&kind].clone();
        self.used.insert(name.clone(), kind);
        let elements = if self.each { work.end.since(work.start).nanos().max(1) } else { 1 };
        (name, elements)
    }

    /// The tables that declare them.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for (name, kind) in &self.used {
            let (full, grid, block) = kind;
            let full: String = full.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
            let _ = writeln!(text, "# {full}\n[[kernel]]\nname = \"{name}\"");
            let time = median(&self.times[kind]).unwrap_or_default();
            let _ = match self.each {
                true => writeln!(text, "stated = {{ per_element = \"1 ns\" }}"),
                false => writeln!(text, "stated = {{ fixed = \"{time:.0} ns\" }}"),
            };
            if grid.iter().chain(block).all(|&side| side > 0) {
                let _ = writeln!(text, "grid = {grid:?}\nblock = {block:?}");
            }
            text.push('\n');
        }
        text
    }
}

fn kind(work: &DeviceWork) -> Option<Kind<'_>> {
    match &work.kind {
        WorkKind::Kernel { name, grid, block, .. } => Some((name, *grid, *block)),
        WorkKind::Copy { .. } | WorkKind::Clear { .. } => None,
    }
}

/// The name of a kernel without its types: `elementwise_kernel` for
/// `void at::native::elementwise_kernel<4, …>(int, …)`.
fn short(full: &str) -> String {
    let before = full.split(['<', '(']).next().unwrap_or(full);
    let last = before.rsplit("::").next().unwrap_or(before).rsplit(' ').next().unwrap_or(before);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String = last.chars().filter(is_plain).take(60).collect();
    if plain.is_empty() { "kernel".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn names_lose_their_types() {
        let full = "void at::native::vectorized_elementwise_kernel<4, at::native::X>(int, float)";
        assert_eq!(short(full), "vectorized_elementwise_kernel");
        assert_eq!(short("cudnn_ampere_scudnn_128x64_relu"), "cudnn_ampere_scudnn_128x64_relu");
        assert_eq!(short("(anonymous namespace)::f"), "kernel");
    }
}

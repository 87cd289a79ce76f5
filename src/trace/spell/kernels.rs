//! The kernels of a spelled program: one for each name and grid.

use crate::stats::median;
use crate::trace::names::short;
use crate::trace::scatter::scatter;
use crate::trace::{DeviceWork, Trace, WorkKind};
use crate::units::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// A kind of kernel: launches of one name and grid take about as long.
type Kind<'t> = (&'t Arc<str>, [u32; 3], [u32; 3]);

pub(super) struct Kernels<'t> {
    /// Nanoseconds of all launches of each kind in the trace.
    times: BTreeMap<Kind<'t>, Vec<f64>>,
    names: BTreeMap<Kind<'t>, String>,
    /// Kinds of kernels that mostly ran beside others.
    shared: BTreeSet<Kind<'t>>,
    each: bool,
    /// What a kernel's time has although it is none of its own: a machine's profile has that, too.
    empty: Span,
    /// Kinds of kernels that the program launches, by their names.
    used: BTreeMap<String, Kind<'t>>,
    /// How often the program launches each kind.
    launches: BTreeMap<Kind<'t>, usize>,
}

/// The share of its time that a kernel has to run beside others to be one that shares the GPU: the
/// tail of a kernel overlaps the head of the next one for less.
const SHARES: f64 = 0.2;

/// Characters of a kernel's full name that a comment shows.
const SHOWN: usize = 90;

impl<'t> Kernels<'t> {
    pub fn of(trace: &'t Trace, each: bool) -> Self {
        let mut times: BTreeMap<Kind<'t>, Vec<f64>> = BTreeMap::new();
        let mut beside: BTreeMap<Kind<'t>, f64> = BTreeMap::new();
        for (work, shared) in trace.work.iter().zip(beside_others(trace)) {
            if let Some(kind) = kind(work) {
                let time = work.end.since(work.start).nanos_f64();
                times.entry(kind).or_default().push(time);
                *beside.entry(kind).or_default() += shared.nanos_f64();
            }
        }
        let shares = |(kind, shared): (Kind<'t>, f64)| {
            let all: f64 = times[&kind].iter().sum();
            (shared > SHARES * all).then_some(kind)
        };
        let shared = beside.into_iter().filter_map(shares).collect();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let names = times.keys().map(|&kind| {
            let short = short(kind.0);
            let count = taken.entry(short.clone()).or_insert(0);
            *count += 1;
            (kind, if *count == 1 { short } else { format!("{short} {count}") })
        });
        let names = names.collect();
        let empty = trace.empty_kernel.unwrap_or_default();
        Self { times, names, shared, each, empty, used: BTreeMap::new(), launches: BTreeMap::new() }
    }

    /// The name and the number of elements of a launch.
    pub fn launched(&mut self, work: &'t DeviceWork) -> (String, u64) {
        let kind = kind(work).expect("a kernel");
        let name = self.names[&kind].clone();
        self.used.insert(name.clone(), kind);
        *self.launches.entry(kind).or_default() += 1;
        let own = work.end.since(work.start).saturating_sub(self.empty);
        let elements = if self.each { own.nanos().max(1) } else { 1 };
        (name, elements)
    }

    /// The tables that declare them.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for (name, kind) in &self.used {
            let (full, grid, block) = kind;
            let full: String = full.chars().take(SHOWN).collect();
            let _ = writeln!(text, "# {full}\n[[kernel]]\nname = \"{name}\"");
            let time = median(&self.times[kind]).unwrap_or_default() - self.empty.nanos_f64();
            let time = time.max(1.0);
            let range = match self.spread(kind) {
                Some(spread) => format!(", range = \"{:.1}%\"", spread * 100.0),
                None => String::new(),
            };
            let _ = match self.each {
                true => writeln!(text, "stated = {{ per_element = \"1 ns\" }}"),
                false => writeln!(text, "stated = {{ fixed = \"{time:.0} ns\"{range} }}"),
            };
            if self.shared.contains(kind) {
                let _ = writeln!(
                    text,
                    "# It ran alongside other kernels, and its time includes the slowdown that \
                     they caused, so\n# it does not slow them down here. Recorded: grid \
                     {grid:?}, block {block:?}.\ngrid = [1]\nblock = [32]"
                );
            } else if grid.iter().chain(block).all(|&side| side > 0) {
                let _ = writeln!(text, "grid = {grid:?}\nblock = {block:?}");
            }
            text.push('\n');
        }
        text
    }
}

impl Kernels<'_> {
    /// By which share the mean time of as many launches as the program makes of a kind differs from
    /// the middle one at most, in nine cases of ten.
    fn spread(&self, kind: &Kind<'_>) -> Option<f64> {
        let times = &self.times[kind];
        let launches = self.launches.get(kind).copied().unwrap_or(1).max(1);
        let groups = times.chunks_exact(launches);
        let means: Vec<f64> =
            groups.map(|group| group.iter().sum::<f64>() / group.len() as f64).collect();
        scatter(&means, median(times)?)
    }
}

/// For each piece of work, for how long kernels of other streams of its GPU ran at the same time,
/// each of them counted.
fn beside_others(trace: &Trace) -> Vec<Span> {
    let mut shared = vec![Span::ZERO; trace.work.len()];
    let mut running: BTreeMap<(u64, u32), Vec<usize>> = BTreeMap::new();
    for (at, work) in trace.work.iter().enumerate().filter(|(_, work)| kind(work).is_some()) {
        let others = running.entry((work.stream.process, work.stream.device)).or_default();
        others.retain(|&other| trace.work[other].end > work.start);
        for &other in others.iter() {
            let together = trace.work[other].end.min(work.end).since(work.start);
            shared[at] += together;
            shared[other] += together;
        }
        others.push(at);
    }
    shared
}

fn kind(work: &DeviceWork) -> Option<Kind<'_>> {
    match &work.kind {
        WorkKind::Kernel { name, grid, block, .. } => Some((name, *grid, *block)),
        WorkKind::Copy { .. } | WorkKind::Clear { .. } => None,
    }
}

//! What a trace says of its machine, as a table of times that a profile can be fitted to.

use super::{CallKind, MemoryKind, StreamKey, Trace, WorkKind};
use crate::machine::GpuModel;
use crate::stats::{median, quantile};
use crate::units::{Bytes, Instant};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a GPU is taken to have of which no data sheet is known.
const MULTIPROCESSORS: u32 = 100;
/// Its memory: a trace needs less than that was there.
const DEVICE_MEMORY: Bytes = Bytes::new(16 << 30);

/// Nanoseconds that a synchronisation takes where the trace does not tell: about what it takes an
/// H200's host.
const USUAL_SYNCHRONIZE: f64 = 5e3;
/// Nanoseconds that the driver takes at least to stage a copy, on such a host.
const LEAST_STAGED: f64 = 2e3;

/// What tables call a synchronisation with a stream that has nothing left to do.
const SYNCHRONIZE: &str = "synchronize";

/// Bytes of memory that no cache holds.
const FAR: u64 = 1 << 30;

/// How many times as long a copy takes beside one of the other direction, where a trace does not
/// tell: the middle of the published figures in the suite's cases, both directions of each (1.04 to
/// 1.09 on a GTX 1060 and on an RTX 3090 in eight lanes, 1.21 and 1.23 on an RTX 3090, 1.04 and
/// 2.25 on an A100).
const BESIDE: f64 = 1.09;

/// Nanoseconds: a call that takes longer has waited for something.
const LONGEST_CALL: f64 = 1e7;
/// Nanoseconds: a synchronisation that takes longer has found something to wait for.
const LONGEST_IDLE: f64 = 1e5;

/// The most sizes of one kind of copy that a table has.
const MOST_SIZES: usize = 40;

impl Trace {
    /// A table of times, in the form that docs/reference/table.md describes: copies by size, and
    /// what the host paid for calls. Times of copies are means, those of calls medians.
    pub fn table(&self) -> String {
        let name = self.gpus.iter().find_map(|gpu| gpu.name.as_deref()).unwrap_or("unknown GPU");
        let model = GpuModel::named(name);
        let multiprocessors = model.map_or(MULTIPROCESSORS, |model| model.multiprocessors);
        let memory = model.map_or(DEVICE_MEMORY, GpuModel::device_memory);
        let mut text = format!(
            "# Times in a trace of {}.\n# gpu = {name}\n# multiprocessors = {multiprocessors}\n\
             # device_memory = {} B\npath,memory,bytes,until,footprint,concurrent,call,seconds\n",
            self.origin,
            memory.get()
        );
        let calls = self.call_times();
        let synchronize = calls.get(SYNCHRONIZE).and_then(|times| quick(times));
        let copies = self.copies(synchronize.unwrap_or(USUAL_SYNCHRONIZE));
        for (&(path, memory, until), times) in &copies {
            for (bytes, ns) in few(times) {
                let seconds = seconds(ns);
                let _ = writeln!(text, "{path},{memory},{bytes},{until},,,,{seconds}");
                // A trace does not say what other memory costs that is used in between.
                if memory == "pageable" {
                    let _ = writeln!(text, "{path},{memory},{bytes},{until},{FAR},,,{seconds}");
                }
            }
        }
        for (path, other) in [("H2D", "D2H"), ("D2H", "H2D")] {
            // Where all copies are staged, the link is at least as fast as they are.
            let pinned = copies.get(&(path, "pinned", ""));
            let staged = copies.get(&(path, "pageable", "complete"));
            let is_staged = pinned.is_none();
            for (bytes, ns) in pinned.or(staged).map(few).unwrap_or_default() {
                if is_staged {
                    let _ = writeln!(text, "{path},pinned,{bytes},,,,,{}", seconds(ns));
                }
                let beside = seconds(ns * BESIDE);
                let _ = writeln!(text, "{path},pinned,{bytes},,,{other},,{beside}");
            }
        }
        for (call, times) in &calls {
            let ns = match *call {
                SYNCHRONIZE => quick(times),
                _ => median(times),
            };
            if let Some(ns) = ns.filter(|&ns| ns < LONGEST_CALL) {
                let _ = writeln!(text, ",,,,,,{call},{}", seconds(ns));
            }
        }
        text
    }

    /// Nanoseconds of copies, by their size. Those of pageable memory are as tables have them:
    /// until a synchronisation behind them returns, which takes `synchronize` where nothing is
    /// left to do.
    fn copies(&self, synchronize: f64) -> BTreeMap<Kind, BTreeMap<u64, Vec<f64>>> {
        let mut found: BTreeMap<Kind, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
        let mut ends: BTreeMap<StreamKey, Instant> = BTreeMap::new();
        for work in &self.work {
            let before = ends.entry(work.stream).or_default();
            // A copy waits for what is before it in its stream.
            let free = std::mem::replace(before, work.end.max(*before));
            let WorkKind::Copy { bytes: Some(bytes), .. } = work.kind else { continue };
            let Some((path, memory)) = route(&work.kind).filter(|_| bytes > Bytes::ZERO) else {
                continue;
            };
            let mut add = |until: &'static str, ns: f64| {
                let times = found.entry((path, memory, until)).or_default();
                times.entry(bytes.get()).or_default().push(ns);
            };
            let on_device = work.end.since(work.start).nanos_f64();
            match (memory, work.call.map(|at| &self.calls[at])) {
                ("pageable", Some(call)) if free.max(call.begin) < work.end.min(call.end) => {
                    let begin = free.max(call.begin);
                    let end = work.end.max(call.end);
                    add("complete", end.since(begin).nanos_f64() + synchronize);
                    add("return", call.end.since(begin).nanos_f64());
                }
                ("pageable", _) => {
                    let least = on_device.max(LEAST_STAGED);
                    add("complete", least + synchronize);
                    add("return", least);
                }
                _ => add("", on_device),
            }
        }
        found
    }

    /// Nanoseconds of calls that do not wait, by the name that a table has for them.
    fn call_times(&self) -> BTreeMap<&'static str, Vec<f64>> {
        let asked_for = self.asked_for();
        let mut found: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        let mut done: BTreeMap<StreamKey, Instant> = BTreeMap::new();
        for (call, asked) in self.calls.iter().zip(&asked_for) {
            for work in asked.iter().map(|&at| &self.work[at]) {
                let end = done.entry(work.stream).or_default();
                *end = (*end).max(work.end);
            }
            let is_idle = || match call.kind.stream() {
                Some(stream) => done.get(&stream).is_none_or(|&end| end <= call.begin),
                None => done.values().all(|&end| end <= call.begin),
            };
            let first = asked.first().map(|&at| &self.work[at].kind);
            let name = match (&call.kind, first) {
                (CallKind::Synchronize { .. } | CallKind::SynchronizeDevice, _) if is_idle() => {
                    SYNCHRONIZE
                }
                (CallKind::Launch { .. }, _) => "launch",
                (CallKind::Clear { .. }, _) => "clear",
                (CallKind::Record { .. }, _) => "record",
                (CallKind::Wait { .. }, _) => "wait",
                (CallKind::Copy { blocking: false, .. }, Some(copy)) => match route(copy) {
                    Some(("H2D", "pinned")) => "copy-in",
                    Some(("D2H", "pinned")) => "copy-out",
                    Some(("D2D", _)) => "copy-on-device",
                    _ => continue,
                },
                _ => continue,
            };
            found.entry(name).or_default().push(call.end.since(call.begin).nanos_f64());
        }
        found
    }
}

/// Path, memory, and until when a copy was timed.
type Kind = (&'static str, &'static str, &'static str);

/// The path and the memory of a copy, as tables name them.
fn route(kind: &WorkKind) -> Option<(&'static str, &'static str)> {
    match (kind.crossing(), kind) {
        (Some((way, MemoryKind::Pinned)), _) => Some((way.name(), "pinned")),
        (Some((way, _)), _) => Some((way.name(), "pageable")),
        (None, WorkKind::Copy { from, .. }) => (!from.is_on_host()).then_some(("D2D", "")),
        (None, _) => None,
    }
}

/// The mean times of a few sizes, from the smallest to the largest.
fn few(times: &BTreeMap<u64, Vec<f64>>) -> Vec<(u64, f64)> {
    let means = times.iter().map(|(&bytes, times)| (bytes, mean(times)));
    let mut all: Vec<(u64, f64)> = means.collect();
    // A copy takes no longer than a larger one: what says otherwise was held up by something.
    let mut least = f64::INFINITY;
    for (_, ns) in all.iter_mut().rev() {
        least = least.min(*ns);
        *ns = least;
    }
    let step = all.len().div_ceil(MOST_SIZES).max(1);
    let last = all.last().copied();
    let mut few: Vec<(u64, f64)> = all.into_iter().step_by(step).collect();
    few.extend(last.filter(|last| few.last() != Some(last)));
    if let [(bytes, ns)] = few[..]
        && bytes > 1
    {
        // One size does not tell what a copy costs besides its bytes. Large ones cost little.
        few.insert(0, (bytes / 2, ns / 2.0));
    }
    few
}

/// The time of a quick one among ten: some of the others waited for work that the trace does not
/// have.
fn quick(times: &[f64]) -> Option<f64> {
    quantile(times, 0.1).filter(|&ns| ns < LONGEST_IDLE)
}

/// The mean, so that what is rare and long counts as often as it comes.
fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / (times.len() as f64).max(1.0)
}

/// A time as a table has it: nothing takes no time.
fn seconds(ns: f64) -> String {
    format!("{:.9}", ns.max(1.0) * 1e-9)
}

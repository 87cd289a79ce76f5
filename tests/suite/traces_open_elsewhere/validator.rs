//! What a trace has to be for tools to make sense of it.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is in a whole trace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub processes: usize,
    pub calls: usize,
    pub operations: usize,
    pub arrows: usize,
    pub devices: usize,
}

/// Counts what is in a trace that has to be whole.
#[track_caller]
pub fn check(text: &str) -> Found {
    let trace: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(problems(&trace), Vec::<String>::new());
    let events = Events::new(&trace);
    let devices = trace["deviceProperties"].as_array().map_or(0, Vec::len);
    Found {
        processes: events.all.iter().filter(|one| one["name"] == "process_name").count(),
        calls: events.calls().count(),
        operations: events.operations().count(),
        arrows: events.of_phase("s").count(),
        devices,
    }
}

/// Everything that is wrong with a trace.
pub fn problems(trace: &Value) -> Vec<String> {
    let events = Events::new(trace);
    let mut found = Vec::new();
    if trace["schemaVersion"] != 1 || trace["distributedInfo"]["rank"] != 0 {
        found.push("no version of the schema, or no rank".to_owned());
    }
    found.extend(events.without_name());
    found.extend(events.overlapping());
    found.extend(events.wrong_correlations());
    found.extend(events.wrong_arrows());
    found.extend(events.missing_on_engines());
    found
}

struct Events<'a> {
    all: &'a [Value],
}

/// Whole nanoseconds: traces count in microseconds with three decimals.
fn nanos(value: &Value) -> i64 {
    (value.as_f64().expect("a time") * 1e3).round() as i64
}

fn start(span: &Value) -> i64 {
    nanos(&span["ts"])
}

fn end(span: &Value) -> i64 {
    start(span) + nanos(&span["dur"])
}

fn row(event: &Value) -> (u64, u64) {
    let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("no {key}: {event}"));
    (number("pid"), number("tid"))
}

impl<'a> Events<'a> {
    fn new(trace: &'a Value) -> Self {
        Self { all: trace["traceEvents"].as_array().expect("events") }
    }

    fn of_phase(&self, phase: &str) -> impl Iterator<Item = &'a Value> {
        self.all.iter().filter(move |event| event["ph"] == phase)
    }

    fn of_categories(&self, categories: &[&str]) -> impl Iterator<Item = &'a Value> {
        let is_one = |event: &&Value| categories.iter().any(|one| event["cat"] == *one);
        self.of_phase("X").filter(is_one)
    }

    fn calls(&self) -> impl Iterator<Item = &'a Value> {
        self.of_categories(&["cuda_runtime", "cpu_op"])
    }

    fn operations(&self) -> impl Iterator<Item = &'a Value> {
        self.of_categories(&["kernel", "gpu_memcpy", "gpu_memset"])
    }

    /// Processes and rows have names and places of their own, and no row is in two processes.
    fn without_name(&self) -> Vec<String> {
        let named = |what: &str| -> BTreeSet<(u64, u64)> {
            let about = self.of_phase("M").filter(|event| event["name"] == what);
            about.map(row).collect()
        };
        let (names, places) = (named("thread_name"), named("thread_sort_index"));
        let processes: BTreeSet<u64> = named("process_name").iter().map(|row| row.0).collect();
        let rows: BTreeSet<(u64, u64)> = self.of_phase("X").map(row).collect();
        let mut found = Vec::new();
        for &(pid, tid) in &rows {
            if !(names.contains(&(pid, tid)) && places.contains(&(pid, tid))) {
                found.push(format!("row {tid} of process {pid} has no name or place"));
            }
            if !processes.contains(&pid) {
                found.push(format!("process {pid} has no name"));
            }
        }
        let tids: BTreeSet<u64> = rows.iter().map(|row| row.1).collect();
        if tids.len() < rows.len() {
            found.push("two processes share the number of a row".to_owned());
        }
        found
    }

    /// Spans of a row lie one within the other or one behind the other.
    fn overlapping(&self) -> Vec<String> {
        let mut rows: BTreeMap<(u64, u64), Vec<&Value>> = BTreeMap::new();
        for span in self.of_phase("X") {
            rows.entry(row(span)).or_default().push(span);
        }
        let mut found = Vec::new();
        for spans in rows.values_mut() {
            spans.sort_by_key(|span| (start(span), -end(span)));
            let mut open: Vec<&Value> = Vec::new();
            for &span in &*spans {
                open.retain(|outer| end(outer) > start(span));
                if let Some(outer) = open.last().filter(|outer| end(outer) < end(span)) {
                    found.push(format!("{span} overlaps with {outer}"));
                }
                open.push(span);
            }
        }
        found
    }

    /// Calls have numbers of their own, and every operation has that of a call, a device and a
    /// stream that no other process uses.
    fn wrong_correlations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut calls = BTreeMap::new();
        for call in self.calls() {
            let number = &call["args"]["correlation"];
            if calls.insert(number.as_u64(), call["pid"].as_u64()).is_some() || number.is_null() {
                found.push(format!("no correlation of its own: {call}"));
            }
        }
        let mut streams: BTreeMap<Option<u64>, Option<u64>> = BTreeMap::new();
        for operation in self.operations() {
            let args = &operation["args"];
            let process = operation["pid"].as_u64();
            if calls.get(&args["correlation"].as_u64()) != Some(&process) {
                found.push(format!("the correlation of no call: {operation}"));
            }
            let stream = args["stream"].as_u64().filter(|&stream| stream > 0);
            if *streams.entry(stream).or_insert(process) != process || stream.is_none() {
                found.push(format!("no stream of its process: {operation}"));
            }
            let needs = if operation["cat"] == "kernel" { "kernel" } else { "bytes" };
            for key in ["device", needs] {
                if args[key].is_null() {
                    found.push(format!("no {key}: {operation}"));
                }
            }
        }
        found
    }

    /// Every arrow has one start, within the span of a call, and one end, where an operation of
    /// that call begins.
    fn wrong_arrows(&self) -> Vec<String> {
        let mut ends: BTreeMap<Option<u64>, Vec<&Value>> = BTreeMap::new();
        for end in self.of_phase("f") {
            ends.entry(end["id"].as_u64()).or_default().push(end);
        }
        let by_start = |spans: &mut dyn Iterator<Item = &'a Value>| {
            let mut found: BTreeMap<((u64, u64), i64), Vec<&Value>> = BTreeMap::new();
            spans.for_each(|span| found.entry((row(span), start(span))).or_default().push(span));
            found
        };
        let (calls, operations) = (by_start(&mut self.calls()), by_start(&mut self.operations()));
        let mut found = Vec::new();
        for from in self.of_phase("s") {
            let ends = ends.remove(&from["id"].as_u64()).unwrap_or_default();
            let &[to] = &ends[..] else {
                found.push(format!("no end, or several: {from}"));
                continue;
            };
            if to["bp"] != "e" || (&from["cat"], &from["name"]) != (&to["cat"], &to["name"]) {
                found.push(format!("binds to another span: {to}"));
            }
            if start(to) < start(from) {
                found.push(format!("goes back in time: {from}"));
            }
            let before = calls.range(..=(row(from), start(from))).next_back();
            let holds = |call: &&&Value| row(call) == row(from) && start(from) <= end(call);
            let call = before.and_then(|(_, calls)| calls.iter().find(holds));
            match (call, operations.get(&(row(to), start(to)))) {
                (None, _) => found.push(format!("starts in no call: {from}")),
                (_, None) => found.push(format!("ends at no operation: {to}")),
                (Some(call), Some(operations)) => {
                    let number = &call["args"]["correlation"];
                    if operations.iter().all(|one| one["args"]["correlation"] != *number) {
                        found.push(format!("ends at another call's operation: {to}"));
                    }
                }
            }
        }
        found.extend(ends.values().flatten().map(|end| format!("no start: {end}")));
        found
    }

    /// Each process has its operations twice: by stream and by engine.
    fn missing_on_engines(&self) -> Vec<String> {
        let key = |span: &Value| (row(span).0, span["name"].to_string(), start(span), end(span));
        let mut by_stream: Vec<_> = self.operations().map(key).collect();
        let mut by_engine: Vec<_> = self.of_categories(&["engine"]).map(key).collect();
        by_stream.sort();
        by_engine.sort();
        let is_same = by_stream == by_engine;
        (!is_same).then(|| "rows of engines show other spans".to_owned()).into_iter().collect()
    }
}

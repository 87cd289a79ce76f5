//! Traces of other tools are imported with all that they say, and files that are none are refused.

#[cfg(feature = "nsight")]
mod databases;
mod events;
mod files;
mod public;

use super::predicted::repository;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use hallway::trace::{CallKind, Trace, TraceError, WorkKind, read};
use hallway::units::Bytes;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;

/// A trace that is committed.
fn committed(name: &str) -> PathBuf {
    repository().join("tests/traces").join(name)
}

/// Reads a file with this content, under a name that says nothing.
fn read_bytes(content: &[u8]) -> Result<Trace, TraceError> {
    read_named("trace", content)
}

fn read_named(name: &str, content: &[u8]) -> Result<Trace, TraceError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("it can be written");
    read(&path)
}

/// What is wrong with a file of this content, without the path.
fn refusal(content: &[u8]) -> String {
    let error = read_bytes(content).expect_err("it is refused").to_string();
    error.split_once("/trace: ").expect("it names the file").1.to_owned()
}

/// Reads a trace of the PyTorch profiler with these events.
fn of_events(events: &[&str]) -> Trace {
    let content = format!("{{\"schemaVersion\": 1, \"traceEvents\": [{}]}}", events.join(",\n"));
    read_bytes(content.as_bytes()).expect("it is a trace")
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

fn unpacked(name: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let file = std::fs::File::open(committed(name)).expect("it is committed");
    MultiGzDecoder::new(file).read_to_end(&mut content).expect("it is gzipped");
    content
}

/// What calls ask for, and how many do.
fn requests(trace: &Trace) -> BTreeMap<String, usize> {
    let mut requests = BTreeMap::new();
    for call in &trace.calls {
        let debugged = format!("{:?}", call.kind);
        let kind = debugged.split([' ', '{']).next().unwrap_or_default().to_owned();
        *requests.entry(kind).or_default() += usize::from(call.kind != CallKind::Other);
    }
    requests.remove("Other");
    requests
}

/// Time in which a copy over the link overlaps a kernel, and time of such copies, in nanoseconds.
fn hidden(trace: &Trace) -> (u64, u64) {
    use hallway::trace::MemoryKind::{Array, Device};
    let is_on_device = |kind| matches!(kind, Device | Array);
    let is_over_link = |kind: &WorkKind| match *kind {
        WorkKind::Copy { from, to, .. } => is_on_device(from) != is_on_device(to),
        _ => false,
    };
    // Whether a copy and a kernel are being done changes only where one starts or ends.
    let mut edges = Vec::new();
    for work in &trace.work {
        let (copies, kernels) = match &work.kind {
            WorkKind::Kernel { .. } => (0, 1),
            kind if is_over_link(kind) => (1, 0),
            _ => continue,
        };
        edges.push((work.start, copies, kernels));
        edges.push((work.end, -copies, -kernels));
    }
    edges.sort_unstable();
    let (mut hidden, mut all) = (0, 0);
    let (mut copies, mut kernels) = (0, 0);
    for pair in edges.windows(2) {
        copies += pair[0].1;
        kernels += pair[0].2;
        let length = pair[1].0.since(pair[0].0).nanos();
        all += if copies > 0 { length } else { 0 };
        hidden += if copies > 0 && kernels > 0 { length } else { 0 };
    }
    (hidden, all)
}

/// Kinds of work: how often, how many bytes, how long in nanoseconds.
fn work(trace: &Trace) -> BTreeMap<String, (usize, u64, u64)> {
    let mut kinds: BTreeMap<String, (usize, u64, u64)> = BTreeMap::new();
    for work in &trace.work {
        let (kind, bytes) = match &work.kind {
            WorkKind::Kernel { .. } => ("kernel".to_owned(), None),
            WorkKind::Copy { from, to, bytes } => (format!("{from} to {to}"), *bytes),
            WorkKind::Clear { bytes } => ("clear".to_owned(), *bytes),
        };
        let kind = kinds.entry(kind).or_default();
        kind.0 += 1;
        kind.1 += bytes.map_or(0, Bytes::get);
        kind.2 += work.end.since(work.start).nanos();
    }
    kinds
}

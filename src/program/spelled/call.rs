//! A call as it is spelled out: which call a table is, and whether it has the keys of that call and
//! no others.

use super::values::OneOrMore;
use crate::files::{Fault, Spanned};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;

// The doc comments of `RawCall` are descriptions in the JSON Schema of scenarios: they are written
// for those who write a program.

/// A call made by the host, or a group of calls. Exactly one key says which call it is: `copy`,
/// `launch`, `compute`, `work`, `clear`, `record`, `wait`, `synchronize`, `synchronize_event`,
/// `synchronize_device`, `synchronize_thread`, `allocate`, `free`, `pin`, `unpin`, `renew`,
/// `prefetch`, `repeat` or `graph`.
#[derive(Debug, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a call such as { copy = \"x\", to = \"d\" }")]
#[cfg_attr(feature = "schema", schemars(rename = "Call"))]
pub struct RawCall {
    /// Memory to copy from; `to` is the target. With a `stream`, the copy is asynchronous
    /// (`cudaMemcpyAsync`); without one, the host waits for it (`cudaMemcpy`), unless it is within
    /// one GPU. If both sides are host memory, the CPU copies.
    pub copy: Option<Spanned<String>>,
    /// The target of a `copy`; for a `prefetch`, `"gpu"` or `"host"`.
    pub to: Option<Spanned<String>>,
    /// Number of rows that a `copy` moves, each `row` bytes long (`cudaMemcpy2D`). The first row is
    /// at the start of the ranges in `copy` and `to`; all rows have to fit into them.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub rows: Option<Spanned<i64>>,
    /// Size of a row, such as `"2 KiB"`.
    pub row: Option<Spanned<String>>,
    /// Distance between the starts of rows in the source. Default: `row`.
    pub pitch: Option<Spanned<String>>,
    /// Distance between the starts of rows in the target. Default: `row`.
    pub to_pitch: Option<Spanned<String>>,
    /// Number of threads for a copy within host memory: 1 or `"all"`. Default: 1.
    pub threads: Option<Spanned<RawThreads>>,
    /// A kernel to launch on the GPU, from the library or a `[[kernel]]` table, with the memory
    /// that it `reads` and `writes`. `matmul` with `rows`, `inner` and `columns` is a product of
    /// any shape.
    pub launch: Option<Spanned<String>>,
    /// A kernel to run on the CPU with all its threads, while the host waits.
    pub compute: Option<Spanned<String>>,
    /// Other work on the host, as a time such as `"3.5 ms"`.
    pub work: Option<Spanned<String>>,
    /// The memory that a kernel reads, in the order of its parameters.
    pub reads: Option<Spanned<Vec<Spanned<String>>>>,
    /// The memory that a kernel writes: one range, or a list of ranges for your own kernel.
    pub writes: Option<Spanned<OneOrMore>>,
    /// Number of elements that your own kernel works on.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub elements: Option<Spanned<i64>>,
    /// The type of a `matmul` of any shape: `f32`, `tf32` or `bf16`, all accumulated in `f32`.
    /// Default: `f32`.
    #[serde(rename = "type")]
    pub of_type: Option<Spanned<String>>,
    /// Scalar arguments of a kernel.
    pub arguments: Option<Spanned<BTreeMap<Spanned<String>, Spanned<f64>>>>,
    /// Number of elements that a kernel reads before the first output element. Default: 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub lead: Option<Spanned<i64>>,
    /// Device memory to fill with zeros.
    pub clear: Option<Spanned<String>>,
    /// An event to record in a stream.
    pub record: Option<Spanned<String>>,
    /// An event that a stream waits for.
    pub wait: Option<Spanned<String>>,
    /// The stream that the host waits for.
    pub synchronize: Option<Spanned<String>>,
    /// The event that the host waits for.
    pub synchronize_event: Option<Spanned<String>>,
    /// The GPU, counted from 0, that the host waits for.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub synchronize_device: Option<Spanned<i64>>,
    /// The host thread to wait for, until it has made all of its calls listed above this one.
    pub synchronize_thread: Option<Spanned<String>>,
    /// Memory of the program to allocate; with a `stream`, in stream order (`cudaMallocAsync`).
    pub allocate: Option<Spanned<String>>,
    /// Memory of the program to free; with a `stream`, in stream order (`cudaFreeAsync`).
    pub free: Option<Spanned<String>>,
    /// Pageable memory to pin (`cudaHostRegister`).
    pub pin: Option<Spanned<String>>,
    /// Memory to unpin (`cudaHostUnregister`).
    pub unpin: Option<Spanned<String>>,
    /// Host memory to free and allocate again, so that none of its pages has been touched.
    pub renew: Option<Spanned<String>>,
    /// Managed memory whose pages to move `to = "gpu"` or `to = "host"` if they are not there yet.
    pub prefetch: Option<Spanned<String>>,
    /// Number of times to make the `calls`, one round after another.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub repeat: Option<Spanned<i64>>,
    /// Name of the round's number, counted from 0, for use in the names and ranges in `calls`.
    pub index: Option<Spanned<String>>,
    /// The calls to repeat.
    pub calls: Option<Spanned<Vec<RawCall>>>,
    /// Calls to capture as one graph in the set-up; each run launches the graph.
    pub graph: Option<Spanned<Vec<RawCall>>>,
    /// The stream of the call. Default: the legacy default stream.
    pub stream: Option<Spanned<String>>,
    /// The host thread that makes the call, or the calls of a `repeat`. All threads start with the
    /// run, and the run ends when all of them have finished. Default: `main`.
    pub thread: Option<Spanned<String>>,
}

/// A number of threads.
#[derive(Debug, Deserialize, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged, expecting = "1 or \"all\"")]
#[cfg_attr(feature = "schema", schemars(rename = "Threads"))]
pub enum RawThreads {
    Number(i64),
    Word(String),
}

/// What a call does, with the keys that it needs.
#[derive(Debug)]
pub(super) enum Verb<'r> {
    Copy(CopyCall<'r>),
    Launch(KernelCall<'r>),
    Compute(KernelCall<'r>),
    Work(&'r Spanned<String>),
    Clear(&'r Spanned<String>),
    Record(&'r Spanned<String>),
    Wait(&'r Spanned<String>),
    Synchronize(&'r Spanned<String>),
    SynchronizeEvent(&'r Spanned<String>),
    SynchronizeDevice(&'r Spanned<i64>),
    SynchronizeThread(&'r Spanned<String>),
    Allocate(&'r Spanned<String>),
    Free(&'r Spanned<String>),
    Pin(&'r Spanned<String>),
    Unpin(&'r Spanned<String>),
    Renew(&'r Spanned<String>),
    Prefetch { target: &'r Spanned<String>, to: &'r Spanned<String> },
    Repeat { times: &'r Spanned<i64>, index: Option<&'r Spanned<String>>, calls: &'r [RawCall] },
    Graph { calls: &'r Spanned<Vec<RawCall>> },
}

/// A copy, of which bytes, and by whom.
#[derive(Debug)]
pub(super) struct CopyCall<'r> {
    pub from: &'r Spanned<String>,
    pub to: &'r Spanned<String>,
    pub rows: Option<&'r Spanned<i64>>,
    pub row: Option<&'r Spanned<String>>,
    pub pitch: Option<&'r Spanned<String>>,
    pub to_pitch: Option<&'r Spanned<String>>,
    pub threads: Option<&'r Spanned<RawThreads>>,
}

/// A kernel with what it works on.
#[derive(Debug)]
pub(super) struct KernelCall<'r> {
    pub kernel: &'r Spanned<String>,
    pub reads: &'r Spanned<Vec<Spanned<String>>>,
    pub writes: Writes<'r>,
    pub arguments: Option<&'r BTreeMap<Spanned<String>, Spanned<f64>>>,
    pub lead: Option<&'r Spanned<i64>>,
    pub elements: Option<&'r Spanned<i64>>,
    pub of_type: Option<&'r Spanned<String>>,
}

/// What a kernel writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writes<'r>(&'r Spanned<OneOrMore>);

impl Writes<'_> {
    pub fn all(self) -> Vec<Spanned<String>> {
        match self.0.get_ref() {
            OneOrMore::One(name) => vec![Spanned::new(self.0.span(), name.clone())],
            OneOrMore::More(names) => names.clone(),
        }
    }

    pub fn span(self) -> Range<usize> {
        self.0.span()
    }
}

/// Every key that says which call a table is, with those that must and those that may stand beside
/// it.
const CALLS: [(&str, &[&str], &[&str]); 19] = [
    ("copy", &["to"], &["stream", "rows", "row", "pitch", "to_pitch", "threads"]),
    ("launch", &["reads", "writes"], &["arguments", "elements", "type", "lead", "stream"]),
    ("compute", &["reads", "writes"], &["arguments", "elements", "lead"]),
    ("work", &[], &[]),
    ("clear", &[], &["stream"]),
    ("record", &[], &["stream"]),
    ("wait", &[], &["stream"]),
    ("synchronize", &[], &[]),
    ("synchronize_event", &[], &[]),
    ("synchronize_device", &[], &[]),
    ("synchronize_thread", &[], &[]),
    ("allocate", &[], &["stream"]),
    ("free", &[], &["stream"]),
    ("pin", &[], &[]),
    ("unpin", &[], &[]),
    ("renew", &[], &[]),
    ("prefetch", &["to"], &["stream"]),
    ("repeat", &["calls"], &["index"]),
    ("graph", &[], &["stream"]),
];

impl RawCall {
    /// The keys that are there, with the places of their values.
    fn keys(&self) -> Vec<(&'static str, Range<usize>)> {
        fn of<T>(
            key: &'static str,
            value: &Option<Spanned<T>>,
        ) -> Option<(&'static str, Range<usize>)> {
            value.as_ref().map(|value| (key, value.span()))
        }
        let keys = [
            of("copy", &self.copy),
            of("launch", &self.launch),
            of("compute", &self.compute),
            of("work", &self.work),
            of("clear", &self.clear),
            of("record", &self.record),
            of("wait", &self.wait),
            of("synchronize", &self.synchronize),
            of("synchronize_event", &self.synchronize_event),
            of("synchronize_device", &self.synchronize_device),
            of("synchronize_thread", &self.synchronize_thread),
            of("allocate", &self.allocate),
            of("free", &self.free),
            of("pin", &self.pin),
            of("unpin", &self.unpin),
            of("renew", &self.renew),
            of("prefetch", &self.prefetch),
            of("repeat", &self.repeat),
            of("graph", &self.graph),
            of("to", &self.to),
            of("rows", &self.rows),
            of("row", &self.row),
            of("pitch", &self.pitch),
            of("to_pitch", &self.to_pitch),
            of("threads", &self.threads),
            of("reads", &self.reads),
            of("writes", &self.writes),
            of("arguments", &self.arguments),
            of("lead", &self.lead),
            of("elements", &self.elements),
            of("type", &self.of_type),
            of("index", &self.index),
            of("calls", &self.calls),
            of("stream", &self.stream),
            of("thread", &self.thread),
        ];
        keys.into_iter().flatten().collect()
    }

    /// Which call this is, and where in the file it stands. `within` is the place of what it is
    /// in, for a call without any key.
    pub(super) fn verb(&self, within: &Range<usize>) -> Result<(Verb<'_>, Range<usize>), Fault> {
        let keys = self.keys();
        let is_call = |key: &str| CALLS.iter().find(|(call, ..)| *call == key);
        let mut calls = keys.iter().filter_map(|(key, span)| Some((is_call(key)?, span)));
        let Some(((call, needs, takes), span)) = calls.next() else {
            let span = keys.first().map_or(within, |(_, span)| span).clone();
            let all: Vec<String> = CALLS.iter().map(|(call, ..)| format!("`{call}`")).collect();
            let message = "this call has no key that says what it does".to_owned();
            let help = format!("add one of {}", all.join(", "));
            return Err(Fault::new(message, span, "which call?", help));
        };
        if let Some(((other, ..), second)) = calls.next() {
            let message = format!("this call is both a `{call}` and a `{other}`");
            let help = "split it into two calls";
            return Err(Fault::new(message, second.clone(), "a second call", help)
                .and(span.clone(), "the first"));
        }
        let is_known =
            |key: &str| [call, "thread"].contains(&key) || [*needs, takes].concat().contains(&key);
        if let Some((key, place)) = keys.iter().find(|(key, _)| !is_known(key)) {
            let known: Vec<String> =
                needs.iter().chain(*takes).map(|key| format!("`{key}`")).collect();
            let help = match known.as_slice() {
                [] => format!("remove it: `{call}` takes no other keys"),
                known => format!("remove it: `{call}` takes {}", known.join(", ")),
            };
            let message = format!("`{call}` has no key `{key}`");
            return Err(Fault::new(message, place.clone(), "unknown here", help));
        }
        let missing = needs.iter().find(|&need| !keys.iter().any(|(key, _)| key == need));
        match (self.with_keys(), missing) {
            (Some(verb), None) => Ok((verb, span.clone())),
            (_, missing) => {
                let missing = missing.copied().unwrap_or("key");
                let message = format!("this `{call}` has no `{missing}`");
                let help = format!("add `{missing} = ...`");
                Err(Fault::new(message, span.clone(), "incomplete", help))
            }
        }
    }

    /// The call, if all that it needs is there.
    fn with_keys(&self) -> Option<Verb<'_>> {
        let kernel = |kernel| {
            Some(KernelCall {
                kernel,
                reads: self.reads.as_ref()?,
                writes: Writes(self.writes.as_ref()?),
                arguments: self.arguments.as_ref().map(Spanned::get_ref),
                lead: self.lead.as_ref(),
                elements: self.elements.as_ref(),
                of_type: self.of_type.as_ref(),
            })
        };
        if let Some(from) = &self.copy {
            return Some(Verb::Copy(CopyCall {
                from,
                to: self.to.as_ref()?,
                rows: self.rows.as_ref(),
                row: self.row.as_ref(),
                pitch: self.pitch.as_ref(),
                to_pitch: self.to_pitch.as_ref(),
                threads: self.threads.as_ref(),
            }));
        }
        if let Some(target) = &self.prefetch {
            return Some(Verb::Prefetch { target, to: self.to.as_ref()? });
        }
        if let Some(name) = &self.launch {
            return kernel(name).map(Verb::Launch);
        }
        if let Some(name) = &self.compute {
            return kernel(name).map(Verb::Compute);
        }
        if let Some(times) = &self.repeat {
            let calls = self.calls.as_ref()?.get_ref();
            return Some(Verb::Repeat { times, index: self.index.as_ref(), calls });
        }
        if let Some(calls) = &self.graph {
            return Some(Verb::Graph { calls });
        }
        let clear = self.clear.as_ref().map(Verb::Clear);
        clear
            .or_else(|| self.work.as_ref().map(Verb::Work))
            .or_else(|| self.record.as_ref().map(Verb::Record))
            .or_else(|| self.wait.as_ref().map(Verb::Wait))
            .or_else(|| self.synchronize.as_ref().map(Verb::Synchronize))
            .or_else(|| self.synchronize_event.as_ref().map(Verb::SynchronizeEvent))
            .or_else(|| self.synchronize_device.as_ref().map(Verb::SynchronizeDevice))
            .or_else(|| self.synchronize_thread.as_ref().map(Verb::SynchronizeThread))
            .or_else(|| self.allocate.as_ref().map(Verb::Allocate))
            .or_else(|| self.free.as_ref().map(Verb::Free))
            .or_else(|| self.pin.as_ref().map(Verb::Pin))
            .or_else(|| self.unpin.as_ref().map(Verb::Unpin))
            .or_else(|| self.renew.as_ref().map(Verb::Renew))
    }
}

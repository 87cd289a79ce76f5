//! A trace, or a part of it, as a scenario with one program: what can be evaluated, changed and
//! written to a file.
//!
//! The program makes the trace's calls. Between two of them the host works for as long as it did;
//! a kernel takes the middle time of its kind. When a call returns, and when the GPU starts what it
//! asks for, is left to the simulator.
//!
//! Invariant: no start and no end that was recorded on a GPU stands in what is written, so that
//! comparing the two means something.

mod blocks;
mod kernels;
mod lifetimes;
mod memory;
mod naming;
mod places;
mod spelling;

pub use spelling::{HostTime, SpelledMemory, SpelledPart, Spelling};

use self::blocks::{Blocks, Space};
use self::kernels::Kernels;
use self::lifetimes::given_back;
use self::memory::Memory;
use self::naming::{CAPTURED, Streams, Threads};
use super::{CallKind, PointerAccess, StreamKey, Trace, WorkKind};
use crate::units::{Bytes, Instant, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

/// A part of a trace as a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelled {
    pub text: String,
    /// From the begin of its first call to that of the first behind it.
    pub recorded: Span,
    /// For each call of the program's body that asks for something of a GPU, the position in
    /// [`Trace::work`] of what it asked for, in the order of the calls.
    pub asked: Vec<usize>,
    /// Whether its memory is told apart by addresses.
    pub by_address: bool,
}

impl Trace {
    /// Some calls as a scenario of one program.
    pub fn spelled(&self, name: &str, part: impl Into<SpelledPart>, how: Spelling) -> Spelled {
        let SpelledPart { before, calls, times } = part.into();
        let process = self.busiest_process(&calls);
        let within = |at: &usize| self.threads[self.calls[*at].thread].process == process;
        let before: Vec<usize> = before.into_iter().flatten().filter(within).collect();
        let calls_in: Vec<usize> = calls.clone().filter(within).collect();
        let all = [before.as_slice(), &calls_in].concat();
        let mut writer = Writer::new(self, &all, how);
        for &at in &before {
            writer.call(at);
        }
        let begin = calls_in.first().map_or(Instant::START, |&at| self.calls[at].begin);
        if !before.is_empty() {
            writer.begin_loop(begin, times);
        }
        for &at in &calls_in {
            writer.call(at);
        }
        // What the last pass of a loop leaves running belongs to it.
        let end = self.begin_of(calls.end).max(writer.done());
        writer.finish(end);
        let on = self.gpus.iter().find_map(|gpu| gpu.name.as_deref());
        let on = on.map_or_else(String::new, |gpu| format!(", recorded on {gpu}"));
        let text = writer.text(name, &format!("{}{on}", self.origin));
        let Writer { asked, .. } = writer;
        let by_address = how.memory == SpelledMemory::ByAddress;
        Spelled { text, recorded: end.since(begin.min(end)), asked, by_address }
    }

    /// The process that asks for most of the GPU's work among some calls.
    fn busiest_process(&self, calls: &Range<usize>) -> u64 {
        let asked = self.work.iter().filter(|work| work.call.is_some_and(|at| calls.contains(&at)));
        let mut sums = BTreeMap::<u64, Span>::new();
        for work in asked {
            *sums.entry(work.stream.process).or_default() += work.end.since(work.start);
        }
        let first = || self.threads.first().map_or(0, |thread| thread.process);
        sums.into_iter().max_by_key(|&(_, sum)| sum).map_or_else(first, |(process, _)| process)
    }

    /// For each call, the positions of what it asked for.
    pub fn asked_for(&self) -> Vec<Vec<usize>> {
        let mut asked = vec![Vec::new(); self.calls.len()];
        for (at, work) in self.work.iter().enumerate() {
            if let Some(call) = work.call {
                asked[call].push(at);
            }
        }
        asked
    }
}

/// Writes calls one by one.
struct Writer<'t> {
    trace: &'t Trace,
    how: Spelling,
    asked_for: Vec<Vec<usize>>,
    kernels: Kernels<'t>,
    memory: Memory,
    blocks: Blocks,
    /// The addresses of device memory that the program takes and gives back.
    given_back: BTreeSet<u64>,
    streams: Streams,
    threads: Threads<'t>,
    recorded_events: BTreeSet<u64>,
    /// The GPUs that the calls use, by the numbers that the trace has for them.
    gpus: Vec<u32>,
    lines: Vec<String>,
    /// The lines that are repeated, and how often.
    repeated: Option<(Range<usize>, u64)>,
    asked: Vec<usize>,
    /// The stream of the graph whose nodes are being spelled out. They run there one after the
    /// other: a trace does not say what a node waits for.
    graph_stream: Option<StreamKey>,
    /// Whether the last call waited for everything.
    is_waited: bool,
}

impl<'t> Writer<'t> {
    fn new(trace: &'t Trace, calls: &[usize], how: Spelling) -> Self {
        let asked_for = trace.asked_for();
        let works = calls.iter().flat_map(|&at| &asked_for[at]);
        let gpus: BTreeSet<u32> = works.map(|&work| trace.work[work].stream.device).collect();
        let gpus: Vec<u32> = gpus.into_iter().collect();
        let blocks = match how.memory {
            SpelledMemory::ByAddress => Blocks::of(trace, calls, &asked_for, &gpus),
            SpelledMemory::OfStreams | SpelledMemory::Pinned => Blocks::default(),
        };
        let given_back = match gpus.len() {
            1 => given_back(trace, calls, &asked_for, &blocks),
            _ => BTreeSet::new(),
        };
        Self {
            trace,
            gpus,
            how,
            kernels: Kernels::of(trace, how.each_kernel),
            memory: Memory::default(),
            blocks,
            given_back,
            streams: Streams::of(trace),
            threads: Threads::of(trace, calls, &asked_for),
            asked_for,
            recorded_events: BTreeSet::new(),
            lines: Vec::new(),
            repeated: None,
            asked: Vec::new(),
            graph_stream: None,
            is_waited: true,
        }
    }

    /// A stream as the program counts: its GPUs have numbers from 0 on.
    fn stream(&self, stream: StreamKey) -> StreamKey {
        let place = self.gpus.iter().position(|&gpu| gpu == stream.device);
        let device = place.unwrap_or_default() as u32;
        let stream = self.graph_stream.unwrap_or(stream);
        StreamKey { device, ..stream }
    }

    /// The name of a stream, which is declared from then on.
    fn stream_name(&mut self, stream: StreamKey) -> String {
        let stream = self.stream(stream);
        self.streams.name(stream)
    }

    /// When everything is done that was spelled out.
    fn done(&self) -> Instant {
        let ends = self.asked.iter().map(|&at| self.trace.work[at].end);
        ends.max().unwrap_or_default()
    }

    /// What is spelled out from now on is made so often. It begins at a moment of its own.
    fn begin_loop(&mut self, begin: Instant, times: u64) {
        self.repeated = Some((self.lines.len()..self.lines.len(), times));
        self.threads.begin_anew(begin);
    }

    /// Spells out a call, if it can be; else its time is the host's work.
    fn call(&mut self, at: usize) {
        let trace = self.trace;
        let call = &trace.calls[at];
        self.threads.count_recorder(call);
        let lines = self.lines_of(at);
        if lines.is_empty() {
            return;
        }
        let thread = self.threads.of_call(call);
        let excess = match self.how.each_call && self.returns_at_once(at) {
            true => self.threads.beyond_usual(call),
            false => Span::ZERO,
        };
        let recorder = match self.how.host {
            HostTime::WithoutRecorder => self.threads.recorder(call),
            HostTime::AsRecorded => Span::ZERO,
        };
        let gap = self.threads.gap(call).saturating_sub(recorder) + excess;
        let tag = self.threads.tag(thread);
        if gap > Span::ZERO {
            self.lines.push(format!("{{ work = \"{} ns\"{tag} }}", gap.nanos()));
        }
        self.lines.extend(lines.into_iter().map(|line| format!("{{ {line}{tag} }}")));
        self.threads.ended(call);
        self.is_waited = call.kind.only_waits();
    }

    /// Whether a call only asks for something, and waits for nothing.
    fn returns_at_once(&self, at: usize) -> bool {
        let mut asked = self.asked_for[at].iter().map(|&work| &self.trace.work[work].kind);
        match self.trace.calls[at].kind {
            CallKind::Copy { blocking, .. } => !blocking && !asked.any(WorkKind::is_staged),
            CallKind::Launch { .. }
            | CallKind::Clear { .. }
            | CallKind::Record { .. }
            | CallKind::Wait { .. } => true,
            _ => false,
        }
    }

    /// What is between the braces of the calls that do what one call of the trace did.
    fn lines_of(&mut self, at: usize) -> Vec<String> {
        let trace = self.trace;
        match &trace.calls[at].kind {
            CallKind::LaunchGraph { .. } => {
                let Some(first) = self.asked_for[at].first().map(|&work| trace.work[work].stream)
                else {
                    return Vec::new();
                };
                // Nothing is captured in the default stream.
                let number = if first.is_default() { CAPTURED } else { first.stream };
                self.graph_stream = Some(StreamKey { stream: number, ..first });
                let nodes = self.works_of(at);
                let stream = self.stream_name(first);
                self.graph_stream = None;
                let nodes: Vec<String> = nodes.iter().map(|node| format!("{{ {node} }}")).collect();
                if nodes.is_empty() {
                    return Vec::new();
                }
                vec![format!("graph = [{}], stream = \"{stream}\"", nodes.join(", "))]
            }
            CallKind::Copy { blocking, .. } => {
                let mut lines = self.works_of(at);
                let mut asked = self.asked_for[at].iter().map(|&work| &trace.work[work]);
                let held = asked.rfind(|work| work.kind.holds_blocking_call());
                let stream = held.map(|work| work.stream);
                if let (true, false, Some(stream)) = (*blocking, lines.is_empty(), stream) {
                    lines.push(format!("synchronize = \"{}\"", self.stream_name(stream)));
                }
                lines
            }
            CallKind::Launch { .. } | CallKind::Clear { .. } => self.works_of(at),
            CallKind::Record { event, stream: Some(stream) } => {
                self.recorded_events.insert(*event);
                vec![format!("record = \"e{event}\", stream = \"{}\"", self.stream_name(*stream))]
            }
            CallKind::Wait { event, stream: Some(stream) }
                if self.recorded_events.contains(event) =>
            {
                vec![format!("wait = \"e{event}\", stream = \"{}\"", self.stream_name(*stream))]
            }
            CallKind::SynchronizeEvent { event } if self.recorded_events.contains(event) => {
                vec![format!("synchronize_event = \"e{event}\"")]
            }
            CallKind::Synchronize { stream: Some(stream) } => {
                vec![format!("synchronize = \"{}\"", self.stream_name(*stream))]
            }
            CallKind::Synchronize { stream: None }
            | CallKind::SynchronizeEvent { .. }
            | CallKind::SynchronizeDevice => self.waits_for_all(),
            CallKind::Allocate { address, stream, .. } => {
                self.changed("allocate", *address, *stream)
            }
            CallKind::Free { address, stream } => self.changed("free", *address, *stream),
            _ => Vec::new(),
        }
    }

    /// The call that takes memory or gives it back, if the program does both.
    fn changed(&mut self, call: &str, address: u64, stream: Option<StreamKey>) -> Vec<String> {
        if !self.given_back.contains(&address) {
            return Vec::new();
        }
        let name = self.blocks.whole(Space::Device(0), address);
        let name = name.expect("what is given back is a block");
        let stream = stream.map(|stream| format!(", stream = \"{}\"", self.stream_name(stream)));
        vec![format!("{call} = \"{name}\"{}", stream.unwrap_or_default())]
    }

    /// Waits for all that was asked for so far: a trace does not say for which GPU a call waits, or
    /// for which stream.
    fn waits_for_all(&self) -> Vec<String> {
        self.streams.devices().map(|gpu| format!("synchronize_device = {gpu}")).collect()
    }

    /// The calls that ask for what a call of the trace asked for.
    fn works_of(&mut self, at: usize) -> Vec<String> {
        let works = self.asked_for[at].clone();
        let mut lines = Vec::new();
        for work in works {
            lines.extend(self.renewal(work));
            lines.extend(self.work(work));
        }
        lines
    }

    fn work(&mut self, at: usize) -> Option<String> {
        let work = &self.trace.work[at];
        let stream = self.stream(work.stream);
        let line = match &work.kind {
            WorkKind::Kernel { .. } => {
                let (name, elements) = self.kernels.launched(work);
                let [reads, writes] = PointerAccess::ALL.map(|access| self.used_by(work, access));
                let uses = format!("reads = [{reads}], writes = [{writes}]");
                format!("launch = \"{name}\", {uses}, elements = {elements}")
            }
            // What is copied within the host's memory takes the host's time.
            WorkKind::Copy { from, to, .. } if from.is_on_host() && to.is_on_host() => return None,
            WorkKind::Copy { from, to, bytes: Some(bytes) } if *bytes > Bytes::ZERO => {
                let is_new = self.goes_to_new_memory(at);
                let [from, to] = self.sides(work, stream, [*from, *to], *bytes, is_new);
                format!("copy = \"{from}\", to = \"{to}\"")
            }
            WorkKind::Clear { bytes: Some(bytes) } if *bytes > Bytes::ZERO => {
                let target = self.cleared(work, *bytes);
                let target = target.unwrap_or_else(|| self.memory.device(stream, *bytes, false));
                format!("clear = \"{target}\"")
            }
            WorkKind::Copy { .. } | WorkKind::Clear { .. } => return None,
        };
        self.asked.push(at);
        Some(format!("{line}, stream = \"{}\"", self.streams.name(stream)))
    }

    /// The host's work behind the last call, and a wait for what is left running.
    fn finish(&mut self, end: Instant) {
        if self.is_waited
            && let Some(gap) = self.threads.until(self.threads.main(), end)
        {
            self.lines.push(format!("{{ work = \"{} ns\" }}", gap.nanos()));
        }
        if let Some((lines, _)) = &mut self.repeated {
            lines.end = self.lines.len();
        }
        // All threads have made their calls before the last wait.
        let others = self.threads.others();
        self.lines.extend(others.map(|name| format!("{{ synchronize_thread = \"{name}\" }}")));
        let waits = self.waits_for_all().into_iter().map(|wait| format!("{{ {wait} }}"));
        self.lines.extend(waits);
    }

    fn text(&self, name: &str, origin: &str) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!("# Imported from a trace of {origin}.\nschema_version = 1\n");
        let _ = writeln!(text, "name = {}", quoted(name));
        let question = format!("Where does the time of {name} go?");
        let _ = writeln!(text, "question = {}\n", quoted(&question));
        let _ = writeln!(text, "[process]\nstate = \"running\"\n");
        text += &self.kernels.tables();
        text += "[[program]]\nname = \"as recorded\"\n";
        if let Some(share) = self.how.work_range {
            let _ = writeln!(text, "work_range = \"{:.1}%\"", share * 100.0);
        }
        text += "memory = [\n";
        for table in self.memory.tables().chain(self.blocks.tables()) {
            let _ = writeln!(text, "    {table},");
        }
        text += "]\nstreams = [\n";
        for table in self.streams.tables() {
            let _ = writeln!(text, "    {table},");
        }
        text += "]\ncalls = [\n";
        let (inside, times) = self.repeated.clone().unwrap_or((0..0, 1));
        for (at, line) in self.lines.iter().enumerate() {
            let is_inside = inside.contains(&at);
            if is_inside && at == inside.start {
                let _ = writeln!(text, "    {{ repeat = {times}, calls = [");
            }
            let indent = if is_inside { "        " } else { "    " };
            let _ = writeln!(text, "{indent}{line},");
            if is_inside && at + 1 == inside.end {
                text += "    ] },\n";
            }
        }
        text + "]\n"
    }
}

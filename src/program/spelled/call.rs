//! The calls that a program spells out: the table of all calls and their keys, what each becomes,
//! and how a call is written with the same keys.

use super::expansion::{Expansion, span_of};
#[cfg(feature = "schema")]
use super::keys::rules_of_keys;
use super::keys::{Key, name_of, only_call, table_of_calls};
use super::names::{Names, key, text};
use super::values::{OneOrMore, RawThreads};
use crate::files::{Fault, Spanned};
use crate::kernels::{GpuSide, Kernel};
use crate::machine::{DeviceId, Residence};
use crate::program::{
    AllocationId, Call, CopyBy, EventId, LibraryStep, OwnStep, Slice, Step, ThreadId, Threads,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The most rounds of one `repeat`.
const MOST_ROUNDS: i64 = 1_000_000;

// The comments in the table are descriptions in the JSON Schema of scenarios, and their first
// sentences the help for a missing key: they are written for those who write a program.
table_of_calls! {
    /// A call made by the host, or a group of calls. Exactly one key says which call it is.
    #[derive(Debug, Deserialize, Default)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(deny_unknown_fields, expecting = "a call such as { copy = \"x\", to = \"d\" }")]
    #[cfg_attr(feature = "schema", schemars(rename = "Call", transform = rules_of_calls))]
    calls {
        /// Memory to copy from; `to` is the destination. With a `stream`, the copy is asynchronous
        /// (`cudaMemcpyAsync`); without one, the host waits for it (`cudaMemcpy`), unless it is
        /// within one GPU. If both sides are host memory, the CPU copies.
        copy: String => Copy,
        /// A kernel to launch on the GPU, from the library or a `[[kernel]]` table, with the memory
        /// that it `reads` and `writes`. `matmul` with `rows`, `inner` and `columns` multiplies
        /// matrices of any shape.
        launch: String => Launch,
        /// A kernel to run on the CPU with all its threads, while the host waits.
        compute: String => Compute,
        /// Other work on the host, as a time such as `"3.5 ms"`.
        work: String => Work,
        /// Device memory to fill with zeros.
        clear: String => Clear,
        /// An event to record in a stream.
        record: String => Record,
        /// An event that a stream waits for.
        wait: String => Wait,
        /// The stream that the host waits for.
        synchronize: String => Synchronize,
        /// The event that the host waits for.
        synchronize_event: String => SynchronizeEvent,
        /// The GPU, counted from 0, that the host waits for.
        synchronize_device: i64 [0..] => SynchronizeDevice,
        /// The host thread to wait for. The wait ends when it has made all of its calls listed
        /// above this one.
        synchronize_thread: String => SynchronizeThread,
        /// Memory of the program to allocate; with a `stream`, in stream order
        /// (`cudaMallocAsync`).
        allocate: String => Allocate,
        /// Memory of the program to free; with a `stream`, in stream order (`cudaFreeAsync`).
        free: String => Free,
        /// Pageable memory to pin (`cudaHostRegister`).
        pin: String => Pin,
        /// Memory to unpin (`cudaHostUnregister`).
        unpin: String => Unpin,
        /// Host memory to free and allocate again, so that none of its pages has been touched.
        renew: String => Renew,
        /// Managed memory to move to the side that `to` names (`"gpu"` or `"host"`). Pages that are
        /// already there do not move.
        prefetch: String => Prefetch,
        /// Number of times to make the `calls`, one round after another.
        repeat: i64 [1..] => Repeat,
        /// Calls to capture as one graph in the set-up; each run launches the graph.
        graph: Vec<RawCall> => Graph,
    }
    keys {
        /// The destination of a `copy`; for a `prefetch`, `"gpu"` or `"host"`.
        to: String { needed_by: [copy, prefetch] },
        /// Number of rows that a `copy` moves, each `row` bytes long (`cudaMemcpy2D`). The first
        /// row is at the start of the ranges in `copy` and `to`; all rows have to fit into them.
        rows: i64 [1..] { taken_by: [copy], beside: [row] },
        /// Size of a row, such as `"2 KiB"`.
        row: String { taken_by: [copy], beside: [rows] },
        /// Distance between the starts of rows in the source. Default: `row`.
        pitch: String { taken_by: [copy], beside: [rows] },
        /// Distance between the starts of rows in the destination. Default: `row`.
        to_pitch: String { taken_by: [copy], beside: [rows] },
        /// Number of threads for a copy within host memory: 1 or `"all"`. Default: 1.
        threads: RawThreads { taken_by: [copy] },
        /// Number of elements that your own kernel works on.
        elements: i64 [1..] { taken_by: [launch, compute] },
        /// The type of a `matmul` of any shape: `f32`, `tf32` or `bf16`, all accumulated in `f32`.
        /// Default: `f32`.
        r#type: String { taken_by: [launch] },
        /// The memory that a kernel reads, in the order of its parameters.
        reads: Vec<Spanned<String>> { needed_by: [launch, compute] },
        /// The memory that a kernel writes: one range, or a list of ranges for your own kernel.
        writes: OneOrMore { needed_by: [launch, compute] },
        /// Scalar arguments of a kernel.
        arguments: BTreeMap<Spanned<String>, Spanned<f64>> { taken_by: [launch, compute] },
        /// Number of elements that a kernel reads before the first output element. Default: 0.
        lead: i64 [0..] { taken_by: [launch, compute] },
        /// Name for the index of the iteration, counted from 0, for use in the names and ranges in
        /// `calls`.
        index: String { taken_by: [repeat] },
        /// The calls to repeat.
        calls: Vec<RawCall> { needed_by: [repeat] },
        /// The stream of the call. Default: the legacy default stream.
        stream: String {
            taken_by: [copy, launch, clear, record, wait, allocate, free, prefetch, graph]
        },
        /// The host thread that makes the call, or the calls of a `repeat`. All threads start with
        /// the run, and the run ends when all of them have finished. Default: `main`.
        thread: String,
    }
}

#[cfg(feature = "schema")]
fn rules_of_calls(schema: &mut schemars::Schema) {
    rules_of_keys(schema, CALLS, KEYS);
}

impl RawCall {
    /// All that the kernel of the call writes, each range with its place.
    pub(super) fn all_writes(&self) -> Vec<Spanned<String>> {
        let writes = needed(&self.writes);
        writes.get_ref().all(writes.span())
    }

    /// The scalar arguments of the call's kernel.
    pub(super) fn all_arguments(&self) -> impl Iterator<Item = (&Spanned<String>, &Spanned<f64>)> {
        self.arguments.iter().flat_map(Spanned::get_ref)
    }
}

/// The value of a key that [`RawCall::verb`] does not let a call be without.
pub(super) fn needed<T>(key: &Option<T>) -> &T {
    key.as_ref().expect("a call has all keys that the table says it needs")
}

impl Expansion<'_> {
    /// Adds what a table spells out: one call, several or none.
    pub(super) fn add(&mut self, raw: &RawCall) -> Result<(), Fault> {
        let (verb, place) = raw.verb(&self.at)?;
        let outer = (self.threads.making, std::mem::replace(&mut self.at, place));
        if let Some(name) = &raw.thread {
            self.threads.making = self.threads.thread(name, &self.scope.indices, self.in_setup)?;
        }
        self.add_verb(verb, raw)?;
        (self.threads.making, self.at) = outer;
        Ok(())
    }

    fn add_verb(&mut self, verb: Verb<'_>, raw: &RawCall) -> Result<(), Fault> {
        let stream = raw.stream.as_ref();
        let call = match verb {
            Verb::Copy(from) => return self.copy(from, raw),
            Verb::Launch(kernel) => self.launch(kernel, raw)?,
            Verb::Compute(kernel) => Call::Compute { step: self.step(kernel, raw)? },
            Verb::Work(time) => Call::Work { time: span_of(time)? },
            Verb::Clear(target) => {
                let target = self.scope.slice(target)?;
                let device = self.device_of(&target).unwrap_or(DeviceId::FIRST);
                Call::Clear { stream: self.stream(stream, Some(device))?, target }
            }
            Verb::Record(event) => {
                let stream = self.stream(stream, None)?;
                Call::Record { stream, event: self.scope.event(event)? }
            }
            Verb::Wait(event) => {
                let stream = self.stream(stream, None)?;
                Call::Wait { stream, event: self.scope.known_event(event)? }
            }
            Verb::Synchronize(stream) => {
                Call::Synchronize { stream: self.scope.known_stream(stream)? }
            }
            Verb::SynchronizeEvent(event) => {
                Call::SynchronizeEvent { event: self.scope.known_event(event)? }
            }
            Verb::SynchronizeDevice(gpu) => Call::SynchronizeDevice(self.scope.known_device(gpu)?),
            Verb::SynchronizeThread(name) => {
                Call::SynchronizeThread(self.threads.awaited(name, &self.scope.indices)?)
            }
            Verb::Allocate(memory) => {
                let (allocation, stream) = self.in_stream(memory, stream)?;
                Call::Allocate { allocation, stream }
            }
            Verb::Free(memory) => {
                let (allocation, stream) = self.in_stream(memory, stream)?;
                Call::Free { allocation, stream }
            }
            Verb::Pin(memory) => self.pin(memory)?,
            Verb::Unpin(memory) => Call::Unpin(self.scope.whole(memory)?),
            Verb::Renew(memory) => self.renew(memory)?,
            Verb::Prefetch(target) => self.prefetch(target, raw)?,
            Verb::Repeat(times) => return self.repeat(times, raw),
            Verb::Graph(calls) => return self.graph(calls.get_ref(), stream),
        };
        self.push(call)
    }

    fn repeat(&mut self, times: &Spanned<i64>, call: &RawCall) -> Result<(), Fault> {
        let (index, calls) = (&call.index, needed(&call.calls).get_ref());
        times.within("`repeat`", 1..=MOST_ROUNDS)?;
        if let Some(index) = index
            && self.scope.indices.iter().any(|(known, _)| known == index.get_ref())
        {
            let message = format!("`{index}` is already the index of an enclosing `repeat`");
            return Err(Fault::new(message, index.span(), "taken", "choose another name"));
        }
        for round in 0..*times.get_ref() {
            if let Some(index) = index {
                self.scope.indices.push((index.get_ref().clone(), round));
            }
            let before = self.calls.len();
            for call in calls {
                self.add(call)?;
            }
            let does_nothing = self.calls.len() == before;
            if index.is_some() {
                self.scope.indices.pop();
            }
            // Nor would another round.
            if does_nothing {
                break;
            }
        }
        Ok(())
    }

    fn graph(&mut self, calls: &[RawCall], name: Option<&Spanned<String>>) -> Result<(), Fault> {
        let Some(name) = name else {
            let message = "a graph cannot be captured in the legacy default stream".to_owned();
            let help = "add `stream = \"s\"`, the stream in which capture begins";
            return Err(Fault::new(message, self.at.clone(), "cannot be captured", help));
        };
        let stream = self.scope.stream(name)?;
        self.push(Call::Replay { stream, calls: 0 })?;
        let launch = self.calls.len();
        self.in_graph = true;
        for call in calls {
            self.add(call)?;
        }
        self.in_graph = false;
        let captured = self.calls.len() - launch;
        if let (Call::Replay { calls, .. }, _) = &mut self.calls[launch - 1] {
            *calls = captured;
        }
        Ok(())
    }
}

impl Names<'_> {
    /// A call on one line, and the thread that makes it. The calls of a `graph` are not in it.
    pub fn call(&self, call: &Call, thread: ThreadId) -> String {
        match call {
            // The text form has no key for it: it follows from the streams of the other calls.
            Call::Use(DeviceId(device)) => format!("{{ use = {device} }}"),
            _ => self.written(call, thread).to_string(),
        }
    }

    pub(super) fn written(&self, call: &Call, thread: ThreadId) -> WrittenCall {
        let slice = |slice: &Slice| Some(text(&self.slice(slice)));
        let memory = |id: &AllocationId| Some(text(self.memory(*id)));
        let event = |id: &EventId| Some(text(&format!("e{}", self.events[id.0])));
        let stream = call.stream().map(|stream| text(&self.stream(stream)));
        let thread = (thread != ThreadId::MAIN).then(|| text(&self.thread(thread)));
        let mut keys = WrittenCall { stream, thread, ..WrittenCall::default() };
        match call {
            Call::Allocate { allocation, .. } => keys.allocate = memory(allocation),
            Call::Pin(id) => keys.pin = memory(id),
            Call::Renew(id) => keys.renew = memory(id),
            Call::Free { allocation, .. } => keys.free = memory(allocation),
            Call::Unpin(id) => keys.unpin = memory(id),
            Call::Clear { target, .. } => keys.clear = slice(target),
            Call::Copy { by, from, to, rows } => {
                (keys.copy, keys.to) = (slice(from), slice(to));
                if let Some(rows) = rows {
                    keys.rows = Some(rows.count(from).to_string());
                    keys.row = Some(text(&rows.row.exactly()));
                    [keys.pitch, keys.to_pitch] =
                        rows.pitch.map(|pitch| Some(text(&pitch.exactly())));
                }
                keys.threads = (*by == CopyBy::Host(Threads::All)).then(|| text("all"));
            }
            Call::Prefetch { target, to, .. } => {
                keys.prefetch = slice(target);
                keys.to = Some(text(match to {
                    Residence::Device => "gpu",
                    Residence::Host => "host",
                }));
            }
            Call::Synchronize { .. } => keys.synchronize = keys.stream.take(),
            Call::SynchronizeEvent { event: id } => keys.synchronize_event = event(id),
            Call::SynchronizeDevice(DeviceId(device)) => {
                keys.synchronize_device = Some(device.to_string());
            }
            Call::SynchronizeThread(other) => {
                keys.synchronize_thread = Some(text(&self.thread(*other)));
            }
            Call::Launch { step, .. } => keys.launch = Some(self.step(step, &mut keys)),
            Call::Compute { step } => keys.compute = Some(self.step(step, &mut keys)),
            Call::Record { event: id, .. } => keys.record = event(id),
            Call::Wait { event: id, .. } => keys.wait = event(id),
            Call::Work { time } => keys.work = Some(text(&time.exactly())),
            Call::Replay { calls, .. } => keys.graph = Some(format!("[{calls} calls]")),
            Call::Use(_) => {}
        }
        keys
    }

    /// The name of a step's kernel. What the kernel works on goes into the other keys.
    fn step(&self, step: &Step, keys: &mut WrittenCall) -> String {
        match step {
            Step::Library(step) => self.library_step(step, keys),
            Step::Own(step) => self.own_step(step, keys),
        }
    }

    fn library_step(&self, step: &LibraryStep, keys: &mut WrittenCall) -> String {
        let LibraryStep { kernel, arguments, inputs, output, lead, .. } = step;
        keys.reads = Some(self.slices(inputs));
        keys.writes = Some(text(&self.slice(output)));
        let factor = kernel.has_factor().then(|| format!("a = {:?}", arguments.a));
        let extent =
            kernel.extent().map(|extent| format!("{} = {}", extent.name, arguments.extent));
        keys.arguments = factor.or(extent).map(|argument| format!("{{ {argument} }}"));
        keys.lead = (*lead > 0).then(|| lead.to_string());
        text(kernel.name())
    }

    fn own_step(&self, step: &OwnStep, keys: &mut WrittenCall) -> String {
        keys.reads = Some(self.slices(&step.reads));
        keys.writes = Some(self.slices(&step.writes));
        if !step.numbers.is_empty() {
            let number = |(name, value): (&String, &f64)| format!("{} = {value}", key(name));
            let numbers: Vec<String> = step.numbers.iter().map(number).collect();
            keys.arguments = Some(format!("{{ {} }}", numbers.join(", ")));
        }
        let kernel = self.program.own_kernel(step);
        if let GpuSide::Product(of) = kernel.gpu {
            keys.r#type = Some(text(of.name()));
            return text(Kernel::Matmul.name());
        }
        keys.elements = Some(step.elements.to_string());
        text(&kernel.name)
    }
}

impl fmt::Display for WrittenCall {
    /// An inline table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.values().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let written: Vec<String> = there.map(|(key, value)| format!("{key} = {value}")).collect();
        write!(f, "{{ {} }}", written.join(", "))
    }
}

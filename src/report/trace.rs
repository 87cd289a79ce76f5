//! Timelines in Chrome's Trace Event Format, as PyTorch's profiler writes it: they open in
//! Perfetto, and Holistic Trace Analysis loads them.
//!
//! A timeline is a process with a row for the host thread, one for each stream and one for each
//! engine. An operation stands in two rows: in its stream's, as a `kernel`, `gpu_memcpy` or
//! `gpu_memset` that an arrow leads to from the call that issued it; and in its engine's, under
//! a category that no tool counts. Calls go by the names of the CUDA runtime, which is what
//! tools look for. Numbers of processes, rows, streams and calls are unique in a file.

use super::words::joined;
use crate::machine::Direction;
use crate::program::spelled::Names;
use crate::program::{
    AllocationId, Call, Lanes, Place, Program, Route, Sides, Slice, Step, ThreadId,
};
use crate::samples::Provenance;
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A plan with what is known of a pass over it.
#[derive(Debug, Clone)]
pub struct TracedPlan {
    pub scenario: String,
    pub program: Program,
    pub predicted: Timeline,
    /// A pass on the machine, with each call timed.
    pub measured: Option<Timeline>,
}

/// The trace of some plans on a machine, one event a line.
pub fn trace(machine: &Provenance, plans: &[TracedPlan]) -> String {
    let timelines = plans.iter().flat_map(|traced| {
        let measured = traced.measured.iter().map(|timeline| ("measured", timeline));
        let all = std::iter::once(("predicted", &traced.predicted)).chain(measured);
        all.map(move |(how, timeline)| (traced, how, timeline))
    });
    let (mut first_id, mut events) = (FIRST_ID, Vec::new());
    for (index, (traced, how, timeline)) in timelines.enumerate() {
        events.extend(Process::new(index + 1, first_id, (traced, how), timeline).events());
        first_id += traced.program.body.len();
    }
    let devices = plans.iter().map(|traced| traced.program.devices()).max().unwrap_or(0);
    let device = |id: usize| {
        json!({
            "id": id, "name": machine.gpu, "numSms": machine.multiprocessors,
            "totalGlobalMem": machine.device_memory_bytes,
        })
    };
    let devices: Vec<Value> = (0..devices).map(device).collect();
    format!(
        "{{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ns\",\n\"otherData\": {},\n\
         \"deviceProperties\": {},\n\"distributedInfo\": {{\"rank\": 0, \"world_size\": 1}},\n\
         \"traceEvents\": [\n{}\n]\n}}\n",
        json!({ "tool": "hallway", "version": env!("CARGO_PKG_VERSION") }),
        Value::from(devices),
        joined(events, ",\n")
    )
}

/// One timeline: one process of the trace.
struct Process<'a> {
    pid: usize,
    name: String,
    how: &'static str,
    program: &'a Program,
    timeline: &'a Timeline,
    /// Calls are numbered from one after this.
    first_id: usize,
    /// The FIFO that each call goes to: its stream, or a branch of a graph.
    lanes: Lanes<'a>,
    /// The launch of the graph that a captured call is in.
    launches: BTreeMap<usize, usize>,
    /// When the host began each call that it made.
    begun: BTreeMap<usize, Instant>,
}

/// Spans that do not overlap, under a name.
struct Row<'a> {
    name: String,
    kind: Kind,
    activities: Vec<&'a Activity>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Host,
    Stream,
    Engine,
}

/// A process has fewer rows than this, so that its number and theirs make a unique one.
const ROWS: usize = 1_000;
/// Calls are numbered from here on. Holistic Trace Analysis keeps positions of events in
/// integers that are only as wide as the largest of these numbers.
const FIRST_ID: usize = 1 << 16;

impl<'a> Process<'a> {
    fn new(
        pid: usize,
        first_id: usize,
        (traced, how): (&'a TracedPlan, &'static str),
        timeline: &'a Timeline,
    ) -> Self {
        let TracedPlan { scenario, program, .. } = traced;
        let graphs = program.graphs();
        let launches =
            graphs.flat_map(|graph| graph.calls.clone().map(move |call| (call, graph.launch)));
        Self {
            pid,
            name: format!("{scenario}, {how}: {}", program.label),
            how,
            program,
            timeline,
            first_id,
            lanes: program.lanes(),
            launches: launches.collect(),
            begun: timeline.lane(Lane::Host).map(|one| (one.call, one.start)).collect(),
        }
    }

    fn events(&self) -> Vec<Value> {
        let about = |what: &str, tid: usize, args: Value| {
            json!({
                "ph": "M", "name": what, "pid": self.pid, "tid": tid, "ts": 0, "args": args,
            })
        };
        let main = self.tid(0);
        let mut events = vec![
            about("process_name", main, json!({ "name": self.name })),
            about("process_labels", main, json!({ "labels": self.how })),
            about("process_sort_index", main, json!({ "sort_index": self.pid })),
            self.pass(),
        ];
        for (index, row) in self.rows().iter().enumerate() {
            let tid = self.tid(index);
            events.push(about("thread_name", tid, json!({ "name": row.name })));
            events.push(about("thread_sort_index", tid, json!({ "sort_index": index })));
            for activity in &row.activities {
                events.push(self.span(row.kind, tid, activity));
                if row.kind == Kind::Stream {
                    events.extend(self.flow(tid, activity));
                }
            }
        }
        events
    }

    fn tid(&self, row: usize) -> usize {
        self.pid * ROWS + row
    }

    /// The whole pass, under the name that tools know iterations by.
    fn pass(&self) -> Value {
        json!({
            "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": self.pid,
            "tid": self.tid(0), "ts": 0, "dur": micros(self.timeline.makespan),
            "args": { "plan": self.program.label, "identity": self.program.identity() },
        })
    }

    /// Rows of host threads first, in their order, then streams, then engines.
    fn rows(&self) -> Vec<Row<'a>> {
        let names = Names::in_program(self.program);
        let several = self.program.thread_count() > 1;
        let of_thread = |id: usize| {
            let (thread, lane) = (ThreadId(id as u16), self.timeline.lane(Lane::Host));
            let activities = lane.filter(|one| self.program.thread_of(one.call) == thread);
            let which = if several { names.thread(thread) } else { String::new() };
            let name = format!("host thread {which}").trim_end().to_owned();
            Row { name, kind: Kind::Host, activities: activities.collect() }
        };
        let mut rows: Vec<Row<'_>> = (0..self.program.thread_count()).map(of_thread).collect();
        let mut streams: BTreeMap<_, Vec<&Activity>> = BTreeMap::new();
        let mut engines: BTreeMap<_, Vec<&Activity>> = BTreeMap::new();
        let on_device = self.timeline.activities.iter().filter(|one| one.lane != Lane::Host);
        for activity in on_device {
            let lane = self.lanes.lane_of(activity.call).unwrap_or(0);
            streams.entry(lane).or_default().push(activity);
            engines.entry((self.device_of(activity), activity.lane)).or_default().push(activity);
        }
        for (stream, activities) in streams {
            let name = match stream.checked_sub(self.program.streams.len()) {
                None => format!("stream {}", stream + 1),
                Some(branch) => format!("graph branch {}", branch + 1),
            };
            rows.extend(apart(&name, Kind::Stream, activities));
        }
        for ((device, lane), activities) in engines {
            let gpu =
                if self.program.devices() > 1 { format!("GPU {device} ") } else { String::new() };
            let name = match lane {
                Lane::Kernels => format!("{gpu}multiprocessors"),
                _ => format!("{gpu}{lane} copy engine"),
            };
            rows.extend(apart(&name, Kind::Engine, activities));
        }
        rows
    }

    fn device_of(&self, activity: &Activity) -> usize {
        let stream = self.program.body[activity.call].stream();
        stream.map_or(0, |stream| self.program.device_of(stream).0)
    }

    fn span(&self, kind: Kind, tid: usize, activity: &Activity) -> Value {
        let call = &self.program.body[activity.call];
        let (cat, name) = match kind {
            Kind::Host => on_host(self.program, call),
            Kind::Stream => on_device(self.program, call),
            Kind::Engine => ("engine", on_device(self.program, call).1),
        };
        let mut args = describe(self.program, call);
        let mut tell = |key: &str, value: Value| args.insert(key.to_owned(), value);
        tell("call", activity.call.into());
        let time = activity.end.since(activity.start);
        match kind {
            Kind::Host => {
                tell("correlation", self.id(activity.call).into());
                if let Some(stream) = call.stream() {
                    tell("on stream", (stream.0 + 1).into());
                }
            }
            Kind::Stream => {
                tell("correlation", self.id(self.issuer(activity.call)).into());
                tell("device", self.device_of(activity).into());
                tell("context", 1.into());
                // Tools tell streams apart by this alone, whatever the process.
                let stream = self.lanes.lane_of(activity.call).unwrap_or(0) + 1;
                tell("stream", (stream + (self.pid - 1) * ROWS).into());
                if let (Some(bytes), true) = (moved(call), time > Span::ZERO) {
                    tell("memory bandwidth (GB/s)", (bytes as f64 / time.nanos_f64()).into());
                }
            }
            Kind::Engine => {}
        }
        if let (Some(cause), true) = (activity.cause, kind != Kind::Engine) {
            tell("waited for", json!(cause.reason));
            tell("of call", cause.after.into());
        }
        json!({
            "ph": "X", "cat": cat, "name": name, "pid": self.pid, "tid": tid,
            "ts": since_start(activity.start), "dur": micros(time), "args": args,
        })
    }

    /// An arrow from the call that issued an operation to its start.
    fn flow(&self, tid: usize, operation: &Activity) -> Vec<Value> {
        let Some(&begun) = self.begun.get(&self.issuer(operation.call)) else { return Vec::new() };
        let event = |ph: &str, tid: usize, at: Instant| {
            json!({
                "ph": ph, "cat": "ac2g", "name": "ac2g", "id": self.id(operation.call),
                "pid": self.pid, "tid": tid, "ts": since_start(at),
            })
        };
        let mut end = event("f", tid, operation.start);
        end["bp"] = json!("e");
        let thread = self.program.thread_of(self.issuer(operation.call));
        vec![event("s", self.tid(usize::from(thread.0)), begun), end]
    }

    fn id(&self, call: usize) -> usize {
        self.first_id + call + 1
    }

    /// The call that the host made for it: the launch of its graph if it is in one.
    fn issuer(&self, call: usize) -> usize {
        self.launches.get(&call).copied().unwrap_or(call)
    }
}

/// As many rows as it takes for no two spans of one to overlap.
fn apart<'a>(name: &str, kind: Kind, mut activities: Vec<&'a Activity>) -> Vec<Row<'a>> {
    activities.sort_by_key(|activity| (activity.start, activity.end, activity.call));
    let mut rows: Vec<Row<'a>> = Vec::new();
    for activity in activities {
        let is_free = |row: &&mut Row<'_>| {
            row.activities.last().is_none_or(|last| last.end <= activity.start)
        };
        if let Some(row) = rows.iter_mut().find(is_free) {
            row.activities.push(activity);
        } else {
            let number = rows.len() + 1;
            let name = if number == 1 { name.to_owned() } else { format!("{name} (row {number})") };
            rows.push(Row { name, kind, activities: vec![activity] });
        }
    }
    rows
}

/// Category and name of a call.
fn on_host(program: &Program, call: &Call) -> (&'static str, String) {
    let (name, is_host_work) = (call.name(), call.is_host_work());
    match program.kernel_of(call).filter(|_| is_host_work) {
        Some(kernel) => ("cpu_op", format!("{kernel} on the CPU")),
        None => (if is_host_work { "cpu_op" } else { "cuda_runtime" }, name.to_owned()),
    }
}

/// Category and name of the operation that a call has the device do.
fn on_device(program: &Program, call: &Call) -> (&'static str, String) {
    if let (Some((_, route)), Sides { from: Some(from), to: Some(to), .. }) =
        (call.route(), call.sides())
    {
        let way = match route {
            Route::Crossing(direction) => short(direction),
            Route::OnDevice => "DtoD",
            Route::ToPeer => "PtoP",
        };
        let [from, to] = [from, to].map(|side| memory(program, side.allocation));
        return ("gpu_memcpy", format!("Memcpy {way} ({from} -> {to})"));
    }
    if let Some(to) = call.prefetches_to() {
        return ("gpu_memcpy", format!("Memcpy {} (Managed)", short(to.way())));
    }
    match program.kernel_of(call) {
        Some(kernel) => ("kernel", kernel.to_owned()),
        None if call.is_clear() => ("gpu_memset", "Memset (Device)".to_owned()),
        None => ("engine", on_host(program, call).1),
    }
}

const fn short(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "HtoD",
        Direction::DeviceToHost => "DtoH",
    }
}

fn memory(program: &Program, id: AllocationId) -> String {
    match program.allocation(id).place {
        Place::Device(_) => "Device".to_owned(),
        Place::Host(memory) => {
            let name = memory.to_string();
            name[..1].to_uppercase() + &name[1..]
        }
    }
}

/// How many bytes a call moves or clears, if that is what it does.
fn moved(call: &Call) -> Option<u64> {
    let Sides { from, to, .. } = call.sides();
    from.or(to).map(|slice| slice.length.get())
}

/// What a call works on.
fn describe(program: &Program, call: &Call) -> Map<String, Value> {
    let name = |slice: &Slice| program.allocation(slice.allocation).name.clone();
    let mut args = Map::new();
    let mut tell = |key: &str, value: Value| args.insert(key.to_owned(), value);
    let names = |slices: &[Slice]| slices.iter().map(name).collect::<Vec<_>>().into();
    let Sides { from, to, .. } = call.sides();
    let output = match call.step() {
        Some(Step::Library(step)) => Some(&step.output),
        _ => None,
    };
    for (key, slice) in [("from", from), ("to", to), ("writes", output)] {
        if let Some(slice) = slice {
            tell(key, name(slice).into());
            tell(&format!("{key} offset"), slice.offset.get().into());
        }
    }
    if let Some(step) = call.step() {
        if let Step::Own(step) = step {
            tell("writes", names(&step.writes));
        }
        tell("kernel", program.kernel_of(call).into());
        tell("elements", step.elements().into());
        tell("reads", names(step.reads()));
    }
    if let Some(event) = call.event() {
        tell("event", (event.0 + 1).into());
    }
    if let Some(id) = call.allocation() {
        tell("buffer", program.allocation(id).name.clone().into());
        tell("bytes", program.allocation(id).bytes.get().into());
    }
    if let Some(calls) = call.launched_calls() {
        tell("calls", calls.into());
    }
    if let Some(bytes) = moved(call) {
        tell("bytes", bytes.into());
    }
    args
}

/// Traces count in microseconds.
fn micros(time: Span) -> f64 {
    time.nanos_f64() / 1e3
}

fn since_start(at: Instant) -> f64 {
    micros(at.since_start())
}

//! Writes programs as a person would spell them out.

use super::threads::MAIN;
use super::values::Number;
use crate::kernels::GpuSide;
use crate::machine::{DeviceId, HostMemory, Residence, StreamId};
use crate::program::{
    Allocation, AllocationId, Call, CopyBy, LibraryStep, OwnStep, Place, Program, Slice, Step,
    StreamKind, StreamTraits, ThreadId, Threads,
};
use crate::units::Bytes;
use std::fmt::Write;

/// What a written program calls its memory and streams. Every name stands for one thing: where
/// several allocations are called `x`, those of the program's own are `gpu:x`, `gpu:x 2` and so on.
#[derive(Debug)]
pub struct Names<'p> {
    program: &'p Program,
    memory: Vec<String>,
    /// For each event, how many others calls name before it.
    events: Vec<usize>,
}

impl<'p> Names<'p> {
    pub fn of(program: &'p Program) -> Self {
        let mut names = Self { program, memory: Vec::new(), events: numbers_of_events(program) };
        for allocation in &program.allocations {
            let plain = names.without_number(allocation);
            let numbered = (2..).map(|number| format!("{plain} {number}"));
            let mut all = std::iter::once(plain.clone()).chain(numbered);
            let free = all.find(|name| !names.memory.contains(name));
            names.memory.push(free.expect("one number is free"));
        }
        names
    }

    /// What an allocation is called without the number that tells it from others of its name.
    pub fn without_number(&self, allocation: &Allocation) -> String {
        let name = &allocation.name;
        let of_name = self.program.allocations.iter().filter(|one| one.name == *name).count();
        match allocation.place {
            _ if of_name == 1 || allocation.holds.is_some() => name.clone(),
            Place::Host(_) => format!("host:{name}"),
            Place::Device(DeviceId(device)) if self.program.devices() > 1 => {
                format!("gpu{device}:{name}")
            }
            Place::Device(_) => format!("gpu:{name}"),
        }
    }

    pub fn memory(&self, id: AllocationId) -> &str {
        &self.memory[id.0]
    }

    /// The name of a stream: that which the scenario gives it, or `s2`; `default` for the legacy
    /// default stream.
    pub fn stream(&self, id: StreamId) -> String {
        let StreamTraits { kind, device, .. } = self.program.streams[id.0];
        match (kind, device) {
            (StreamKind::LegacyDefault, DeviceId::FIRST) => "default".to_owned(),
            (StreamKind::LegacyDefault, DeviceId(device)) => format!("default of GPU {device}"),
            _ => match self.program.stream_names.get(id.0) {
                Some(name) => name.clone(),
                None => numbered(id),
            },
        }
    }

    /// The name of a host thread.
    pub fn thread(&self, ThreadId(id): ThreadId) -> String {
        if id == 0 { MAIN.to_owned() } else { format!("t{id}") }
    }

    /// A call on one line, and the thread that makes it. The calls of a `graph` are not in it.
    pub fn call(&self, call: &Call, thread: ThreadId) -> String {
        let mut keys = self.keys(call);
        if thread != ThreadId::MAIN {
            keys.push(("thread", text(&self.thread(thread))));
        }
        let written: Vec<String> =
            keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", written.join(", "))
    }

    fn keys(&self, call: &Call) -> Vec<(&'static str, String)> {
        let slice = |slice: &Slice| text(&self.slice(slice));
        let memory = |id: &AllocationId| text(self.memory(*id));
        let event = |id: usize| text(&format!("e{}", self.events[id]));
        let mut keys = match call {
            Call::Allocate { allocation, .. } => vec![("allocate", memory(allocation))],
            Call::Pin(id) => vec![("pin", memory(id))],
            Call::Renew(id) => vec![("renew", memory(id))],
            Call::Free { allocation, .. } => vec![("free", memory(allocation))],
            Call::Unpin(id) => vec![("unpin", memory(id))],
            Call::Clear { target, .. } => vec![("clear", slice(target))],
            Call::Copy { by, from, to, rows } => {
                let mut keys = vec![("copy", slice(from)), ("to", slice(to))];
                if let Some(rows) = rows {
                    let [pitch, to_pitch] = rows.pitch.map(|pitch| text(&pitch.exactly()));
                    keys.push(("rows", rows.count(from).to_string()));
                    keys.push(("row", text(&rows.row.exactly())));
                    keys.extend([("pitch", pitch), ("to_pitch", to_pitch)]);
                }
                if *by == CopyBy::Host(Threads::All) {
                    keys.push(("threads", text("all")));
                }
                keys
            }
            Call::Prefetch { target, to, .. } => {
                let to = match to {
                    Residence::Device => "gpu",
                    Residence::Host => "host",
                };
                vec![("prefetch", slice(target)), ("to", text(to))]
            }
            Call::SynchronizeEvent { event: id } => vec![("synchronize_event", event(id.0))],
            Call::SynchronizeDevice(DeviceId(device)) => {
                vec![("synchronize_device", device.to_string())]
            }
            Call::SynchronizeThread(other) => {
                vec![("synchronize_thread", text(&self.thread(*other)))]
            }
            Call::Launch { step, .. } => self.step("launch", step),
            Call::Compute { step } => self.step("compute", step),
            Call::Record { event: id, .. } => vec![("record", event(id.0))],
            Call::Wait { event: id, .. } => vec![("wait", event(id.0))],
            Call::Synchronize { stream } => {
                return vec![("synchronize", text(&self.stream(*stream)))];
            }
            Call::Work { time } => vec![("work", text(&time.exactly()))],
            Call::Use(DeviceId(device)) => vec![("use", device.to_string())],
            Call::Replay { calls, .. } => vec![("graph", format!("[{calls} calls]"))],
        };
        keys.extend(call.stream().map(|stream| ("stream", text(&self.stream(stream)))));
        keys
    }

    fn step(&self, call: &'static str, step: &Step) -> Vec<(&'static str, String)> {
        match step {
            Step::Library(step) => self.library_step(call, step),
            Step::Own(step) => self.own_step(call, step),
        }
    }

    fn library_step(&self, call: &'static str, step: &LibraryStep) -> Vec<(&'static str, String)> {
        let LibraryStep { kernel, arguments, inputs, output, lead, .. } = step;
        let reads: Vec<String> = inputs.iter().map(|input| text(&self.slice(input))).collect();
        let mut keys = vec![
            (call, text(kernel.name())),
            ("reads", format!("[{}]", reads.join(", "))),
            ("writes", text(&self.slice(output))),
        ];
        let factor = kernel.has_factor().then(|| format!("a = {:?}", arguments.a));
        let extent =
            kernel.extent().map(|extent| format!("{} = {}", extent.name, arguments.extent));
        if let Some(argument) = factor.or(extent) {
            keys.push(("arguments", format!("{{ {argument} }}")));
        }
        if *lead > 0 {
            keys.push(("lead", lead.to_string()));
        }
        keys
    }

    fn own_step(&self, call: &'static str, step: &OwnStep) -> Vec<(&'static str, String)> {
        let list = |slices: &[Slice]| {
            let slices: Vec<String> = slices.iter().map(|one| text(&self.slice(one))).collect();
            format!("[{}]", slices.join(", "))
        };
        let kernel = self.program.own_kernel(step);
        let mut keys = match kernel.gpu {
            GpuSide::Product(of) => vec![(call, text("matmul")), ("type", text(of.name()))],
            _ => vec![(call, text(&kernel.name)), ("elements", step.elements.to_string())],
        };
        keys.extend([("reads", list(&step.reads)), ("writes", list(&step.writes))]);
        if !step.numbers.is_empty() {
            let number = |(name, value): (&String, &f64)| format!("{} = {value}", key(name));
            let numbers: Vec<String> = step.numbers.iter().map(number).collect();
            keys.push(("arguments", format!("{{ {} }}", numbers.join(", "))));
        }
        keys
    }

    fn slice(&self, slice: &Slice) -> String {
        let name = self.memory(slice.allocation);
        let all = self.program.allocation(slice.allocation).bytes;
        match (slice.offset, slice.end()) {
            (Bytes::ZERO, end) if end == all => name.to_owned(),
            (from, end) if end == all => format!("{name}[{}..]", from.exactly()),
            (Bytes::ZERO, end) => format!("{name}[..{}]", end.exactly()),
            (from, end) => format!("{name}[{}..{}]", from.exactly(), end.exactly()),
        }
    }
}

/// The name of a stream that has none of its own.
pub(super) fn numbered(StreamId(id): StreamId) -> String {
    format!("s{id}")
}

fn numbers_of_events(program: &Program) -> Vec<usize> {
    let mut numbers = vec![usize::MAX; program.events];
    let mut next = 0;
    for id in program.calls().filter_map(|call| call.event()) {
        if numbers[id.0] == usize::MAX {
            numbers[id.0] = next;
            next += 1;
        }
    }
    numbers
}

/// A key, in quotation marks where TOML needs them.
fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || ['_', '-'].contains(&letter);
    let is_plain = !name.is_empty() && name.chars().all(is_bare);
    if is_plain { name.to_owned() } else { text(name) }
}

/// A number, or the expression that gives it.
pub(super) fn number(number: &Number) -> String {
    match number {
        Number::Value(value) => value.to_string(),
        Number::Text(expression) => text(expression),
    }
}

pub(super) fn text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A program as a `[[program]]` table, which reads back as one that does the same. What is added
/// to every program that needs it is not written: the workspaces of reductions, and the calls that
/// go to another GPU's context.
pub fn write(program: &Program) -> String {
    let names = Names::of(program);
    let workspaces = workspaces(program);
    let mut table = format!("[[program]]\nname = {}\n", text(&program.label));
    let pinned = |id: usize| program.calls().any(|call| *call == Call::Pin(AllocationId(id)));
    let own = program.allocations.iter().enumerate();
    let own = own.filter(|(id, one)| one.holds.is_none() && !workspaces[*id]);
    let memory = own.map(|(id, allocation)| {
        let kind = match allocation.place {
            Place::Device(_) => "device".to_owned(),
            Place::Host(HostMemory::Pinned) if pinned(id) => HostMemory::Pageable.to_string(),
            Place::Host(memory) => memory.to_string(),
        };
        let gpu = match allocation.place {
            Place::Device(DeviceId(device @ 1..)) => format!(", gpu = {device}"),
            _ => String::new(),
        };
        let (name, size) = (text(&names.memory[id]), text(&allocation.bytes.exactly()));
        format!("{{ name = {name}, kind = \"{kind}\", size = {size}{gpu} }}")
    });
    list(&mut table, "memory", memory);
    let streams = program.streams.iter().enumerate().map(|(id, traits)| {
        let kind = match traits.kind {
            StreamKind::NonBlocking => ", kind = \"non-blocking\"",
            StreamKind::Blocking => "",
            StreamKind::LegacyDefault => ", kind = \"legacy-default\"",
        };
        let mut rest = String::new();
        if traits.priority != 0 {
            let _ = write!(rest, ", priority = {}", traits.priority);
        }
        if traits.device != DeviceId::FIRST {
            let _ = write!(rest, ", gpu = {}", traits.device.0);
        }
        format!("{{ name = {}{kind}{rest} }}", text(&names.stream(StreamId(id))))
    });
    list(&mut table, "streams", streams);
    let is_own = |call: &&Call| {
        let target = call.allocation().or(call.sides().to.map(|slice| slice.allocation));
        matches!(call, Call::Use(_)) || target.is_some_and(|id| workspaces[id.0])
    };
    let main = |_| ThreadId::MAIN;
    list(&mut table, "setup", lines(&names, (0, &program.setup), &main, &is_own).into_iter());
    let _ = writeln!(table, "calls = [");
    for line in lines(&names, (0, &program.body), &|at| program.thread_of(at), &is_own) {
        let _ = writeln!(table, "    {line},");
    }
    table + "]\n"
}

/// For each allocation, whether it is nothing but a workspace of kernels.
fn workspaces(program: &Program) -> Vec<bool> {
    let mut found = vec![false; program.allocations.len()];
    for step in program.calls().filter_map(|call| call.step()) {
        if let Some(workspace) = step.workspace() {
            found[workspace.allocation.0] = true;
        }
    }
    found
}

fn list(table: &mut String, key: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.map(|item| format!("    {item},\n")).collect();
    if !items.is_empty() {
        let _ = write!(table, "{key} = [\n{}]\n", items.concat());
    }
}

/// Calls from a place on, one a line. The calls of a graph are inside it.
fn lines(
    names: &Names<'_>,
    (mut at, calls): (usize, &[Call]),
    thread_of: &dyn Fn(usize) -> ThreadId,
    is_left_out: &dyn Fn(&&Call) -> bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = calls;
    while let Some((call, mut after)) = rest.split_first() {
        if let Call::Replay { stream, calls } = *call {
            let (inside, behind) = after.split_at(calls.min(after.len()));
            // The thread of a graph is that of its calls.
            let inside = self::lines(names, (at + 1, inside), &|_| ThreadId::MAIN, is_left_out);
            let (inside, stream) = (inside.join(",\n        "), text(&names.stream(stream)));
            let thread = match thread_of(at) {
                ThreadId::MAIN => String::new(),
                other => format!(", thread = {}", text(&names.thread(other))),
            };
            lines.push(format!(
                "{{ graph = [\n        {inside},\n    ], stream = {stream}{thread} }}"
            ));
            (at, after) = (at + calls, behind);
        } else if !is_left_out(&call) {
            lines.push(names.call(call, thread_of(at)));
        }
        (at, rest) = (at + 1, after);
    }
    lines
}

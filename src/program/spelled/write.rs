//! Writes programs as a person would spell them out.

use super::call::WrittenCall;
use super::threads::MAIN;
use super::values::Number;
use crate::kernels::{GpuSide, Kernel};
use crate::machine::{DeviceId, HostMemory, Residence, StreamId};
use crate::program::{
    Allocation, AllocationId, Call, CopyBy, EventId, LibraryStep, OwnStep, Place, Program, Slice,
    Step, StreamKind, StreamTraits, ThreadId, Threads,
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
    pub fn in_program(program: &'p Program) -> Self {
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
        match call {
            // The text form has no key for it: it follows from the streams of the other calls.
            Call::Use(DeviceId(device)) => format!("{{ use = {device} }}"),
            _ => self.written(call, thread).to_string(),
        }
    }

    fn written(&self, call: &Call, thread: ThreadId) -> WrittenCall {
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

    fn slices(&self, slices: &[Slice]) -> String {
        let slices: Vec<String> = slices.iter().map(|one| text(&self.slice(one))).collect();
        format!("[{}]", slices.join(", "))
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
    let names = Names::in_program(program);
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
    list(&mut table, "setup", lines(&names, 0, &program.setup, &main, &is_own).into_iter());
    let _ = writeln!(table, "calls = [");
    for line in lines(&names, 0, &program.body, &|at| program.thread_of(at), &is_own) {
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
    mut at: usize,
    calls: &[Call],
    thread_of: &dyn Fn(usize) -> ThreadId,
    is_left_out: &dyn Fn(&&Call) -> bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = calls;
    while let Some((call, mut after)) = rest.split_first() {
        if let Call::Replay { calls, .. } = *call {
            let (inside, behind) = after.split_at(calls.min(after.len()));
            // The thread of a graph is that of its calls.
            let inside = self::lines(names, at + 1, inside, &|_| ThreadId::MAIN, is_left_out);
            let graph = format!("[\n        {},\n    ]", inside.join(",\n        "));
            let keys = names.written(call, thread_of(at));
            lines.push(WrittenCall { graph: Some(graph), ..keys }.to_string());
            (at, after) = (at + calls, behind);
        } else if !is_left_out(&call) {
            lines.push(names.call(call, thread_of(at)));
        }
        (at, rest) = (at + 1, after);
    }
    lines
}

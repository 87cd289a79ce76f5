//! What a written program calls what it names, and how names and numbers are written.

use super::values::Number;
use crate::files::in_backquotes;
use crate::machine::{DeviceId, StreamId};
use crate::program::{
    Allocation, AllocationId, Place, Program, Slice, StreamKind, StreamTraits, ThreadId,
};
use crate::units::Bytes;

/// The name of the thread that makes the set-up, and all calls that name no other.
pub(super) const MAIN: &str = "main";

/// What a written program calls its memory and streams. Every name stands for one thing: where
/// several allocations are called `x`, those of the program's own are `gpu:x`, `gpu:x 2` and so on.
#[derive(Debug)]
pub struct Names<'p> {
    pub(super) program: &'p Program,
    memory: Vec<String>,
    /// For each event, how many others calls name before it.
    pub(super) events: Vec<usize>,
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

    pub(super) fn slices(&self, slices: &[Slice]) -> String {
        let slices: Vec<String> = slices.iter().map(|one| text(&self.slice(one))).collect();
        format!("[{}]", slices.join(", "))
    }

    pub(super) fn slice(&self, slice: &Slice) -> String {
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
pub(super) fn key(name: &str) -> String {
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

/// Lists the names that exist, as the fix for one that does not; `kind` says in the plural what
/// they name.
pub(super) fn known<'n>(kind: &str, names: impl Iterator<Item = &'n str>) -> String {
    match in_backquotes(names.take(8)) {
        none if none.is_empty() => format!("there are no {kind} here"),
        names => format!("{kind} here: {names}"),
    }
}

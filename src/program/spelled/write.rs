//! Writes programs and their kernels as a person would spell them out.

use super::call::WrittenCall;
use super::names::{Names, text};
use crate::kernels::{CpuSide, GpuSide, Image, OwnCost, OwnKernel};
use crate::machine::{DeviceId, HostMemory, StreamId};
use crate::program::{AllocationId, Call, Place, Program, StreamKind, ThreadId};
use crate::units::Span;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A program as a `[[program]]` table, which reads back as one that does the same. What is added
/// to every program that needs it is not written: the workspaces of reductions, and the calls that
/// go to another GPU's context.
pub fn write(program: &Program) -> String {
    let names = Names::in_program(program);
    let workspaces = workspaces(program);
    let mut table = format!("[[program]]\nname = {}\n", text(&program.label));
    if let Some(share) = program.work_range {
        let _ = writeln!(table, "work_range = \"{}%\"", share * 100.0);
    }
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
            Place::Device(device) => on_gpu(device),
            Place::Host(_) => String::new(),
        };
        let (name, size) =
            (text(names.memory(AllocationId(id))), text(&allocation.bytes.exactly()));
        format!("{{ name = {name}, kind = \"{kind}\", size = {size}{gpu} }}")
    });
    list(&mut table, "memory", memory);
    let streams = program.streams.iter().enumerate().map(|(id, traits)| {
        let kind = match traits.kind {
            StreamKind::NonBlocking => ", kind = \"non-blocking\"",
            StreamKind::Blocking => "",
            StreamKind::LegacyDefault => ", kind = \"legacy-default\"",
        };
        let priority = match traits.priority {
            0 => String::new(),
            priority => format!(", priority = {priority}"),
        };
        let (name, gpu) = (text(&names.stream(StreamId(id))), on_gpu(traits.device));
        format!("{{ name = {name}{kind}{priority}{gpu} }}")
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

fn on_gpu(DeviceId(device): DeviceId) -> String {
    if device == 0 { String::new() } else { format!(", gpu = {device}") }
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

/// The kernels that calls name and the library does not have, as `[[kernel]]` tables in the order
/// of their first calls. What their files hold is written, too: no other file is needed.
pub fn write_kernels(programs: &[&Program]) -> String {
    let mut seen = BTreeSet::new();
    let kernels = programs
        .iter()
        .flat_map(|program| program.own_steps().map(|(step, _)| program.own_kernel(step)));
    let used = kernels.filter(|kernel| seen.insert(kernel.name.as_str()));
    used.filter_map(table_of_kernel).collect()
}

fn table_of_kernel(kernel: &OwnKernel) -> Option<String> {
    let OwnKernel { name, gpu, cpu, rule, elementwise } = kernel;
    let gpu = match gpu {
        // cuBLAS has it.
        GpuSide::Product(_) => return None,
        GpuSide::Unknown => String::new(),
        GpuSide::Cost(cost) => format!("{}\n", key_of_cost(cost)),
        GpuSide::Code(code) => {
            let (form, held, headers) = match &code.image {
                Image::Source { text, headers } => ("source", text, &headers[..]),
                Image::Ptx(text) => ("ptx", text, &[][..]),
                Image::Cubin(digits) => ("cubin", digits, &[][..]),
            };
            let headers: Vec<String> = headers
                .iter()
                .map(|(name, held)| format!("{} = {}", text(name), text(held)))
                .collect();
            let headers = match headers.as_slice() {
                [] => String::new(),
                headers => format!(", headers = {{ {} }}", headers.join(", ")),
            };
            let file = format!("name = {}, text = {}{headers}", text(&code.file), text(held));
            format!("{form} = {{ {file} }}\nentry = {}\n", text(&code.entry))
        }
    };
    let cpu = match cpu {
        CpuSide::Unknown => String::new(),
        CpuSide::Cost(cost) => format!("cpu = {{ {} }}\n", key_of_cost(cost)),
        CpuSide::Command(words) => {
            let words: Vec<String> = words.iter().map(|word| text(word)).collect();
            format!("cpu = {{ command = [{}] }}\n", words.join(", "))
        }
    };
    let elementwise = elementwise.as_ref().map_or(String::new(), |one| {
        let names: Vec<String> = one.names.iter().map(|name| text(name)).collect();
        let halo = match one.halo {
            0 => String::new(),
            halo => format!("halo = {halo}\n"),
        };
        format!("elementwise = [{}]\n{halo}", names.join(", "))
    });
    Some(format!("[[kernel]]\nname = {}\n{gpu}{rule}{elementwise}{cpu}\n", text(name)))
}

/// A cost with its key.
fn key_of_cost(cost: &OwnCost) -> String {
    match cost {
        OwnCost::Points(points) => {
            let point = |(n, time): &(u64, Span)| format!("[{n}, \"{} ns\"]", time.nanos());
            let points: Vec<String> = points.iter().map(point).collect();
            format!("points = [{}]", points.join(", "))
        }
        OwnCost::Roofline { flops_per_element, bytes_per_element } => format!(
            "roofline = {{ flops_per_element = {flops_per_element}, bytes_per_element = \
             {bytes_per_element} }}"
        ),
        OwnCost::Stated { fixed, per_element, range } => {
            let range = range.map(|range| format!(", range = \"{}%\"", range * 100.0));
            let range = range.unwrap_or_default();
            format!(
                "stated = {{ fixed = \"{fixed} ns\", per_element = \"{per_element} ns\"{range} }}"
            )
        }
    }
}

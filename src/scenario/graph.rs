//! The task graph: which task writes what others read, and in which order tasks can run.
//!
//! At most one task writes a buffer, so edges from writer to reader are enough.
//! A task that works in place does not wait for itself.

use super::error::Faults;
use super::raw::{RawScenario, RawTask};
use super::{Buffer, Home, Task, TaskId};
use crate::files::{Fault, Spanned, in_backquotes};
use crate::program::{BufferId, Program};
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::graph::{DiGraph, NodeIndex};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The tasks that use a buffer, by their index in the file.
#[derive(Debug, Default, Clone)]
struct Uses {
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// Checks that each buffer has contents when it is read, and that some task uses it.
pub(super) fn check_flow(
    raw: &RawScenario,
    buffers: &[Buffer],
    tasks: &[Task],
    programs: &[Program],
    faults: &mut Faults,
) {
    let is_used = |id| {
        let mut memory = programs.iter().flat_map(|program| &program.allocations);
        memory.any(|allocation| allocation.holds == Some(BufferId(id)))
    };
    let uses = uses(raw, buffers, tasks, faults);
    for (id, (buffer, uses)) in buffers.iter().zip(&uses).enumerate() {
        let scratch = buffer.home == Home::Scratch;
        let starts_empty = scratch || buffer.fresh;
        match (uses.writer, uses.readers.as_slice()) {
            (None, []) if is_used(id) => {}
            (None, []) => faults.note(unused(raw, id)),
            (None, [reader, ..]) if starts_empty => {
                faults.note(empty_input(raw, id, *reader, "which no task writes"));
            }
            (Some(writer), readers) if starts_empty && readers.contains(&writer) => {
                let problem = "which is still empty at this point";
                faults.note(empty_input(raw, id, writer, problem));
            }
            (Some(writer), []) if scratch => faults.note(never_read(raw, id, writer)),
            _ => {}
        }
    }
}

fn uses(raw: &RawScenario, buffers: &[Buffer], tasks: &[Task], faults: &mut Faults) -> Vec<Uses> {
    let mut uses = vec![Uses::default(); buffers.len()];
    for (place, task) in tasks.iter().enumerate() {
        for write in &task.writes {
            if buffers[write.0].shared {
                faults.note(written_and_shared(raw, write.0, place));
            }
            let Some(first) = uses[write.0].writer.replace(place) else { continue };
            let (one, other) = (&raw.tasks[first], &raw.tasks[place]);
            let message =
                format!("tasks `{}` and `{}` write to the same buffer", one.name, other.name);
            let help = "give each task its own buffer in `writes`";
            let fault = Fault::new(message, other.writes.span(), "also written here", help);
            faults.note(fault.and(one.writes.span(), "first written here"));
        }
        for read in &task.reads {
            uses[read.0].readers.push(place);
        }
    }
    uses
}

fn written_and_shared(raw: &RawScenario, buffer: usize, writer: usize) -> Fault {
    let (buffer, task) = (&raw.buffers[buffer], &raw.tasks[writer]);
    let shared = buffer.shared.as_ref().map_or(buffer.name.span(), Spanned::span);
    let message =
        format!("task `{}` writes `{}`, which is shared by all batches", task.name, buffer.name);
    let help = "remove `shared` so that each batch has its own, or write to another buffer";
    Fault::new(message, shared, "read-only", help).and(task.writes.span(), "written here")
}

fn unused(raw: &RawScenario, buffer: usize) -> Fault {
    let name = &raw.buffers[buffer].name;
    let help = "remove it, or name it in the `reads` or `writes` of a task";
    Fault::new(format!("no task uses buffer `{name}`"), name.span(), "never used", help)
}

fn empty_input(raw: &RawScenario, buffer: usize, reader: usize, problem: &str) -> Fault {
    let (buffer, task) = (&raw.buffers[buffer], &raw.tasks[reader]);
    let name = &buffer.name;
    let read = task.reads.get_ref().iter().find(|read| *read == name);
    let (kind, fix) = match buffer.host {
        Some(_) => ("`fresh` host memory", "set `state = \"reused\"`"),
        None => ("scratch memory", "set `home = \"host\"`"),
    };
    let message = format!("task `{}` reads buffer `{name}`, {problem}", task.name);
    let help = format!("have another task write `{name}` first, or {fix}");
    let here = read.map_or_else(|| task.reads.span(), Spanned::span);
    Fault::new(message, here, "nothing to read", help)
        .and(name.span(), format!("{kind} starts empty"))
}

fn never_read(raw: &RawScenario, buffer: usize, writer: usize) -> Fault {
    let name = &raw.buffers[buffer].name;
    let message = format!("no task reads the scratch buffer `{name}`");
    let help =
        format!("set `home = \"host\"` or `home = \"device\"` to keep `{name}`, or remove it");
    Fault::new(message, name.span(), "its contents are lost", help)
        .and(raw.tasks[writer].writes.span(), "written here")
}

/// Sorts the tasks so that each comes after those that it reads from. Where several
/// tasks could come next, the first one in the file does.
pub(super) fn in_order(tasks: &[Task], raw: &RawScenario) -> Result<Vec<Task>, Fault> {
    let graph = dependencies(tasks);
    let mut waits_for: Vec<usize> =
        graph.node_indices().map(|task| graph.neighbors_directed(task, Incoming).count()).collect();
    let mut ready: BinaryHeap<Reverse<NodeIndex>> =
        graph.node_indices().filter(|task| waits_for[task.index()] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(Reverse(task)) = ready.pop() {
        order.push(task.index());
        for reader in graph.neighbors_directed(task, Outgoing) {
            waits_for[reader.index()] -= 1;
            if waits_for[reader.index()] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    match graph.node_indices().find(|task| waits_for[task.index()] > 0) {
        Some(stuck) => Err(cycle(raw, &graph, &waits_for, stuck)),
        None => Ok(reordered(tasks, &order)),
    }
}

/// The tasks in another order, in which they name each other by their new places.
fn reordered(tasks: &[Task], order: &[usize]) -> Vec<Task> {
    let mut places = vec![TaskId(0); order.len()];
    for (place, &before) in order.iter().enumerate() {
        places[before] = TaskId(place);
    }
    let task = |&before: &usize| {
        let after = tasks[before].after.iter().map(|id| places[id.0]).collect();
        Task { after, ..tasks[before].clone() }
    };
    order.iter().map(task).collect()
}

fn dependencies(tasks: &[Task]) -> DiGraph<(), ()> {
    let mut writer_of = BTreeMap::new();
    let mut graph = DiGraph::new();
    for task in tasks {
        let node = graph.add_node(());
        writer_of.extend(task.writes.iter().map(|write| (*write, node)));
    }
    for (reader, task) in graph.node_indices().zip(tasks) {
        for writer in task.reads.iter().filter_map(|read| writer_of.get(read)) {
            if *writer != reader {
                graph.add_edge(*writer, reader, ());
            }
        }
        for first in &task.after {
            graph.add_edge(NodeIndex::new(first.0), reader, ());
        }
    }
    graph
}

/// Finds a circle. Each task that could not be placed waits for another such task, so going from
/// one to the next must come back to a task that was seen.
fn cycle(
    raw: &RawScenario,
    graph: &DiGraph<(), ()>,
    waits_for: &[usize],
    stuck: NodeIndex,
) -> Fault {
    let mut walk = vec![stuck];
    let around = loop {
        let mut writers = graph.neighbors_directed(walk[walk.len() - 1], Incoming);
        let stuck = |task: &NodeIndex| waits_for[task.index()] > 0;
        let Some(next) = writers.find(stuck) else { break &walk[..] };
        if let Some(start) = walk.iter().position(|&task| task == next) {
            break &walk[start..];
        }
        walk.push(next);
    };
    let around: Vec<&RawTask> = around.iter().map(|task| &raw.tasks[task.index()]).collect();
    let names = in_backquotes(around.iter().map(|task| &task.name));
    let is_named =
        |name: &&Spanned<String>| around.iter().any(|task| task.name.get_ref() == name.get_ref());
    if let Some(name) = around.iter().flat_map(|task| &task.after).find(is_named) {
        let message = format!("tasks wait for each other in a cycle: {names}");
        let help = "remove this `after`, or have one of the tasks read a buffer that none of \
                    them writes";
        return Fault::new(message, name.span(), "waits for itself", help);
    }
    let message = format!("tasks depend on each other's results in a cycle: {names}");
    let help = "have one of them read a buffer that none of them writes";
    Fault::new(message, around[0].reads.span(), "waits for itself", help)
}

//! What a plan does and what waits in it, in sentences.

use super::calls::recorded;
use crate::families::{Each, Family, Issue, Spread};
use crate::machine::{HostMemory, StreamId};
use crate::program::{Call, Place, Program};
use crate::report::words::plural;
use crate::scenario::{Home, Workload};
use crate::search::Plan;
use std::collections::BTreeMap;

pub(super) fn what_it_does(workload: &Workload, plan: &Plan) -> Vec<String> {
    let mut sentences = Vec::new();
    if workload.batches > 1 {
        let batches = workload.batches;
        sentences
            .push(format!("One pass goes over {batches} batches, each independent of the rest."));
    }
    sentences.extend(family(workload, plan));
    if plan.strategy.graph {
        sentences.push(
            "All this is captured as a CUDA graph once, in the set-up. Each pass launches the \
             graph with one call."
                .to_owned(),
        );
    }
    sentences.extend(host_memory(plan));
    sentences
}

fn family(workload: &Workload, plan: &Plan) -> Vec<String> {
    let by_engine = "There is one stream for copies in, one for kernels and one for copies out. \
                     Events join them: kernels wait for the copy in of their chunk, and the copy \
                     out waits for the kernels.";
    let say = |sentences: &[&str]| sentences.iter().map(|&one| one.to_owned()).collect();
    let first = |chunks: u64, then: &[&str]| -> Vec<String> {
        [cut(chunks)].into_iter().chain(then.iter().map(|&one| one.to_owned())).collect()
    };
    match plan.strategy.family {
        Family::Cpu => {
            let mut found: Vec<String> =
                say(&["The CPU runs every task, one after another, each on all threads."]);
            if workload.buffers.iter().any(|buffer| buffer.home == Home::Device) {
                found.push(
                    "Inputs that live on the GPU are copied to the host before, and \
                            results that belong there are copied back."
                        .to_owned(),
                );
            }
            found
        }
        Family::RoundTrip => say(&["Around each task, its inputs are copied to the GPU and its \
                                    result is copied back. The host waits for every step. This \
                                    is what naive code does."]),
        Family::Resident => say(&["Everything goes through one stream: inputs are copied to the \
                                   GPU once, all kernels run, and results are copied back once. \
                                   What lies in between stays on the GPU."]),
        Family::ByChunk { chunks, streams, issue } => {
            let dealt = format!("Chunks are dealt over {streams} streams in turn.");
            let order = match issue {
                Issue::DepthFirst => {
                    "Issued depth first: copy in, kernels and copy out of one \
                                      chunk, then of the next."
                }
                Issue::BreadthFirst => {
                    "Issued breadth first: the copies in of all chunks, then \
                                        all kernels, then all copies out."
                }
            };
            first(chunks, &[&dealt, order])
        }
        Family::ByEngine { chunks } => {
            first(chunks, &[by_engine, "Every chunk has device memory of its own."])
        }
        Family::Buffered { chunks, ring } => {
            let ring = format!(
                "There are {ring} sets of device buffers, used in turn. Before a set is used \
                 again, what was in it has to be done."
            );
            first(chunks, &[by_engine, &ring])
        }
        Family::MultiGpu { chunks, devices, each, spread } => {
            let dealt = format!("Chunks are dealt over {devices} GPUs in turn.");
            let each = match each {
                Each::ByChunk { streams } => {
                    format!("On each GPU they are dealt over {streams} streams.")
                }
                Each::ByEngine => format!("On each GPU: {by_engine}"),
            };
            let spread = match spread {
                Spread::Host => "What all chunks read is copied to each GPU from the host.",
                Spread::Peers => {
                    "What all chunks read is copied to the first GPU from the host, \
                                  and from there to the others."
                }
            };
            first(chunks, &[&dealt, &each, spread])
        }
    }
}

fn cut(chunks: u64) -> String {
    match chunks {
        1 => "Each batch stays whole: one chunk.".to_owned(),
        chunks => format!("Each batch is cut into {chunks} chunks."),
    }
}

fn host_memory(Plan { strategy, program }: &Plan) -> Option<String> {
    let pins = program.setup.iter().filter(|call| matches!(call, Call::Pin(_))).count() as u64;
    let copies = program.body.iter().any(|call| matches!(call, Call::Copy { .. }));
    match strategy.memory {
        HostMemory::Pinned if pins > 0 => {
            let buffers = plural(pins, "buffer");
            Some(format!(
                "The set-up pins {buffers} of the host, so that copy engines reach them directly \
                 and the host thread goes on while they copy."
            ))
        }
        HostMemory::Pinned if copies => Some(
            "Host memory is pinned: copy engines reach it directly, and the host thread goes on \
             while they copy."
                .to_owned(),
        ),
        HostMemory::Pageable if copies => Some(
            "Host memory is pageable: the driver stages each copy through pinned memory of its \
             own, and the host thread is held meanwhile."
                .to_owned(),
        ),
        _ => None,
    }
}

pub(super) fn what_waits(plan: &Program) -> Vec<String> {
    let mut sentences = Vec::new();
    if !plan.needs_device() {
        return vec!["Each call of the host waits for the one before it.".to_owned()];
    }
    sentences.push("In a stream, each operation waits for the one before it.".to_owned());
    for ((waits, awaited), times) in waits_by_event(plan) {
        let times = plural(times, "time");
        sentences.push(format!("By event: {waits} after {awaited}, {times} in a pass."));
    }
    let ends = plan.body.iter().filter(|call| matches!(call, Call::Synchronize { .. })).count();
    let is_end = |call: &Call| matches!(call, Call::Synchronize { .. });
    let last_work = plan.body.iter().rposition(|call| call.stream().is_some() && !is_end(call));
    let before = plan.body.iter().take(last_work.unwrap_or(0)).filter(|call| is_end(call)).count();
    let at_end = plural((ends - before) as u64, "stream");
    sentences.push(match before {
        0 => format!("The host waits only at the end of a pass, for {at_end}."),
        before => {
            let before = plural(before as u64, "time");
            format!("The host waits {before} in the middle of a pass, and at its end for {at_end}.")
        }
    });
    sentences
}

/// How many times which operations wait for which, by way of an event.
fn waits_by_event(plan: &Program) -> BTreeMap<(&'static str, &'static str), u64> {
    let mut found = BTreeMap::new();
    let recorded = recorded(&plan.body);
    for (at, call) in plan.body.iter().enumerate() {
        let Call::Wait { stream, .. } = *call else { continue };
        let Some(recorded) = recorded[at] else { continue };
        let Some(other) = plan.body[recorded].stream() else { continue };
        let mut after = plan.body[at..].iter();
        let next = after.find_map(|call| operation(plan, call, stream));
        let mut before = plan.body[..recorded].iter().rev();
        let last = before.find_map(|call| operation(plan, call, other));
        if let (Some(next), Some(last)) = (next, last) {
            *found.entry((next, last)).or_default() += 1;
        }
    }
    found
}

/// What a call has the device do in a stream.
fn operation(plan: &Program, call: &Call, wanted: StreamId) -> Option<&'static str> {
    let to_host = |id| matches!(plan.allocation(id).place, Place::Host(_));
    match call {
        _ if call.stream() != Some(wanted) => None,
        Call::Copy { to, .. } if to_host(to.allocation) => Some("a copy to the host"),
        Call::Copy { .. } => Some("a copy to the GPU"),
        Call::PeerCopy { .. } => Some("a copy between GPUs"),
        Call::Launch { .. } => Some("a kernel"),
        _ => None,
    }
}

//! What a plan does and what waits in it, in sentences.

use super::calls::recorded;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::spelled::Names;
use crate::program::{Call, Program, Route, ThreadId};
use crate::report::words::{joined, often, plural, quoted};
use crate::scenario::Workload;
use crate::search::Plan;
use std::collections::BTreeMap;

pub(super) fn what_it_does(workload: &Workload, plan: &Plan) -> Vec<String> {
    let mut sentences = Vec::new();
    if workload.batches > 1 {
        let batches = workload.batches;
        sentences.push(format!("One run processes {batches} independent batches."));
    }
    match plan.strategy {
        Some(strategy) => sentences.extend(strategy.family.in_words(workload)),
        None => sentences.push("The scenario spells out this program, call by call.".to_owned()),
    }
    if plan.strategy.is_some_and(|strategy| strategy.graph) {
        sentences.push(
            "All of this is captured once as a CUDA graph, during set-up. Each run launches the \
             graph with one call."
                .to_owned(),
        );
    }
    sentences.extend(kept_on_cpu(workload, plan));
    sentences.extend(host_memory(plan));
    sentences
}

/// Which tasks the scenario keeps on the CPU, where the GPU has the others.
fn kept_on_cpu(workload: &Workload, plan: &Plan) -> Option<String> {
    plan.strategy.filter(|strategy| !strategy.is_on_cpu())?;
    let kept = workload.tasks.iter().filter(|task| task.on_cpu);
    let names = quoted(kept.map(|task| &task.name));
    let stay = if names.len() == 1 { "stays" } else { "stay" };
    (!names.is_empty()).then(|| format!("{} {stay} on the CPU.", names.join(", ")))
}

fn host_memory(plan: &Plan) -> Option<String> {
    let program = &plan.program;
    if plan.strategy.is_none() {
        return copies_of(program);
    }
    let pins = program.setup.iter().filter_map(Call::pinned).count() as u64;
    let copies = program.body.iter().any(|call| call.crossing().is_some());
    Some(match plan.host_memory() {
        HostMemory::Pinned if pins > 0 => format!(
            "The set-up pins {} on the host, so that the copy engines access them directly and the \
             host thread does not wait for copies.",
            plural(pins, "buffer")
        ),
        HostMemory::Pinned if copies => "Host memory is pinned: the copy engines access it \
                                         directly, and the host thread does not wait for copies."
            .to_owned(),
        HostMemory::Pageable if program.has_staged_copies() => {
            "Host memory is pageable: the driver stages each copy through its own pinned memory, \
             which blocks the host thread."
                .to_owned()
        }
        _ => return None,
    })
}

/// Which memory each kind of copy in a program moves, for a program that a scenario spells out.
fn copies_of(program: &Program) -> Option<String> {
    const MOVED: [&str; 3] = [
        "is pinned: copy engines access it directly, and the host thread continues while they copy",
        "is pageable: the driver stages its copies through its own pinned memory, and the host \
         thread is blocked in the meantime",
        "is copied by the CPU, on the host thread",
    ];
    let all_names = Names::in_program(program);
    let mut found: [Vec<&str>; 3] = Default::default();
    for (at, call) in program.body.iter().enumerate() {
        let (how, id) = match (call.crossing(), call.host_copy()) {
            (Some((_, direction, from, to)), _) => {
                (usize::from(program.is_staged(at)), direction.ashore(from, to).allocation)
            }
            (None, Some([from, _])) => (2, from.allocation),
            (None, None) => continue,
        };
        let name = all_names.memory(id);
        if !found[how].contains(&name) {
            found[how].push(name);
        }
    }
    let said = found.iter().zip(MOVED).filter(|(names, _)| !names.is_empty());
    let said =
        said.map(|(names, what)| format!("The memory of {} {what}.", quoted(names).join(", ")));
    Some(joined(said, " ")).filter(|said| !said.is_empty())
}

pub(super) fn what_waits(program: &Program) -> Vec<String> {
    let mut sentences = Vec::from_iter(who_calls(program));
    if !program.needs_device() {
        sentences.push("Each call waits for the previous one.".to_owned());
        return sentences;
    }
    sentences.push("In a stream, each operation waits for the previous one.".to_owned());
    for ((waits, awaited), times) in waits_by_event(program) {
        let times = often(times);
        sentences.push(format!("An event makes {waits} wait for {awaited}, {times} per run."));
    }
    let is_work = |call: &Call| call.stream().is_some() && !call.only_waits();
    let last_work = program.body.iter().rposition(is_work).unwrap_or(0);
    let waits = |calls: &[Call]| calls.iter().filter(|call| call.only_waits()).count() as u64;
    let at_end = plural(waits(&program.body[last_work..]), "stream");
    sentences.push(match waits(&program.body[..last_work]) {
        0 => format!("The host waits only at the end of a run, for {at_end}."),
        before => {
            let before = often(before);
            format!("The host waits {before} in the middle of a run, and at its end for {at_end}.")
        }
    });
    sentences
}

/// Which host threads make the calls, if there are several.
fn who_calls(program: &Program) -> Option<String> {
    let threads = program.thread_count();
    if threads == 1 {
        return None;
    }
    let names = Names::in_program(program);
    let each = (0..threads).map(|id| {
        let thread = ThreadId(id as u16);
        let calls = program.threads.iter().filter(|&&one| one == thread).count() as u64;
        format!("{} makes {}", names.thread(thread), plural(calls, "call"))
    });
    Some(format!("{threads} host threads make calls, each in order: {}.", joined(each, ", ")))
}

/// How many times which operations wait for which, by way of an event.
fn waits_by_event(program: &Program) -> BTreeMap<(&'static str, &'static str), u64> {
    let mut found = BTreeMap::new();
    let recorded = recorded(&program.body);
    for (at, call) in program.body.iter().enumerate() {
        let (Some(_), Some(stream)) = (call.stream_waits_for(), call.stream()) else { continue };
        let Some(recorded) = recorded[at] else { continue };
        let Some(other) = program.body[recorded].stream() else { continue };
        let next = program.body[at..].iter().find_map(|call| operation(call, stream));
        let mut before = program.body[..recorded].iter().rev();
        let last = before.find_map(|call| operation(call, other));
        if let (Some(next), Some(last)) = (next, last) {
            *found.entry((next, last)).or_default() += 1;
        }
    }
    found
}

/// What a call has the device do in a stream.
fn operation(call: &Call, wanted: StreamId) -> Option<&'static str> {
    if call.stream() != Some(wanted) {
        return None;
    }
    match call.route() {
        Some((_, route)) => Some(match route {
            Route::Crossing(Direction::HostToDevice) => "a copy to the GPU",
            Route::Crossing(Direction::DeviceToHost) => "a copy to the host",
            Route::OnDevice => "a copy on the GPU",
            Route::ToPeer => "a copy between GPUs",
        }),
        None => call.is_launch().then_some("a kernel"),
    }
}

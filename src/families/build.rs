//! The families: strategies that turn a workload into a program.

use super::ashore::Ashore;
use super::builder::{Builder, Slot, room};
use super::chunk::{Item, items, reduced};
use super::shared::Shared;
use super::strategy::{Each, Family, Issue, Spread, Strategy};
use crate::machine::{Capacities, DeviceId, Direction, HostMemory, StreamId};
use crate::program::{BufferId, Call, Place, Program, Whose, captured, check_fits, check_hazards};
use crate::scenario::{Home, TaskId, Workload};

/// Why a strategy has no plan for a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{strategy}: {reason}")]
pub struct Refusal {
    pub strategy: Strategy,
    pub reason: String,
    /// Whether memory is too small for it: a smaller workload may have such a plan.
    pub is_too_large: bool,
}

/// Builds the program of a strategy.
///
/// # Errors
/// If the strategy does not fit the workload (it cannot be cut, say) or the
/// plan does not fit the workload's limits.
pub fn build(workload: &Workload, strategy: Strategy) -> Result<Program, Refusal> {
    let refuse = |reason| Refusal { strategy, reason, is_too_large: false };
    check_memory_kind(workload, strategy).map_err(refuse)?;
    let builder = Builder::new(workload, strategy);
    let mut program = match strategy.family {
        Family::Cpu => cpu(builder),
        Family::RoundTrip => round_trip(builder),
        Family::Resident => by_chunk(builder, (1, ONE_GPU), 1, Issue::DepthFirst),
        Family::ByChunk { chunks, streams, issue } => {
            by_chunk(builder, (chunks, ONE_GPU), streams, issue)
        }
        Family::ByEngine { chunks } => by_engine(builder, (chunks, ONE_GPU), None),
        Family::Buffered { chunks, ring } => by_engine(builder, (chunks, ONE_GPU), Some(ring)),
        Family::MultiGpu { chunks, devices, each, spread } => {
            let over = (chunks, (devices, spread));
            check_dealing(workload, chunks, devices).and_then(|()| match each {
                Each::ByChunk { streams } => {
                    by_chunk(builder, over, streams * devices, Issue::DepthFirst)
                }
                Each::ByEngine => by_engine(builder, over, None),
            })
        }
    }
    .and_then(|plan| if strategy.graph { captured(plan) } else { Ok(plan) })
    .map_err(refuse)?;
    let limits = Capacities::from(&workload.limits);
    check_fits(&program, limits, Whose::Scenario)
        .map_err(|error| Refusal { is_too_large: true, ..refuse(error.to_string()) })?;
    check_hazards(&program).map_err(|hazard| refuse(hazard.to_string()))?;
    program.label = strategy.name_of(&program);
    Ok(program)
}

/// The number of GPUs that chunks are dealt over, and how each gets the operands that all chunks
/// read.
type Gpus = (usize, Spread);

const ONE_GPU: Gpus = (1, Spread::Host);

/// Checks that all GPUs get equally many chunks of each batch, or whole batches.
fn check_dealing(workload: &Workload, chunks: u64, devices: usize) -> Result<(), String> {
    let stays = workload.buffers.iter().find(|buffer| buffer.home == Home::Device);
    if let Some(buffer) = stays {
        return Err(format!("`{}` stays on one GPU", buffer.name));
    }
    if chunks > 1 && !chunks.is_multiple_of(devices as u64) {
        return Err(format!("{chunks} chunks cannot be shared out evenly to {devices} GPUs"));
    }
    if chunks * workload.batches < devices as u64 {
        return Err(format!("{devices} GPUs for fewer chunks"));
    }
    Ok(())
}

fn check_memory_kind(workload: &Workload, strategy: Strategy) -> Result<(), String> {
    if strategy.family == Family::Cpu {
        return Ok(());
    }
    for buffer in &workload.buffers {
        match (buffer.home, strategy.memory) {
            (Home::Host(HostMemory::Pinned), HostMemory::Pageable) => {
                return Err(format!("`{}` is pinned already", buffer.name));
            }
            (Home::Host(home), HostMemory::Pinned)
                if buffer.fresh
                    && (home == HostMemory::Pinned || strategy.family == Family::RoundTrip) =>
            {
                return Err(format!("fresh `{}` would be pinned anew in every run", buffer.name));
            }
            _ => {}
        }
    }
    Ok(())
}

fn cpu(mut builder: Builder<'_>) -> Result<Program, String> {
    let items = items(builder.workload, 1)?;
    let slot = builder.slot(&room(&items), Place::Host(builder.strategy.memory));
    let on_device: Vec<BufferId> = (0..builder.workload.buffers.len())
        .map(BufferId)
        .filter(|&id| builder.workload.buffer(id).home == Home::Device)
        .collect();
    let stream = if on_device.is_empty() { None } else { Some(builder.stream()) };
    for item in &items {
        fetch(&mut builder, stream, &slot, item, &on_device, Direction::DeviceToHost);
        for task in 0..builder.workload.tasks.len() {
            for step in builder.steps(&slot, item, TaskId(task)) {
                builder.issue(Call::Compute { step });
            }
        }
        fetch(&mut builder, stream, &slot, item, &on_device, Direction::HostToDevice);
    }
    Ok(builder.finish())
}

/// Copies buffers whose home is the device to the CPU, or the results back.
fn fetch(
    builder: &mut Builder<'_>,
    stream: Option<StreamId>,
    slot: &Slot,
    item: &Item,
    on_device: &[BufferId],
    direction: Direction,
) {
    let Some(stream) = stream else { return };
    for &id in on_device {
        let home = builder.home(item, id).expect("the device is its home");
        let here = builder.residence(slot, item, id);
        let range = item.needs[id.0].clone();
        match direction {
            Direction::DeviceToHost if builder.workload.is_input(id) => {
                builder.copy(stream, direction, (home, here), &range);
            }
            Direction::HostToDevice if builder.workload.is_output(id) => {
                builder.copy(stream, direction, (here, home), &range);
            }
            _ => {}
        }
    }
    builder.issue(Call::Synchronize { stream });
}

fn round_trip(mut builder: Builder<'_>) -> Result<Program, String> {
    let workload = builder.workload;
    let items = items(workload, 1)?;
    let stream = builder.stream();
    let room = room(&items);
    let slot = builder.slot(&room, Place::FIRST_DEVICE);
    let travels = |id: BufferId| workload.buffer(id).home != Home::Device;
    let ashore = builder.storage(&room, Place::Host(builder.strategy.memory), travels);
    for item in &items {
        for (index, task) in workload.tasks.iter().enumerate() {
            for &id in task.reads.iter().filter(|&&id| travels(id)) {
                let way =
                    (builder.residence(&ashore, item, id), builder.residence(&slot, item, id));
                builder.copy(stream, Direction::HostToDevice, way, &item.needs[id.0]);
                builder.issue(Call::Synchronize { stream });
            }
            for step in builder.steps(&slot, item, TaskId(index)) {
                builder.issue(Call::Launch { stream, step });
            }
            let id = task.writes;
            if travels(id) {
                let way =
                    (builder.residence(&slot, item, id), builder.residence(&ashore, item, id));
                builder.copy(stream, Direction::DeviceToHost, way, &item.needs[id.0]);
            }
            builder.issue(Call::Synchronize { stream });
        }
    }
    Ok(builder.finish())
}

fn copy_in(builder: &mut Builder<'_>, stream: StreamId, slot: &Slot, item: &Item) {
    for id in builder.copied_in() {
        let home = builder.home(item, id).expect("the host is its home");
        let here = builder.residence(slot, item, id);
        builder.copy(stream, Direction::HostToDevice, (home, here), &item.needs[id.0]);
    }
}

fn copy_out(
    builder: &mut Builder<'_>,
    stream: StreamId,
    slot: &Slot,
    item: &Item,
    ashore: &Ashore,
) {
    for id in builder.copied_out() {
        let home = builder.home(item, id).expect("the host is its home");
        let target = ashore.target(builder, item, id).unwrap_or(home);
        let here = builder.residence(slot, item, id);
        builder.copy(stream, Direction::DeviceToHost, (here, target), &item.owns[id.0]);
    }
}

fn by_chunk(
    mut builder: Builder<'_>,
    (chunks, gpus): (u64, Gpus),
    streams: usize,
    issue: Issue,
) -> Result<Program, String> {
    let items = chunked_items(&builder, chunks)?;
    let streams = streams.min(items.len());
    let device = |index: usize| DeviceId(index % gpus.0);
    let streams: Vec<StreamId> =
        (0..streams).map(|index| builder.stream_on(device(index))).collect();
    let mut shared = Shared::new(&mut builder, chunks, streams.len() > gpus.0, gpus);
    let slots = match issue {
        Issue::DepthFirst => streams.len(),
        // All chunks are copied in before the first kernel is launched.
        Issue::BreadthFirst => items.len(),
    };
    let room = room(&items);
    let slots: Vec<Slot> =
        (0..slots).map(|index| builder.slot(&room, Place::Device(device(index)))).collect();
    let ashore = Ashore::new(&mut builder, chunks);
    let work: Vec<(&Item, StreamId, &Slot)> = (0..items.len())
        .map(|i| (&items[i], streams[i % streams.len()], &slots[i % slots.len()]))
        .collect();
    match issue {
        Issue::DepthFirst => {
            for (index, &(item, stream, slot)) in work.iter().enumerate() {
                if let Some(before) = index.checked_sub(streams.len()) {
                    ashore.bring_home_early(&mut builder, stream, &items[before]);
                }
                shared.bring(&mut builder, stream, item);
                copy_in(&mut builder, stream, slot, item);
                builder.launch_all(stream, slot, item);
                copy_out(&mut builder, stream, slot, item, &ashore);
            }
        }
        Issue::BreadthFirst => {
            for &(item, stream, slot) in &work {
                shared.bring(&mut builder, stream, item);
                copy_in(&mut builder, stream, slot, item);
            }
            for &(item, stream, slot) in &work {
                builder.launch_all(stream, slot, item);
            }
            for &(item, stream, slot) in &work {
                copy_out(&mut builder, stream, slot, item, &ashore);
            }
        }
    }
    let left = match issue {
        Issue::DepthFirst => &items[items.len() - streams.len()..],
        Issue::BreadthFirst => &items[..],
    };
    for stream in streams {
        builder.issue(Call::Synchronize { stream });
    }
    ashore.bring_home(&mut builder, &items, left);
    Ok(builder.finish())
}

fn chunked_items(builder: &Builder<'_>, chunks: u64) -> Result<Vec<Item>, String> {
    let workload = builder.workload;
    let stays =
        |id: usize| workload.buffers[id].home == Home::Device && reduced(workload, BufferId(id));
    if chunks > 1 && (0..workload.buffers.len()).any(stays) {
        return Err("a reduction that stays on the device is not cut".to_owned());
    }
    items(workload, chunks)
}

fn by_engine(
    mut builder: Builder<'_>,
    (chunks, gpus): (u64, Gpus),
    ring: Option<usize>,
) -> Result<Program, String> {
    let items = chunked_items(&builder, chunks)?;
    let ring = ring.unwrap_or(items.len());
    if ring > items.len() {
        return Err(format!("a ring of {ring} for {} chunks", items.len()));
    }
    let device = |index: usize| DeviceId(index % gpus.0);
    let streams: Vec<[StreamId; 3]> =
        (0..gpus.0).map(|index| [(); 3].map(|()| builder.stream_on(device(index)))).collect();
    let mut shared = Shared::new(&mut builder, chunks, false, gpus);
    let room = room(&items);
    let slots: Vec<Slot> =
        (0..ring).map(|index| builder.slot(&room, Place::Device(device(index)))).collect();
    let ashore = Ashore::new(&mut builder, chunks);
    let (comes, goes) = (builder.copied_in(), builder.copied_out());
    let updates = comes.iter().any(|id| goes.contains(id));
    let (mut computed, mut left) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        let (slot, [inward, compute, outward]) = (&slots[index % ring], streams[index % gpus.0]);
        let before = index.checked_sub(ring);
        let brings = shared.bring(&mut builder, inward, item);
        if brings || !comes.is_empty() {
            if let Some(before) = before {
                // The slot's inputs are free once its last kernel has read them,
                // or, where they were updated in place, once they have left.
                let event = if updates { left[before] } else { computed[before] };
                builder.issue(Call::Wait { stream: inward, event });
            }
            copy_in(&mut builder, inward, slot, item);
            let event = builder.record(inward);
            builder.issue(Call::Wait { stream: compute, event });
        }
        if let (Some(before), false) = (before, goes.is_empty()) {
            builder.issue(Call::Wait { stream: compute, event: left[before] });
        }
        builder.launch_all(compute, slot, item);
        computed.push(builder.record(compute));
        if !goes.is_empty() {
            builder.issue(Call::Wait { stream: outward, event: computed[index] });
            copy_out(&mut builder, outward, slot, item, &ashore);
            // Nobody waits for the copies of the last chunk in each slot.
            if index + ring < items.len() {
                left.push(builder.record(outward));
            }
        }
    }
    for [_, compute, outward] in streams {
        let last = if goes.is_empty() { compute } else { outward };
        builder.issue(Call::Synchronize { stream: last });
    }
    ashore.bring_home(&mut builder, &items, &items);
    Ok(builder.finish())
}

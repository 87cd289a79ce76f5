//! What single tasks and copies take, whatever goes on beside them.

use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use crate::profile::Profile;
use crate::program::{
    Allocation, AllocationId, BufferId, Call, Place, Program, Slice, StreamTraits,
};
use crate::scenario::{Buffer, Home, Limits, Task, Workload};
use crate::simulate::{Demand, demands};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// A task of one batch by itself, with its data on the device.
pub(super) fn by_itself(workload: &Workload, task: &Task) -> Workload {
    let mut used: Vec<BufferId> = task.reads.iter().chain(&task.writes).copied().collect();
    used.sort_unstable();
    used.dedup();
    let renumbered = |ids: &[BufferId]| -> Vec<BufferId> {
        let place = |id| BufferId(used.partition_point(|other| other < id));
        ids.iter().map(place).collect()
    };
    let (reads, writes) = (renumbered(&task.reads), renumbered(&task.writes));
    let on_device =
        |&id: &BufferId| Buffer { fresh: false, home: Home::Device, ..workload.buffer(id).clone() };
    Workload {
        name: workload.name.clone(),
        question: String::new(),
        batches: 1,
        runs: 1,
        buffers: used.iter().map(on_device).collect(),
        tasks: vec![Task { after: Vec::new(), reads, writes, ..task.clone() }],
        limits: Limits::default(),
        plans: workload.plans.clone(),
        process: workload.process.clone(),
        programs: Vec::new(),
        results: BTreeMap::new(),
        part: None,
        files: Vec::new(),
    }
}

/// What a copy of pinned memory takes at least.
pub(super) fn copy(bytes: Bytes, direction: Direction, profile: &Profile) -> Option<Demand> {
    let [ashore, there] =
        [0, 1].map(|at| Slice { allocation: AllocationId(at), offset: Bytes::ZERO, length: bytes });
    let (from, to) = match direction {
        Direction::HostToDevice => (ashore, there),
        Direction::DeviceToHost => (there, ashore),
    };
    let memory = |place| Allocation { name: String::new(), place, bytes, holds: None };
    let stream = StreamId(0);
    let program = Program {
        label: String::new(),
        allocations: vec![
            memory(Place::Host(HostMemory::Pinned)),
            memory(Place::Device(DeviceId::FIRST)),
        ],
        streams: vec![StreamTraits::default()],
        stream_names: Vec::new(),
        events: 0,
        kernels: Vec::new(),
        threads: Vec::new(),
        setup: Vec::new(),
        body: vec![Call::Copy { stream, direction, from, to }, Call::Synchronize { stream }],
    };
    demands(&program, profile).ok()?.into_iter().next()
}

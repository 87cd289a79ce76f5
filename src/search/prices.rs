//! What single tasks and copies take, whatever goes on beside them.

use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use crate::profile::Profile;
use crate::program::{
    Allocation, AllocationId, BufferId, Call, Place, Program, Slice, StreamTraits,
};
use crate::scenario::{Home, Limits, Task, Workload};
use crate::simulate::{Demand, demands};
use crate::units::Bytes;

/// A task of one batch by itself, with its data on the device.
pub(super) fn by_itself(workload: &Workload, task: &Task) -> Workload {
    let mut alone = workload.clone();
    alone.tasks = vec![Task { after: Vec::new(), ..task.clone() }];
    (alone.batches, alone.limits) = (1, Limits::default());
    alone.programs.clear();
    for (id, buffer) in alone.buffers.iter_mut().enumerate() {
        (buffer.fresh, buffer.home) = (false, Home::Device);
        if !task.uses(BufferId(id)) {
            buffer.elements = 1;
        }
    }
    alone
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
        events: 0,
        kernels: Vec::new(),
        threads: Vec::new(),
        setup: Vec::new(),
        body: vec![Call::Copy { stream, direction, from, to }, Call::Synchronize { stream }],
    };
    demands(&program, profile).ok()?.into_iter().next()
}

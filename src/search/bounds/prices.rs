//! What single tasks and copies take, whatever goes on beside them.

use crate::cost::CompiledProgram;
use crate::families::{Cpu, Resident, Strategy, build};
use crate::machine::{Direction, HostMemory};
use crate::profile::Profile;
use crate::program::BufferId;
use crate::scenario::{Buffer, Home, Limits, Task, Workload};
use crate::schedule::single_copy;
use crate::simulate::Demand;
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

/// What each launch of the tasks takes at least, with all their data on the device.
pub(super) fn launches(workload: &Workload, profile: &Profile) -> Option<Vec<Demand>> {
    let program = build(workload, Strategy::plain(Resident, HostMemory::Pageable)).ok()?;
    let demands = CompiledProgram::new(&program, profile).ok()?.demands();
    let launches = program.body.iter().zip(demands).filter(|(call, _)| call.is_launch());
    Some(launches.map(|(_, demand)| demand).collect())
}

/// What the tasks take of the host at least, with all its threads.
pub(super) fn on_cpu(workload: &Workload, profile: &Profile) -> Option<f64> {
    let mut workload = workload.clone();
    let pageable = Home::Host(HostMemory::Pageable);
    workload.buffers.iter_mut().for_each(|buffer| buffer.home = pageable);
    let program = build(&workload, Strategy::plain(Cpu, HostMemory::Pageable)).ok()?;
    let demands = CompiledProgram::new(&program, profile).ok()?.demands();
    Some(demands.iter().map(|one| one.host.nanos_f64()).sum())
}

/// What a copy of pinned memory takes at least.
pub(super) fn copy(bytes: Bytes, direction: Direction, profile: &Profile) -> Option<Demand> {
    let program = single_copy(bytes, direction, HostMemory::Pinned);
    CompiledProgram::new(&program, profile).ok()?.demands().into_iter().next()
}

//! Whether a plan can be run for a workload, and which of its memory is looked at in the end.

use super::error::{ExecuteError, Executed};
use crate::machine::HostMemory;
use crate::program::{AccessKind, Allocation, AllocationId, BufferId, Call, Place, Program};
use crate::scenario::{Home, Workload};
use crate::units::Bytes;
use std::collections::BTreeSet;

/// More managed memory might crowd out other users of the device.
const MOST_MANAGED: Bytes = Bytes::mib(256);

/// Checks that every call can be made, before anything is allocated.
///
/// # Errors
/// What cannot be done.
pub(super) fn check_calls(workload: &Workload, program: &Program) -> Executed {
    outputs(workload, program)?;
    if let Some(problem) = only_predicted(program) {
        return Err(ExecuteError::OnlyPredicted { plan: program.label.clone(), problem });
    }
    let homes = check_homes(workload, program).err();
    let managed = program.bytes_in(Place::Host(HostMemory::Managed));
    let managed = (managed > MOST_MANAGED)
        .then(|| format!("it uses {managed} of managed memory; the limit is {MOST_MANAGED}"));
    let said = program.check().err().map(|problem| problem.to_string());
    match said.or(homes).or(managed) {
        Some(problem) => Err(ExecuteError::Unfit { plan: program.label.clone(), problem }),
        None => Ok(()),
    }
}

/// Why a program cannot be run, but only predicted: of some kernels, only what they cost is known,
/// and one host thread makes all calls of a run.
fn only_predicted(program: &Program) -> Option<String> {
    let unknown = program.own_steps().find_map(|(step, on_cpu)| {
        let kernel = program.own_kernel(step);
        let runs = !on_cpu && kernel.runs() || program.stand_in_time(step, on_cpu).is_some();
        (!runs).then_some((&kernel.name, on_cpu))
    });
    let threads = program.thread_count();
    match unknown {
        Some((name, true)) => {
            Some(format!("runs `{name}` on the CPU, but hallway has no CPU code for it"))
        }
        Some((name, false)) => {
            Some(format!("launches `{name}`, but the scenario has only its cost, not its code"))
        }
        None if threads == 1 => None,
        None => Some(format!(
            "uses {threads} host threads, but hallway only runs programs with \
                              one"
        )),
    }
}

/// Checks that buffers are where the workload has them, or are pinned by a call.
///
/// # Errors
/// The first that is not.
fn check_homes(workload: &Workload, program: &Program) -> Result<(), String> {
    for (at, Allocation { name, place, holds, .. }) in program.allocations.iter().enumerate() {
        let Some(id) = holds else { continue };
        let is_pin = |call: &Call| call.pinned() == Some(AllocationId(at));
        let fits = match (workload.buffer(*id).home, *place) {
            (Home::Device, place) => place == Place::FIRST_DEVICE,
            (Home::Host(HostMemory::Pageable), Place::Host(HostMemory::Pinned)) => {
                program.calls().any(is_pin)
            }
            (Home::Host(HostMemory::Pageable), Place::Host(HostMemory::WriteCombined)) => {
                !workload.is_output(*id)
            }
            (Home::Host(home), place) => place == Place::Host(home),
            (Home::Scratch, _) => false,
        };
        if !fits {
            return Err(format!("it has `{name}` in a different kind of memory than the scenario"));
        }
    }
    Ok(())
}

/// The buffers that are outputs of the workload and outlive it, each with the plan's allocation
/// that holds it.
///
/// # Errors
/// If the plan is not of this workload: it holds a buffer that the workload does not have or whose
/// size differs, or does not hold an output.
pub(super) fn outputs(workload: &Workload, program: &Program) -> Executed<Vec<(BufferId, usize)>> {
    let unfit = |problem| ExecuteError::Unfit { plan: program.label.clone(), problem };
    for Allocation { name, bytes, holds, .. } in &program.allocations {
        let Some(id) = holds else { continue };
        let buffer = workload.buffers.get(id.0);
        let fits = buffer.is_some_and(|buffer| *bytes == buffer.bytes(workload.batches));
        if !fits {
            let of = &workload.name;
            return Err(unfit(format!("it has a buffer in `{name}` that `{of}` does not have")));
        }
    }
    if workload.spells_out(program) {
        return Ok(written(program));
    }
    let asked_for = (0..workload.buffers.len())
        .map(BufferId)
        .filter(|&id| workload.is_output(id) && workload.buffer(id).home != Home::Scratch);
    let holder = |id| {
        let holder = program.allocations.iter().position(|a| a.holds == Some(id));
        let name = || &workload.buffer(id).name;
        let holder = holder.ok_or_else(|| unfit(format!("it has no memory for `{}`", name())))?;
        Ok((id, holder))
    };
    asked_for.map(holder).collect()
}

/// The buffers that a pass writes, each with the allocation that holds it.
fn written(program: &Program) -> Vec<(BufferId, usize)> {
    let accesses = program.body.iter().flat_map(|call| program.accesses(call));
    let results = accesses.filter(|one| one.kind == AccessKind::Writes);
    let written: BTreeSet<AllocationId> = results.map(|one| one.allocation()).collect();
    let held = program.allocations.iter().enumerate();
    let held = held.filter_map(|(at, allocation)| Some((allocation.holds?, at)));
    held.filter(|&(_, at)| written.contains(&AllocationId(at))).collect()
}

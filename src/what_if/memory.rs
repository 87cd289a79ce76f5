//! Host buffers in another kind of memory.

use super::change::Varied;
use crate::machine::HostMemory;
use crate::scenario::{Home, PlanMemory};
use crate::units::Bytes;

/// Puts the host buffers into pinned memory from the start, so that no plan has to pin them, or
/// into pageable memory that no plan may pin.
pub(super) fn set(varied: &mut Varied, kind: HostMemory) -> Result<(), String> {
    let workload = &mut varied.workload;
    if workload.tasks.is_empty() {
        return Err("the memory of a program is spelled out: change its `memory` in the scenario"
            .to_owned());
    }
    for buffer in &mut workload.buffers {
        if let Home::Host(_) = buffer.home {
            buffer.home = Home::Host(kind);
        }
    }
    workload.plans.memory = Vec::new();
    if kind == HostMemory::Pageable {
        workload.plans.memory.push(PlanMemory::Pageable);
        workload.limits.pinned_memory = Some(Bytes::ZERO);
    }
    Ok(())
}

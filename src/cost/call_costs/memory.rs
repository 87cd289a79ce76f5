//! What calls cost that take memory, give it back, or pin it.
//!
//! Some of them wait for the device without saying so ("Implicit Synchronization", CUDA C++
//! Programming Guide): the pages that a device may use change only while it uses none.

use super::CallCosts;
use crate::cost::work::{CallCost, Waits};
use crate::machine::{DeviceId, HostMemory};
use crate::profile::{HostCall, MemoryCost, Unknown};
use crate::program::{AllocationId, Call, MemoryChange, Place};
use crate::units::Span;

impl CallCosts<'_> {
    pub(super) fn of_memory(&self, call: &Call) -> Result<CallCost, Unknown> {
        let (id, change) = call.memory_change().expect("a call that is about memory");
        let allocation = self.program.allocation(id);
        let cost = match (change, call.stream()) {
            (MemoryChange::Allocate, Some(_)) => {
                return Ok(CallCost::on_host(self.profile.call(HostCall::AllocateInStream)?));
            }
            (MemoryChange::Free, Some(_)) => {
                return Ok(CallCost::on_host(self.profile.call(HostCall::FreeInStream)?));
            }
            (MemoryChange::Renew, _) => MemoryCost::Renew,
            (MemoryChange::Pin, _) => MemoryCost::Register,
            (MemoryChange::Unpin, _) => MemoryCost::Unregister,
            (MemoryChange::Allocate, None) => self.allocation_cost(id)?,
            (MemoryChange::Free, None) => match allocation.place {
                Place::Device(_) => MemoryCost::DeviceFree,
                Place::Host(HostMemory::Pageable) => MemoryCost::PageableFree,
                place if place.is_pinned() => MemoryCost::PinnedFree,
                Place::Host(_) => return Err(Unknown::refused(MANAGED)),
            },
        };
        let time = match cost {
            // The set-up touches what it takes, page by page.
            MemoryCost::FirstTouchTeam => self.profile.new_pages(cost, allocation.bytes)?,
            _ => self.profile.memory(cost, allocation.bytes)?,
        };
        let host = Span::from_nanos_f64(time.max(0.0));
        if !self.program.needs_device() || !self.profile.waits_for_device(cost) {
            return Ok(CallCost::on_host(host));
        }
        let only: Option<DeviceId> = match allocation.place {
            Place::Device(device) => Some(device),
            Place::Host(_) => None,
        };
        let waits = Waits::Device { only, wake: self.profile.wake_host()?, then: host };
        Ok(CallCost { waits, ..CallCost::on_host(host) })
    }

    fn allocation_cost(&self, id: AllocationId) -> Result<MemoryCost, Unknown> {
        // What a pass takes is left untouched; the set-up touches what it takes.
        let in_pass = self.program.body.contains(&Call::allocate(id));
        Ok(match self.program.allocation(id).place {
            Place::Device(_) => MemoryCost::DeviceAllocate,
            Place::Host(HostMemory::Pageable) if in_pass => MemoryCost::PageableAllocate,
            Place::Host(HostMemory::Pageable) => MemoryCost::FirstTouchTeam,
            place if place.is_pinned() => MemoryCost::PinnedAllocate,
            Place::Host(_) if in_pass => return Err(Unknown::refused(MANAGED)),
            Place::Host(_) => MemoryCost::ManagedAllocate,
        })
    }
}

const MANAGED: &str = "allocating and freeing managed memory in every run";

//! What memory costs: calls that take it, give it back or pin it, and uses of memory that is not
//! where it is used, or that caches leave out.
//!
//! Some of the calls wait for the device without saying so ("Implicit Synchronization", CUDA C++
//! Programming Guide): the pages that a device may use change only while it uses none.

use super::CallCosts;
use crate::cost::caches::Locality;
use crate::cost::halved::Bottleneck;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Waits, Work};
use crate::machine::{DeviceId, HostMemory, Residence};
use crate::profile::{Known, MemoryWork, OperationKind, TimedCall, Unknown};
use crate::program::{AllocationId, Call, MemoryChange, Place};
use crate::units::{Bytes, Span};

impl CallCosts<'_> {
    pub(super) fn of_memory(&self, call: &Call) -> Known<CallCost> {
        let (id, change) = call.memory_change().expect("a call that is about memory");
        let allocation = self.program.allocation(id);
        let cost = match (change, call.stream()) {
            (MemoryChange::Allocate, Some(_)) => {
                return Ok(CallCost::on_host(self.profile.call(TimedCall::AllocateInStream)?));
            }
            (MemoryChange::Free, Some(_)) => {
                return Ok(CallCost::on_host(self.profile.call(TimedCall::FreeInStream)?));
            }
            (MemoryChange::Renew, _) if self.traffic.by_team[id.0] => MemoryWork::RenewTeam,
            (MemoryChange::Renew, _) => MemoryWork::Renew,
            (MemoryChange::Pin, _) => MemoryWork::Register,
            (MemoryChange::Unpin, _) => MemoryWork::Unregister,
            (MemoryChange::Allocate, None) => self.allocation_cost(id)?,
            (MemoryChange::Free, None) => match allocation.place {
                Place::Device(_) => MemoryWork::DeviceFree,
                Place::Host(HostMemory::Pageable) => MemoryWork::PageableFree,
                place if place.is_pinned() => MemoryWork::PinnedFree,
                Place::Host(_) => return Err(Unknown::refused(MANAGED)),
            },
        };
        let time = match cost {
            // The set-up touches what it takes, page by page.
            MemoryWork::FirstTouchTeam => self.profile.new_pages(cost, allocation.bytes)?,
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
        let (waits, wake) = (Waits::Device(only), self.profile.wake_host()?);
        Ok(CallCost { waits, wake, then: host, ..CallCost::on_host(host) })
    }

    fn allocation_cost(&self, id: AllocationId) -> Known<MemoryWork> {
        // What a pass takes is left untouched; the set-up touches what it takes.
        let in_pass = || self.program.body.contains(&Call::allocate(id));
        Ok(match self.program.allocation(id).place {
            Place::Device(_) => MemoryWork::DeviceAllocate,
            Place::Host(HostMemory::Pageable) if in_pass() => MemoryWork::PageableAllocate,
            Place::Host(HostMemory::Pageable) => MemoryWork::FirstTouchTeam,
            place if place.is_pinned() => MemoryWork::PinnedAllocate,
            Place::Host(_) if in_pass() => return Err(Unknown::refused(MANAGED)),
            Place::Host(_) => MemoryWork::ManagedAllocate,
        })
    }

    /// Nanoseconds in which the CPU goes through the write-combined memory that it uses: all its
    /// threads, or one.
    pub(super) fn combined(&self, used: Mapped, team: bool) -> Known<f64> {
        let Mapped { read, written } = used;
        let time = |writes, bytes: Bytes| match bytes {
            Bytes::ZERO => Ok(0.0),
            bytes => self.profile.combined(writes, team, bytes),
        };
        Ok(time(false, read)? + time(true, written)?)
    }

    /// Nanoseconds for which the CPU waits for pages of managed memory that are on a device.
    pub(super) fn back(&self, locality: &Locality) -> Known<f64> {
        match locality.moves {
            Bytes::ZERO => Ok(0.0),
            bytes => {
                let time = self.profile.faults_back(bytes)?;
                Ok(self.halved.ns(Bottleneck::PageFaults, time))
            }
        }
    }

    /// A prefetch keeps the engine of its direction busy while its pages move.
    pub(super) fn prefetch(
        &self,
        to: Residence,
        bytes: Bytes,
        locality: &Locality,
    ) -> Known<CallCost> {
        let (host, all) = self.profile.prefetch(to, bytes)?;
        let direction = to.way();
        let latency = self.profile.start(OperationKind::of_copy(direction))?;
        // Pages that are there already need not move.
        let share = locality.moves.as_f64() / bytes.as_f64().max(1.0);
        let alone = Span::from_nanos_f64(all.saturating_sub(latency).nanos_f64() * share);
        let work = Work::Copy {
            direction,
            alone: alone.max(Span::from_nanos(1)),
            delay: 0.0,
            beside_kernels: 0.0,
            slowdown: 1.0,
            bytes: locality.moves,
            fixed: Span::ZERO,
        };
        let work = self.halved.copy(work, self.on_link(&work));
        Ok(CallCost { latency, work, ..CallCost::on_host(host) })
    }
}

const MANAGED: &str = "allocating and freeing managed memory in every run";

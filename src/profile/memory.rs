//! What memory management costs.

use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Curve, Profile};
use crate::samples::MemoryWork;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Memory management: nanoseconds over bytes. A copy that registers its memory on
/// the fly takes the sum of `register`, the copy and `unregister`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCosts {
    pub device_allocate: Option<Curve>,
    pub pinned_allocate: Option<Curve>,
    pub register: Option<Curve>,
    /// One thread writing to fresh pages, beyond what writing to touched ones takes.
    pub first_touch: Option<Curve>,
    /// All threads writing to fresh pages together, beyond what writing to touched ones takes.
    pub first_touch_team: Option<Curve>,
    /// A D2H copy to fresh pages, beyond what one to touched pages takes: the driver's copy waits
    /// for each page fault.
    pub first_copy: Option<Curve>,
    /// An H2D copy from fresh pages, beyond what one from written pages takes.
    pub first_read: Option<Curve>,
    /// Giving pages back that one thread has touched, and mapping new ones.
    pub renew: Option<Curve>,
    /// Giving pages back that all threads have touched, and mapping new ones. Profiles of early
    /// versions have none.
    pub renew_team: Option<Curve>,
    pub device_free: Option<Curve>,
    pub pinned_free: Option<Curve>,
    pub unregister: Option<Curve>,
    /// Mapping pageable memory that nobody touches yet.
    pub pageable_allocate: Option<Curve>,
    /// Giving pageable memory back that was touched.
    pub pageable_free: Option<Curve>,
    /// One thread summing write-combined memory. The three below: one thread filling it, all
    /// threads summing it, all threads filling it.
    pub combined_read: Option<Curve>,
    pub combined_write: Option<Curve>,
    pub combined_read_team: Option<Curve>,
    pub combined_write_team: Option<Curve>,
    /// Allocating managed memory, which one thread then fills.
    pub managed_allocate: Option<Curve>,
    /// What waits for the device without saying so. Left out where it was not measured: then what
    /// CUDA's documentation says does.
    pub waits_for_device: Option<Vec<MemoryWork>>,
}

priced! {
    MemoryCosts {
        Usual: renew, renew_team, first_touch, first_touch_team, first_copy, first_read;
        OtherMemory: combined_read, combined_write, combined_read_team, combined_write_team,
            managed_allocate;
        SpelledOut: device_allocate, device_free, pinned_allocate, pinned_free, register,
            unregister, pageable_allocate, pageable_free;
    }
    besides waits_for_device
}

/// What waits for the device by the documentation: "Implicit Synchronization" of the CUDA C++
/// Programming Guide has what page-locks memory; what gives memory back has to wait until the
/// device does not use it any more.
const WAIT_AS_DOCUMENTED: [MemoryWork; 5] = [
    MemoryWork::DeviceFree,
    MemoryWork::PinnedAllocate,
    MemoryWork::PinnedFree,
    MemoryWork::Register,
    MemoryWork::Unregister,
];

impl Profile {
    /// Whether a call that manages memory waits for the device first.
    pub fn waits_for_device(&self, work: MemoryWork) -> bool {
        self.memory.waits_for_device.as_deref().unwrap_or(&WAIT_AS_DOCUMENTED).contains(&work)
    }

    /// Nanoseconds of memory management.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn memory(&self, cost: MemoryWork, bytes: Bytes) -> Known<f64> {
        Ok(self.memory_curve(cost)?.at(bytes.as_f64()))
    }

    /// Nanoseconds for which new pages delay whoever uses so many bytes of them first. Less than
    /// the smallest size that was measured takes its share of that, page by page.
    ///
    /// Profiles of early versions know only what a CPU thread's first touch takes. They have that
    /// for a D2H copy, which takes longer, and nothing for an H2D copy from new pages.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn new_pages(&self, cost: MemoryWork, bytes: Bytes) -> Known<f64> {
        let cost = match cost {
            MemoryWork::FirstRead if self.memory.first_read.is_none() => return Ok(0.0),
            MemoryWork::FirstCopy if self.memory.first_copy.is_none() => MemoryWork::FirstTouch,
            known => known,
        };
        let curve = self.memory_curve(cost)?;
        let pages = |bytes: f64| (bytes / self.machine.page_bytes().as_f64()).ceil().max(1.0);
        let (smallest, ns) = curve.knots[0];
        let share = pages(bytes.as_f64()) / pages(smallest);
        Ok(if bytes.as_f64() < smallest { ns * share } else { curve.at(bytes.as_f64()) })
    }

    /// Nanoseconds in which the CPU goes through so many bytes of write-combined memory: already
    /// the smallest size that was measured takes in proportion to its bytes.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn combined(&self, writes: bool, team: bool, bytes: Bytes) -> Known<f64> {
        let curve = self.memory_curve(match (writes, team) {
            (false, false) => MemoryWork::CombinedRead,
            (true, false) => MemoryWork::CombinedWrite,
            (false, true) => MemoryWork::CombinedReadTeam,
            (true, true) => MemoryWork::CombinedWriteTeam,
        })?;
        let (smallest, bytes) = (curve.knots[0].0, bytes.as_f64());
        Ok(curve.at(bytes) * (bytes / smallest).min(1.0))
    }

    fn memory_curve(&self, work: MemoryWork) -> Known<&Curve> {
        let memory = &self.memory;
        let curve = match work {
            MemoryWork::DeviceAllocate => &memory.device_allocate,
            MemoryWork::PinnedAllocate => &memory.pinned_allocate,
            MemoryWork::Register => &memory.register,
            MemoryWork::FirstTouch => &memory.first_touch,
            MemoryWork::FirstTouchTeam => &memory.first_touch_team,
            MemoryWork::FirstCopy => &memory.first_copy,
            MemoryWork::FirstRead => &memory.first_read,
            MemoryWork::RenewTeam if memory.renew_team.is_some() => &memory.renew_team,
            MemoryWork::Renew | MemoryWork::RenewTeam => &memory.renew,
            MemoryWork::ManagedAllocate => &memory.managed_allocate,
            MemoryWork::CombinedRead => &memory.combined_read,
            MemoryWork::CombinedWrite => &memory.combined_write,
            MemoryWork::CombinedReadTeam => &memory.combined_read_team,
            MemoryWork::CombinedWriteTeam => &memory.combined_write_team,
            MemoryWork::PageableAllocate => &memory.pageable_allocate,
            MemoryWork::DeviceFree => &memory.device_free,
            MemoryWork::PinnedFree => &memory.pinned_free,
            MemoryWork::PageableFree => &memory.pageable_free,
            MemoryWork::Unregister => &memory.unregister,
            // These only help to find what the first ones cost.
            MemoryWork::SecondTouch
            | MemoryWork::SecondTouchTeam
            | MemoryWork::SecondCopy
            | MemoryWork::SecondRead => &None,
        };
        let how = match work {
            MemoryWork::ManagedAllocate => " (`calibrate --managed`)",
            _ => "",
        };
        let unknown = || Unknown::new(format!("the cost of {}{how}", work.name()));
        curve.as_ref().ok_or_else(unknown)
    }
}

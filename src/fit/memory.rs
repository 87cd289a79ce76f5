//! Memory management.

use super::estimator::{Estimator, pick, sized};
use crate::profile::MemoryCosts;
use crate::samples::{MemoryWork, Quantity, WaitPart};

pub(super) fn memory(estimator: &Estimator<'_>) -> MemoryCosts {
    let curve = |work| estimator.curve(sized(|bytes| Quantity::Memory { work, bytes }));
    let above = |first: MemoryWork, second: MemoryWork| Some(curve(first)?.above(&curve(second)?));
    MemoryCosts {
        device_allocate: curve(MemoryWork::DeviceAllocate),
        pinned_allocate: curve(MemoryWork::PinnedAllocate),
        register: curve(MemoryWork::Register),
        first_touch: above(MemoryWork::FirstTouch, MemoryWork::SecondTouch),
        first_touch_team: above(MemoryWork::FirstTouchTeam, MemoryWork::SecondTouchTeam),
        first_copy: above(MemoryWork::FirstCopy, MemoryWork::SecondCopy),
        first_read: above(MemoryWork::FirstRead, MemoryWork::SecondRead),
        renew: curve(MemoryWork::Renew),
        renew_team: curve(MemoryWork::RenewTeam),
        device_free: curve(MemoryWork::DeviceFree),
        pinned_free: curve(MemoryWork::PinnedFree),
        unregister: curve(MemoryWork::Unregister),
        pageable_allocate: curve(MemoryWork::PageableAllocate),
        pageable_free: curve(MemoryWork::PageableFree),
        waits_for_device: waits_for_device(estimator),
        combined_read: curve(MemoryWork::CombinedRead),
        combined_write: curve(MemoryWork::CombinedWrite),
        combined_read_team: curve(MemoryWork::CombinedReadTeam),
        combined_write_team: curve(MemoryWork::CombinedWriteTeam),
        managed_allocate: curve(MemoryWork::ManagedAllocate),
    }
}

/// What waits for the device: what takes longer by most of a load beside that. `None` if nothing
/// was measured beside a load.
fn waits_for_device(estimator: &Estimator<'_>) -> Option<Vec<MemoryWork>> {
    let works = estimator.kinds(pick!(Quantity::MemoryBeside { work, .. } => work));
    let waits = |work: &MemoryWork| {
        let time = |part| estimator.middle_of(&Quantity::MemoryBeside { work: *work, part });
        let [idle, busy, load] = WaitPart::ALL.map(time);
        busy.zip(idle).zip(load).is_some_and(|((busy, idle), load)| busy - idle > load / 2.0)
    };
    (!works.is_empty()).then(|| works.into_iter().filter(waits).collect())
}

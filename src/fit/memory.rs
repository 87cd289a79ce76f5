//! Memory management.

use super::estimator::Estimator;
use crate::profile::{MemoryCosts, TwoWays};
use crate::samples::{MemoryWork, Quantity, WaitPart};
use crate::units::Bytes;

pub(super) fn memory(estimator: &Estimator<'_>) -> MemoryCosts {
    let curve = |wanted: MemoryWork| {
        estimator.curve(|quantity| match quantity {
            Quantity::Memory { work, bytes } if *work == wanted => Some(bytes.get()),
            _ => None,
        })
    };
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
        two_ways: two_ways(estimator),
    }
}

/// What waits for the device: what takes longer by most of a load beside that. `None` if nothing
/// was measured beside a load.
fn waits_for_device(estimator: &Estimator<'_>) -> Option<Vec<MemoryWork>> {
    let mut works: Vec<MemoryWork> = estimator
        .measurements()
        .filter_map(|measurement| match measurement.quantity {
            Quantity::MemoryBeside { work, .. } => Some(work),
            _ => None,
        })
        .collect();
    works.sort_unstable();
    works.dedup();
    let waits = |work: &MemoryWork| {
        let time = |part| estimator.middle_of(&Quantity::MemoryBeside { work: *work, part });
        let [idle, busy, load] = WaitPart::ALL.map(time);
        busy.zip(idle).zip(load).is_some_and(|((busy, idle), load)| busy - idle > load / 2.0)
    };
    let is_measured = !works.is_empty();
    works.retain(waits);
    is_measured.then_some(works)
}

/// The sizes at which memory management takes one of two times. A curve can hold only one of them.
fn two_ways(estimator: &Estimator<'_>) -> Vec<TwoWays> {
    let mut sizes: Vec<(MemoryWork, Bytes)> = estimator
        .measurements()
        .filter_map(|measurement| match measurement.quantity {
            Quantity::Memory { work, bytes } => Some((work, bytes)),
            _ => None,
        })
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let two = |(work, bytes)| {
        let time = estimator.estimate_of(&Quantity::Memory { work, bytes })?;
        time.other.is_some().then_some(TwoWays { work, bytes, time })
    };
    sizes.into_iter().filter_map(two).collect()
}

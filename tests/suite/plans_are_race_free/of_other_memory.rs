//! Plans that use both processors, or other kinds of memory.

use super::*;
use hallway::families::{Hybrid, Managed, Mapped, Packed, Staged, ZeroCopy};
use hallway::program::Threads;

/// Pieces that divide nothing, rings that hold everything, and shares of all sizes.
pub(super) fn of_other_memory() -> Vec<Family> {
    let mapped = [Mapped::Inputs, Mapped::Outputs, Mapped::All];
    let zero_copy = mapped.map(|mapped| Family::from(ZeroCopy { mapped }));
    let managed = [false, true].map(|prefetch| Family::from(Managed { prefetch }));
    let staged = |(chunks, ring, bytes, threads)| {
        Family::from(Staged { chunks, ring, piece: Bytes::new(bytes), threads })
    };
    let staged = [
        (1, 1, 1200, Threads::One),
        (1, 3, 4, Threads::All),
        (1, 2, 1 << 20, Threads::All),
        (3, 2, 404, Threads::One),
        (3, 4, 1 << 20, Threads::All),
        (7, 1, 1 << 20, Threads::One),
    ]
    .map(staged);
    let hybrid = [(1, 1), (2, 1), (3, 2), (7, 1), (7, 6), (7, 9)]
        .map(|(chunks, on_cpu)| Family::from(Hybrid { chunks, on_cpu }));
    let packed = [400, 1 << 20].map(|bytes| Family::from(Packed { up_to: Bytes::new(bytes) }));
    zero_copy.into_iter().chain(managed).chain(packed).chain(staged).chain(hybrid).collect()
}

/// Plans of data that each pass pins, and of write-combined inputs.
pub(super) fn held_otherwise(family: Family) -> [Strategy; 2] {
    let combined = Strategy { memory: HostMemory::WriteCombined, ..pinned(family) };
    [Strategy { each_pass: true, ..pinned(family) }, combined]
}

fn pageable(family: impl Into<Family>) -> Strategy {
    Strategy { memory: HostMemory::Pageable, ..pinned(family) }
}

#[test]
fn every_forgotten_synchronisation_of_staged_and_shared_plans_is_found() {
    for kernel in [Kernel::Scale, Kernel::Stencil] {
        let case = Case::new(simple(kernel, 101, "batches = 2"));
        let piece = Bytes::new(80);
        for strategy in [
            pageable(Staged { chunks: 1, ring: 2, piece, threads: Threads::One }),
            pageable(Staged { chunks: 3, ring: 2, piece, threads: Threads::All }),
            pageable(Managed { prefetch: false }),
            pageable(Managed { prefetch: true }),
            pinned(Hybrid { chunks: 4, on_cpu: 3 }),
            pinned(ZeroCopy { mapped: Mapped::All }),
        ] {
            let plan = build(&case.workload, strategy).expect("fits");
            let waits = |call: &Call| call.only_waits() || is_wait(call);
            assert!(needs(&case, &plan, waits) > 0, "{}", plan.label);
        }
    }
}

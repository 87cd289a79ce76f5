//! The list of everything that is measured.

use super::sizes::{Points, Sizes};
use crate::gpu::supports;
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::{
    CYCLES, Link, MEANWHILE, MEMORY_FOOTPRINT, MemoryWork, ONE_THREAD, Quantity, ROTATED,
    SHARED_FOOTPRINT, TimedCall,
};
use crate::units::Bytes;

/// Something that is measured in one go; it may give several quantities.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub quantities: Vec<Quantity>,
    /// How many repetitions make a sample. Two counts: both are measured, and
    /// their difference is free of what starting and ending cost.
    pub counts: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Once,
    Of(u64),
    Both(u64, u64),
    /// Few and many, so chosen that many take a few milliseconds.
    ByDuration,
}

/// Pageable memory of an operand.
pub(super) const POOL: Bytes = MEMORY_FOOTPRINT;
/// The largest copy, and the largest array of a kernel.
pub(super) const LARGEST: Bytes = Bytes::mib(256);

/// The most streams that a measurement deals work over.
pub(super) const MOST_STREAMS: usize = 8;

/// Streams that wait while another runs kernels: all but that and two for copies.
const POLLING_STREAMS: [usize; 4] = [1, 2, 3, MOST_STREAMS - 3];

/// Everything on the device and on the way to it.
pub(super) fn device_probes(sizes: &Sizes) -> Vec<Probe> {
    let mut probes = call_probes();
    probes.extend(chain_probes());
    for direction in Direction::BOTH {
        for &bytes in &sizes.copies {
            probes.push(one(copy(direction, bytes, false), Counts::ByDuration));
        }
        for &bytes in &sizes.registered {
            probes.push(one(copy(direction, bytes, true), Counts::ByDuration));
        }
    }
    for &power in sizes.shared_powers {
        let bytes = Bytes::new(1 << power);
        let quantities = Direction::BOTH.map(|direction| Quantity::Shared { direction, bytes });
        let count = (LARGEST.get() / bytes.get()).min(64);
        probes.push(Probe { quantities: quantities.to_vec(), counts: Counts::Of(count) });
    }
    let on_device = |points: &Points| supports(points.variant.kernel).is_ok();
    for Points { variant, elements, .. } in sizes.points().into_iter().filter(on_device) {
        for elements in elements {
            probes.push(one(Quantity::Kernel { variant, elements }, Counts::ByDuration));
        }
    }
    probes
}

/// Everything that needs the CPU's attention: staging, twins, memory management.
/// What is measured closely comes again in later rounds, counted from 0.
pub(super) fn host_probes(sizes: &Sizes, round: usize) -> Vec<Probe> {
    let mut probes = Vec::new();
    for direction in Direction::BOTH {
        for &bytes in &sizes.copies {
            probes.push(staged(direction, bytes, bytes));
        }
        for &bytes in &sizes.cold_copies {
            probes.push(staged(direction, bytes, POOL));
        }
    }
    for Points { variant, elements, coarse, .. } in sizes.points_of_round(round) {
        for elements in elements {
            probes.push(twin(variant, elements, Bytes::ZERO));
        }
        for elements in coarse {
            probes.push(twin(variant, elements, SHARED_FOOTPRINT));
            probes.push(twin(variant, elements, POOL * arrays(variant)));
        }
    }
    // How much of what was used before is still in the caches.
    for &kib in sizes.own_footprints_kib {
        let (variant, elements) = ONE_THREAD;
        probes.push(twin(variant, elements, Bytes::kib(kib)));
    }
    for &mib in sizes.footprints_mib {
        let saxpy = Variant { kernel: Kernel::Saxpy, extent: 0 };
        probes.push(twin(saxpy, 1 << 20, Bytes::mib(mib)));
    }
    let works = [
        MemoryWork::DeviceAllocate,
        MemoryWork::PinnedAllocate,
        MemoryWork::Register,
        MemoryWork::FirstTouch,
        MemoryWork::SecondTouch,
        MemoryWork::FirstTouchTeam,
        MemoryWork::SecondTouchTeam,
        MemoryWork::Renew,
    ];
    for work in works {
        for &bytes in &sizes.memory {
            probes.push(one(Quantity::Memory { work, bytes }, Counts::Once));
        }
    }
    probes
}

pub(super) fn one(quantity: Quantity, counts: Counts) -> Probe {
    Probe { quantities: vec![quantity], counts }
}

fn staged(direction: Direction, bytes: Bytes, footprint: Bytes) -> Probe {
    let quantity = |complete| Quantity::Staged { direction, bytes, footprint, complete };
    Probe { quantities: vec![quantity(false), quantity(true)], counts: Counts::Once }
}

/// How many arrays a kernel goes along.
pub(super) fn arrays(variant: Variant) -> u64 {
    variant.kernel.bytes_per_element() / 4
}

/// Going round `footprint`, or over the same data again and again if that is more.
fn twin(variant: Variant, elements: u64, footprint: Bytes) -> Probe {
    let footprint = footprint.max(Bytes::new(variant.bytes(elements)));
    // A team that is left alone for a moment goes to sleep, and a plan does not
    // leave it alone: small runs are measured many at a time.
    let flops = variant.kernel.flops_per_element(&variant.arguments());
    let work = elements * (4 + flops as u64 / 16);
    let count = ((1 << 25) / work).clamp(1, 64);
    one(Quantity::Twin { variant, elements, footprint }, Counts::Of(count))
}

fn copy(direction: Direction, bytes: Bytes, registered: bool) -> Quantity {
    Quantity::Copy { direction, bytes, registered }
}

fn call_probes() -> Vec<Probe> {
    use TimedCall::{Clear, CopyIn, CopyOut, Launch, LaunchAndRecord, Synchronize, WaitAndLaunch};
    let calls = [Launch, CopyIn, CopyOut, Clear, LaunchAndRecord, WaitAndLaunch, Synchronize];
    let call = |call| one(Quantity::Call { call }, Counts::Of(32));
    calls.map(call).to_vec()
}

/// Operations one after the other: of one kind, of two, and of several streams.
fn chain_probes() -> Vec<Probe> {
    use Link::{CopyIn as I, CopyOut as O, Kernel as K};
    let mut probes = Vec::new();
    let trip = |links: &[Link], across, long| {
        one(Quantity::RoundTrip { links: links.to_vec(), across, long }, Counts::Once)
    };
    for first in [I, O, K] {
        let alone = Quantity::Chain { links: vec![first], across: false };
        probes.push(one(alone, Counts::Both(2, 26)));
        probes.extend([false, true].map(|long| trip(&[first], false, long)));
        for next in [I, O, K] {
            probes.extend([false, true].map(|across| trip(&[first, next], across, true)));
        }
    }
    for links in CYCLES {
        for across in [false, true] {
            let quantity = Quantity::Chain { links: links.to_vec(), across };
            probes.push(one(quantity, Counts::Both(2, 26)));
        }
    }
    for copies in MEANWHILE {
        for others in POLLING_STREAMS {
            probes.push(one(Quantity::Polled { others, copies }, Counts::Both(8, 40)));
        }
    }
    for direction in Direction::BOTH {
        for streams in [2, 4, MOST_STREAMS] {
            let quantity = Quantity::Rotation { direction, bytes: ROTATED, streams };
            probes.push(one(quantity, Counts::Both(2, 10)));
        }
    }
    probes
}

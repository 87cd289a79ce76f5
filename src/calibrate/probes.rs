//! The list of everything that is measured.

use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::{Link, MemoryWork, Quantity, TimedCall};
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

/// The largest copy, and the largest array of a kernel.
pub(super) const LARGEST: Bytes = Bytes::mib(256);

const DEGREES: [u32; 6] = [4, 16, 64, 256, 1024, 4096];

/// Everything on the device and on the way to it.
pub(super) fn device_probes() -> Vec<Probe> {
    let mut probes = call_probes();
    probes.extend(chain_probes());
    for direction in Direction::BOTH {
        for bytes in copy_sizes() {
            probes.push(one(copy(direction, bytes, false), Counts::ByDuration));
        }
        for bytes in [Bytes::mib(1), Bytes::mib(16), LARGEST] {
            probes.push(one(copy(direction, bytes, true), Counts::ByDuration));
        }
    }
    for mib in [1, 4, 16, 64] {
        let bytes = Bytes::mib(mib);
        let quantities = Direction::BOTH.map(|direction| Quantity::Shared { direction, bytes });
        let count = (256 / mib).min(64);
        probes.push(Probe { quantities: quantities.to_vec(), counts: Counts::Of(count) });
    }
    for variant in variants() {
        for elements in element_counts() {
            probes.push(one(Quantity::Kernel { variant, elements }, Counts::ByDuration));
        }
    }
    probes
}

/// Everything that needs the CPU's attention: staging, twins, memory management.
pub(super) fn host_probes() -> Vec<Probe> {
    let mut probes = Vec::new();
    for cold in [false, true] {
        for direction in Direction::BOTH {
            for bytes in copy_sizes() {
                let quantity = |complete| Quantity::Staged { direction, bytes, cold, complete };
                let quantities = vec![quantity(false), quantity(true)];
                probes.push(Probe { quantities, counts: Counts::Once });
            }
        }
        for variant in variants() {
            for elements in element_counts() {
                let quantity = Quantity::Twin { variant, elements, cold };
                probes.push(one(quantity, Counts::Once));
            }
        }
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
        for bytes in [Bytes::kib(64), Bytes::mib(1), Bytes::mib(8), Bytes::mib(64), LARGEST] {
            probes.push(one(Quantity::Memory { work, bytes }, Counts::Once));
        }
    }
    probes
}

fn one(quantity: Quantity, counts: Counts) -> Probe {
    Probe { quantities: vec![quantity], counts }
}

fn copy(direction: Direction, bytes: Bytes, registered: bool) -> Quantity {
    Quantity::Copy { direction, bytes, registered }
}

fn call_probes() -> Vec<Probe> {
    use TimedCall::{Clear, CopyIn, CopyOut, Launch, Record, Synchronize, Wait};
    let calls = [Launch, CopyIn, CopyOut, Clear, Record, Wait, Synchronize];
    let call = |call| one(Quantity::Call { call }, Counts::Of(32));
    let trip = |link| one(Quantity::RoundTrip { link }, Counts::Once);
    let links = [Link::CopyIn, Link::CopyOut, Link::Kernel];
    calls.map(call).into_iter().chain(links.map(trip)).collect()
}

fn chain_probes() -> Vec<Probe> {
    use Link::{CopyIn as I, CopyOut as O, Kernel as K};
    let patterns: [&[Link]; 8] =
        [&[K], &[I], &[O], &[I, K], &[K, O], &[I, O], &[I, K, O], &[O, K, I]];
    let mut probes = Vec::new();
    for across in [false, true] {
        for pattern in patterns {
            let quantity = Quantity::Chain { links: pattern.to_vec(), across };
            probes.push(one(quantity, Counts::Both(2, 26)));
        }
    }
    for link in [I, O, K] {
        probes.push(one(Quantity::Alternating { link }, Counts::Both(4, 52)));
    }
    probes
}

/// From 4 B to [`LARGEST`], closer where staging and the engine change their ways.
fn copy_sizes() -> Vec<Bytes> {
    let mut sizes: Vec<u64> = (2..=28).step_by(2).map(|power| 1 << power).collect();
    sizes.extend([1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]);
    sizes.extend([3 << 14, 3 << 15, 3 << 19, 3 << 21]);
    sizes.sort_unstable();
    sizes.into_iter().map(Bytes::new).collect()
}

fn element_counts() -> Vec<u64> {
    (10..=26).step_by(2).chain([17, 19, 21, 23, 25]).map(|power| 1 << power).collect()
}

fn variants() -> Vec<Variant> {
    let plain = |&kernel: &Kernel| kernel != Kernel::Polynomial;
    let mut variants: Vec<Variant> = (Kernel::ALL.into_iter())
        .filter(plain)
        .map(|kernel| Variant { kernel, degree: 0 })
        .collect();
    variants.extend(DEGREES.map(|degree| Variant { kernel: Kernel::Polynomial, degree }));
    variants
}

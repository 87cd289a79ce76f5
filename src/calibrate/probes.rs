//! The list of everything that is measured.

use crate::gpu::supports;
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::{
    CYCLES, Link, MEANWHILE, MemoryWork, Quantity, ROTATED, SHARED_FOOTPRINT, TimedCall,
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

/// Pageable memory of an operand: going round it, a CPU finds nothing in its caches.
pub(super) const POOL: Bytes = Bytes::mib(1024);
/// The largest copy, and the largest array of a kernel.
pub(super) const LARGEST: Bytes = Bytes::mib(256);

/// The most streams that a measurement deals work over.
pub(super) const MOST_STREAMS: usize = 8;

/// Streams that wait while another runs kernels: all but that and two for copies.
const POLLING_STREAMS: [usize; 4] = [1, 2, 3, MOST_STREAMS - 3];

/// Kernels that are measured at many sizes and, on the CPU, in every round. The
/// others are at few sizes and once: a calibration would take twice as long.
const CLOSELY: [Kernel; 5] =
    [Kernel::Scale, Kernel::Saxpy, Kernel::Polynomial, Kernel::Sum, Kernel::Stencil];

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
    for power in [16, 17, 18, 19, 20, 21, 22, 24, 26] {
        let bytes = Bytes::new(1 << power);
        let quantities = Direction::BOTH.map(|direction| Quantity::Shared { direction, bytes });
        let count = (LARGEST.get() / bytes.get()).min(64);
        probes.push(Probe { quantities: quantities.to_vec(), counts: Counts::Of(count) });
    }
    for (variant, counts) in points_on_device() {
        for elements in counts {
            probes.push(one(Quantity::Kernel { variant, elements }, Counts::ByDuration));
        }
    }
    probes
}

/// Everything that needs the CPU's attention: staging, twins, memory management.
/// What is measured closely comes again in later rounds, counted from 0.
pub(super) fn host_probes(round: usize) -> Vec<Probe> {
    let mut probes = Vec::new();
    for direction in Direction::BOTH {
        for bytes in copy_sizes() {
            probes.push(staged(direction, bytes, bytes));
            probes.push(staged(direction, bytes, POOL));
        }
    }
    let again = |point: &(Variant, _)| round == 0 || CLOSELY.contains(&point.0.kernel);
    for (variant, counts) in points().into_iter().filter(again) {
        for elements in counts {
            let coarse = elements.trailing_zeros().is_multiple_of(2);
            probes.push(twin(variant, elements, Bytes::ZERO));
            if coarse {
                probes.push(twin(variant, elements, SHARED_FOOTPRINT));
                probes.push(twin(variant, elements, POOL * arrays(variant)));
            }
        }
    }
    // How much of what was used before is still in the caches.
    for mib in [48, 96, 192, 288, 384, 576, 768, 1152, 1728] {
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
        for bytes in [Bytes::kib(64), Bytes::mib(1), Bytes::mib(8), Bytes::mib(64), LARGEST] {
            probes.push(one(Quantity::Memory { work, bytes }, Counts::Once));
        }
    }
    probes
}

fn one(quantity: Quantity, counts: Counts) -> Probe {
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

/// From 4 B to [`LARGEST`], closer where staging and the engine change their ways.
fn copy_sizes() -> Vec<Bytes> {
    let mut sizes: Vec<u64> = (2..=28).step_by(2).map(|power| 1 << power).collect();
    sizes.extend([1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]);
    sizes.extend([3 << 14, 3 << 15, 3 << 19, 3 << 21]);
    sizes.sort_unstable();
    sizes.into_iter().map(Bytes::new).collect()
}

/// Those of [`points`] for which the device has what it needs.
pub(super) fn points_on_device() -> Vec<(Variant, Vec<u64>)> {
    let mut points = points();
    points.retain(|(variant, _)| supports(variant.kernel).is_ok());
    points
}

/// Every variant of a kernel with the numbers of elements that it is measured
/// at, fewest first. Between two variants and two numbers, times are interpolated.
fn points() -> Vec<(Variant, Vec<u64>)> {
    let powers = |powers: &[u32]| powers.iter().map(|power| 1 << power).collect::<Vec<u64>>();
    let close = powers(&[10, 12, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26]);
    let apart = powers(&[10, 16, 19, 22, 25]);
    let points_of = |kernel: Kernel| {
        let extents: &[u32] = match kernel {
            Kernel::Scale | Kernel::Saxpy | Kernel::Sum | Kernel::Stencil => &[0],
            Kernel::Polynomial => &[4, 16, 64, 256, 1024],
            Kernel::BlackScholes => &[0],
            // From where memory bounds it to where arithmetic does.
            Kernel::Convolution => &[5, 33, 257],
            // Blocks meet in few counters, or have many to add up.
            Kernel::Histogram => &[16, 256, 4096],
            Kernel::Transpose => &[32, 1024, 32_768],
            Kernel::Matmul => &[64, 512, 4096],
            Kernel::Fft => &[64, 1024, 16_384],
        };
        let counts = match kernel {
            _ if CLOSELY.contains(&kernel) => &close[..],
            // More rows take longer in proportion, and the CPU very long.
            Kernel::Matmul => &apart[..apart.len() - 1],
            _ => &apart[..],
        };
        let points = |&extent| {
            let variant = Variant { kernel, extent };
            let rows = |&&count: &&u64| count >= kernel.grain(&variant.arguments());
            (variant, counts.iter().filter(rows).copied().collect())
        };
        extents.iter().map(points).collect()
    };
    Kernel::ALL.into_iter().flat_map::<Vec<_>, _>(points_of).collect()
}

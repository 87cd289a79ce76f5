//! The sizes at which a calibration measures things, for each extent.

use crate::kernels::{Kernel, Variant};
use crate::samples::{CalibrationExtent, MEMORY_FOOTPRINT, WRITTEN_KEPT, WRITTEN_THROUGH};
use crate::units::Bytes;

/// Whether a kernel is measured at many sizes. The other kernels are measured at few, because the
/// calibration would take twice as long.
pub(super) const fn is_measured_closely(kernel: Kernel) -> bool {
    use Kernel::{Polynomial, Saxpy, Scale, Stencil, Sum};
    matches!(kernel, Scale | Saxpy | Polynomial | Sum | Stencil)
}

/// The size of a pool: the pageable memory of one operand.
pub(super) const POOL: Bytes = MEMORY_FOOTPRINT;
/// The largest copy, and the largest array of a kernel.
pub(super) const LARGEST: Bytes = Bytes::mib(256);
/// The most streams that a measurement uses for its work.
pub(super) const MOST_STREAMS: usize = 8;
/// A footprint that takes a few milliseconds to cycle through twenty times.
pub(super) const SOON_WARM: Bytes = Bytes::mib(8);

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// The largest pageable copy whose data is in no cache. Beyond it, copies run at a constant rate.
const STEADY: Bytes = Bytes::mib(64);

/// Bytes of copies both ways. Small ones are whole cache lines, as a plan's chunks are, but no
/// multiples of 16 KiB, which a plan's chunks hardly ever are: on H100s, multiples take 2 to 5%
/// less time than the sizes between.
const BOTH_WAYS: [u64; 14] = [
    4_224,
    10_112,
    20_096,
    40_064,
    75_008,
    125_056,
    170_112,
    250_112,
    500_096,
    MIB,
    2 * MIB,
    4 * MIB,
    16 * MIB,
    64 * MIB,
];
const BOTH_WAYS_QUICKLY: [u64; 8] =
    [4_224, 20_096, 75_008, 250_112, MIB, 4 * MIB, 16 * MIB, 64 * MIB];

/// Which sizes are measured: all, or some of them. Those of one mechanism stand in its file.
///
/// A quick calibration has fixed costs, rates, and both sides of known steps. Its curves run
/// straight beyond the first and the last size.
pub(super) struct Sizes {
    pub is_quick: bool,
}

/// So few elements that each thread of a block has one: with more, its loads wait for stores before
/// them. On an H200, `scale` was over 1.1 us sooner on 64 elements than on 1,024.
const LONE: u32 = 8;

/// A core's first cache, as most have it: from there on, the CPU takes several times as long for
/// each element.
const FIRST_CACHE: Bytes = Bytes::kib(48);

/// Sizes of the closely measured kernels, and of the others: in a full calibration and in a quick
/// one.
const CLOSELY: [Powers; 2] = [
    Powers {
        // Both sides of the size from which data no longer stays in a core's L1 cache.
        elements: &[10, 12, 14, 16, 18, 20, 22, 24, 26, 13, 15, 17, 19, 21, 23, 25],
        on_device: &[LONE],
        coarse: &[10, 13, 14, 18, 22, 26],
        just_copied: &[10, 14, 17, 18, 19, 20, 22],
        in_memory: &[10, 14, 18, 20, 22],
    },
    Powers {
        elements: &[10, 14, 16, 18, 20, 22, 24],
        on_device: &[LONE],
        coarse: &[13, 14, 18, 22],
        just_copied: &[14, 18, 20],
        in_memory: &[14, 18],
    },
];
const APART: [Powers; 2] = [
    Powers {
        elements: &[10, 17, 22, 25],
        on_device: &[LONE, 14, 19],
        coarse: &[10, 22],
        just_copied: &[10, 17, 20],
        in_memory: &[10, 20],
    },
    Powers {
        elements: &[10, 22, 25],
        on_device: &[],
        coarse: &[10, 22],
        just_copied: &[],
        in_memory: &[],
    },
];

/// From here on, copies both ways are also measured where the host's caches keep what they write.
pub(super) const LEAST_KEPT: Bytes = Bytes::mib(1);
/// Copies of this size are also measured at footprints between, to find how much the caches keep.
pub(super) const PROBING: Bytes = Bytes::mib(4);

impl Sizes {
    pub fn new(extent: CalibrationExtent) -> Self {
        Self { is_quick: extent == CalibrationExtent::Quick }
    }

    /// What a full calibration has, or a quick one.
    pub fn either<T>(&self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }

    /// Copies of pinned and of pageable memory: from 4 B to 256 MiB, closer together where staging
    /// and the copy engine change their mechanism.
    pub fn copies(&self) -> Vec<Bytes> {
        if self.is_quick {
            let powers = [2, 12, 16, 18, 20, 22, 25, 26, 27].map(|power| Bytes::new(1 << power));
            // Pageable copies beyond 64 KiB are staged in another way.
            return powers.into_iter().chain([Bytes::kib(96)]).collect();
        }
        let mut sizes: Vec<u64> = (2..=28).step_by(2).map(|power| 1 << power).collect();
        sizes.extend([1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]);
        sizes.extend([3 << 14, 3 << 15, 3 << 19, 3 << 21]);
        sizes.sort_unstable();
        sizes.into_iter().map(Bytes::new).collect()
    }

    /// Pageable copies of which nothing is in the caches, where time depends less on size: from 4 B
    /// to where the rate is constant, with both sides of where staging changes its mechanism.
    pub fn cold_copies(&self) -> Vec<Bytes> {
        if self.is_quick {
            return self.copies().into_iter().filter(|&size| size <= STEADY).collect();
        }
        let powers = (2..=26).step_by(2).chain([25]);
        powers.map(|power| Bytes::new(1 << power)).chain([Bytes::kib(96)]).collect()
    }

    /// The extents at which a kernel is measured, if it has one; times between are interpolated.
    pub fn extents(&self, kernel: Kernel) -> &'static [u32] {
        match kernel {
            // The point where arithmetic takes over lies between the first and the last.
            Kernel::Polynomial => self.either(&[4, 16, 64, 256, 1024], &[4, 64, 1024]),
            // Where memory bounds it, where arithmetic starts to, and where arithmetic does.
            Kernel::Convolution => self.either(&[5, 33, 257], &[5, 257]),
            // With few bins, blocks contend for counters; with many, there is much to add up.
            Kernel::Histogram => self.either(&[16, 256, 4096], &[16, 4096]),
            // cuBLAS and cuFFT choose other algorithms from one size to the next.
            Kernel::Matmul => self.either(&[64, 256, 1024, 2048], &[64, 2048]),
            Kernel::Fft => self.either(&[64, 1024, 8192], &[64, 8192]),
            Kernel::Transpose => &[32, 4096],
            _ => &[],
        }
    }

    /// Sizes of copies both ways, each with the footprint of either way. All have a footprint
    /// larger than a host's caches. Those of some MiB also have one that caches keep, and a single
    /// size also has the footprints between.
    pub fn both_ways(&self) -> impl Iterator<Item = (Bytes, Bytes)> {
        let all: &[u64] = self.either(&BOTH_WAYS, &BOTH_WAYS_QUICKLY);
        let copies = || all.iter().map(|&bytes| Bytes::new(bytes));
        let through = copies().map(|bytes| (bytes, WRITTEN_THROUGH));
        let is_large = |bytes: &Bytes| (LEAST_KEPT..WRITTEN_KEPT).contains(bytes);
        let kept = copies().filter(is_large).map(|bytes| (bytes, WRITTEN_KEPT));
        let written: &[u64] = self.either(&[16, 32, 64], &[32]);
        let between = written.iter().map(|&mib| (PROBING, Bytes::mib(mib)));
        through.chain(kept).chain(between)
    }

    /// Every variant of every kernel, with the sizes at which it is measured.
    pub fn points(&self) -> Vec<Points> {
        let of_kernel = |kernel: Kernel| {
            let extents = if kernel.extent().is_some() { self.extents(kernel) } else { &[0] };
            let [full, quick] = if is_measured_closely(kernel) { &CLOSELY } else { &APART };
            let powers = self.either(full, quick);
            let points = move |(index, &extent): (usize, &u32)| {
                let mut points = powers.points(Variant { kernel, extent });
                // Every other extent and the last one tell how much slower far data is, where there
                // are many extents.
                if extents.len() > 3 && index % 2 == 1 && index + 1 < extents.len() {
                    points.coarse.clear();
                }
                points
            };
            extents.iter().enumerate().map(points)
        };
        Kernel::ALL.into_iter().flat_map(of_kernel).collect()
    }
}

/// The numbers of elements at which a variant is measured.
pub(super) struct Points {
    pub variant: Variant,
    /// On the device and on the CPU.
    pub elements: Vec<u64>,
    /// On the device only.
    pub on_device: Vec<u64>,
    /// On the CPU only: the most elements that one thread works on alone, and the fewest that are
    /// shared out. The time jumps there. Closely measured kernels need none of these.
    pub edges: Vec<u64>,
    /// On the CPU only, for closely measured kernels: what fills a core's first cache.
    pub fills_first_cache: Option<u64>,
    /// On the CPU with data from further away.
    pub coarse: Vec<u64>,
    /// On the device with data that was just copied there.
    pub just_copied: Vec<u64>,
    /// On the device with data that is in none of its caches.
    pub in_memory: Vec<u64>,
}

/// Numbers of elements, as powers of two.
struct Powers {
    elements: &'static [u32],
    /// On the device only, at the sizes of a plan's chunks, which take little time there.
    on_device: &'static [u32],
    /// On the CPU with data from further away.
    coarse: &'static [u32],
    /// On the device with data that was just copied there: from sizes at which kernels wait for it
    /// to sizes of which its cache would hold little anyway.
    just_copied: &'static [u32],
    /// On the device with data that is in none of its caches, over the range of `just_copied`.
    in_memory: &'static [u32],
}

impl Powers {
    fn points(&self, variant: Variant) -> Points {
        let grain = variant.kernel.grain(&variant.arguments());
        let most = match variant.kernel {
            // More rows take proportionally longer, and very long on the CPU.
            Kernel::Matmul => 1 << 22,
            // With hundreds of operations per element, the rate is constant wherever the data is.
            Kernel::Polynomial if variant.extent >= 256 => 1 << 23,
            _ => u64::MAX,
        };
        let whole = |powers: &[u32]| -> Vec<u64> {
            // The smallest size is at least one grain, such as one row.
            let counts = powers.iter().map(|power| grain.max(1 << power));
            counts.filter(|&count| count <= most).collect()
        };
        // A library may wait for the device when it is first called. On a stream that is held for
        // the copies to come first, it would wait for ever.
        let can_be_held = variant.kernel.library().is_none();
        let held = |powers: &'static [u32]| whole(if can_be_held { powers } else { &[] });
        Points {
            variant,
            edges: if is_measured_closely(variant.kernel) { Vec::new() } else { edges(variant) },
            fills_first_cache: is_measured_closely(variant.kernel)
                .then(|| FIRST_CACHE.get() / variant.kernel.bytes_per_element()),
            elements: whole(self.elements),
            on_device: whole(self.on_device),
            coarse: whole(self.coarse),
            just_copied: held(self.just_copied),
            in_memory: held(self.in_memory),
        }
    }
}

/// Elements just below and just above where CPU work starts to be shared out, in whole grains.
fn edges(variant: Variant) -> Vec<u64> {
    let grain = variant.kernel.grain(&variant.arguments());
    let is_shared = |grains: &u64| {
        let elements = grains * grain;
        variant.is_shared(elements, variant.bytes(elements))
    };
    let first = (1..).find(is_shared).expect("enough elements are shared out");
    let edges = [first - 1, first].map(|grains| grains * grain);
    edges.into_iter().filter(|&elements| elements > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Effort, VALUES_PER_BIN};

    /// One thread does the last size below; the first size above has at least two blocks.
    #[test]
    fn edges_lie_on_either_side() {
        for extent in [CalibrationExtent::Full, CalibrationExtent::Quick] {
            let points = Sizes::new(extent).points();
            assert!(points.iter().filter(|points| points.edges.len() == 2).count() > 5);
            for Points { variant, edges, .. } in points {
                let arguments = variant.arguments();
                let effort = Effort::of(variant.kernel, &arguments);
                for (at, &elements) in edges.iter().rev().enumerate() {
                    let effort = effort.with_footprint(variant.bytes(elements));
                    assert_eq!(effort.is_shared(elements as usize), at == 0, "{variant:?}");
                    assert!(elements.is_multiple_of(variant.kernel.grain(&arguments)));
                }
                if variant.kernel == Kernel::Histogram {
                    let block = VALUES_PER_BIN as u64 * u64::from(variant.extent);
                    assert!(edges[1] >= 2 * block, "{variant:?}");
                }
            }
        }
    }

    /// Footprints that caches surely keep, surely do not, and between show how much they keep.
    #[test]
    fn copies_both_ways_go_round_little_and_much() {
        for extent in [CalibrationExtent::Full, CalibrationExtent::Quick] {
            let both_ways: Vec<(Bytes, Bytes)> = Sizes::new(extent).both_ways().collect();
            let footprints = |bytes: Bytes| {
                let of_size = both_ways.iter().filter(move |pair| pair.0 == bytes);
                of_size.map(|pair| pair.1).collect::<Vec<_>>()
            };
            let probing = footprints(PROBING);
            assert!(probing.len() > 2);
            assert!([WRITTEN_KEPT, WRITTEN_THROUGH].iter().all(|all| probing.contains(all)));
            for &(bytes, footprint) in &both_ways {
                let fewer = footprints(bytes);
                assert!(bytes == PROBING || fewer.len() < probing.len(), "{bytes}");
                assert!(fewer.contains(&WRITTEN_THROUGH), "{bytes}");
                assert!(bytes < footprint, "{bytes} in {footprint}");
            }
            let is_kept = |pair: &&(Bytes, Bytes)| pair.1 == WRITTEN_KEPT;
            assert!(both_ways.iter().filter(is_kept).count() > 1, "a line through one point");
        }
    }
}

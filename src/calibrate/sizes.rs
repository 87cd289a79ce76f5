//! The sizes at which things are measured, for each extent of a calibration.

use super::probes::LARGEST;
use crate::samples::Extent;
use crate::units::Bytes;

pub(super) struct Sizes {
    /// Copies of pinned and of pageable memory.
    pub copies: Vec<Bytes>,
    /// Copies of memory that was registered, to compare.
    pub registered: Vec<Bytes>,
    /// Powers of two of the bytes of copies both ways at once.
    pub shared_powers: &'static [u32],
    pub degrees: &'static [u32],
    /// Powers of two of the elements of kernels and of their twins.
    pub element_powers: &'static [u32],
    /// Those of twins whose data is further away.
    pub coarse_powers: &'static [u32],
    /// What a twin goes round to find out how much stays in the caches.
    pub footprints_mib: &'static [u64],
    pub memory: Vec<Bytes>,
    /// How often the host's part is measured, at times far apart: neighbours on a
    /// shared machine come and go.
    pub host_rounds: usize,
}

impl Sizes {
    pub fn new(extent: Extent) -> Self {
        match extent {
            Extent::Quick => Self::quick(),
            Extent::Full | Extent::Elsewhere => Self::full(),
        }
    }

    fn full() -> Self {
        Self {
            copies: copy_sizes(),
            registered: vec![Bytes::mib(1), Bytes::mib(16), LARGEST],
            shared_powers: &[16, 17, 18, 19, 20, 21, 22, 24, 26],
            degrees: &[4, 16, 64, 256, 1024],
            element_powers: &[10, 12, 14, 16, 18, 20, 22, 24, 26, 17, 19, 21, 23, 25],
            coarse_powers: &[10, 12, 14, 16, 18, 20, 22, 24, 26],
            footprints_mib: &[48, 96, 192, 288, 384, 576, 768, 1152, 1728],
            memory: [64 << 10, 1 << 20, 8 << 20, 64 << 20, LARGEST.get()].map(Bytes::new).to_vec(),
            host_rounds: 3,
        }
    }

    /// Some of the full sizes: fixed costs, rates, and both sides of what is known
    /// to be a step. The ends lie where a curve goes on straight.
    fn quick() -> Self {
        let powers = [2, 12, 16, 18, 20, 22, 25, 26, 27];
        let mut copies: Vec<Bytes> = powers.map(|power| Bytes::new(1 << power)).to_vec();
        // Larger copies of pageable memory are staged another way than those of 64 KiB.
        copies.push(Bytes::kib(96));
        Self {
            copies,
            registered: Vec::new(),
            shared_powers: &[16, 18, 20, 22, 26],
            degrees: &[4, 64, 1024],
            element_powers: &[10, 14, 18, 20, 22, 24],
            coarse_powers: &[14, 18, 22, 24],
            footprints_mib: &[48, 192, 384, 768, 1728],
            memory: vec![Bytes::kib(64), Bytes::mib(8), Bytes::mib(64)],
            host_rounds: 1,
        }
    }
}

/// From 4 B to [`LARGEST`], closer where staging and the engine change their ways.
fn copy_sizes() -> Vec<Bytes> {
    let mut sizes: Vec<u64> = (2..=28).step_by(2).map(|power| 1 << power).collect();
    sizes.extend([1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27]);
    sizes.extend([3 << 14, 3 << 15, 3 << 19, 3 << 21]);
    sizes.sort_unstable();
    sizes.into_iter().map(Bytes::new).collect()
}

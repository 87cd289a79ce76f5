//! Copies from host memory to host memory, which the CPU makes.

use super::context::MeasurementContext;
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::POOL;
use crate::gpu::AnyDevice;
use crate::samples::{FAR, Quantity};
use crate::units::{Bytes, Span};

/// Bytes of copies of the same memory again and again, and of memory that no cache holds.
const NEAR: [Bytes; 4] = [Bytes::kib(4), Bytes::kib(256), Bytes::mib(4), Bytes::mib(32)];
const FROM_MEMORY: [Bytes; 3] = [Bytes::kib(4), Bytes::kib(256), Bytes::mib(32)];
/// Bytes of copies from memory that no cache holds into the same memory again and again.
const INTO_CACHE: [Bytes; 3] = [Bytes::kib(256), Bytes::mib(2), Bytes::mib(16)];

pub(super) fn probes() -> Vec<Probe> {
    let near = NEAR.map(|bytes| (bytes, bytes + bytes, false));
    let far = FROM_MEMORY.map(|bytes| (bytes, FAR, false));
    let into_cache = INTO_CACHE.map(|bytes| (bytes, FAR, true));
    let all = near.into_iter().chain(far).chain(into_cache);
    all.flat_map(|size| [false, true].map(|by_all| probe(by_all, size))).collect()
}

fn probe(by_all: bool, (bytes, footprint, into_cache): (Bytes, Bytes, bool)) -> Probe {
    let what = Quantity::HostCopy { by_all, bytes, footprint, into_cache };
    let count = ((4 << 20) / bytes.get()).clamp(1, 64);
    Probe::new(what, Counts::Of(count)).limit(0.15, 3).warm_up(WarmUp::Host)
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Time of `count` copies. Consecutive copies use consecutive windows of the footprint, or go
    /// to the same one.
    pub fn host_copies(
        &mut self,
        by_all: bool,
        (bytes, footprint, into_cache): (Bytes, Bytes, bool),
        count: u64,
    ) -> Span {
        let side = Bytes::new(footprint.get() / 2).min(POOL);
        let starts = self.windows(side, bytes, count);
        let length = bytes.as_usize() / 4;
        let [from, .., to] = &mut self.pools;
        let clock = D::now();
        for start in starts {
            let range = start..start + length;
            let there = if into_cache { 0..length } else { range.clone() };
            let (from, to) = (&from.as_slice()[range], &mut to.as_mut_slice()[there]);
            let (from, to) = (bytemuck::cast_slice::<_, u8>(from), bytemuck::cast_slice_mut(to));
            if by_all { self.team.copy(from, to) } else { to.copy_from_slice(from) }
        }
        D::elapsed(clock).into()
    }
}

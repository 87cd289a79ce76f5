//! Pageable copies, timed by the host's clock.

use super::context::{MeasurementContext, Timed};
use super::probe::{Counts, Probe, Streams, WarmUp};
use super::sizes::{POOL, SOON_WARM, Sizes};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream};
use crate::machine::Direction;
use crate::samples::{MOST_OF_ONE_CORE, Quantity, SHORT_COPY};
use crate::units::{Bytes, Span};
use std::ops::Range;

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let mut probes = Vec::new();
    for direction in Direction::BOTH {
        probes.extend(sizes.copies().into_iter().map(|bytes| staged(direction, bytes, bytes)));
        probes.extend(sizes.cold_copies().into_iter().map(|bytes| staged(direction, bytes, POOL)));
    }
    let some = sizes.copies().into_iter().filter(|bytes| LEAVES_CORE.contains(bytes));
    probes.extend(some.map(|bytes| staged(Direction::HostToDevice, bytes, MOST_OF_ONE_CORE)));
    probes
}

fn staged(direction: Direction, bytes: Bytes, footprint: Bytes) -> Probe {
    let quantity = |complete| Quantity::Staged { direction, bytes, footprint, complete };
    let probe = Probe::together([false, true].map(quantity), Counts::Once);
    let warm_up = if footprint >= POOL {
        // No cache keeps any of the largest footprint, so there is nothing to warm.
        WarmUp::Host
    } else {
        WarmUp::OneThread(WarmUp::rounds(footprint, bytes))
    };
    // Two visits differ by 4 to 8%, every fourth time by 15%, and caches of this size are soon
    // warm.
    let visits = if bytes <= SOON_WARM { 3 } else { 1 };
    let is_telling = bytes == Bytes::mib(1) && footprint == bytes;
    probe.visits(visits).of_host().warm_up(warm_up).streams(Streams::Same).telling(is_telling)
}

/// Pageable copies that find their data in the core's own caches only if little else was used in
/// between, and for which that makes a difference.
const LEAVES_CORE: Range<Bytes> = Bytes::kib(16)..MOST_OF_ONE_CORE;

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Times from the call to its return, and from the call to the end of a synchronisation behind
    /// it. Consecutive copies use consecutive windows of the footprint.
    pub fn staged(
        &mut self,
        direction: Direction,
        bytes: Bytes,
        footprint: Bytes,
    ) -> Timed<[Span; 2]> {
        let offset = self.window(footprint, bytes, self.turn);
        let kernel = self.piece(false)?;
        let [ins, outs, others, _] = &mut self.pools;
        let pool = if direction == Direction::HostToDevice { ins } else { outs };
        let there = self.arrays[0].address();
        let stream = &self.streams[0];
        if direction == Direction::DeviceToHost && footprint <= bytes && bytes <= MOST_OF_ONE_CORE {
            // As in a plan that reads what it has received, the core's caches hold the
            // target, which slows the copy.
            // SAFETY: the window lies within the pool, which outlives the copy.
            unsafe { stream.copy_in(pool.as_ptr().add(offset), there, bytes)? };
        }
        // The thread makes other calls before, as in a plan: a single call made again and again
        // would find all its code and data in the core's L1 caches. SAFETY: the memory belongs to
        // the context and outlives the work, which is waited for.
        unsafe {
            stream.launch(&kernel.kernel)?;
            if direction == Direction::HostToDevice {
                stream.copy_out(there, others.as_mut_ptr(), SHORT_COPY)?;
            }
        }
        stream.synchronize()?;
        let start = D::now();
        // SAFETY: the window lies within the pool, which outlives the copy.
        unsafe {
            let ashore = pool.as_mut_ptr().add(offset);
            stream.copy_across(direction, (ashore, there), bytes)?;
        }
        let returned = D::elapsed(start);
        stream.synchronize()?;
        Ok([returned.into(), D::elapsed(start).into()])
    }
}

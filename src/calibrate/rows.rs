//! Copies of rows that lie apart.

use super::context::{MeasurementContext, Timed, clocked};
use super::probe::{Counts, Probe, Streams, WarmUp};
use super::sizes::{POOL, Sizes};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, RowShape, RowSide};
use crate::samples::{GAP, MANY_ROWS, Quantity, RowPath};
use crate::units::Bytes;

/// Bytes of a row: less than a transfer on the link, a few, and many.
const ROWS: [Bytes; 3] = [Bytes::new(64), Bytes::kib(1), Bytes::kib(16)];

pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let some = if sizes.is_quick { &ROWS[..2] } else { &ROWS[..] };
    let sizes = || some.iter().flat_map(|&row| MANY_ROWS.map(|rows| (row, rows)));
    RowPath::ALL.into_iter().flat_map(|path| sizes().map(move |size| probe(path, size))).collect()
}

fn probe(path: RowPath, (row, rows): (Bytes, u64)) -> Probe {
    let what = Quantity::Rows { path, row, rows };
    if !path.is_staged() {
        return Probe::new(what, Counts::Both(2, 8)).limit(0.1, 3);
    }
    // Rows of a large matrix are in no cache, and each lies in other pages than the one before: so
    // there is nothing to warm.
    let probe = Probe::new(what, Counts::Once).of_host().limit(0.1, 3);
    probe.warm_up(WarmUp::Host).streams(Streams::Same)
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Time of `count` copies: on the device, or of pageable memory by the host's clock.
    pub fn rows(&mut self, path: RowPath, (row, rows): (Bytes, u64), count: u64) -> Timed {
        let [pinned_in, pinned_out] = self.pinned.each_ref().map(|memory| memory.as_mut_ptr());
        let start = self.window(POOL, (row + GAP) * rows, self.turn);
        // SAFETY: a window lies within its pool.
        let [pageable_in, .., pageable_out] =
            self.pools.each_mut().map(|memory| unsafe { memory.as_mut_ptr().add(start) });
        let there = |at: usize| RowSide::Device(self.arrays[at].address());
        let (from, to) = match path {
            RowPath::PinnedIn => (RowSide::Host(pinned_in), there(0)),
            RowPath::PinnedOut => (there(0), RowSide::Host(pinned_out)),
            RowPath::PageableIn => (RowSide::Host(pageable_in), there(0)),
            RowPath::PageableOut => (there(0), RowSide::Host(pageable_out)),
            RowPath::OnDevice => (there(2), there(3)),
        };
        // The rows lie apart in the host's memory, as a part of a matrix does.
        let apart = row + GAP;
        let pitch = match path {
            RowPath::PinnedOut | RowPath::PageableOut => [row, apart],
            _ => [apart, row],
        };
        let shape = RowShape { row, count: rows, pitch };
        // SAFETY: all memory is far larger than the rows, and outlives the work, which is waited
        // for.
        let copy = |stream: &D::Stream| unsafe { stream.copy_rows(from, to, shape) };
        if path.is_staged() {
            let stream = &self.streams[0];
            return clocked::<D, _, _>(|| {
                copy(stream)?;
                stream.synchronize()
            });
        }
        // The time starts behind a copy in front of the others: see `row`.
        self.held(|context| {
            copy(&context.streams[0])?;
            context.streams[0].record(&context.marks[0])?;
            (0..count).try_for_each(|_| copy(&context.streams[0]))
        })
    }
}

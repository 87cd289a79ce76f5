//! Trips to the device of one or two operations, in parts.

use super::context::{MeasurementContext, Piece, Timed};
use super::probe::{Counts, Probe, Streams};
use super::sizes::Sizes;
use crate::gpu::{AnyDevice, AnyGraph, AnyStream, GpuResult};
use crate::kernels::{Kernel, Variant};
use crate::machine::OperationKind;
use crate::samples::{Quantity, SECOND_NODE, SHORT_COPY, TRIP_ELEMENTS, TripPart};
use crate::units::{Bytes, Span};
use std::time::Duration;

/// Trips of operations of several sizes: alone, to see where small copies change their mechanism,
/// and with another operation behind them, to see when that one starts.
pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    use OperationKind::{CopyIn as I, CopyOut as O, Kernel as K};
    let [ins, outs, degrees] = sizes.either(FULL, QUICK);
    let of_kib = |sizes: &[u64]| sizes.iter().map(|kib| 1024 * kib).collect::<Vec<u64>>();
    let ins = [vec![SMALLEST], of_kib(ins)].concat();
    let mut probes = Vec::new();
    for (first, alone) in [(I, &ins), (O, &of_kib(outs)), (K, &degrees.to_vec())] {
        for &size in alone {
            let is_long = first == K || size >= LONG_TRIP.get();
            let others = [I, O, K].into_iter().filter(|&next| next != first && is_long);
            let nexts = std::iter::once(None).chain(others.map(Some));
            probes.extend(nexts.map(|next| trip((first, size), next, false)));
        }
    }
    let large = ins.iter().filter(|&&size| size >= LATE_TRIP.get());
    probes.extend(large.map(|&size| late_trip((I, size), O)));
    probes
}

pub(super) fn trip(
    first: (OperationKind, u64),
    next: Option<OperationKind>,
    in_graph: bool,
) -> Probe {
    let parts = TripPart::all(next.is_some() && !in_graph).iter();
    let (first, size) = first;
    let what = parts.map(|&part| Quantity::Trip { first, size, next, part, in_graph });
    part_by_part(what.collect())
}

fn late_trip(first: (OperationKind, u64), next: OperationKind) -> Probe {
    let (first, size) = first;
    let parts = TripPart::all(true).iter();
    let what = parts.map(|&part| Quantity::LateTrip { first, size, next, part });
    part_by_part(what.collect())
}

/// There are many of these, and a line or a staircase is fitted through all.
fn part_by_part(what: Vec<Quantity>) -> Probe {
    Probe::together(what, Counts::Once).visits(2).limit(0.25, 7).streams(Streams::Same)
}

/// Sizes of first operations: KiB of copies in and of copies out, degrees of polynomials.
const FULL: [&[u64]; 3] = [
    &[1, 4, 8, 16, 20, 24, 28, 32, 48, 64, 96, 128, 256, 512, 1024],
    &[4, 64, 96, 128, 256, 512, 1024],
    &[4, 16, 64, 512, 1024, 2048, 4096, 6144],
];
/// Some of them.
const QUICK: [&[u64]; 3] =
    [&[4, 16, 24, 28, 32, 64, 128, 512, 1024], &[64, 512, 1024], &[4, 1024, 4096, 6144]];
/// Bytes of the smallest copy in, which travels with its command.
const SMALLEST: u64 = 4;

/// Copies from this size on are still under way when the next operation arrives.
const LONG_TRIP: Bytes = Bytes::kib(32);

/// Copies from this size on are still under way when the next operation comes late. (Commands for
/// kernels take equally long whether the data has just begun to arrive or has been arriving for a
/// while; those for copies to the host do not.)
const LATE_TRIP: Bytes = Bytes::kib(512);

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Host times of the parts of a trip that is made by calls: each call, and the rest up to the
    /// end of the synchronisation. The second call comes `late` after the return of the first.
    pub fn trip_by_calls(
        &mut self,
        first: (OperationKind, u64),
        next: Option<OperationKind>,
        late: Duration,
    ) -> Timed<Vec<Span>> {
        let operations = self.on_trip(first, next, SHORT_COPY)?;
        let stream = &self.streams[0];
        stream.synchronize()?;
        let (start, mut ends) = (D::now(), Vec::new());
        for (link, piece) in &operations {
            // Without a delay, no clock is read between the calls.
            if let Some(&before) = ends.last().filter(|_| !late.is_zero()) {
                while D::elapsed(start) < before + late {
                    std::hint::spin_loop();
                }
            }
            self.issue(stream, *link, piece)?;
            ends.push(D::elapsed(start));
        }
        stream.synchronize()?;
        ends.push(D::elapsed(start));
        Ok(parts(&ends))
    }

    /// A trip of graph nodes, which are launched by a single call.
    pub fn trip_in_graph(
        &mut self,
        first: (OperationKind, u64),
        next: Option<OperationKind>,
    ) -> Timed<Vec<Span>> {
        let operations = self.on_trip(first, next, SECOND_NODE)?;
        let stream = &self.streams[0];
        let mut nodes = operations.iter();
        let issue = || nodes.try_for_each(|(link, piece)| self.issue(stream, *link, piece));
        let graph = stream.capture(issue)?.instantiate()?;
        self.warm_up(&graph)?;
        let start = D::now();
        // SAFETY: all memory belongs to the context and outlives the launch, which is waited for.
        unsafe { stream.replay(&graph)? };
        let launched = D::elapsed(start);
        stream.synchronize()?;
        Ok(parts(&[launched, D::elapsed(start)]))
    }

    /// The operations of a trip: the first one, and a short one if there is a next. A
    /// short copy has `bytes` bytes.
    fn on_trip(
        &self,
        (first, size): (OperationKind, u64),
        next: Option<OperationKind>,
        bytes: Bytes,
    ) -> GpuResult<Vec<(OperationKind, Piece<D>)>> {
        let short = Piece { bytes, ..self.piece(false)? };
        let long = match first {
            OperationKind::CopyIn | OperationKind::CopyOut | OperationKind::PeerCopy => {
                Piece { bytes: Bytes::new(size), ..self.piece(false)? }
            }
            OperationKind::Kernel => {
                let extent = u32::try_from(size).expect("a degree fits 32 bits");
                let variant = Variant { kernel: Kernel::Polynomial, extent };
                Piece { kernel: self.launch_of(variant, TRIP_ELEMENTS)?, bytes }
            }
        };
        Ok(std::iter::once((first, long)).chain(next.map(|next| (next, short))).collect())
    }
}

/// The durations between consecutive ends, the first one from the start.
fn parts(ends: &[Duration]) -> Vec<Span> {
    let starts = std::iter::once(Duration::ZERO).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(&end, start)| (end - start).into()).collect()
}

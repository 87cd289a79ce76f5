//! Operations that depend on each other: round trips, and chains on the device.

use super::context::{MeasurementContext, Piece, Timed, clocked};
use super::member::Member;
use super::probe::{Counts, Probe, Streams};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, GpuResult};
use crate::machine::OperationKind;
use crate::samples::{CYCLES, Quantity};

/// Dependent operations in a row: of one kind, of two kinds, and across several streams.
pub(super) fn probes() -> Vec<Probe> {
    use OperationKind::{CopyIn as I, CopyOut as O, Kernel as K};
    let mut probes = Vec::new();
    for first in [I, O, K] {
        probes.push(chain(&[first], false));
        probes.extend([false, true].map(|long| round_trip(&[first], false, long)));
        for next in [I, O, K] {
            probes.extend([false, true].map(|across| round_trip(&[first, next], across, true)));
        }
    }
    for links in CYCLES {
        probes.extend([false, true].map(|across| chain(&links, across)));
    }
    probes
}

pub(super) fn round_trip(links: &[OperationKind], across: bool, long: bool) -> Probe {
    let what = Quantity::RoundTrip { links: links.to_vec(), across, long };
    let streams = if across { Streams::Any } else { Streams::Same };
    Probe::new(what, Counts::Once).streams(streams).telling(!long && links.len() == 1)
}

pub(super) fn chain(links: &[OperationKind], across: bool) -> Probe {
    let what = Quantity::Chain { links: links.to_vec(), across };
    Probe::new(what, Counts::Both(2, 26)).telling(!across && links.len() == 1)
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Issues one short operation of a kind to a stream.
    pub fn issue(&self, stream: &D::Stream, link: OperationKind, piece: &Piece<D>) -> GpuResult {
        let (array, bytes) = (self.arrays[0].address(), piece.bytes);
        // SAFETY: all memory belongs to the context and outlives the stream's work.
        unsafe {
            match link {
                OperationKind::CopyIn => stream.copy_in(self.pinned[0].as_mut_ptr(), array, bytes),
                OperationKind::CopyOut => {
                    stream.copy_out(array, self.pinned[1].as_mut_ptr(), bytes)
                }
                OperationKind::Kernel => stream.launch(&piece.kernel),
                OperationKind::PeerCopy => {
                    let Member { device, arrays, .. } = &self.members[1];
                    stream.copy_to_peer(array, (device, arrays[1].address()), bytes)
                }
            }
        }
    }

    /// Host time from issuing dependent operations to the return of a synchronisation.
    pub fn round_trip(&mut self, links: &[OperationKind], across: bool, long: bool) -> Timed {
        let piece = self.piece(long)?;
        let stream = |at: usize| &self.streams[at % 2 * usize::from(across)];
        clocked::<D, _, _>(|| {
            for (at, &link) in links.iter().enumerate() {
                if across && at > 0 {
                    stream(at).wait(&self.ordering[at - 1])?;
                }
                self.issue(stream(at), link, &piece)?;
                if across && at + 1 < links.len() {
                    stream(at).record(&self.ordering[at])?;
                }
            }
            stream(links.len() - 1).synchronize()
        })
    }

    /// Device time of `count` repetitions of the pattern, each operation after the one before. With
    /// `across`, consecutive operations are in different streams and ordered by events.
    pub fn chain(&mut self, links: &[OperationKind], across: bool, count: u64) -> Timed {
        let piece = self.piece(false)?;
        self.held(|context| {
            let turns = (0..count).flat_map(|_| links);
            for (at, &link) in turns.enumerate() {
                context.issue(&context.streams[at % 2 * usize::from(across)], link, &piece)?;
                if across {
                    let event = &context.ordering[at % context.ordering.len()];
                    context.streams[at % 2].record(event)?;
                    context.streams[(at + 1) % 2].wait(event)?;
                }
            }
            context.rejoin(if across { 2 } else { 1 })
        })
    }

    /// Makes the first stream, in which the time is taken, wait for the others.
    pub fn rejoin(&self, streams: usize) -> GpuResult {
        for (index, stream) in self.streams[..streams].iter().enumerate().skip(1) {
            let event = &self.ordering[self.ordering.len() - index];
            stream.record(event)?;
            self.streams[0].wait(event)?;
        }
        Ok(())
    }
}

//! Calls as a plan makes them, and trips of one or two operations.

use super::rig::{Piece, Rig, clocked};
use crate::gpu::{GpuError, Graph, PinnedMemory, Stream};
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::{
    IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, Link, SECOND_NODE, SHORT_COPY, TRIP_ELEMENTS, TimedCall,
};
use crate::units::{Bytes, Span};
use std::time::{Duration, Instant};

/// Makes a call of a kind.
type Make<'m> =
    dyn FnMut(TimedCall, &dyn Fn() -> Result<(), GpuError>) -> Result<(), GpuError> + 'm;
/// Kinds of calls, and how often a turn has each.
type Kinds = &'static [(TimedCall, usize)];
/// The calls of a piece, by its number.
type Turn<'r> = fn(&Rig<'r>, &Piece, u64, &mut Make<'_>) -> Result<(), GpuError>;

impl<'r> Rig<'r> {
    /// Host time of `count` calls of each kind of [`IN_TURN`], each among the others and with a
    /// clock of its own, and of as many turns without; and then of [`IN_ONE_STREAM`].
    pub fn calls_in_turn(&mut self, count: u64) -> Result<Vec<Span>, GpuError> {
        let piece = Piece { bytes: IN_TURN_COPY, ..self.piece(false)? };
        let mut times = Vec::new();
        let turns: [(Kinds, Turn<'r>); 2] =
            [(&IN_TURN, Self::across_streams), (&IN_ONE_STREAM, Self::in_one_stream)];
        for (kinds, turn) in turns {
            let mut sums = vec![Span::ZERO; kinds.len()];
            let mut each = |kind: TimedCall, call: &dyn Fn() -> Result<(), GpuError>| {
                let time = clocked(call)?;
                let mut of_kinds = sums.iter_mut().zip(kinds);
                let sum = of_kinds.find(|(_, (one, _))| *one == kind);
                *sum.expect("turns have calls of these kinds").0 += time;
                Ok(())
            };
            (0..count).try_for_each(|at| turn(self, &piece, at, &mut each))?;
            self.streams[..3].iter().try_for_each(Stream::synchronize)?;
            let turns =
                || (0..count).try_for_each(|at| turn(self, &piece, at, &mut |_, call| call()));
            sums.push(clocked(turns)?);
            self.streams[..3].iter().try_for_each(Stream::synchronize)?;
            times.extend(sums);
        }
        Ok(times)
    }

    /// Of a pipeline with a stream for every engine.
    fn across_streams(&self, piece: &Piece, at: u64, make: &mut Make<'_>) -> Result<(), GpuError> {
        let [ins, kernels, outs] = [&self.streams[0], &self.streams[1], &self.streams[2]];
        let [to_device, to_host] = self.pinned.each_ref().map(PinnedMemory::as_mut_ptr);
        let events = &self.ordering[2 * at as usize..];
        let copy = |stream, way, ashore| self.copy_at(stream, way, ashore, piece.bytes, at);
        make(TimedCall::CopyIn, &|| copy(ins, Direction::HostToDevice, to_device))?;
        make(TimedCall::Record, &|| ins.record(&events[0]))?;
        make(TimedCall::Wait, &|| kernels.wait(&events[0]))?;
        make(TimedCall::Launch, &|| self.issue(kernels, Link::Kernel, piece))?;
        kernels.record(&events[1])?;
        outs.wait(&events[1])?;
        make(TimedCall::CopyOut, &|| copy(outs, Direction::DeviceToHost, to_host))
    }

    /// Of one with all of a piece in a stream, and so many streams.
    fn in_one_stream(&self, piece: &Piece, at: u64, make: &mut Make<'_>) -> Result<(), GpuError> {
        let stream = &self.streams[at as usize % 3];
        let [to_device, to_host] = self.pinned.each_ref().map(PinnedMemory::as_mut_ptr);
        let copy = |way, ashore| self.copy_at(stream, way, ashore, piece.bytes, at);
        make(TimedCall::CopyIn, &|| copy(Direction::HostToDevice, to_device))?;
        make(TimedCall::Launch, &|| self.issue(stream, Link::Kernel, piece))?;
        make(TimedCall::CopyOut, &|| copy(Direction::DeviceToHost, to_host))
    }

    /// Host time of the parts of a trip: each call, and the rest.
    pub fn trip(
        &mut self,
        (first, size): (Link, u64),
        next: Option<Link>,
        in_graph: bool,
    ) -> Result<Vec<Span>, GpuError> {
        let bytes = if in_graph { SECOND_NODE } else { SHORT_COPY };
        let short = Piece { bytes, ..self.piece(false)? };
        let long = match first {
            Link::CopyIn | Link::CopyOut | Link::PeerCopy => {
                Piece { bytes: Bytes::new(size), ..self.piece(false)? }
            }
            Link::Kernel => {
                let extent = u32::try_from(size).expect("a degree");
                let variant = Variant { kernel: Kernel::Polynomial, extent };
                Piece { kernel: self.launch_of(variant, TRIP_ELEMENTS)?, bytes: short.bytes }
            }
        };
        let stream = &self.streams[0];
        let operations = || std::iter::once((first, &long)).chain(next.map(|next| (next, &short)));
        let graph = if in_graph {
            let mut nodes = operations();
            let issue = || nodes.try_for_each(|(link, piece)| self.issue(stream, link, piece));
            let graph = Graph::capture(stream, issue)?.instantiate()?;
            self.warm_up(&graph)?;
            Some(graph)
        } else {
            stream.synchronize()?;
            None
        };
        let start = Instant::now();
        let mut ends = Vec::new();
        if let Some(graph) = &graph {
            // SAFETY: all memory is the rig's and outlives the wait.
            unsafe { stream.replay(graph)? };
            ends.push(start.elapsed());
        } else {
            for (link, piece) in operations() {
                self.issue(stream, link, piece)?;
                ends.push(start.elapsed());
            }
        }
        stream.synchronize()?;
        ends.push(start.elapsed());
        let starts = std::iter::once(Duration::ZERO).chain(ends.iter().copied());
        Ok(ends.iter().zip(starts).map(|(&end, start)| (end - start).into()).collect())
    }
}

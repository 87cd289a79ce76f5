//! Calls as a plan makes them, and trips of one or two operations.

use super::rig::{Piece, Rig, clocked};
use crate::gpu::{GpuError, Graph, PinnedMemory, Stream};
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::{
    IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, LATE, Link, SECOND_NODE, SHORT_COPY, TRIP_ELEMENTS,
    TimedCall,
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
        first: (Link, u64),
        next: Option<Link>,
        in_graph: bool,
    ) -> Result<Vec<Span>, GpuError> {
        if in_graph {
            self.trip_in_graph(first, next)
        } else {
            self.trip_by_calls(first, next, Duration::ZERO)
        }
    }

    /// The same where the second call comes when the first operation is well under way.
    pub fn late_trip(&mut self, first: (Link, u64), next: Link) -> Result<Vec<Span>, GpuError> {
        self.trip_by_calls(first, Some(next), LATE)
    }

    /// Of a trip by calls, the second `late` after the return of the first.
    fn trip_by_calls(
        &mut self,
        first: (Link, u64),
        next: Option<Link>,
        late: Duration,
    ) -> Result<Vec<Span>, GpuError> {
        let operations = self.on_trip(first, next, SHORT_COPY)?;
        let stream = &self.streams[0];
        stream.synchronize()?;
        let (start, mut ends) = (Instant::now(), Vec::new());
        for (link, piece) in &operations {
            // A trip that has nothing to wait for reads no clock between its calls.
            if let Some(&before) = ends.last().filter(|_| !late.is_zero()) {
                while start.elapsed() < before + late {
                    std::hint::spin_loop();
                }
            }
            self.issue(stream, *link, piece)?;
            ends.push(start.elapsed());
        }
        stream.synchronize()?;
        ends.push(start.elapsed());
        Ok(parts(&ends))
    }

    /// Of nodes of a graph, which have one call.
    fn trip_in_graph(
        &mut self,
        first: (Link, u64),
        next: Option<Link>,
    ) -> Result<Vec<Span>, GpuError> {
        let operations = self.on_trip(first, next, SECOND_NODE)?;
        let stream = &self.streams[0];
        let mut nodes = operations.iter();
        let issue = || nodes.try_for_each(|(link, piece)| self.issue(stream, *link, piece));
        let graph = Graph::capture(stream, issue)?.instantiate()?;
        self.warm_up(&graph)?;
        let start = Instant::now();
        // SAFETY: all memory is the rig's and outlives the wait.
        unsafe { stream.replay(&graph)? };
        let launched = start.elapsed();
        stream.synchronize()?;
        Ok(parts(&[launched, start.elapsed()]))
    }

    /// What a trip is of: the first operation, and a short one if there is a next; a short copy
    /// is of so many bytes.
    fn on_trip(
        &self,
        (first, size): (Link, u64),
        next: Option<Link>,
        bytes: Bytes,
    ) -> Result<Vec<(Link, Piece)>, GpuError> {
        let short = Piece { bytes, ..self.piece(false)? };
        let long = match first {
            Link::CopyIn | Link::CopyOut | Link::PeerCopy => {
                Piece { bytes: Bytes::new(size), ..self.piece(false)? }
            }
            Link::Kernel => {
                let extent = u32::try_from(size).expect("a degree");
                let variant = Variant { kernel: Kernel::Polynomial, extent };
                Piece { kernel: self.launch_of(variant, TRIP_ELEMENTS)?, bytes }
            }
        };
        Ok(std::iter::once((first, long)).chain(next.map(|next| (next, short))).collect())
    }
}

/// From each end to the next, and to the first from the start.
fn parts(ends: &[Duration]) -> Vec<Span> {
    let starts = std::iter::once(Duration::ZERO).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(&end, start)| (end - start).into()).collect()
}

//! Calls as a plan makes them, and trips to the device of one or two operations.

use super::context::{MeasurementContext, Piece, clocked};
use crate::gpu::{GpuError, Graph, PinnedMemory, Stream};
use crate::kernels::{Kernel, Variant};
use crate::machine::Direction;
use crate::samples::{
    IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, LATE, Link, SECOND_NODE, SHORT_COPY, TRIP_ELEMENTS,
    TimedCall,
};
use crate::units::{Bytes, Span};
use std::time::{Duration, Instant};

/// Makes one call of a kind, and may time it.
type Make<'m> =
    dyn FnMut(TimedCall, &dyn Fn() -> Result<(), GpuError>) -> Result<(), GpuError> + 'm;
/// The kinds of calls in one turn, and how many of each the turn has.
type Kinds = &'static [(TimedCall, usize)];
/// Makes all calls of one turn, which takes one piece of data through the device.
type Turn<'r> = fn(&MeasurementContext<'r>, &Piece, u64, &mut Make<'_>) -> Result<(), GpuError>;

impl<'r> MeasurementContext<'r> {
    /// Host time of calls among others, over `count` turns of a pipeline. For each kind
    /// of [`IN_TURN`] it gives the sum over its calls, each with a clock of its own; then
    /// the time of as many turns without clocks; and then both for [`IN_ONE_STREAM`].
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
                *sum.expect("a turn makes only calls of these kinds").0 += time;
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

    /// The calls of a pipeline that has a stream for each engine.
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

    /// The calls of a pipeline over three streams in which each piece stays in one
    /// stream.
    fn in_one_stream(&self, piece: &Piece, at: u64, make: &mut Make<'_>) -> Result<(), GpuError> {
        let stream = &self.streams[at as usize % 3];
        let [to_device, to_host] = self.pinned.each_ref().map(PinnedMemory::as_mut_ptr);
        let copy = |way, ashore| self.copy_at(stream, way, ashore, piece.bytes, at);
        make(TimedCall::CopyIn, &|| copy(Direction::HostToDevice, to_device))?;
        make(TimedCall::Launch, &|| self.issue(stream, Link::Kernel, piece))?;
        make(TimedCall::CopyOut, &|| copy(Direction::DeviceToHost, to_host))
    }

    /// Host times of the parts of a trip: each call, and the rest up to the end of the
    /// synchronisation.
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

    /// Host times of the parts of a trip whose second call comes when the first operation
    /// is well under way.
    pub fn late_trip(&mut self, first: (Link, u64), next: Link) -> Result<Vec<Span>, GpuError> {
        self.trip_by_calls(first, Some(next), LATE)
    }

    /// A trip that is made by calls. The second call comes `late` after the return of the
    /// first.
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
            // Without a delay, no clock is read between the calls.
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

    /// A trip of graph nodes, which are launched by a single call.
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
        // SAFETY: all memory belongs to the context and outlives the launch, which is
        // waited for.
        unsafe { stream.replay(&graph)? };
        let launched = start.elapsed();
        stream.synchronize()?;
        Ok(parts(&[launched, start.elapsed()]))
    }

    /// The operations of a trip: the first one, and a short one if there is a next. A
    /// short copy has `bytes` bytes.
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

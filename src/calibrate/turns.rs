//! Calls as a plan makes them, and trips of one or two operations.

use super::rig::{Piece, Rig, clocked};
use crate::gpu::{GpuError, Graph, Stream};
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::{
    IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, Link, SECOND_NODE, SHORT_COPY, TRIP_ELEMENTS,
};
use crate::units::{Bytes, Span};
use std::time::{Duration, Instant};

impl Rig<'_> {
    /// Host time of `count` calls of each kind of [`IN_TURN`], each among the others, and
    /// then of [`IN_ONE_STREAM`].
    pub fn calls_in_turn(&mut self, count: u64) -> Result<Vec<Span>, GpuError> {
        let piece = Piece { bytes: IN_TURN_COPY, ..self.piece(false)? };
        let [ins, kernels, outs] = [&self.streams[0], &self.streams[1], &self.streams[2]];
        let (to_device, to_host) = (self.pinned[0].as_mut_ptr(), self.pinned[1].as_mut_ptr());
        // Reading the clock takes as long as the quickest of the calls.
        let clock = clocked(|| Ok::<(), GpuError>(()))?;
        let mut sums = vec![Span::ZERO; IN_TURN.len() + IN_ONE_STREAM.len()];
        let mut timed = |index: usize, call: &dyn Fn() -> Result<(), GpuError>| {
            sums[index] += clocked(call)?.saturating_sub(clock);
            Ok::<(), GpuError>(())
        };
        for turn in 0..count {
            let events = &self.ordering[2 * turn as usize..];
            let copy = |stream, way, ashore| self.copy_at(stream, way, ashore, IN_TURN_COPY, turn);
            timed(0, &|| copy(ins, Direction::HostToDevice, to_device))?;
            timed(3, &|| ins.record(&events[0]))?;
            timed(4, &|| kernels.wait(&events[0]))?;
            timed(1, &|| self.issue(kernels, Link::Kernel, &piece))?;
            kernels.record(&events[1])?;
            outs.wait(&events[1])?;
            timed(2, &|| copy(outs, Direction::DeviceToHost, to_host))?;
        }
        outs.synchronize()?;
        // In the same streams, one for each piece, as many as there were.
        let streams = [ins, kernels, outs];
        let first = IN_TURN.len();
        for (turn, stream) in (0..count).zip(streams.into_iter().cycle()) {
            let copy = |way, ashore| self.copy_at(stream, way, ashore, IN_TURN_COPY, turn);
            timed(first, &|| copy(Direction::HostToDevice, to_device))?;
            timed(first + 1, &|| self.issue(stream, Link::Kernel, &piece))?;
            timed(first + 2, &|| copy(Direction::DeviceToHost, to_host))?;
        }
        streams.into_iter().try_for_each(Stream::synchronize)?;
        Ok(sums)
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
            self.launch_once(&graph)?;
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

//! Chains of small operations on the device.

use super::context::{MeasurementContext, Piece};
use super::member::Member;
use crate::gpu::{GpuError, Graph, Stream};
use crate::machine::Direction;
use crate::samples::Link;
use crate::units::{Bytes, Span};

/// A copy that outlasts a chain of kernels.
const MEANWHILE: Bytes = Bytes::mib(32);

impl MeasurementContext<'_> {
    /// Issues one short operation of a kind to a stream.
    pub fn issue(&self, stream: &Stream, link: Link, piece: &Piece) -> Result<(), GpuError> {
        let (array, bytes) = (self.arrays[0].address(), piece.bytes);
        // SAFETY: all memory belongs to the context and outlives the stream's work.
        unsafe {
            match link {
                Link::CopyIn => stream.copy_in(self.pinned[0].as_mut_ptr(), array, bytes),
                Link::CopyOut => stream.copy_out(array, self.pinned[1].as_mut_ptr(), bytes),
                Link::Kernel => stream.launch(&piece.kernel),
                Link::PeerCopy => {
                    let Member { device, arrays, .. } = &self.members[1];
                    stream.copy_to_peer(array, (device, arrays[1].address()), bytes)
                }
            }
        }
    }

    /// Device time of `count` repetitions of the pattern, each operation after the one
    /// before. With `across`, consecutive operations are in different streams and ordered
    /// by events.
    pub fn chain(&mut self, links: &[Link], across: bool, count: u64) -> Result<Span, GpuError> {
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

    /// Device time of `count` copies in each of several streams, or branches of a graph.
    /// The engine has to take the streams in turn, because a kernel lies behind each
    /// copy.
    pub fn rotation(
        &mut self,
        copy: (Direction, Bytes),
        streams: usize,
        in_graph: bool,
        count: u64,
    ) -> Result<Span, GpuError> {
        let piece = self.piece(false)?;
        if !in_graph {
            return self.held(|context| context.issue_turns(copy, streams, count, &piece));
        }
        let issue = || self.issue_turns(copy, streams, count, &piece);
        let graph = Graph::capture(&self.streams[0], issue)?.instantiate()?;
        self.warm_up(&graph)?;
        // SAFETY: all memory belongs to the context and outlives the stream's work.
        self.held(|context| unsafe { context.streams[0].replay(&graph) })
    }

    fn issue_turns(
        &self,
        (direction, bytes): (Direction, Bytes),
        streams: usize,
        count: u64,
        piece: &Piece,
    ) -> Result<(), GpuError> {
        let ashore = self.pinned[0].as_mut_ptr();
        self.streams[0].record(&self.ordering[0])?;
        for stream in &self.streams[1..streams] {
            stream.wait(&self.ordering[0])?;
        }
        for turn in 0..count {
            for (index, stream) in self.streams[..streams].iter().enumerate() {
                let place = turn * streams as u64 + index as u64;
                self.copy_at(stream, direction, ashore, bytes, place)?;
                self.issue(stream, Link::Kernel, piece)?;
            }
        }
        self.rejoin(streams)
    }

    /// Device time of `count` kernels in the first stream. Meanwhile `others` streams
    /// wait for their end, to run one kernel each. `copies` says whether long copies to
    /// the device, and from it, are under way.
    pub fn polled(
        &mut self,
        others: usize,
        copies: [bool; 2],
        count: u64,
    ) -> Result<Span, GpuError> {
        let piece = self.piece(false)?;
        let time = self.held(|context| {
            let [start, end] = [&context.ordering[0], &context.ordering[1]];
            context.streams[0].record(start)?;
            for direction in Direction::BOTH.into_iter().filter(|&way| copies[way as usize]) {
                let stream = &context.streams[context.streams.len() - 1 - direction as usize];
                let ashore = context.pinned[direction as usize].as_mut_ptr();
                stream.wait(start)?;
                context.copy_at(stream, direction, ashore, MEANWHILE, 0)?;
            }
            (0..count)
                .try_for_each(|_| context.issue(&context.streams[0], Link::Kernel, &piece))?;
            context.streams[0].record(end)?;
            context.streams[1..=others].iter().try_for_each(|stream| {
                stream.wait(end)?;
                context.issue(stream, Link::Kernel, &piece)
            })
        })?;
        self.streams.iter().try_for_each(Stream::synchronize)?;
        Ok(time)
    }

    /// Device time of `count` copies to the device in the first stream. Meanwhile other
    /// streams hold kernels that wait for the last copy, each with a copy from the device
    /// behind it.
    pub fn refetched(
        &mut self,
        bytes: Bytes,
        (streams, kernels): (usize, u64),
        count: u64,
    ) -> Result<Span, GpuError> {
        let piece = self.piece(false)?;
        let ashore = self.pinned[0].as_mut_ptr();
        let time = self.held(|context| {
            context.row(0, (Direction::HostToDevice, bytes), ashore, 0..count)?;
            let end = &context.ordering[0];
            context.streams[0].record(end)?;
            context.streams[1..=streams].iter().try_for_each(|stream| {
                stream.wait(end)?;
                let mut pairs = (0..kernels).flat_map(|_| [Link::Kernel, Link::CopyOut]);
                pairs.try_for_each(|link| context.issue(stream, link, &piece))
            })
        })?;
        self.streams.iter().try_for_each(Stream::synchronize)?;
        Ok(time)
    }

    /// Makes the first stream, in which the time is taken, wait for the others.
    fn rejoin(&self, streams: usize) -> Result<(), GpuError> {
        for (index, stream) in self.streams[..streams].iter().enumerate().skip(1) {
            let event = &self.ordering[self.ordering.len() - index];
            stream.record(event)?;
            self.streams[0].wait(event)?;
        }
        Ok(())
    }
}

//! Pageable data through rings of pinned buffers: the CPU fills and empties them while the copy
//! engines work.

use super::ashore::Ashore;
use super::builder::{Builder, Location, Slot, room};
use super::chunk::{Chunk, chunks_of};
use super::crossing::refuse_rows;
use super::dealt::{Dealing, chunks_in_words};
use super::definition::{Definition, Division, MOST_STREAMS, Traits, near, steps};
use super::on_cpu::OnCpu;
use super::shared::Shared;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{
    AllocationId, BufferId, Call, CopyBy, EventId, Place, Program, Slice, Threads,
};
use crate::scenario::{FamilyName, Workload};
use crate::units::Bytes;
use std::collections::VecDeque;
use std::ops::Range;

/// Copies go in pieces through two rings of pinned buffers, one for each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Staged {
    /// Pieces of one batch that are computed one after the other.
    pub chunks: u64,
    /// Buffers in each ring, and the bytes of each.
    pub ring: usize,
    pub piece: Bytes,
    /// Who copies between the rings and the data's home.
    pub threads: Threads,
}

/// Sizes of pieces to try: large enough that a call costs little beside its copy, and small enough
/// that the caches keep what is between the CPU and the engine.
const PIECES: [Bytes; 2] = [Bytes::mib(1), Bytes::mib(4)];
/// Below the least, calls cost more than copies; above the most, nothing is left to overlap.
const LEAST_PIECE: Bytes = Bytes::kib(64);
const MOST_PIECE: Bytes = Bytes::mib(32);
const RINGS: [usize; 2] = [2, 4];
/// Sets of device buffers: one chunk comes while another one is computed.
const SLOTS: usize = 2;

impl Definition for Staged {
    fn traits(&self) -> Traits {
        Traits {
            chunks: self.chunks,
            ring: Some(self.ring),
            is_on_request: true,
            saves_device_memory: self.chunks > 1,
            // Pinned data needs no staging.
            tries_pinned: false,
            takes_pinned: true,
            ..Traits::of(FamilyName::Staged)
        }
    }

    fn smallest() -> Self {
        Self { chunks: 1, ring: 2, piece: PIECES[0], threads: Threads::One }
    }

    fn choices(_: &Workload, division: Division) -> Vec<Self> {
        let by = [Threads::One, Threads::All];
        match division {
            Division::Whole => {
                let pieces = PIECES.into_iter().flat_map(|piece| RINGS.map(|ring| (piece, ring)));
                let all = pieces.flat_map(|(piece, ring)| by.map(|threads| (piece, ring, threads)));
                all.map(|(piece, ring, threads)| Self { chunks: 1, ring, piece, threads }).collect()
            }
            // What is not cut is tried above.
            Division::Chunks(chunks) if chunks > 1 => {
                let (piece, ring) = (PIECES[1], RINGS[1]);
                by.map(|threads| Self { chunks, ring, piece, threads }).into()
            }
            Division::Chunks(_) | Division::OverGpus { .. } => Vec::new(),
        }
    }

    fn neighbours(&self) -> Vec<Self> {
        let pieces = [self.piece.get() / 2, self.piece.get() * 2].map(Bytes::new);
        let pieces = pieces.into_iter().filter(|piece| (LEAST_PIECE..=MOST_PIECE).contains(piece));
        let pieces = pieces.map(|piece| Self { piece, ..*self });
        let rings = steps(self.ring, 2, MOST_STREAMS).into_iter();
        let cut = near(self.chunks).into_iter().map(|chunks| Self { chunks, ..*self });
        pieces.chain(rings.map(|ring| Self { ring, ..*self })).chain(cut).collect()
    }

    fn build(&self, mut builder: Builder<'_>) -> Result<Program, String> {
        let all = chunks_of(builder.workload, self.chunks)?;
        if builder.strategy.memory != HostMemory::Pageable {
            return Err("pinned memory needs no staging".to_owned());
        }
        refuse_rows(builder.workload, |_| true)?;
        let streams = [(); 3].map(|()| builder.stream());
        let on_cpu = OnCpu::new(&mut builder, &all)?;
        let shared = Shared::new(&mut builder, Dealing::to_one_gpu(self.chunks), false);
        let room = room(&all);
        let slots = SLOTS.min(all.len());
        let slots: Vec<Slot> =
            (0..slots).map(|_| builder.slot(&room, Place::FIRST_DEVICE)).collect();
        let ashore = Ashore::new(&mut builder, self.chunks, on_cpu);
        let shared: Vec<BufferId> = shared.ids().collect();
        let mut pipeline = Pipeline::new(&mut builder, *self, streams, &all, shared)?;
        for (index, chunk) in all.iter().enumerate() {
            let slot = &slots[index % slots.len()];
            ashore.prepare(&mut builder, chunk)?;
            pipeline.bring(&mut builder, chunk, slot);
            builder.launch_all(pipeline.kernels, slot, chunk)?;
            pipeline.computed.push((builder.record(pipeline.kernels), false));
            pipeline.empty(&mut builder);
            pipeline.send(&mut builder, chunk, slot, &ashore);
        }
        pipeline.empty(&mut builder);
        if pipeline.computed.last().is_some_and(|(_, goes_back)| !goes_back) {
            builder.synchronize(pipeline.kernels);
        }
        ashore.bring_home(&mut builder, &all, &all)?;
        Ok(builder.finish())
    }

    fn in_words(&self, _: &Workload) -> Vec<String> {
        let who = match self.threads {
            Threads::One => "The calling thread copies",
            Threads::All => "All CPU threads copy",
        };
        let rings = format!(
            "{who} the data through pinned buffers, {} of {} each for inputs and as many for \
             results, while the copy engines empty and fill them.",
            self.ring, self.piece
        );
        let streams = "There is one stream for copies in, one for kernels and one for copies \
                       out, connected by events.";
        vec![chunks_in_words(self.chunks), rings, streams.to_owned()]
    }

    fn parameters(&self) -> Option<String> {
        let Self { chunks, ring, piece, threads } = self;
        let by = match threads {
            Threads::One => "one",
            Threads::All => "all",
        };
        Some(format!("{chunks} ring {ring} of {piece} by {by}"))
    }
}

/// Whether an operand of all chunks comes with this one: the first of its batch, or the first of
/// all if all batches share it.
fn comes_with(workload: &Workload, chunk: &Chunk, id: BufferId) -> bool {
    chunk.piece == 0 && (chunk.batch == 0 || !workload.buffer(id).shared)
}

/// A ring of pinned buffers for one direction.
struct Ring {
    stream: StreamId,
    /// Each buffer, with the event behind the copy that used it last, if one has.
    buffers: Vec<(AllocationId, Option<EventId>)>,
    next: usize,
}

impl Ring {
    /// The place of the next buffer to use.
    fn turn(&mut self) -> usize {
        let place = self.next;
        self.next = (place + 1) % self.buffers.len();
        place
    }

    /// Where a piece of a buffer, whose elements have so many bytes, lies in the ring.
    fn slice(&self, place: usize, piece: &Range<u64>, size: u64) -> Slice {
        let (allocation, _) = self.buffers[place];
        Location { allocation, first: piece.start, offset: 0, size }.slice(piece)
    }

    /// Records that the copies so far are done with a buffer.
    fn record(&mut self, builder: &mut Builder<'_>, place: usize) -> EventId {
        let stream = self.stream;
        let event = match self.buffers[place].1 {
            Some(event) => {
                builder.issue(Call::record(stream, event));
                event
            }
            None => builder.record(stream),
        };
        self.buffers[place].1 = Some(event);
        event
    }
}

/// A piece of a result that the GPU has: where it is there, and where it belongs.
struct Outgoing {
    there: Location,
    home: Location,
    piece: Range<u64>,
}

/// What the host does while the engines work.
struct Pipeline {
    threads: Threads,
    /// The size of a piece.
    piece: Bytes,
    /// Buffers that come with the first chunk of each batch, with each chunk, and that go back.
    shared: Vec<BufferId>,
    comes: Vec<BufferId>,
    goes: Vec<BufferId>,
    inward: Ring,
    outward: Ring,
    kernels: StreamId,
    /// For each chunk so far, the event behind its kernels, and whether results of it go back.
    computed: Vec<(EventId, bool)>,
    /// Pieces of results that no copy was issued for, and those that land in a buffer.
    waiting: VecDeque<Outgoing>,
    landing: VecDeque<(usize, Outgoing)>,
}

impl Pipeline {
    fn new(
        builder: &mut Builder<'_>,
        plan: Staged,
        [inward, kernels, outward]: [StreamId; 3],
        all: &[Chunk],
        shared: Vec<BufferId>,
    ) -> Result<Self, String> {
        // Any element fits into a piece.
        let piece = plan.piece.max(Bytes::new(8));
        let (comes, goes) = (builder.copied_in(), builder.copied_out());
        let workload = builder.workload;
        let size = |id: &BufferId| workload.buffer(*id).element_type.size();
        let bytes = |id: &BufferId, range: &Range<u64>| {
            let parts = workload.crossing(*id, range).into_iter();
            parts.map(|part| part.elements()).sum::<u64>() * size(id)
        };
        let mut lengths: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
        for chunk in all {
            let first = shared.iter().filter(|id| comes_with(workload, chunk, **id));
            let first = first.map(|id| bytes(id, &(0..workload.buffer(*id).elements)));
            let cut = comes.iter().map(|id| bytes(id, &chunk.needs[*id]));
            lengths[0].extend(first.chain(cut));
            lengths[1].extend(goes.iter().map(|id| bytes(id, &chunk.owns[*id])));
        }
        let pieces = |all: &Vec<u64>| all.iter().map(|length| length.div_ceil(piece.get())).sum();
        let pieces: [u64; 2] = lengths.each_ref().map(pieces);
        let largest = |all: Vec<u64>| Bytes::new(all.into_iter().max().unwrap_or(0)).min(piece);
        let largest = lengths.map(largest);
        let calls = 4 * pieces.iter().sum::<u64>();
        if calls > Workload::MOST_CALLS {
            let most = Workload::MOST_CALLS;
            return Err(format!(
                "{calls} calls for pieces of {} exceed the limit of {most}",
                plan.piece
            ));
        }
        let place = Place::Host(HostMemory::Pinned);
        let mut ring = |name: &str, stream, way: usize| {
            let buffer = |_| (builder.allocate(name.to_owned(), place, largest[way]), None);
            // No more than there are pieces to copy.
            let buffers = (0..pieces[way].min(plan.ring as u64)).map(buffer).collect();
            Ring { stream, buffers, next: 0 }
        };
        Ok(Self {
            inward: ring("ring in", inward, 0),
            outward: ring("ring out", outward, 1),
            threads: plan.threads,
            shared,
            computed: Vec::new(),
            waiting: VecDeque::new(),
            landing: VecDeque::new(),
            piece,
            comes,
            goes,
            kernels,
        })
    }

    /// Copies a chunk's inputs to the ring and on to the GPU, piece by piece, and has the kernels
    /// wait for the last one.
    fn bring(&mut self, builder: &mut Builder<'_>, chunk: &Chunk, slot: &Slot) {
        let stream = self.inward.stream;
        // The host has waited for results that were in the slot before, if there were any.
        let before = self.computed.len().checked_sub(SLOTS).map(|before| self.computed[before]);
        if let (Some((event, false)), false) = (before, self.comes.is_empty()) {
            builder.wait(stream, event);
        }
        let whole = |id: BufferId| 0..builder.workload.buffer(id).elements;
        let first = self.shared.iter().filter(|id| comes_with(builder.workload, chunk, **id));
        let first = first.map(|&id| (id, whole(id)));
        let cut = self.comes.iter().map(|&id| (id, chunk.needs[id].clone()));
        let mut last = None;
        for (id, range) in first.chain(cut).collect::<Vec<_>>() {
            let home = builder.home(chunk, id).expect("the host is its home");
            let there = builder.location(slot, chunk, id);
            for part in builder.workload.crossing(id, &range) {
                for piece in pieces(part.span(), self.piece, there.size) {
                    last = Some(self.bring_piece(builder, [home, there], &piece));
                }
            }
        }
        if let Some(event) = last {
            builder.wait(self.kernels, event);
        }
    }

    fn bring_piece(
        &mut self,
        builder: &mut Builder<'_>,
        [home, there]: [Location; 2],
        piece: &Range<u64>,
    ) -> EventId {
        let Self { inward, threads, .. } = self;
        let place = inward.turn();
        if let (_, Some(event)) = inward.buffers[place] {
            builder.synchronize_event(event);
        }
        let here = inward.slice(place, piece, there.size);
        let (stream, direction) = (inward.stream, Direction::HostToDevice);
        builder.issue(Call::copy(CopyBy::Host(*threads), home.slice(piece), here));
        builder.issue(Call::copy(CopyBy::crossing(stream, direction), here, there.slice(piece)));
        inward.record(builder, place)
    }

    /// Has the copy engine fill the ring with a chunk's results.
    fn send(&mut self, builder: &mut Builder<'_>, chunk: &Chunk, slot: &Slot, ashore: &Ashore) {
        for &id in &self.goes {
            let home = builder.home(chunk, id).expect("the host is its home");
            let home = ashore.target(builder, chunk, id).unwrap_or(home);
            let there = builder.location(slot, chunk, id);
            let outgoing = |piece| Outgoing { there, home, piece };
            for part in builder.workload.crossing(id, &chunk.owns[id]) {
                let all = pieces(part.span(), self.piece, there.size);
                self.waiting.extend(all.map(outgoing));
            }
        }
        if !self.waiting.is_empty() {
            let (computed, goes_back) = self.computed.last_mut().expect("it was just computed");
            *goes_back = true;
            builder.wait(self.outward.stream, *computed);
        }
        for _ in 0..self.outward.buffers.len() {
            self.send_piece(builder);
        }
    }

    /// Issues the copy of the next piece to the next buffer of the ring, which must be free.
    fn send_piece(&mut self, builder: &mut Builder<'_>) {
        let Some(outgoing) = self.waiting.pop_front() else { return };
        let place = self.outward.turn();
        let Outgoing { there, piece, .. } = &outgoing;
        let (from, to) = (there.slice(piece), self.outward.slice(place, piece, there.size));
        let (stream, direction) = (self.outward.stream, Direction::DeviceToHost);
        builder.issue(Call::copy(CopyBy::crossing(stream, direction), from, to));
        self.outward.record(builder, place);
        self.landing.push_back((place, outgoing));
    }

    /// Copies what lands in the ring home, and has the engine fill it again until all is there.
    fn empty(&mut self, builder: &mut Builder<'_>) {
        while let Some((place, Outgoing { home, piece, .. })) = self.landing.pop_front() {
            let event = self.outward.buffers[place].1.expect("recorded behind the copy");
            builder.synchronize_event(event);
            let from = self.outward.slice(place, &piece, home.size);
            let to = home.slice(&piece);
            builder.issue(Call::copy(CopyBy::Host(self.threads), from, to));
            self.send_piece(builder);
        }
    }
}

/// A range of elements of so many bytes, in pieces.
fn pieces(range: Range<u64>, piece: Bytes, size: u64) -> impl Iterator<Item = Range<u64>> {
    let length = (piece.get() / size).max(1);
    let starts = (range.start..range.end).step_by(length as usize);
    starts.map(move |start| start..(start + length).min(range.end))
}

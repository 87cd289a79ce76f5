//! Graphs of dependent operations: what they cost the host, and how the device goes from
//! node to node.

use super::context::{MeasurementContext, Piece, Timed, clocked, timed};
use super::copies::rotation;
use super::probe::{Counts, Probe};
use super::round_trips::trip;
use crate::gpu::{AnyBlocker, AnyDevice, AnyGraph, AnyStream, GpuResult};
use crate::machine::{Direction, OperationKind};
use crate::samples::{CYCLES, GraphCall, Quantity, ROTATED_IN_GRAPH, ROWS};
use crate::units::{Bytes, Span};

pub(super) fn probes() -> Vec<Probe> {
    let mut probes = NODES.map(calls).to_vec();
    for (first, sizes) in OperationKind::OF_ONE_DEVICE.into_iter().zip(NODE_SIZES) {
        for &size in sizes {
            let others = OperationKind::OF_ONE_DEVICE.into_iter().filter(|&next| next != first);
            let nexts = std::iter::once(None).chain(others.map(Some));
            probes.extend(nexts.map(|next| trip((first, size), next, true)));
        }
    }
    probes.push(chain(&[OperationKind::Kernel]));
    probes.extend(CYCLES.iter().map(|links| chain(links)));
    probes.extend(ROWS.map(rows));
    probes.extend(BEHIND_NODES.map(behind_node));
    probes.extend(Direction::BOTH.map(|direction| rotation(direction, ROTATED_IN_GRAPH, true)));
    probes
}

fn calls(nodes: u64) -> Probe {
    let what = GraphCall::ALL.map(|call| Quantity::GraphCall { call, nodes });
    Probe::together(what, Counts::Once).visits(3)
}

fn behind_node(bytes: u64) -> Probe {
    let what = Quantity::CopyBehindNode { bytes: Bytes::new(bytes) };
    Probe::new(what, Counts::Once).visits(3).limit(0.25, 5)
}

fn chain(links: &[OperationKind]) -> Probe {
    Probe::new(Quantity::GraphChain { links: links.to_vec() }, Counts::Both(2, 26))
}

fn rows((kernels, waits, awaited): (u64, bool, bool)) -> Probe {
    Probe::new(Quantity::GraphRows { kernels, waits, awaited }, Counts::Both(2, 26))
}

/// Nodes of the graphs whose calls are timed, to separate what each node costs from what the graph
/// costs besides.
const NODES: [u64; 3] = [3, 24, 96];

/// Sizes of the first node in graphs of one and of two nodes: bytes of copies in and out, degrees
/// of polynomials. Copies in are too large to travel with the launch. The largest of each kind
/// still run when the next node arrives, the smallest are over or nearly so.
const NODE_SIZES: [&[u64]; 3] = [
    &[32 << 10, 256 << 10, 512 << 10],
    &[4, 4 << 10, 16 << 10, 32 << 10, 256 << 10, 512 << 10],
    &[4, 64, 256, 1024, 4096],
];

/// Bytes of copies behind another node, to see up to which size they travel with the launch. The
/// last is too large for that.
const BEHIND_NODES: [u64; 8] = [256, 512, 1024, 1536, 2048, 3072, 4096, 64 << 10];

/// Launches of a graph before the one that counts.
const WARM_UP: usize = 3;

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Device time of a graph launch. The graph has been launched before, because the
    /// first launch takes longer.
    pub fn replayed(&mut self, captured: &D::Graph) -> Timed {
        let graph = captured.instantiate()?;
        self.warm_up(&graph)?;
        // SAFETY: all memory belongs to the context and outlives the stream's work.
        self.held(|context| unsafe { context.streams[0].replay(&graph) })
    }

    /// Captures these operations, each after the one before.
    fn capture<'l>(
        &self,
        mut links: impl Iterator<Item = &'l OperationKind>,
    ) -> GpuResult<D::Graph> {
        let (stream, piece) = (&self.streams[0], self.piece(false)?);
        stream.capture(|| links.try_for_each(|&link| self.issue(stream, link, &piece)))
    }

    /// Launches a graph a few times, as plans launch theirs again and again.
    pub fn warm_up(&self, graph: &D::ExecutableGraph) -> GpuResult {
        (0..WARM_UP).try_for_each(|_| {
            // SAFETY: all memory belongs to the context and outlives the launch, which is
            // waited for.
            unsafe { self.streams[0].replay(graph)? };
            D::Blocker::finish(&self.streams[0])
        })
    }

    /// Host times of capturing `nodes` calls, of instantiating the graph, and of
    /// launching it into an idle stream.
    pub fn graph_calls(&mut self, nodes: u64) -> Timed<[Span; 3]> {
        let links = || CYCLES[0].iter().cycle().take(nodes as usize);
        let (captured, capture) = timed::<D, _, _>(|| self.capture(links()))?;
        let (executable, instantiate) = timed::<D, _, _>(|| captured.instantiate())?;
        self.warm_up(&executable)?;
        let stream = &self.streams[0];
        // SAFETY: all memory belongs to the context and outlives the launch, which is waited for.
        let launch = clocked::<D, _, _>(|| unsafe { stream.replay(&executable) })?;
        D::Blocker::finish(stream)?;
        Ok([capture, instantiate, launch])
    }

    /// Host time of a graph of a copy of 4 bytes, one of `bytes` and a kernel, until it is done.
    pub fn copy_behind_node(&mut self, bytes: Bytes) -> Timed {
        let first = Piece { bytes: Bytes::new(4), ..self.piece(false)? };
        let second = Piece { bytes, ..self.piece(false)? };
        let stream = &self.streams[0];
        let graph = stream.capture(|| {
            self.issue(stream, OperationKind::CopyIn, &first)?;
            self.issue(stream, OperationKind::CopyIn, &second)?;
            self.issue(stream, OperationKind::Kernel, &second)
        })?;
        let graph = graph.instantiate()?;
        self.warm_up(&graph)?;
        clocked::<D, _, _>(|| {
            // SAFETY: all memory belongs to the context and outlives the launch, which is waited
            // for.
            unsafe { stream.replay(&graph)? };
            stream.synchronize()
        })
    }

    /// Device time of a graph whose main branch has `count` rows of long kernels. The short copies
    /// that the rows wait for, and those that wait for the rows, have branches of their own.
    pub fn graph_rows(
        &mut self,
        kernels: u64,
        (waits, awaited): (bool, bool),
        count: u64,
    ) -> Timed {
        let (long, short) = (self.piece(true)?, self.piece(false)?);
        let [rows, ins, outs] = [0, 1, 2].map(|at| &self.streams[at]);
        let mut events = self.ordering.iter();
        let mut follow = |from: &D::Stream, to: &D::Stream| {
            let event =
                events.next().expect("two events for each row, and two for each other branch");
            from.record(event)?;
            to.wait(event)
        };
        let graph = rows.capture(|| {
            follow(rows, ins)?;
            follow(rows, outs)?;
            for _ in 0..count {
                if waits {
                    self.issue(ins, OperationKind::CopyIn, &short)?;
                    follow(ins, rows)?;
                }
                (0..kernels).try_for_each(|_| self.issue(rows, OperationKind::Kernel, &long))?;
                if awaited {
                    follow(rows, outs)?;
                    self.issue(outs, OperationKind::CopyOut, &short)?;
                }
            }
            follow(ins, rows)?;
            follow(outs, rows)
        })?;
        self.replayed(&graph)
    }

    /// Device time of a graph of `count` repetitions of the pattern.
    pub fn graph_chain(&mut self, links: &[OperationKind], count: u64) -> Timed {
        let graph = self.capture((0..count).flat_map(|_| links))?;
        self.replayed(&graph)
    }
}

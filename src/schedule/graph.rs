//! The graph to schedule: every task on every chunk, and the data between them.

use super::parts_of_buffer::PartsOfBuffer;
use crate::families::{Chunk, Part, parts};
use crate::kernels::Grid;
use crate::program::BufferId;
use crate::scenario::{Home, TaskId, Workload};
use crate::units::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

/// Index of a node in [`TaskGraph::nodes`].
pub(crate) type NodeId = usize;

/// Index of an item in [`TaskGraph::items`].
pub(crate) type ItemId = usize;

/// Items of one block lie side by side.
pub(crate) type BlockId = usize;

/// One task on one chunk.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub task: TaskId,
    /// Its place in [`TaskGraph::chunks`].
    pub chunk: usize,
    /// For each of the task's operands, an item by which its place is known.
    pub operands: Vec<ItemId>,
    /// All that it reads.
    pub reads: Vec<ItemId>,
    pub writes: Vec<ItemId>,
    /// Size of the buffer that iterations alternate with, if they need one.
    pub spare: Option<Bytes>,
    /// Elements in which a reduction combines its blocks on a device.
    pub workspace: Option<u64>,
    pub before: Vec<NodeId>,
    pub behind: Vec<NodeId>,
    /// Whether the CPU can do it without touching what belongs to other chunks.
    pub may_be_on_cpu: bool,
    /// Whether any device but the first can: not with data that lives on the first one.
    pub may_be_on_others: bool,
}

impl Node {
    /// What it uses, each item once.
    pub fn items(&self) -> Vec<ItemId> {
        let mut all: Vec<ItemId> = self.reads.iter().chain(&self.writes).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The elements of one buffer that one chunk uses, or all chunks of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub buffer: BufferId,
    /// The first chunk that uses it, by its place in [`TaskGraph::chunks`].
    pub chunk: usize,
    pub block: BlockId,
    /// How many elements of the block lie in front of it.
    pub in_block: u64,
    /// What memory must hold while a task writes the item.
    pub window: Range<u64>,
    /// What tasks read of it.
    pub needs: Range<u64>,
    /// What has to be at home in the end.
    pub goes_home: Option<Range<u64>>,
    /// Whether it has contents before the first task.
    pub is_input: bool,
    pub home: Home,
    pub writer: Option<NodeId>,
    pub readers: Vec<NodeId>,
    /// Size of its window.
    pub bytes: Bytes,
}

impl Item {
    /// Whether what lies at home is what tasks read, neither more nor less.
    pub fn is_whole_at_home(&self) -> bool {
        let is_exact = |owns: &Range<u64>| *owns == self.needs && *owns == self.window;
        matches!(self.home, Home::Host(_)) && self.goes_home.as_ref().is_none_or(is_exact)
    }
}

/// The tasks of a workload on all chunks, in an order that respects their dependencies.
#[derive(Debug, Clone)]
pub(crate) struct TaskGraph<'w> {
    pub workload: &'w Workload,
    /// Into how many pieces each batch is cut, or as much of it as can be.
    pub pieces: u64,
    pub parts: Vec<Part>,
    /// The chunks of all parts.
    pub chunks: Vec<Chunk>,
    pub nodes: Vec<Node>,
    pub items: Vec<Item>,
    /// The size of each block.
    pub blocks: Vec<Bytes>,
    pub items_in: Vec<Vec<ItemId>>,
}

/// Makes the nodes and the items of a graph.
struct Items<'a> {
    workload: &'a Workload,
    parts: &'a [Part],
    chunks: &'a [Chunk],
    /// The parts that use each buffer.
    users: Vec<PartsOfBuffer>,
    nodes: Vec<Node>,
    items: Vec<Item>,
    blocks: Vec<Bytes>,
    /// The items of each buffer by what they are for.
    known: BTreeMap<(usize, usize), ItemId>,
    /// The blocks of buffers of which chunks write each their own piece and others read all.
    joined: BTreeMap<(usize, u64), BlockId>,
}

/// A part and one of its chunks, by its place among all chunks.
type At = (usize, usize);

impl Items<'_> {
    /// Whether chunks write each their own piece of a buffer that others read as one.
    fn is_joined(&self, id: BufferId) -> bool {
        let PartsOfBuffer { count, writer } = self.users[id.0];
        let is_cut = writer.is_some_and(|part| self.parts[part].pieces > 1);
        is_cut && count > 1
    }

    /// What a chunk writes of a buffer.
    fn written(&mut self, id: BufferId, at: At) -> ItemId {
        if !self.is_joined(id) {
            return self.of_chunk(id, at);
        }
        let (_, chunk) = at;
        let batch = self.chunks[chunk].batch;
        let found = self.joined.get(&(id.0, batch)).copied();
        let block = found.unwrap_or_else(|| {
            self.blocks.push(self.workload.buffer(id).bytes(1));
            self.joined.insert((id.0, batch), self.blocks.len() - 1);
            self.blocks.len() - 1
        });
        let piece = self.chunks[chunk].owns[id].clone();
        self.item((id, chunk), (id.0, chunk), piece, Some(block))
    }

    /// What a chunk reads of a buffer. Where its elements lie is known by the first.
    fn read(&mut self, id: BufferId, at: At) -> Vec<ItemId> {
        let (part, chunk) = at;
        if !self.is_joined(id) {
            return vec![self.of_chunk(id, at)];
        }
        if self.users[id.0].writer == Some(part) {
            return vec![self.written(id, at)];
        }
        let block = self.joined.get(&(id.0, self.chunks[chunk].batch));
        let all = 0..self.items.len();
        all.filter(|&item| Some(&self.items[item].block) == block).collect()
    }

    /// What is for one chunk alone or, of what several parts use or a chunk reads whole, for all
    /// chunks of a batch; what batches share is for all chunks.
    fn of_chunk(&mut self, id: BufferId, (part, chunk): At) -> ItemId {
        if self.workload.buffer(id).shared {
            let all = 0..self.workload.buffer(id).elements;
            return self.item((id, chunk), (id.0, usize::MAX), all, None);
        }
        let batch = self.chunks[chunk].batch;
        let is_whole = self.parts[part].pieces > 1 && self.workload.is_read_whole(id);
        if is_whole || self.users[id.0].count > 1 {
            let all = 0..self.workload.buffer(id).elements;
            return self.item((id, chunk), (id.0, self.chunks.len() + batch as usize), all, None);
        }
        let window = self.chunks[chunk].room[id].clone();
        self.item((id, chunk), (id.0, chunk), window, None)
    }

    fn item(
        &mut self,
        (id, chunk): (BufferId, usize),
        key: (usize, usize),
        window: Range<u64>,
        block: Option<BlockId>,
    ) -> ItemId {
        let next = self.items.len();
        let found = *self.known.entry(key).or_insert(next);
        if found < next {
            return found;
        }
        let buffer = self.workload.buffer(id);
        let Chunk { needs, owns, .. } = &self.chunks[chunk];
        let is_all = window == (0..buffer.elements);
        let within = |range: &Range<u64>| if is_all { window.clone() } else { range.clone() };
        let goes = self.workload.is_output(id) && buffer.home != Home::Scratch;
        let bytes = Bytes::new((window.end - window.start) * buffer.element_type.size());
        let in_block = if block.is_some() { window.start } else { 0 };
        let block = block.unwrap_or_else(|| {
            self.blocks.push(bytes);
            self.blocks.len() - 1
        });
        self.items.push(Item {
            buffer: id,
            chunk,
            block,
            in_block,
            needs: within(&needs[id]),
            goes_home: goes.then(|| within(&owns[id])),
            is_input: self.workload.is_input(id),
            home: buffer.home,
            writer: None,
            readers: Vec::new(),
            bytes,
            window,
        });
        next
    }

    /// Adds a task on a chunk.
    fn add(&mut self, id: TaskId, at: At) {
        let task = self.workload.task(id);
        let (mut operands, mut reads) = (Vec::new(), Vec::new());
        for &read in &task.reads {
            let found = self.read(read, at);
            operands.push(found[0]);
            reads.extend(found);
        }
        reads.sort_unstable();
        reads.dedup();
        let writes: Vec<ItemId> =
            task.writes.iter().map(|&written| self.written(written, at)).collect();
        let node = self.nodes.len();
        reads.iter().for_each(|&read| self.items[read].readers.push(node));
        writes.iter().for_each(|&written| self.items[written].writer = Some(node));
        let library = task.kernel.library();
        let alternates =
            task.iterations > 1 && library.is_some_and(|(kernel, _)| !kernel.works_in_place());
        let stays_home = |item: &ItemId| {
            let item = &self.items[*item];
            item.goes_home.is_none() || item.home == Home::Device || item.is_whole_at_home()
        };
        let lives_there = |item: &ItemId| self.items[*item].home == Home::Device;
        self.nodes.push(Node {
            task: id,
            chunk: at.1,
            spare: alternates.then(|| self.items[writes[0]].bytes),
            workspace: library.and_then(|(kernel, arguments)| Grid::workspace(kernel, arguments)),
            before: Vec::new(),
            behind: Vec::new(),
            may_be_on_cpu: writes.iter().all(stays_home),
            may_be_on_others: !reads.iter().chain(&writes).any(lives_there),
            operands,
            reads,
            writes,
        });
    }
}

impl<'w> TaskGraph<'w> {
    /// Cuts every batch into so many pieces, or as much of it as can be cut.
    ///
    /// # Errors
    /// The reason why nothing of the workload can be cut.
    pub fn new(workload: &'w Workload, pieces: u64) -> Result<Self, String> {
        let parts = parts(workload, pieces)?;
        let chunks: Vec<Chunk> = parts.iter().flat_map(|part| part.chunks.clone()).collect();
        let mut made = Items {
            workload,
            parts: &parts,
            chunks: &chunks,
            users: PartsOfBuffer::of(workload, &parts),
            nodes: Vec::new(),
            items: Vec::new(),
            blocks: Vec::new(),
            known: BTreeMap::new(),
            joined: BTreeMap::new(),
        };
        // Writers come before readers, so that joined pieces are known when they are read.
        let mut places = vec![Vec::new(); workload.tasks.len()];
        let mut first = 0;
        for (part, Part { tasks, chunks, .. }) in parts.iter().enumerate() {
            let at = (first..first + chunks.len()).map(|chunk| (part, chunk));
            tasks.iter().for_each(|&TaskId(id)| places[id].extend(at.clone()));
            first += chunks.len();
        }
        for (id, places) in places.into_iter().enumerate() {
            places.into_iter().for_each(|at| made.add(TaskId(id), at));
        }
        let Items { nodes, items, blocks, .. } = made;
        let mut items_in = vec![Vec::new(); blocks.len()];
        for (id, item) in items.iter().enumerate() {
            items_in[item.block].push(id);
        }
        let mut graph = Self { workload, pieces, parts, chunks, nodes, items, blocks, items_in };
        graph.connect();
        graph.sort();
        Ok(graph)
    }

    /// Notes for each node what comes before it and what comes behind it.
    fn connect(&mut self) {
        for item in &self.items {
            let Some(writer) = item.writer else { continue };
            for &reader in item.readers.iter().filter(|&&reader| reader != writer) {
                self.nodes[reader].before.push(writer);
                self.nodes[writer].behind.push(reader);
            }
        }
        for (reader, writer) in self.rules() {
            self.nodes[reader].before.push(writer);
            self.nodes[writer].behind.push(reader);
        }
        self.tidy();
    }

    /// Pairs of nodes of which the first is to come behind the second without its data: on the same
    /// chunk, if both tasks are cut alike, or else in the same batch.
    fn rules(&self) -> Vec<(NodeId, NodeId)> {
        let mut rules = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let batch = |node: &Node| self.chunks[node.chunk].batch;
            for &first in &self.workload.task(node.task).after {
                let others = self.nodes.iter().enumerate();
                let others: Vec<NodeId> = others
                    .filter(|(_, other)| other.task == first && batch(other) == batch(node))
                    .map(|(other, _)| other)
                    .collect();
                let same = others.iter().find(|&&other| self.nodes[other].chunk == node.chunk);
                match same {
                    Some(&other) => rules.push((id, other)),
                    None => rules.extend(others.into_iter().map(|other| (id, other))),
                }
            }
        }
        rules
    }

    fn tidy(&mut self) {
        for node in &mut self.nodes {
            for list in [&mut node.before, &mut node.behind] {
                list.sort_unstable();
                list.dedup();
            }
        }
    }

    /// Numbers the nodes anew: chunk by chunk, as far as dependencies allow.
    fn sort(&mut self) {
        let key = |id: NodeId| {
            let chunk = self.chunk_of(id);
            Reverse((chunk.batch, chunk.piece, self.nodes[id].task, id))
        };
        let mut left: Vec<usize> = self.nodes.iter().map(|node| node.before.len()).collect();
        let mut ready: BinaryHeap<_> =
            (0..left.len()).filter(|&node| left[node] == 0).map(key).collect();
        let mut order = Vec::with_capacity(left.len());
        while let Some(Reverse((.., node))) = ready.pop() {
            order.push(node);
            for &behind in &self.nodes[node].behind {
                left[behind] -= 1;
                if left[behind] == 0 {
                    ready.push(key(behind));
                }
            }
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &node)| place[node] = at);
        let renumber = |list: &mut Vec<NodeId>| list.iter_mut().for_each(|id| *id = place[*id]);
        let mut nodes: Vec<Node> = order.iter().map(|&node| self.nodes[node].clone()).collect();
        for node in &mut nodes {
            renumber(&mut node.before);
            renumber(&mut node.behind);
        }
        for item in &mut self.items {
            item.writer = item.writer.map(|id| place[id]);
            renumber(&mut item.readers);
        }
        self.nodes = nodes;
        self.tidy();
    }

    /// Bytes of an element of an item.
    pub fn element_size(&self, item: ItemId) -> u64 {
        self.workload.buffer(self.items[item].buffer).element_type.size()
    }

    pub fn chunk_of(&self, node: NodeId) -> &Chunk {
        &self.chunks[self.nodes[node].chunk]
    }

    /// The chunk for which an item was made.
    pub fn chunk_with(&self, item: ItemId) -> &Chunk {
        &self.chunks[self.items[item].chunk]
    }

    /// Whether a buffer is the result of tasks that are cut.
    pub fn is_cut(&self, id: BufferId) -> bool {
        let writer = self.workload.writer_of(id);
        let part = self.parts.iter().find(|part| writer.is_some_and(|it| part.tasks.contains(&it)));
        part.is_some_and(|part| part.pieces > 1)
    }
}

//! What each task and each copy takes by itself, by the profile. A schedule is found with these
//! prices and judged by the simulator.

use super::calendar::WHOLE;
use super::graph::{Item, ItemId, Node, TaskGraph};
use crate::cost::CompiledProgram;
use crate::families::{Builder, ByTask, Location, Strategy, TaskMemory, own_kernels};
use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use crate::profile::Profile;
use crate::program::{
    Allocation, AllocationId, Call, CopyBy, Place, Program, Route, Slice, StreamTraits,
};
use crate::scenario::{Needed, Task};
use crate::simulate::Demand;
use crate::units::{Bytes, Span};
use std::collections::BTreeMap;
use std::slice;

/// Who does a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Processor {
    Cpu,
    Gpu(DeviceId),
}

/// Prices of a graph's nodes and copies.
#[derive(Debug, Clone)]
pub(crate) struct Prices {
    pub devices: usize,
    /// Whether the CPU may have tasks: maybe those alone that stay there.
    pub with_cpu: bool,
    /// For each node, on the CPU and on a GPU; nothing where it cannot be, or nobody knows.
    cpu: Vec<Option<Span>>,
    gpu: Vec<Option<Span>>,
    /// For each node, of [`WHOLE`], what it takes of a GPU while it runs there.
    rooms: Vec<u32>,
    /// For each item, to a device and from one.
    copies: Vec<[Span; 2]>,
    /// For each item, from one device to another, where the profile knows it.
    peers: Vec<Option<Span>>,
}

impl Prices {
    /// Looks up what a graph's tasks and copies take with host memory of a kind.
    pub fn new(
        graph: &TaskGraph<'_>,
        profile: &Profile,
        (memory, devices, with_cpu): (HostMemory, usize, bool),
    ) -> Self {
        let of = Pricing { graph, profile, memory };
        let (mut cpu, mut gpu, mut rooms) = (Vec::new(), Vec::new(), Vec::new());
        for (node, alone) in graph.nodes.iter().zip(alone(graph, profile)) {
            rooms.push(alone[1].map_or(WHOLE, Alone::room));
            let [on_cpu, on_gpu] = alone.map(|alone| alone.map(|alone| alone.time));
            let is_kept = graph.workload.task(node.task).on_cpu;
            cpu.push(on_cpu.filter(|_| node.may_be_on_cpu && (with_cpu || is_kept)));
            gpu.push(on_gpu.filter(|_| !is_kept));
        }
        let mut known = BTreeMap::new();
        let mut copy = |item: ItemId| {
            let [all, comes, goes] = of.lengths(item);
            *known.entry([all, comes, goes]).or_insert_with(|| {
                let copies = [
                    of.copy(comes, Direction::HostToDevice),
                    of.copy(goes, Direction::DeviceToHost),
                ];
                (copies, (devices > 1).then(|| of.peer_copy(all)).flatten())
            })
        };
        let (copies, peers) = (0..graph.items.len()).map(&mut copy).unzip();
        let with_cpu = with_cpu || graph.workload.tasks.iter().any(|task| task.on_cpu);
        Self { devices, with_cpu, cpu, gpu, rooms, copies, peers }
    }

    /// These prices if all data goes through the host.
    pub fn without_peers(&self) -> Self {
        Self { peers: vec![None; self.peers.len()], ..self.clone() }
    }

    pub fn processors(&self) -> Vec<Processor> {
        let gpus = (0..self.devices).map(|device| Processor::Gpu(DeviceId(device)));
        self.with_cpu.then_some(Processor::Cpu).into_iter().chain(gpus).collect()
    }

    /// What a node takes on a processor, if it can be there.
    pub fn of(&self, graph: &TaskGraph<'_>, node: usize, on: Processor) -> Option<Span> {
        match on {
            Processor::Cpu => self.cpu[node],
            Processor::Gpu(DeviceId::FIRST) => self.gpu[node],
            Processor::Gpu(_) => self.gpu[node].filter(|_| graph.nodes[node].may_be_on_others),
        }
    }

    /// What a node takes of a GPU while it runs, of [`WHOLE`].
    pub fn room(&self, node: usize) -> u32 {
        self.rooms[node]
    }

    /// How many of the smallest kernels fit side by side on a GPU.
    pub fn most_side_by_side(&self) -> usize {
        let rooms = self.rooms.iter().zip(&self.gpu).filter(|(_, gpu)| gpu.is_some());
        let least = rooms.map(|(&room, _)| room).min().unwrap_or(WHOLE);
        (WHOLE / least) as usize
    }

    /// What it takes to copy an item.
    pub fn copy(&self, item: ItemId, direction: Direction) -> Span {
        self.copies[item][direction as usize]
    }

    /// What it takes to copy an item from one device to another without the host.
    pub fn peer_copy(&self, item: ItemId) -> Option<Span> {
        self.peers[item]
    }

    /// Whether an item goes from one device to another without the host.
    pub fn goes_by_peers(&self, item: ItemId) -> bool {
        let through_host = self.copies[item][0] + self.copies[item][1];
        self.peers[item].is_some_and(|span| span < through_host)
    }
}

/// What a node takes by itself, with its data at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alone {
    /// From start to end.
    pub time: Span,
    /// Nanoseconds of a whole GPU: a kernel may need only part of it.
    pub load: f64,
}

impl Alone {
    /// What it takes of a GPU while it runs, of [`WHOLE`].
    fn room(self) -> u32 {
        let share = self.load / self.time.nanos_f64().max(1.0);
        ((share * f64::from(WHOLE)).round() as u32).clamp(1, WHOLE)
    }
}

/// What each node takes on the CPU, with all its threads, and on a GPU; nothing where nobody knows.
pub(crate) fn alone(graph: &TaskGraph<'_>, profile: &Profile) -> Vec<[Option<Alone>; 2]> {
    let of = Pricing { graph, profile, memory: HostMemory::Pinned };
    let mut known = BTreeMap::new();
    let both = |node: &Node| {
        let sizes: Vec<Bytes> = node.items().iter().map(|&id| graph.items[id].bytes).collect();
        *known.entry((node.task, sizes)).or_insert_with(|| {
            [Processor::Cpu, Processor::Gpu(DeviceId::FIRST)].map(|on| of.node(node, on))
        })
    };
    graph.nodes.iter().map(both).collect()
}

/// Looks up single prices.
struct Pricing<'a> {
    graph: &'a TaskGraph<'a>,
    profile: &'a Profile,
    memory: HostMemory,
}

impl Pricing<'_> {
    /// A program for some tasks, without calls and memory so far.
    fn builder(&self, tasks: &[Task]) -> Builder<'_> {
        let strategy = Strategy::plain(ByTask::SIMPLEST, self.memory);
        Builder::without_homes(self.graph.workload, strategy, own_kernels(tasks))
    }

    /// Bytes of an item: all, what comes to a device, and what goes to the host.
    fn lengths(&self, id: ItemId) -> [Bytes; 3] {
        let item = &self.graph.items[id];
        let size = self.graph.element_size(id);
        let sum =
            |parts: Vec<Needed>| Bytes::new(parts.iter().map(Needed::elements).sum::<u64>() * size);
        let all = sum(vec![item.needs.clone().into()]);
        let stays = item.goes_home.is_none();
        let goes = if stays { all } else { sum(self.graph.goes_out(id)) };
        [all, sum(self.graph.comes_in(id)), goes]
    }

    fn node(&self, node: &Node, on: Processor) -> Option<Alone> {
        let mut builder = self.builder(slice::from_ref(self.graph.workload.task(node.task)));
        let (place, stream) = match on {
            Processor::Cpu => (Place::Host(HostMemory::Pageable), None),
            Processor::Gpu(device) => (Place::Device(device), Some(builder.stream_on(device))),
        };
        let (mut memory, mut places) = (BTreeMap::new(), BTreeMap::new());
        for id in node.items() {
            let Item { block, in_block: offset, window, .. } = &self.graph.items[id];
            let take = || builder.allocate(String::new(), place, self.graph.blocks[*block]);
            let allocation = *memory.entry(*block).or_insert_with(take);
            let (first, size) = (window.start, self.graph.element_size(id));
            places.insert(id, Location { allocation, first, offset: *offset, size });
        }
        let spare = node.spare.map(|bytes| {
            let allocation = builder.allocate(String::new(), place, bytes);
            Location { allocation, offset: 0, ..places[&node.writes[0]] }
        });
        let workspace = node.workspace.filter(|_| stream.is_some()).map(Bytes::of_f32);
        let workspace = workspace.map(|bytes| builder.allocate(String::new(), place, bytes));
        let memory = TaskMemory {
            inputs: node.operands.iter().map(|read| places[read]).collect(),
            outputs: node.writes.iter().map(|written| places[written]).collect(),
            spare,
            workspace,
        };
        let chunk = &self.graph.chunks[node.chunk];
        let calls = builder.calls_in(memory, chunk, node.task, stream).ok()?;
        calls.into_iter().for_each(|call| builder.issue(call));
        let demands = self.demands(&builder.program)?;
        let time = |one: &Demand| if stream.is_some() { one.alone } else { one.host };
        Some(Alone {
            time: demands.iter().map(time).sum(),
            load: demands.iter().map(|one| one.load).sum(),
        })
    }

    fn copy(&self, bytes: Bytes, direction: Direction) -> Span {
        copy_alone(bytes, direction, self.memory, self.profile).unwrap_or_default()
    }

    fn peer_copy(&self, bytes: Bytes) -> Option<Span> {
        let mut builder = self.builder(&[]);
        let [first, second] = [DeviceId::FIRST, DeviceId(1)];
        let streams = [first, second].map(|device| builder.stream_on(device));
        let [from, to] = [first, second].map(|device| {
            let allocation = builder.allocate(String::new(), Place::Device(device), bytes);
            Slice { allocation, offset: Bytes::ZERO, length: bytes }
        });
        builder.issue(Call::copy(CopyBy::Stream(streams[0], Route::ToPeer), from, to));
        Some(self.demands(&builder.program)?.iter().map(|one| one.alone).sum())
    }

    fn demands(&self, program: &Program) -> Option<Vec<Demand>> {
        Some(CompiledProgram::new(program, self.profile).ok()?.demands())
    }
}

/// What a copy takes by itself of its link. `None` if the profile does not know it.
pub(crate) fn copy_alone(
    bytes: Bytes,
    direction: Direction,
    memory: HostMemory,
    profile: &Profile,
) -> Option<Span> {
    let program = single_copy(bytes, direction, memory);
    let demands = CompiledProgram::new(&program, profile).ok()?.demands();
    Some(demands.iter().map(|one| one.alone).sum())
}

/// A program of nothing but one copy, of host memory of a kind.
fn single_copy(bytes: Bytes, direction: Direction, memory: HostMemory) -> Program {
    let [ashore, there] =
        [0, 1].map(|at| Slice { allocation: AllocationId(at), offset: Bytes::ZERO, length: bytes });
    let (from, to) = match direction {
        Direction::HostToDevice => (ashore, there),
        Direction::DeviceToHost => (there, ashore),
    };
    let allocation = |place| Allocation { name: String::new(), place, bytes, holds: None };
    let stream = StreamId(0);
    Program {
        label: String::new(),
        allocations: [Place::Host(memory), Place::FIRST_DEVICE].map(allocation).to_vec(),
        streams: vec![StreamTraits::default()],
        stream_names: Vec::new(),
        work_range: None,
        events: 0,
        kernels: Vec::new(),
        threads: Vec::new(),
        setup: Vec::new(),
        body: vec![
            Call::copy(CopyBy::crossing(stream, direction), from, to),
            Call::synchronize(stream),
        ],
    }
}

//! From a schedule to a program: where data lies, which copies there are, and what waits for what.
//!
//! Nodes are gone through in the schedule's order. Each brings what it reads to its processor, if
//! it is not there, and takes memory for what it writes. Copies go into streams of their own, so
//! they run as far ahead as memory allows: a copy waits only for what was in its place before.

use super::graph::{ItemId, NodeId, TaskGraph};
use super::issue::{Issue, Layout, Link, OpId, Streams};
use super::memory::{OnDevice, OnHost, Room};
use super::prices::{Prices, Processor};
use crate::families::{Ashore, Builder, ByTask, Crossing, Location, Strategy, TaskMemory};
use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use crate::program::{AllocationId, Place, Program};
use crate::scenario::{Home, Needed, TaskId};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// In which order tasks are issued, and who does each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Schedule {
    /// Respects dependencies.
    pub order: Vec<NodeId>,
    /// For each node, who does it.
    pub on: Vec<Processor>,
    pub streams: Layout,
    /// How many nodes for GPUs have their copies issued ahead, before the host computes.
    pub ahead: usize,
    /// The most memory to take of each device.
    pub memory: Bytes,
}

/// Why a schedule has no program, or none that can be predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Impossible {
    #[error("{0}")]
    TooLarge(String),
    #[error("{0}")]
    Other(String),
}

impl From<String> for Impossible {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Turns schedules of one graph into programs.
pub(crate) struct Decoder<'a> {
    pub(super) graph: &'a TaskGraph<'a>,
    pub(super) schedule: &'a Schedule,
    pub(super) prices: &'a Prices,
    pub(super) builder: Builder<'a>,
    pub(super) issue: Issue,
    pub(super) streams: Streams,
    pub(super) on_host: OnHost,
    pub(super) on_device: Vec<OnDevice>,
    ashore: Ashore,
    /// For each item, the positions in the order of the nodes that use it.
    uses: Vec<Vec<usize>>,
    /// Where iterations on the CPU alternate, for each task.
    spares: BTreeMap<TaskId, AllocationId>,
    workspaces: BTreeMap<(TaskId, usize), AllocationId>,
    pub(super) position: usize,
    /// The operation of each node that a device does.
    done: Vec<Option<OpId>>,
}

impl<'a> Decoder<'a> {
    pub fn new(
        graph: &'a TaskGraph<'a>,
        schedule: &'a Schedule,
        prices: &'a Prices,
        memory: HostMemory,
    ) -> Self {
        let mut builder = Builder::new(graph.workload, Strategy::plain(ByTask::SIMPLEST, memory));
        let ashore = Ashore::where_cut(&mut builder, graph.pieces, |id| graph.is_cut(id));
        let mut uses = vec![Vec::new(); graph.items.len()];
        for (position, &node) in schedule.order.iter().enumerate() {
            for item in graph.nodes[node].items() {
                uses[item].push(position);
            }
        }
        let mut decoder = Self {
            on_host: OnHost::new(graph),
            on_device: Vec::new(),
            issue: Issue::default(),
            streams: Streams::new(schedule.streams),
            spares: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            position: 0,
            done: vec![None; graph.nodes.len()],
            graph,
            schedule,
            prices,
            builder,
            ashore,
            uses,
        };
        for device in 0..prices.devices {
            let limit = decoder.arena_limit(device);
            let on_device = OnDevice::new(graph, limit);
            decoder.on_device.push(on_device);
        }
        decoder.find_inputs();
        decoder
    }

    /// Memory for the arena: what is left beside buffers that live on the device and workspaces.
    fn arena_limit(&self, device: usize) -> u64 {
        let there = self.builder.program.bytes_in(Place::Device(DeviceId(device)));
        let mut workspaces: BTreeMap<TaskId, u64> = BTreeMap::new();
        for node in &self.graph.nodes {
            if let Some(elements) = node.workspace {
                workspaces.insert(node.task, elements);
            }
        }
        let of_each: u64 = workspaces.values().map(|&all| Bytes::of_f32(all).get()).sum();
        let taken = there.get() + of_each * self.schedule.streams.kernels as u64;
        self.schedule.memory.get().saturating_sub(taken)
    }

    /// Notes where inputs are before the first task.
    fn find_inputs(&mut self) {
        for id in 0..self.graph.items.len() {
            let item = &self.graph.items[id];
            if item.home == Home::Device {
                let home = self.home_of(id);
                self.on_device[0].live_there(id, home, item.is_input);
            } else if item.is_input {
                self.on_host.has(id, None);
            }
        }
    }

    /// The whole program.
    ///
    /// # Errors
    /// If a node needs more device memory than there is.
    pub fn program(mut self) -> Result<Program, Impossible> {
        for (position, &node) in self.schedule.order.iter().enumerate() {
            self.position = position;
            match self.schedule.on[node] {
                Processor::Cpu => {
                    self.fetch_ahead()?;
                    self.compute(node)?;
                }
                Processor::Gpu(device) => self.launch(node, device.0)?,
            }
        }
        let Self { mut builder, issue, ashore, graph, .. } = self;
        for on_device in &self.on_device {
            if let Some(arena) = on_device.allocation {
                builder.program.allocations[arena.0].bytes = Bytes::new(on_device.arena.peak);
            }
        }
        issue.issue(&mut builder);
        ashore.bring_home_parts(&mut builder, &graph.parts);
        Ok(self.on_host.finish(builder.finish()))
    }

    /// A node on a device.
    fn launch(&mut self, id: NodeId, device: usize) -> Result<(), Impossible> {
        let node = &self.graph.nodes[id];
        let (stays, mut after) = (node.items(), self.before(id));
        for &read in &node.reads {
            self.bring_to_device(read, device, &stays)?;
            after.extend(self.on_device[device].ready(read));
        }
        for &written in &node.writes {
            if !self.on_device[device].has_place(written) {
                after.extend(self.room(written, device, &stays)?);
            }
        }
        let spare = node.spare.map(|bytes| self.scratch(bytes, device, &stays)).transpose()?;
        let spare_at = spare.as_ref().map(|room| {
            let allocation = self.on_device[device].allocation.expect("it has room there");
            let like = self.on_device[device].location(node.writes[0]);
            let (first, size) = (self.graph.items[node.writes[0]].window.start, like.size);
            Location { allocation, first, offset: room.offset / size, size }
        });
        let stream = self.streams.for_kernel(&mut self.builder, device, (&self.issue, &after));
        let workspace = node.workspace.map(|elements| self.workspace(node.task, stream, elements));
        let at = |item: &ItemId| self.on_device[device].location(*item);
        let memory = TaskMemory {
            inputs: node.operands.iter().map(at).collect(),
            outputs: node.writes.iter().map(at).collect(),
            spare: spare_at,
            workspace,
        };
        let chunk = self.graph.chunk_of(id);
        let calls = self.builder.calls_in(memory, chunk, node.task, Some(stream))?;
        after.extend(spare.iter().flat_map(|room| &room.after));
        let length = self.prices.of(self.graph, id, Processor::Gpu(DeviceId(device)));
        let op = self.issue.push(stream, length.unwrap_or_default(), calls, after);
        self.streams.issued(stream);
        self.done[id] = Some(op);
        for &read in &node.reads {
            self.on_device[device].used_by(read, op);
        }
        for &written in &node.writes {
            self.wrote_on_device(written, device, op);
        }
        if let Some(Room { offset, .. }) = spare {
            self.on_device[device].arena.give_back(offset, vec![op]);
        }
        self.release(&stays);
        Ok(())
    }

    /// A node on the CPU. The host waits for what it needs, and nothing else.
    fn compute(&mut self, id: NodeId) -> Result<(), Impossible> {
        let node = &self.graph.nodes[id];
        let mut after = self.before(id);
        for &read in &node.reads {
            self.bring_to_host(read);
            after.extend(self.on_host.ready(read));
        }
        let spare = node.spare.map(|_| self.spare_on_host(node.task));
        let outputs: Vec<Location> =
            node.writes.iter().map(|&written| self.host_location(written)).collect();
        let first = self.graph.items[node.writes[0]].window.start;
        let like = Location { first, offset: 0, ..outputs[0] };
        let memory = TaskMemory {
            inputs: node.operands.iter().map(|&read| self.host_location(read)).collect(),
            outputs,
            spare: spare.map(|allocation| Location { allocation, ..like }),
            workspace: None,
        };
        let chunk = self.graph.chunk_of(id);
        let calls = self.builder.calls_in(memory, chunk, node.task, None)?;
        let length = self.prices.of(self.graph, id, Processor::Cpu);
        self.issue.on_host(length.unwrap_or_default(), calls, after);
        for &written in &node.writes {
            self.on_host.has(written, None);
            for device in 0..self.on_device.len() {
                self.on_device[device].is_outdated(written);
            }
            if self.graph.items[written].home == Home::Device {
                self.bring_to_device(written, 0, &[written])?;
            }
        }
        self.release(&node.items());
        Ok(())
    }

    /// The operations of the nodes before one. What the CPU does is done once the host goes on.
    fn before(&self, id: NodeId) -> Vec<OpId> {
        self.graph.nodes[id].before.iter().filter_map(|&before| self.done[before]).collect()
    }

    /// What follows from a write on a device: copies elsewhere are outdated, and what others need
    /// leaves at once.
    fn wrote_on_device(&mut self, id: ItemId, device: usize, op: OpId) {
        self.on_host.is_outdated(id);
        for other in (0..self.on_device.len()).filter(|&other| other != device) {
            self.on_device[other].is_outdated(id);
        }
        self.on_device[device].written_by(id, op);
        let item = &self.graph.items[id];
        let is_at_home = matches!(item.home, Home::Host(_));
        if is_at_home && item.goes_home.is_some() {
            let goes = self.graph.goes_out(id);
            if item.is_whole_at_home() && goes == [item.needs.clone().into()] {
                self.bring_to_host(id);
            } else if !goes.is_empty() {
                let chunk = self.graph.chunk_with(id);
                let target = self.ashore.target(&self.builder, chunk, item.buffer);
                let target = target.unwrap_or_else(|| self.home_of(id));
                self.copy_out(id, device, (target, goes));
            }
        }
        let others = self.uses_from(id).map(|position| self.schedule.order[position]);
        let is_wanted_ashore = others.into_iter().any(|node| match self.schedule.on[node] {
            Processor::Cpu => true,
            Processor::Gpu(other) => other.0 != device && !self.prices.goes_by_peers(id),
        });
        if is_wanted_ashore {
            self.bring_to_host(id);
        }
    }

    /// Where the buffer of an item is at home, for its chunk.
    pub(super) fn home_of(&self, id: ItemId) -> Location {
        let chunk = self.graph.chunk_with(id);
        self.builder.home(chunk, self.graph.items[id].buffer).expect("it is no scratch")
    }

    /// Where an item lies in host memory.
    pub(super) fn host_location(&mut self, id: ItemId) -> Location {
        let item = &self.graph.items[id];
        if item.is_whole_at_home() {
            let chunk = self.graph.chunk_with(id);
            let goes = item.goes_home.is_some();
            let target = self.ashore.target(&self.builder, chunk, item.buffer);
            return target.filter(|_| goes).unwrap_or_else(|| self.home_of(id));
        }
        let (first, offset, size) = (item.window.start, item.in_block, self.graph.element_size(id));
        let bytes = self.graph.blocks[item.block];
        let name = &self.graph.workload.buffer(item.buffer).name;
        let builder = &mut self.builder;
        let place = Place::Host(builder.strategy.memory);
        let take = || builder.allocate(format!("{name} on the host"), place, bytes);
        let allocation = self.on_host.memory(item.block, take);
        Location { allocation, first, offset, size }
    }

    fn spare_on_host(&mut self, task: TaskId) -> AllocationId {
        let of_task = self.graph.nodes.iter().filter(|node| node.task == task);
        let bytes = of_task.filter_map(|node| node.spare).max().unwrap_or_default();
        let name = format!("{} spare on the host", self.graph.workload.task(task).name);
        let (builder, place) = (&mut self.builder, Place::Host(HostMemory::Pageable));
        *self.spares.entry(task).or_insert_with(|| builder.allocate(name, place, bytes))
    }

    fn workspace(&mut self, task: TaskId, stream: StreamId, elements: u64) -> AllocationId {
        let device = self.builder.program.device_of(stream);
        let name = &self.graph.workload.task(task).name;
        let builder = &mut self.builder;
        let take = || builder.workspace(device, name, elements);
        *self.workspaces.entry((task, stream.0)).or_insert_with(take)
    }

    /// The positions from the next one on at which an item is used.
    pub(super) fn uses_from(&self, id: ItemId) -> impl Iterator<Item = usize> + use<'_, 'a> {
        let uses = &self.uses[id];
        let next = uses.partition_point(|&position| position <= self.position);
        uses[next..].iter().copied()
    }

    /// Issues a copy from a device to host memory.
    pub(super) fn copy_out(
        &mut self,
        id: ItemId,
        device: usize,
        (to, parts): (Location, Vec<Needed>),
    ) -> OpId {
        let stream = self.streams.for_copies(&mut self.builder, device, Link::FromDevice);
        let crossing = Crossing::outward(stream, self.on_device[device].location(id), to);
        let calls = parts.iter().map(|part| crossing.of_part(part)).collect();
        let after = self.on_device[device].ready(id).to_vec();
        let length = self.prices.copy(id, Direction::DeviceToHost);
        let op = self.issue.push(stream, length, calls, after);
        self.on_device[device].used_by(id, op);
        op
    }
}

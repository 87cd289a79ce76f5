//! How data comes where it is needed, and leaves.

use super::decoder::{Decoder, Impossible};
use super::graph::{BlockId, Item, ItemId, TaskGraph};
use super::issue::{Link, OpId};
use super::memory::{Placed, Room};
use super::prices::Processor;
use crate::families::{Crossing, Location};
use crate::machine::{DeviceId, Direction};
use crate::program::{AllocationId, Call, CopyBy, Place, Route};
use crate::scenario::Needed;
use crate::units::Bytes;

impl Decoder<'_> {
    /// Makes an item valid in the memory of a device.
    pub(super) fn bring_to_device(
        &mut self,
        id: ItemId,
        device: usize,
        stays: &[ItemId],
    ) -> Result<(), Impossible> {
        if self.on_device[device].is_valid(id) {
            return Ok(());
        }
        let mut after = Vec::new();
        if self.on_device[device].has_place(id) {
            after.extend(self.on_device[device].used(id));
        } else {
            after = self.room(id, device, stays)?;
        }
        let range = self.graph.items[id].needs.clone();
        let there = self.on_device[device].location(id).slice(&range);
        let others = (0..self.on_device.len()).filter(|&other| other != device);
        let peer = others.into_iter().find(|&other| self.on_device[other].is_valid(id));
        let op = match peer.filter(|_| self.prices.goes_by_peers(id)) {
            Some(other) => {
                let stream =
                    self.streams.for_copies(&mut self.builder, other, Link::ToOtherDevices);
                let from = self.on_device[other].location(id).slice(&range);
                after.extend(self.on_device[other].ready(id));
                let call = Call::copy(CopyBy::Stream(stream, Route::ToPeer), from, there);
                let length = self.prices.peer_copy(id).unwrap_or_default();
                let op = self.issue.push(stream, length, vec![call], after);
                self.on_device[other].used_by(id, op);
                op
            }
            None => {
                self.bring_to_host(id);
                after.extend(self.on_host.ready(id));
                let (from, to) = (self.host_location(id), self.on_device[device].location(id));
                let stream = self.streams.for_copies(&mut self.builder, device, Link::ToDevice);
                let crossing = Crossing::inward(stream, from, to);
                let parts = self.graph.comes_in(id).into_iter();
                let copies = parts.map(|part| crossing.of_part(&part)).collect();
                let length = self.prices.copy(id, Direction::HostToDevice);
                self.issue.push(stream, length, copies, after)
            }
        };
        self.on_device[device].written_by(id, op);
        Ok(())
    }

    /// Issues copies for nodes that come later, as far as memory is free: while the host computes,
    /// it issues nothing.
    pub(super) fn fetch_ahead(&mut self) -> Result<(), Impossible> {
        let schedule = self.schedule;
        let later = schedule.order[self.position + 1..].iter();
        let on_gpus = later.filter_map(|&node| match schedule.on[node] {
            Processor::Cpu => None,
            Processor::Gpu(device) => Some((node, device.0)),
        });
        for (node, device) in on_gpus.take(schedule.ahead) {
            for &read in &self.graph.nodes[node].reads {
                let item = &self.graph.items[read];
                // Another node may write it anew before.
                let changes = item.is_input && item.writer.is_some_and(|writer| writer != node);
                if changes || !self.on_host.is_valid(read) {
                    continue;
                }
                let on_device = &self.on_device[device];
                let bytes = self.graph.blocks[item.block].get();
                if !on_device.has_place(read)
                    && on_device.places[item.block].is_none()
                    && !on_device.arena.has_room(bytes)
                {
                    return Ok(());
                }
                self.bring_to_device(read, device, &[])?;
            }
        }
        Ok(())
    }

    /// Makes an item valid in host memory.
    pub(super) fn bring_to_host(&mut self, id: ItemId) {
        if self.on_host.is_valid(id) {
            return;
        }
        let device = (0..self.on_device.len()).find(|&device| self.on_device[device].is_valid(id));
        let device = device.expect("what is read was written");
        let all = vec![self.graph.items[id].needs.clone().into()];
        let target = (self.host_location(id), all);
        let op = self.copy_out(id, device, target);
        self.on_host.has(id, Some(op));
    }

    /// Takes room for an item on a device, with the other items of its block. Returns what has to
    /// be done before it is used.
    pub(super) fn room(
        &mut self,
        id: ItemId,
        device: usize,
        stays: &[ItemId],
    ) -> Result<Vec<OpId>, Impossible> {
        let Item { block, in_block, window, .. } = &self.graph.items[id];
        let (block, in_block, first) = (*block, *in_block, window.start);
        if self.on_device[device].places[block].is_none() {
            let bytes = self.graph.blocks[block].get();
            let Room { offset, after } = self.take(bytes, Some(block), device, stays)?;
            let place = Placed { offset, after, left: Vec::new(), items: 0 };
            self.on_device[device].places[block] = Some(place);
        }
        let allocation = self.arena(device);
        let size = self.graph.element_size(id);
        let on_device = &mut self.on_device[device];
        let place = on_device.places[block].as_mut().expect("it was just taken");
        place.items += 1;
        let offset = place.offset / size + in_block;
        let after = place.after.iter().chain(&place.left).copied().collect();
        on_device.settle(id, Location { allocation, first, offset, size }, Some(block));
        Ok(after)
    }

    /// Takes room for memory of one node.
    pub(super) fn scratch(
        &mut self,
        bytes: Bytes,
        device: usize,
        stays: &[ItemId],
    ) -> Result<Room, Impossible> {
        let room = self.take(bytes.get(), None, device, stays)?;
        self.arena(device);
        Ok(room)
    }

    fn arena(&mut self, device: usize) -> AllocationId {
        let (builder, place) = (&mut self.builder, Place::Device(DeviceId(device)));
        let take = || builder.allocate("arena".to_owned(), place, Bytes::ZERO);
        *self.on_device[device].allocation.get_or_insert_with(take)
    }

    /// Takes room. If there is none, items leave that are needed later than others.
    fn take(
        &mut self,
        bytes: u64,
        block: Option<BlockId>,
        device: usize,
        stays: &[ItemId],
    ) -> Result<Room, Impossible> {
        if let Some(room) = self.on_device[device].arena.take(bytes, block) {
            return Ok(room);
        }
        let stay: Vec<BlockId> = stays.iter().map(|&id| self.graph.items[id].block).collect();
        let next_use = |block: BlockId| {
            let items = self.graph.items_in[block].iter();
            let next = items.filter_map(|&id| self.next_use(id, device)).min();
            (!stay.contains(&block)).then(|| next.unwrap_or(usize::MAX - 1))
        };
        let victims = self.on_device[device].arena.victims(bytes, next_use);
        let too_large = || {
            let limit = self.schedule.memory;
            Impossible::TooLarge(format!("one task needs more than {limit} of device memory"))
        };
        for victim in victims.ok_or_else(too_large)? {
            for &id in &self.graph.items_in[victim] {
                self.evict(id, device);
            }
        }
        self.on_device[device].arena.take(bytes, block).ok_or_else(too_large)
    }

    /// Takes an item off a device, and keeps it elsewhere if it is needed again.
    fn evict(&mut self, id: ItemId, device: usize) {
        let is_needed = self.uses_from(id).next().is_some();
        let mut others = (0..self.on_device.len()).filter(|&other| other != device);
        let is_elsewhere = others.any(|other| self.on_device[other].is_valid(id));
        if is_needed && self.on_device[device].is_valid(id) && !is_elsewhere {
            self.bring_to_host(id);
        }
        self.on_device[device].leave(id);
    }

    /// The next position at which a device needs an item that it has.
    fn next_use(&self, id: ItemId, device: usize) -> Option<usize> {
        let is_elsewhere = self.on_host.is_valid(id);
        self.uses_from(id).find(|&position| {
            let on = self.schedule.on[self.schedule.order[position]];
            !is_elsewhere || on == Processor::Gpu(DeviceId(device))
        })
    }

    /// Gives back the memory of items that no device needs any more.
    pub(super) fn release(&mut self, items: &[ItemId]) {
        for &id in items {
            for device in 0..self.on_device.len() {
                if self.next_use(id, device).is_none() || !self.on_device[device].is_valid(id) {
                    self.on_device[device].leave(id);
                }
            }
        }
    }
}

impl TaskGraph<'_> {
    /// What has to come to a device: of what lives on the host and no task writes, maybe a part.
    pub fn comes_in(&self, id: ItemId) -> Vec<Needed> {
        let item = &self.items[id];
        match item.writer {
            None => self.workload.crossing(item.buffer, &item.needs),
            Some(_) => vec![item.needs.clone().into()],
        }
    }

    /// What has to be at home in the end.
    pub fn goes_out(&self, id: ItemId) -> Vec<Needed> {
        let item = &self.items[id];
        let goes = item.goes_home.iter();
        goes.flat_map(|range| self.workload.crossing(item.buffer, range)).collect()
    }
}

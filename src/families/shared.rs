//! Operands that all chunks of a batch read whole, such as weights. They are copied to each device
//! once a batch, with the first chunk there, and stay for the other chunks. What all batches share
//! is copied once, with the first chunk of all.

use super::builder::Builder;
use super::chunk::Chunk;
use super::crossing::Crossing;
use super::dealt::{Dealing, Spread};
use crate::machine::{DeviceId, StreamId};
use crate::program::{BufferId, Call, CopyBy, EventId, Place, Route};

pub(super) struct Shared {
    groups: [Group; 2],
}

/// Operands that come together.
struct Group {
    ids: Vec<BufferId>,
    /// Whether they come once in a pass, rather than once a batch.
    once: bool,
    /// Whether the chunks of a device lie in several streams, so that events have to order them
    /// behind the copies.
    across: bool,
    /// For each device, the state of the operands that were copied to it last.
    there: Vec<There>,
    /// The stream in which the first device copies the operands on to the others, if they get them
    /// from there.
    onward: Option<StreamId>,
}

#[derive(Clone, Default, PartialEq)]
struct There {
    /// Recorded once all operands have arrived.
    arrival: Option<EventId>,
    /// The streams that are ordered behind that event already.
    informed: Vec<StreamId>,
}

impl Shared {
    /// Allocates memory for all batches, so that none has to wait for another. Batches that are not
    /// cut have their operands among their other buffers.
    pub fn new(builder: &mut Builder<'_>, dealing: Dealing, across: bool) -> Self {
        let workload = builder.workload;
        let (once, mut each): (Vec<_>, Vec<_>) =
            builder.copied_in().into_iter().partition(|&id| workload.buffer(id).shared);
        each.retain(|&id| dealing.chunks > 1 && workload.is_read_whole(id));
        // One stream copies on whatever comes: what several streams pay for that was not measured.
        let mut onward = None;
        let mut group = |ids: Vec<BufferId>, once| {
            for &id in &ids {
                let buffer = workload.buffer(id);
                let bytes = buffer.bytes(workload.batches);
                for device in (0..dealing.devices).map(DeviceId) {
                    let place = Place::Device(device);
                    let memory = builder.allocate(buffer.name.clone(), place, bytes);
                    builder.shared.entry(id).or_default().push(memory);
                }
            }
            let there = vec![There::default(); dealing.devices];
            let goes_on = dealing.devices > 1 && dealing.spread == Spread::Peers && !ids.is_empty();
            if goes_on {
                onward = onward.or_else(|| Some(builder.stream()));
            }
            Group { ids, once, across, there, onward: onward.filter(|_| goes_on) }
        };
        Self { groups: [group(each, false), group(once, true)] }
    }

    /// The operands that come so.
    pub fn ids(&self) -> impl Iterator<Item = BufferId> {
        self.groups.iter().flat_map(|group| group.ids.iter().copied())
    }

    /// Orders the stream behind the arrival of the operands of the chunk's batch. Issues the copies
    /// of those that have not come yet. Returns whether there is something new to wait for.
    pub fn bring(&mut self, builder: &mut Builder<'_>, stream: StreamId, chunk: &Chunk) -> bool {
        let [each, once] = &mut self.groups;
        let brings = each.bring(builder, stream, chunk);
        once.bring(builder, stream, chunk) || brings
    }
}

impl Group {
    /// Orders the stream behind the arrival of the operands. For the first chunk of a batch on a
    /// device, or the first of all, it also issues their copies.
    fn bring(&mut self, builder: &mut Builder<'_>, stream: StreamId, chunk: &Chunk) -> bool {
        if self.ids.is_empty() {
            return false;
        }
        let device = builder.program.device_of(stream);
        let is_first = match self.once {
            true => self.there[device.0] == There::default(),
            false => chunk.piece < self.there.len() as u64,
        };
        if is_first && (self.onward.is_none() || device == DeviceId::FIRST) {
            self.copy_in(builder, stream, chunk);
            return true;
        }
        let there = &mut self.there[device.0];
        if let (Some(event), false) = (there.arrival, there.informed.contains(&stream)) {
            builder.wait(stream, event);
            there.informed.push(stream);
            return true;
        }
        is_first
    }

    /// Copies the operands from the host to the stream's device, and on to the other devices.
    fn copy_in(&mut self, builder: &mut Builder<'_>, stream: StreamId, chunk: &Chunk) {
        let device = builder.program.device_of(stream);
        for &id in &self.ids {
            let home = builder.home(chunk, id).expect("the host is its home");
            let here = builder.shared(device, chunk, id).expect("it has memory here");
            let all = 0..builder.workload.buffer(id).elements;
            builder.cross(Crossing::inward(stream, home, here), id, &all);
        }
        let is_awaited = self.across || self.onward.is_some();
        let arrival = is_awaited.then(|| builder.record(stream));
        self.there[device.0] = There { arrival, informed: vec![stream] };
        if let (Some(onward), Some(event)) = (self.onward, arrival) {
            builder.wait(onward, event);
            for other in (1..self.there.len()).map(DeviceId) {
                self.copy_on(builder, onward, [device, other], chunk);
            }
        }
    }

    fn copy_on(
        &mut self,
        builder: &mut Builder<'_>,
        stream: StreamId,
        [from, to]: [DeviceId; 2],
        chunk: &Chunk,
    ) {
        for &id in &self.ids {
            let all = 0..builder.workload.buffer(id).elements;
            let [from, to] = [from, to].map(|device| {
                builder.shared(device, chunk, id).expect("it has memory there").slice(&all)
            });
            builder.issue(Call::copy(CopyBy::Stream(stream, Route::ToPeer), from, to));
        }
        let arrival = Some(builder.record(stream));
        self.there[to.0] = There { arrival, informed: Vec::new() };
    }
}

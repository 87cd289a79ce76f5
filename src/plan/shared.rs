//! Operands that all chunks of a batch read whole, such as weights: they come
//! once for each batch, with its first chunk, and stay for the others.

use super::builder::Builder;
use super::chunk::Item;
use super::program::{Call, Direction, EventId, Place, StreamId};
use crate::scenario::BufferId;

pub(super) struct Shared {
    ids: Vec<BufferId>,
    /// Whether the chunks lie in several streams, which do not wait by themselves.
    across: bool,
    /// The batch that came last, and when all of it is there.
    arrival: Option<EventId>,
    /// The streams that know the operands of that batch to be there.
    informed: Vec<StreamId>,
}

impl Shared {
    /// Takes memory for all batches, so that none has to wait for another.
    /// A batch that stays in one piece has its operands among its other buffers.
    pub fn new(builder: &mut Builder<'_>, chunks: u64, streams: usize) -> Self {
        let workload = builder.workload;
        let mut ids = builder.copied_in();
        ids.retain(|&id| chunks > 1 && workload.is_read_whole(id));
        for &id in &ids {
            let buffer = workload.buffer(id);
            let elements = buffer.elements * workload.batches;
            let memory = builder.allocate(buffer.name.clone(), Place::Device, elements);
            builder.shared[id.0] = Some(memory);
        }
        Self { ids, across: streams > 1, arrival: None, informed: Vec::new() }
    }

    /// Sees to it that what is issued to the stream from now on finds the
    /// operands of the item's batch. Says whether they come with this item.
    pub fn bring(&mut self, builder: &mut Builder<'_>, stream: StreamId, item: &Item) -> bool {
        if self.ids.is_empty() {
            return false;
        }
        if item.piece == 0 {
            for &id in &self.ids {
                let home = builder.home(item, id).expect("the host is its home");
                let here = builder.shared(item, id).expect("it has memory here");
                let all = 0..builder.workload.buffer(id).elements;
                builder.copy(stream, Direction::HostToDevice, (home, here), &all);
            }
            self.arrival = self.across.then(|| builder.record(stream));
            self.informed = vec![stream];
            return true;
        }
        if let (Some(event), false) = (self.arrival, self.informed.contains(&stream)) {
            builder.issue(Call::Wait { stream, event });
            self.informed.push(stream);
        }
        false
    }
}

//! A chunk's copies and kernels in one stream, chunks dealt over streams. With one chunk and one
//! stream, this is the resident family.

use super::ashore::Ashore;
use super::builder::{Builder, Slot, room};
use super::chunk::Item;
use super::dealt::{Gpus, chunked_items, copy_in, copy_out};
use super::shared::Shared;
use super::strategy::Issue;
use crate::machine::{DeviceId, StreamId};
use crate::program::{Call, Place, Program};

pub(super) fn by_chunk(
    mut builder: Builder<'_>,
    (chunks, gpus): (u64, Gpus),
    streams: usize,
    issue: Issue,
) -> Result<Program, String> {
    let items = chunked_items(&builder, chunks)?;
    let streams = streams.min(items.len());
    let device = |index: usize| DeviceId(index % gpus.0);
    let streams: Vec<StreamId> =
        (0..streams).map(|index| builder.stream_on(device(index))).collect();
    let mut shared = Shared::new(&mut builder, chunks, streams.len() > gpus.0, gpus);
    let slots = match issue {
        Issue::DepthFirst => streams.len(),
        // All chunks are copied in before the first kernel is launched.
        Issue::BreadthFirst => items.len(),
    };
    let room = room(&items);
    let slots: Vec<Slot> =
        (0..slots).map(|index| builder.slot(&room, Place::Device(device(index)))).collect();
    let ashore = Ashore::new(&mut builder, chunks);
    let work: Vec<(&Item, StreamId, &Slot)> = (0..items.len())
        .map(|i| (&items[i], streams[i % streams.len()], &slots[i % slots.len()]))
        .collect();
    match issue {
        Issue::DepthFirst => {
            for (index, &(item, stream, slot)) in work.iter().enumerate() {
                if let Some(before) = index.checked_sub(streams.len()) {
                    ashore.bring_home_early(&mut builder, stream, &items[before]);
                }
                shared.bring(&mut builder, stream, item);
                copy_in(&mut builder, stream, slot, item);
                builder.launch_all(stream, slot, item);
                copy_out(&mut builder, stream, slot, item, &ashore);
            }
        }
        Issue::BreadthFirst => {
            for &(item, stream, slot) in &work {
                shared.bring(&mut builder, stream, item);
                copy_in(&mut builder, stream, slot, item);
            }
            for &(item, stream, slot) in &work {
                builder.launch_all(stream, slot, item);
            }
            for &(item, stream, slot) in &work {
                copy_out(&mut builder, stream, slot, item, &ashore);
            }
        }
    }
    let left = match issue {
        Issue::DepthFirst => &items[items.len() - streams.len()..],
        Issue::BreadthFirst => &items[..],
    };
    for stream in streams {
        builder.issue(Call::Synchronize { stream });
    }
    ashore.bring_home(&mut builder, &items, left);
    Ok(builder.finish())
}

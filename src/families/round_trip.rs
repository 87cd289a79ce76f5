//! Copies in and out around every task, each waited for: naive code.

use super::builder::{Builder, room};
use super::chunk::items;
use crate::machine::Direction;
use crate::program::{BufferId, Call, Place, Program};
use crate::scenario::{Home, TaskId};

pub(super) fn round_trip(mut builder: Builder<'_>) -> Result<Program, String> {
    let workload = builder.workload;
    let items = items(workload, 1)?;
    let stream = builder.stream();
    let room = room(&items);
    let slot = builder.slot(&room, Place::FIRST_DEVICE);
    let travels = |id: BufferId| workload.buffer(id).home != Home::Device;
    let ashore = builder.storage(&room, Place::Host(builder.strategy.memory), travels);
    for item in &items {
        for (index, task) in workload.tasks.iter().enumerate() {
            for &id in task.reads.iter().filter(|&&id| travels(id)) {
                let way =
                    (builder.residence(&ashore, item, id), builder.residence(&slot, item, id));
                builder.copy(stream, Direction::HostToDevice, way, &item.needs[id.0]);
                builder.issue(Call::Synchronize { stream });
            }
            for step in builder.steps(&slot, item, TaskId(index)) {
                builder.issue(Call::Launch { stream, step });
            }
            let id = task.writes;
            if travels(id) {
                let way =
                    (builder.residence(&slot, item, id), builder.residence(&ashore, item, id));
                builder.copy(stream, Direction::DeviceToHost, way, &item.needs[id.0]);
            }
            builder.issue(Call::Synchronize { stream });
        }
    }
    Ok(builder.finish())
}

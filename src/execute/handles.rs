//! Streams and events of a plan, and what its devices need before it runs.

use super::error::Executed;
use crate::gpu::{AnyDevice, GpuResult};
use crate::machine::DeviceId;
use crate::program::{MemoryChange, Program, Route, StreamKind, StreamTraits};

/// Streams and events of a plan.
pub(super) struct Handles<D: AnyDevice> {
    pub streams: Vec<D::Stream>,
    pub events: Vec<D::Event>,
}

impl<D: AnyDevice> Handles<D> {
    pub fn new(device: Option<&D>, program: &Program) -> Executed<Self> {
        let Some(device) = device.filter(|_| program.needs_device()) else {
            return Ok(Self { streams: Vec::new(), events: Vec::new() });
        };
        let stream = |traits: &StreamTraits| {
            let device = device.nth(traits.device.0)?;
            match traits.kind {
                StreamKind::LegacyDefault => Ok(device.legacy_default_stream()),
                StreamKind::Blocking => device.blocking_stream(traits.priority),
                StreamKind::NonBlocking => device.stream(traits.priority),
            }
        };
        let streams = program.streams.iter().map(stream).collect::<GpuResult<_>>()?;
        let event = |&DeviceId(id): &DeviceId| device.nth(id)?.ordering_event();
        let events = recorders(program).iter().map(event).collect::<Result<_, _>>()?;
        enable_access(device, program)?;
        keep_pools(device, program)?;
        Ok(Self { streams, events })
    }
}

/// For each event, the device that records it. An event has to be created in that device's context.
fn recorders(program: &Program) -> Vec<DeviceId> {
    let mut devices = vec![DeviceId::FIRST; program.events];
    for call in program.calls() {
        if let (Some(stream), Some(event)) = (call.stream(), call.recorded()) {
            devices[event.0] = program.device_of(stream);
        }
    }
    devices
}

/// Makes the pools of the devices in which a program allocates keep what it frees.
fn keep_pools<D: AnyDevice>(first: &D, program: &Program) -> GpuResult {
    let mut allocating = program.calls().filter_map(|call| {
        let (_, change) = call.memory_change()?;
        let stream = call.stream().filter(|_| change == MemoryChange::Allocate)?;
        Some(program.device_of(stream))
    });
    allocating.try_for_each(|DeviceId(id)| first.nth(id)?.keep_pool())
}

/// Enables peer access between devices that copy to each other, so that the copies bypass
/// host memory.
fn enable_access<D: AnyDevice>(first: &D, program: &Program) -> GpuResult {
    for call in program.calls() {
        let sides = call.sides();
        if let (Some((_, Route::ToPeer)), Some(from), Some(to)) =
            (call.route(), sides.from, sides.to)
        {
            let [DeviceId(from), DeviceId(to)] = program.peers_of(from, to);
            let (from, to) = (first.nth(from)?, first.nth(to)?);
            from.enable_access(to)?;
            to.enable_access(from)?;
        }
    }
    Ok(())
}

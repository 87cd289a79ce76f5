//! Hardware channels, through which streams reach the device. Where a device has more streams than
//! channels, streams come to depend on each other falsely.

use super::operation::Work;
use super::program::{CompiledProgram, Sort};
use super::streams::Ready;
use crate::program::StreamTraits;
use crate::units::Instant;

/// The number of channels for kernels of a device, unless `CUDA_DEVICE_MAX_CONNECTIONS` says
/// otherwise (CUDA C++ Programming Guide, "CUDA Environment Variables"). Streams are assigned to
/// them in turn.
pub(super) const CHANNELS: usize = 8;

/// A FIFO of kernels. A kernel that cannot start yet holds back all kernels behind it, of any
/// stream.
#[derive(Default)]
struct Channel {
    /// The place in the channel of the kernel that may start next.
    next: u32,
    /// Ready kernels that still wait for others of the channel, with their places.
    parked: Vec<(u32, Ready)>,
    /// The latest time at which any kernel that has passed was ready.
    earliest: Instant,
}

/// The channels of all devices; empty while every stream has a channel of its own.
#[derive(Default)]
pub(super) struct Channels {
    channels: Vec<Channel>,
}

impl Channels {
    /// Clears all state but keeps the allocated memory.
    pub fn reset(&mut self, program: &CompiledProgram<'_>) {
        let needed = if program.places.is_empty() { 0 } else { CHANNELS * program.devices() };
        self.channels.resize_with(needed, Channel::default);
        for channel in &mut self.channels {
            channel.next = 0;
            channel.parked.clear();
            channel.earliest = Instant::START;
        }
    }

    /// Takes a kernel that its stream would let start. Adds to `out` the kernels that may start
    /// now, each at the latest time at which it and those before it in the channel were ready.
    pub fn pass(&mut self, program: &CompiledProgram<'_>, kernel: Ready, out: &mut Vec<Ready>) {
        let Some(&place) = program.places.get(kernel.1 as usize) else {
            out.push(kernel);
            return;
        };
        let stream = program.entries.list[kernel.1 as usize].stream;
        let channel = usize::from(program.channels[usize::from(stream)]);
        let Channel { next, parked, earliest } = &mut self.channels[channel];
        parked.push((place, kernel));
        while let Some(found) = parked.iter().position(|(place, _)| place == next) {
            let (_, (time, id)) = parked.swap_remove(found);
            *earliest = (*earliest).max(time);
            out.push((*earliest, id));
            *next += 1;
        }
    }
}

impl CompiledProgram<'_> {
    /// The channel of each stream: streams are assigned to the channels of their device in turn.
    pub(super) fn dealt_to_channels(&self) -> Vec<u16> {
        let mut dealt = vec![0; self.devices()];
        let channel = |stream: &StreamTraits| {
            let turn = &mut dealt[stream.device.0];
            *turn += 1;
            (stream.device.0 * CHANNELS + (*turn - 1) % CHANNELS) as u16
        };
        self.traits.iter().map(channel).collect()
    }

    /// The place of each kernel's entry in its channel, in order of issue.
    pub(super) fn places_in_channels(&self) -> Vec<u32> {
        let mut next = vec![0; CHANNELS * self.devices()];
        let mut places = vec![0; self.entries.list.len()];
        let mut behind = self.entries.starts.clone();
        for item in self.items.iter().filter(|item| item.sort != Sort::HostOnly && !item.is_part) {
            let stream = usize::from(item.stream);
            if let Work::Kernel { .. } = self.classes[item.class as usize].work {
                let next = &mut next[usize::from(self.channels[stream])];
                places[behind[stream] as usize] = *next;
                *next += 1;
            }
            behind[stream] += 1;
        }
        places
    }
}

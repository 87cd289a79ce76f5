//! Hardware channels: what streams go through to the device, and where more
//! streams than channels come to depend on each other falsely.

use super::operation::Work;
use super::program::{Program, Sort};
use super::streams::Ready;
use crate::plan::StreamTraits;
use crate::units::Instant;

/// Channels of a device for kernels, unless `CUDA_DEVICE_MAX_CONNECTIONS` says otherwise (CUDA
/// C++ Programming Guide, "CUDA Environment Variables"). Streams are dealt to
/// them in turn.
pub(super) const CHANNELS: usize = 8;

/// A FIFO of kernels. What cannot start yet keeps back all behind it, of
/// whatever stream.
#[derive(Default)]
struct Channel {
    /// The place of the kernel that is next to start.
    next: u32,
    /// Kernels that are ready and not next.
    parked: Vec<(u32, Ready)>,
    /// The latest time at which one that went on could.
    earliest: Instant,
}

/// All channels; none as long as every stream has one of its own.
#[derive(Default)]
pub(super) struct Channels {
    channels: Vec<Channel>,
}

impl Channels {
    /// Forgets everything but its memory.
    pub fn reset(&mut self, program: &Program<'_>) {
        let needed = if program.places.is_empty() { 0 } else { CHANNELS * program.devices() };
        self.channels.resize_with(needed, Channel::default);
        for channel in &mut self.channels {
            channel.next = 0;
            channel.parked.clear();
            channel.earliest = Instant::START;
        }
    }

    /// Takes a kernel that its stream would let start; gives those that may,
    /// at the latest of the times at which they and those before them could.
    pub fn pass(&mut self, program: &Program<'_>, kernel: Ready, out: &mut Vec<Ready>) {
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

impl Program<'_> {
    /// Streams are dealt to the channels of their device in turn.
    pub(super) fn dealt_to_channels(&self) -> Vec<u16> {
        let mut dealt = vec![0; self.devices()];
        let channel = |stream: &StreamTraits| {
            let turn = &mut dealt[stream.device.0];
            *turn += 1;
            (stream.device.0 * CHANNELS + (*turn - 1) % CHANNELS) as u16
        };
        self.traits.iter().map(channel).collect()
    }

    /// Kernels are in a channel in the order in which they are issued.
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

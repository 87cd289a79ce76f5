//! Hardware channels: what streams go through to the device, and where more
//! streams than channels come to depend on each other falsely.

use super::operation::ItemId;
use super::program::Program;
use super::streams::Ready;
use crate::units::Instant;

/// Channels for kernels, unless `CUDA_DEVICE_MAX_CONNECTIONS` says otherwise (CUDA
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
        let needed = if program.places.is_empty() { 0 } else { CHANNELS };
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
        let channel = channel_of(program, kernel.1);
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

pub(super) fn channel_of(program: &Program<'_>, item: ItemId) -> usize {
    usize::from(program.items[item as usize].stream) % CHANNELS
}

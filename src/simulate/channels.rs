//! Hardware channels, through which streams reach the device. If a device has more streams than
//! channels, streams that share a channel wait for each other although no event asks for it (false
//! dependencies).

use super::operation::Ready;
use crate::cost::{CHANNELS, CompiledProgram};
use crate::units::Instant;

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
    pub fn reset(&mut self, compiled: &CompiledProgram<'_>) {
        let needed = if compiled.channels.places.is_empty() {
            0
        } else {
            CHANNELS * compiled.body.devices()
        };
        self.channels.resize_with(needed, Channel::default);
        for channel in &mut self.channels {
            channel.next = 0;
            channel.parked.clear();
            channel.earliest = Instant::START;
        }
    }

    /// Takes a kernel that its stream would let start. Adds to `out` the kernels that may start
    /// now, each at the latest time at which it and those before it in the channel were ready.
    #[inline]
    pub fn pass(&mut self, compiled: &CompiledProgram<'_>, kernel: Ready, out: &mut Vec<Ready>) {
        let Some(&place) = compiled.channels.places.get(kernel.1 as usize) else {
            out.push(kernel);
            return;
        };
        let stream = compiled.body.entry(kernel.1).stream;
        let channel = usize::from(compiled.channels.of_stream[usize::from(stream)]);
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

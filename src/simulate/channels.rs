//! Hardware channels, through which streams reach the device. If a device has more streams than
//! channels, streams that share a channel wait for each other although no event asks for it (false
//! dependencies).

use super::operation::Ready;
use crate::cost::CompiledProgram;
use crate::profile::Rule;
use crate::units::Instant;

/// A FIFO of kernels. A kernel that cannot start yet holds back all kernels behind it, of any
/// stream.
#[derive(Default)]
struct Channel {
    /// The place in the channel of the kernel that may start next.
    next: usize,
    /// Ready kernels that still wait for others of the channel.
    parked: Vec<Ready>,
    /// The latest time at which any kernel that has passed was ready.
    earliest: Instant,
}

/// The channels of all devices; empty while every stream has a channel of its own.
pub(super) struct Channels {
    channels: Vec<Channel>,
}

impl Channels {
    pub fn new(compiled: &CompiledProgram<'_>) -> Self {
        let shared = &compiled.body.structure.channels.kernels;
        let channels = match compiled.profile.follows(Rule::Channels) {
            true => shared.iter().map(|_| Channel::default()).collect(),
            false => Vec::new(),
        };
        Self { channels }
    }

    /// Whether any streams share one.
    #[inline]
    pub fn are_shared(&self) -> bool {
        !self.channels.is_empty()
    }

    /// Takes a kernel that its stream would let start. Adds to `out` the kernels that may start
    /// now, each at the latest time at which it and those before it in the channel were ready.
    #[inline]
    pub fn pass(&mut self, compiled: &CompiledProgram<'_>, kernel: Ready, out: &mut Vec<Ready>) {
        let stream = compiled.body.entry(kernel.1).stream;
        let channel = usize::from(compiled.body.structure.channels.of_stream[usize::from(stream)]);
        let order = &compiled.body.structure.channels.kernels[channel];
        let Channel { next, parked, earliest } = &mut self.channels[channel];
        parked.push(kernel);
        let due = |next: usize, parked: &[Ready]| {
            let due = order.get(next)?;
            parked.iter().position(|(_, id)| id == due)
        };
        while let Some(found) = due(*next, parked) {
            let (time, id) = parked.swap_remove(found);
            *earliest = (*earliest).max(time);
            out.push((*earliest, id));
            *next += 1;
        }
    }
}

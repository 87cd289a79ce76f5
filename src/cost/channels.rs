//! Which hardware channel each stream goes through.

use super::analysis::CHANNELS;
use super::body::Body;
use super::entries::EntryId;
use super::work::Work;
use crate::machine::DeviceId;
use crate::program::{Program, StreamTraits};

#[derive(Debug, Clone)]
pub(crate) struct ChannelLayout {
    /// The channel of each stream.
    pub of_stream: Vec<u16>,
    /// The kernels of each channel, in order of issue. Empty unless a device has more streams than
    /// channels.
    pub kernels: Vec<Vec<EntryId>>,
}

impl ChannelLayout {
    pub fn new(program: &Program, body: &Body) -> Self {
        let of_stream = dealt(body);
        let mut devices = 0..program.devices();
        let are_shared = devices.any(|id| program.streams_of(DeviceId(id)) > CHANNELS);
        let kernels = if are_shared { kernels(body, &of_stream) } else { Vec::new() };
        Self { of_stream, kernels }
    }
}

/// Streams are assigned to the channels of their device in turn.
#[inline]
fn dealt(body: &Body) -> Vec<u16> {
    let mut dealt = vec![0; body.devices()];
    let channel = |stream: &StreamTraits| {
        let turn = &mut dealt[stream.device.0];
        *turn += 1;
        (stream.device.0 * CHANNELS + (*turn - 1) % CHANNELS) as u16
    };
    body.traits.iter().map(channel).collect()
}

fn kernels(body: &Body, channels: &[u16]) -> Vec<Vec<EntryId>> {
    let mut kernels = vec![Vec::new(); CHANNELS * body.devices()];
    for (id, entry) in body.entries_in_order() {
        if let Work::Kernel { .. } = body.cost_in(id).work {
            kernels[usize::from(channels[usize::from(entry.stream)])].push(id);
        }
    }
    kernels
}

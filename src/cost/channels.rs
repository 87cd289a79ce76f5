//! Which hardware channel each stream goes through.

use super::body::Body;
use super::shape::CHANNELS;
use super::work::{Work, WorkKind};
use crate::machine::DeviceId;
use crate::program::{Program, StreamTraits};

#[derive(Debug, Clone)]
pub(crate) struct ChannelLayout {
    /// The channel of each stream.
    pub of_stream: Vec<u16>,
    /// For the entry of each kernel, its place among the kernels of its channel, in order of issue.
    /// Empty unless a device has more streams than channels.
    pub places: Vec<u32>,
}

impl ChannelLayout {
    pub fn new(program: &Program, body: &Body) -> Self {
        let of_stream = dealt(body);
        let mut devices = 0..program.devices();
        let are_shared = devices.any(|id| program.streams_of(DeviceId(id)) > CHANNELS);
        let places = if are_shared { places(body, &of_stream) } else { Vec::new() };
        Self { of_stream, places }
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

#[inline]
fn places(body: &Body, channels: &[u16]) -> Vec<u32> {
    let mut next = vec![0; CHANNELS * body.devices()];
    let mut places = vec![0; body.entries.list.len()];
    let mut behind = body.entries.starts.clone();
    let calls = body.calls.iter();
    for call in calls.filter(|call| call.kind != WorkKind::Nothing && !call.is_part) {
        let stream = usize::from(call.stream);
        if let Work::Kernel { .. } = body.costs[call.cost as usize].work {
            let next = &mut next[usize::from(channels[stream])];
            places[behind[stream] as usize] = *next;
            *next += 1;
        }
        behind[stream] += 1;
    }
    places
}

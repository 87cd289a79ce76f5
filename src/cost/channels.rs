//! Which streams share a hardware channel. The rule is in `simulate::channels`.

use super::entries::EntryId;
use super::layout::Layout;
use super::work::{CallCost, Work};
use crate::machine::DeviceId;
use crate::program::{Program, StreamTraits};

/// The number of channels for kernels of a device, unless `CUDA_DEVICE_MAX_CONNECTIONS` says
/// otherwise (CUDA C++ Programming Guide, "CUDA Environment Variables"). Streams are assigned to
/// them in turn.
pub(super) const CHANNELS: usize = 8;

/// The channels of all streams.
#[derive(Debug, Default)]
pub(crate) struct ChannelLayout {
    /// The channel of each stream.
    pub of_stream: Vec<u16>,
    /// The kernels of each channel, in order of issue. Empty unless a device has more streams than
    /// channels.
    pub kernels: Vec<Vec<EntryId>>,
}

impl ChannelLayout {
    pub fn new(program: &Program, layout: &Layout, costs: &[CallCost]) -> Self {
        let of_stream = dealt(layout);
        let mut devices = 0..program.devices();
        let are_shared = devices.any(|id| program.streams_of(DeviceId(id)) > CHANNELS);
        let kernels = if are_shared { kernels((layout, costs), &of_stream) } else { Vec::new() };
        Self { of_stream, kernels }
    }
}

/// Streams are assigned to the channels of their device in turn.
#[inline]
fn dealt(layout: &Layout) -> Vec<u16> {
    let mut dealt = vec![0; layout.devices()];
    let channel = |stream: &StreamTraits| {
        let turn = &mut dealt[stream.device.0];
        *turn += 1;
        (stream.device.0 * CHANNELS + (*turn - 1) % CHANNELS) as u16
    };
    layout.traits.iter().map(channel).collect()
}

fn kernels((layout, costs): (&Layout, &[CallCost]), channels: &[u16]) -> Vec<Vec<EntryId>> {
    let mut kernels = vec![Vec::new(); CHANNELS * layout.devices()];
    for (id, entry) in layout.entries_in_order() {
        if let Work::Kernel { .. } = costs[entry.cost as usize].work {
            kernels[usize::from(channels[usize::from(entry.stream)])].push(id);
        }
    }
    kernels
}

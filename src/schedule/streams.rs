//! The streams of a scheduled program: for copies one in each direction, for kernels a few.

use crate::families::Builder;
use crate::machine::{DeviceId, StreamId};

/// The streams of one device, made when they are first used.
#[derive(Default)]
struct Of {
    /// For copies, by their way.
    copies: [Option<StreamId>; 3],
    /// Each with the time of its last kernel.
    kernels: Vec<(StreamId, usize)>,
}

/// Where copies go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    ToDevice,
    FromDevice,
    ToOtherDevices,
}

/// How work is dealt over the streams of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Layout {
    /// Streams for kernels.
    pub kernels: usize,
    /// Whether copies to the device, and from it, have streams of their own. Otherwise they go into
    /// the first one for kernels, which needs no events.
    pub apart: [bool; 2],
}

impl Layout {
    /// The layouts that are tried.
    pub const ALL: [Self; 6] = [
        Self { kernels: 1, apart: [true, true] },
        Self { kernels: 2, apart: [true, true] },
        Self { kernels: 4, apart: [true, true] },
        Self { kernels: 1, apart: [false, false] },
        Self { kernels: 1, apart: [true, false] },
        Self { kernels: 1, apart: [false, true] },
    ];
}

pub(super) struct Streams {
    layout: Layout,
    of: Vec<Of>,
    /// Counts kernels.
    now: usize,
}

impl Streams {
    pub const fn new(layout: Layout) -> Self {
        Self { layout, of: Vec::new(), now: 0 }
    }

    fn of(&mut self, device: usize) -> &mut Of {
        while self.of.len() <= device {
            self.of.push(Of::default());
        }
        &mut self.of[device]
    }

    /// The stream for a device's copies.
    pub fn for_copies(&mut self, builder: &mut Builder<'_>, device: usize, link: Link) -> StreamId {
        let [to, from] = self.layout.apart;
        let is_apart = [to, from, true][link as usize];
        let of = self.of(device);
        if is_apart {
            let make = || builder.stream_on(DeviceId(device));
            return *of.copies[link as usize].get_or_insert_with(make);
        }
        if of.kernels.is_empty() {
            of.kernels.push((builder.stream_on(DeviceId(device)), 0));
        }
        of.kernels[0].0
    }

    /// The stream for a kernel that comes after operations in other streams: one whose last kernel
    /// it comes after anyway, or else the one that has been left alone for longest.
    pub fn for_kernel(
        &mut self,
        builder: &mut Builder<'_>,
        device: usize,
        after: &[StreamId],
    ) -> StreamId {
        let most = self.layout.kernels;
        let of = self.of(device);
        let behind = of.kernels.iter().filter(|(stream, _)| after.contains(stream));
        if let Some(&(stream, _)) = behind.max_by_key(|(_, last)| *last) {
            return stream;
        }
        if of.kernels.len() < most {
            let stream = builder.stream_on(DeviceId(device));
            of.kernels.push((stream, 0));
            return stream;
        }
        of.kernels.iter().min_by_key(|(_, last)| *last).expect("there is one").0
    }

    /// Notes that a kernel was issued.
    pub fn issued(&mut self, stream: StreamId) {
        self.now += 1;
        for of in &mut self.of {
            for (known, last) in &mut of.kernels {
                if *known == stream {
                    *last = self.now;
                }
            }
        }
    }
}

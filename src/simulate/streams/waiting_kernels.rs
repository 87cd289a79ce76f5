//! What waiting streams cost: running kernels, and copies to the device.

use super::Streams;
use crate::cost::{EntryId, WorkKind};
use crate::profile::OperationKind;
use crate::simulate::hand_overs::EngineView;
use crate::units::Instant;

impl Streams<'_> {
    /// Nanoseconds by which other streams delay a kernel behind another kernel: the device keeps
    /// polling for streams whose next kernel waits for anything but the kernel before it.
    #[cold]
    pub(super) fn beside_waiting(&mut self, index: u16, engines: EngineView<'_>) -> f64 {
        let this = &self.streams[usize::from(index)];
        if this.last.kind != Some(OperationKind::Kernel) {
            return 0.0;
        }
        let device = this.device;
        let mut others = 0;
        let launching = &self.compiled.body.structure.waiting_kernels.launching;
        for &other in launching.iter().filter(|&&other| other != index) {
            let is_here = self.streams[usize::from(other)].device == device;
            let waits = is_here && {
                let (held, running) = self.held(other, engines.now);
                held > 0 && running == 0
            };
            others += usize::from(waits);
        }
        let [down, up, _] = engines.copies.busy(usize::from(device));
        self.compiled.profile.polling(others, [down, up])
    }

    /// How many times longer a copy to a device takes because of kernels that wait in its streams.
    /// Where some kernels run first, those behind them wait for nearly all of the copy.
    #[cold]
    pub fn refetching(&mut self, device: usize, now: Instant) -> f64 {
        let (mut streams, mut kernels) = (0, 0);
        for &stream in &self.compiled.body.structure.waiting_kernels.refetched {
            if self.layout.device_of(stream) == device {
                let (held, running) = self.held(stream, now);
                streams += usize::from(held > running);
                kernels += held - running;
            }
        }
        let mean = f64::from(kernels) / streams.max(1) as f64;
        self.compiled.profile.link.refetching(streams, mean)
    }

    /// Two numbers of kernels in a stream: how many have been launched by `now` and not ended, and
    /// how many of these, from the head on, wait for nothing but each other. The time `now` must
    /// never go back from call to call.
    fn held(&mut self, index: u16, now: Instant) -> (u32, u32) {
        let Some((head, entry)) = self.issued_head(index) else { return (0, 0) };
        let Self { compiled, streams, delays, .. } = self;
        let stream = &mut streams[usize::from(index)];
        let list = &compiled.body.structure.layout.entries.list;
        let is_kernel = |id: EntryId| list[id as usize].kind == WorkKind::KERNEL;
        let is_launched = |id: EntryId| {
            let entry = &list[id as usize];
            let issued = || delays.issued(entry.call, compiled.body.issued(entry.call));
            delays.is_issued(entry.call) && issued() <= now
        };
        for id in stream.passed..head {
            stream.held -= u32::from(id < stream.launched && is_kernel(id));
        }
        stream.passed = head;
        stream.launched = stream.launched.max(head);
        while is_launched(stream.launched) {
            stream.held += u32::from(is_kernel(stream.launched));
            stream.launched += 1;
        }
        let has_to_wait = stream.wait != entry.waits;
        let row = if has_to_wait {
            head
        } else {
            compiled.body.structure.waiting_kernels.rows[head as usize]
        };
        (stream.held, row.min(stream.launched) - head)
    }
}

//! What streams that wait cost those that run kernels.

use super::{Engines, Stream, Streams};
use crate::profile::OperationKind;
use crate::simulate::entries::EntryId;
use crate::simulate::program::{Program, Sort};

impl Streams {
    /// What a kernel behind a kernel pays for other streams that the device has
    /// to look after: those with a kernel that waits for something else than a
    /// kernel before it.
    #[cold]
    pub(super) fn polling(
        &mut self,
        program: &Program<'_>,
        index: u16,
        engines: Engines<'_>,
    ) -> f64 {
        let &Stream { device, last, .. } = &self.streams[usize::from(index)];
        if last.kind != Some(OperationKind::Kernel) {
            return 0.0;
        }
        let mut others = 0;
        for &other in &program.launching {
            let stream = &mut self.streams[usize::from(other)];
            let is_kernel = |id: EntryId| program.entries.list[id as usize].sort == Sort::KERNEL;
            let (id, entry) = match stream.head_until(program, self.until) {
                Some(head) if stream.device == device && other != index => head,
                _ => continue,
            };
            stream.kernel = stream.kernel.max(id);
            let is_issued = |id: EntryId| program.entries.list[id as usize].item < self.until;
            while is_issued(stream.kernel) && !is_kernel(stream.kernel) {
                stream.kernel += 1;
            }
            let is_launched = |id: EntryId| {
                let entry = &program.entries.list[id as usize];
                self.delays.issued(entry.item, entry.issued) <= engines.now
            };
            let waits = is_issued(stream.kernel)
                && (entry.sort != Sort::KERNEL || stream.wait != entry.waits)
                && is_launched(stream.kernel);
            others += usize::from(waits);
        }
        let [down, up, _] = engines.copies.busy(usize::from(device));
        program.profile.polling(others, [down, up])
    }
}

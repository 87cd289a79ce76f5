//! Where a kernel on the CPU, or a copy by it, finds its data: how much memory the CPU used since
//! it last used the data, and which threads did.

use super::uses::Uses;
use crate::profile::HostLocality;
use crate::program::{Call, Slice, Step, Threads};
use crate::units::Bytes;

/// What the CPU's caches know of memory. What engines use on the host is left out, and so is what
/// copies under way take from a kernel.
pub(super) struct CpuCaches {
    uses: Uses<Cores>,
    /// Bytes of host memory that a pass uses.
    footprint: Bytes,
    threads: usize,
}

/// Which threads run a kernel, and how they share it.
#[derive(Clone, Copy, PartialEq)]
enum Cores {
    One,
    /// All threads, each on its own share.
    Team,
    /// All threads; those that finish early help others.
    Helpers,
}

impl CpuCaches {
    pub fn new(footprint: Bytes, threads: usize) -> Self {
        Self { uses: Uses::default(), footprint, threads }
    }

    /// Where a kernel of the library or a copy finds its data.
    pub fn find(&self, call: &Call) -> Option<HostLocality> {
        let (footprint, uses) = (self.footprint, &self.uses);
        let Some(step) = call.computed() else {
            let operands = call.host_copy()?;
            let reuse = uses.reuse(&operands, &operands, footprint);
            return Some(HostLocality { reuse, footprint, ..HostLocality::default() });
        };
        let (step, cores) = (step.library()?, self.cores(call));
        let used = |slice: &Slice, by: fn(Cores, Cores) -> bool| {
            let before = uses.last_by(slice);
            before.filter(|&before| by(before, cores)).map_or(Bytes::ZERO, |_| slice.length)
        };
        let operands = step.operands();
        let reuse = uses.reuse(&operands, &operands, footprint);
        let only_read = &operands[..operands.len() - 1];
        let bytes =
            |by| [only_read.iter().map(|slice| used(slice, by)).sum(), used(&step.output, by)];
        let handed = bytes(|before, now| (before == Cores::One) != (now == Cores::One));
        let helped = bytes(|before, now| (before, now) == (Cores::Helpers, Cores::Team));
        Some(HostLocality { reuse, handed, helped, footprint })
    }

    /// Notes a slice that a call of the CPU uses.
    pub fn note(&mut self, call: &Call, slice: &Slice) {
        self.uses.note(slice, self.cores(call));
    }

    pub fn forget(&mut self, slice: &Slice) {
        self.uses.forget(slice);
    }

    fn cores(&self, call: &Call) -> Cores {
        let step = call.computed().and_then(Step::library);
        match call.cpu_threads(self.footprint) {
            Some(Threads::All) if step.is_some_and(|step| step.keeps_shares(self.threads)) => {
                Cores::Team
            }
            Some(Threads::All) => Cores::Helpers,
            _ => Cores::One,
        }
    }
}

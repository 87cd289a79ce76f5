//! What memory costs that is not where it is used, or that caches leave out.

use super::CallCosts;
use crate::cost::halved::Bottleneck;
use crate::cost::locality::Locality;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Work};
use crate::machine::Residence;
use crate::profile::{OperationKind, Unknown};
use crate::units::{Bytes, Span};

impl CallCosts<'_> {
    /// Nanoseconds in which the CPU goes through the write-combined memory that it uses: all its
    /// threads, or one.
    pub(super) fn combined(&self, used: Mapped, team: bool) -> Result<f64, Unknown> {
        let Mapped { read, written } = used;
        let time = |writes, bytes: Bytes| match bytes {
            Bytes::ZERO => Ok(0.0),
            bytes => self.profile.combined(writes, team, bytes),
        };
        Ok(time(false, read)? + time(true, written)?)
    }

    /// Nanoseconds for which the CPU waits for pages of managed memory that are on a device.
    pub(super) fn back(&self, locality: &Locality) -> Result<f64, Unknown> {
        match locality.moves {
            Bytes::ZERO => Ok(0.0),
            bytes => {
                let time = self.profile.faults_back(bytes)?;
                Ok(self.halved.ns(Bottleneck::PageFaults, time))
            }
        }
    }

    /// A prefetch keeps the engine of its direction busy while its pages move.
    pub(super) fn prefetch(
        &self,
        to: Residence,
        bytes: Bytes,
        locality: &Locality,
    ) -> Result<CallCost, Unknown> {
        let (host, all) = self.profile.prefetch(to, bytes)?;
        let direction = to.way();
        let latency = self.profile.start(OperationKind::of_copy(direction))?;
        // Pages that are there already need not move.
        let share = locality.moves.as_f64() / bytes.as_f64().max(1.0);
        let alone = Span::from_nanos_f64(all.saturating_sub(latency).nanos_f64() * share);
        let work = Work::Copy {
            direction,
            alone: alone.max(Span::from_nanos(1)),
            delay: 0.0,
            beside_kernels: 0.0,
            slowdown: 1.0,
            bytes: locality.moves,
            fixed: Span::ZERO,
        };
        let work = self.halved.copy(work, self.on_link(&work));
        Ok(CallCost { latency, work, ..CallCost::on_host(host) })
    }
}

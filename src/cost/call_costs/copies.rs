//! What copies between host and device cost.

use super::CallCosts;
use crate::cost::in_flight::STAGED_AT_ONCE;
use crate::cost::locality::Locality;
use crate::cost::work::{CallCost, Waits, Work};
use crate::machine::{DeviceId, Direction, HostMemory};
use crate::profile::{HostCall, OperationKind, Unknown};
use crate::program::{Call, Place, Slice};
use crate::units::{Bytes, Span};

impl CallCosts<'_> {
    /// The cost of a copy that finds its stream empty and is small enough to travel along with its
    /// command; `None` of other calls.
    pub fn inline(&self, call: &Call) -> Option<CallCost> {
        let (returns, duration) = self.along(call)?;
        Some(CallCost { work: Work::Inline { duration }, ..CallCost::on_host(returns) })
    }

    /// Two times of a copy whose data travels along with its command: from the entry of the call to
    /// its return, and from there to the end of the copy. `None` of all other calls.
    pub(super) fn along(&self, call: &Call) -> Option<(Span, Span)> {
        let Call::Copy { direction: Direction::HostToDevice, from, .. } = call else { return None };
        let place = self.program.allocation(from.allocation).place;
        let is_pinned = place == Place::Host(HostMemory::Pinned);
        let model = self.profile.inline.as_ref().filter(|_| is_pinned)?;
        let bytes = from.length.as_f64();
        let span = |ns: f64| Span::from_nanos_f64(ns.max(0.0));
        let returns = span(model.until_return.at(bytes));
        let duration = span(model.until_complete.at(bytes)).saturating_sub(returns);
        (from.length <= model.most_bytes).then_some((returns, duration))
    }

    pub(super) fn copy(
        &self,
        (direction, device): (Direction, DeviceId),
        ashore: &Slice,
        locality: &Locality<'_>,
    ) -> Result<CallCost, Unknown> {
        if self.program.allocation(ashore.allocation).place == Place::Host(HostMemory::Pageable) {
            return self.staged(direction, ashore, locality);
        }
        let work = self.transfer((direction, device), ashore.length);
        let ((host, latency), work) = Unknown::both(self.issue(direction), work)?;
        Ok(CallCost { latency, work, ..CallCost::on_host(host) })
    }

    /// A copy of pinned memory on its engine.
    pub(super) fn transfer(
        &self,
        (direction, device): (Direction, DeviceId),
        bytes: Bytes,
    ) -> Result<Work, Unknown> {
        let alone = self.profile.copy(direction, bytes)?;
        // Copies that never overlap the other direction do not need to know what that costs.
        let [delay, longer] = if self.traffic.both_ways[device.0] {
            self.profile.beside_the_other((direction, bytes), self.traffic.copied_out)?
        } else {
            [0.0; 2]
        };
        let has_kernels = self.traffic.launches[device.0];
        let link = &self.profile.link;
        let beside_kernels = if has_kernels { link.kernel_delay(direction, bytes) } else { 0.0 };
        // A copy of a single byte carries next to no data, so its time is the fixed part. (If the
        // smallest size that is known takes longer, most of its time is data.)
        let smallest = self.profile.copy(direction, Bytes::new(1)).unwrap_or_default();
        let fixed = smallest.min(alone);
        Ok(Work::Copy {
            direction,
            alone,
            delay,
            beside_kernels,
            slowdown: 1.0 + longer / alone.nanos_f64().max(1.0),
            bytes,
            fixed,
        })
    }

    /// The host time of a copy's call, and the latency until the copy may start.
    pub(super) fn issue(&self, direction: Direction) -> Result<(Span, Span), Unknown> {
        let call = match direction {
            Direction::HostToDevice => HostCall::CopyIn,
            Direction::DeviceToHost => HostCall::CopyOut,
        };
        let start = self.profile.start(OperationKind::of_copy(direction));
        Unknown::both(self.profile.call(call), start)
    }

    pub(super) fn staged(
        &self,
        direction: Direction,
        ashore: &Slice,
        locality: &Locality<'_>,
    ) -> Result<CallCost, Unknown> {
        let (returns, complete) = self.profile.staging(
            direction,
            ashore.length,
            self.footprint_in_caches(direction, ashore),
        )?;
        let touch = self.touch_time(locality)?;
        let complete = Span::from_nanos_f64((complete + touch).max(0.0));
        let returns = Span::from_nanos_f64((returns + touch).max(0.0)).min(complete);
        if direction == Direction::HostToDevice && ashore.length <= STAGED_AT_ONCE {
            let work = Work::Inline { duration: complete.saturating_sub(returns) };
            return Ok(CallCost { work, ..CallCost::on_host(returns) });
        }
        let (mut host, latency) = self.issue(direction)?;
        if direction == Direction::DeviceToHost {
            host = host.max(self.profile.staging_call()?).min(complete.saturating_sub(latency));
        }
        let work = Work::Staged {
            direction,
            duration: complete.saturating_sub(host + latency),
            early: complete.saturating_sub(returns),
        };
        Ok(CallCost { latency, work, waits: Waits::Staging, ..CallCost::on_host(host) })
    }

    /// Bytes of host memory in which a staged copy looks for its data: all that copies use in a
    /// pass, as written data takes room in the caches, too. `None` if no cache has it: a copy to
    /// the host staged the data before, or no copy to the device reads what this copy overwrites.
    pub(super) fn footprint_in_caches(
        &self,
        direction: Direction,
        ashore: &Slice,
    ) -> Option<Bytes> {
        let [is_read, is_written] =
            self.traffic.copied.each_ref().map(|all| all[ashore.allocation.0]);
        let past_caches = match direction {
            Direction::HostToDevice => is_written,
            Direction::DeviceToHost => !is_read,
        };
        (!past_caches).then_some(self.traffic.copied_both_ways)
    }
}

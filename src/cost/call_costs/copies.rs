//! What copies cost: between host and device, between devices, and on one side of the link.

use super::CallCosts;
use crate::cost::caches::Locality;
use crate::cost::halved::Bottleneck;
use crate::cost::in_flight::STAGED_AT_ONCE;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Waits, Work};
use crate::machine::{DeviceId, Direction, HostMemory};
use crate::profile::{Known, OperationKind, RowPath, TimedCall, Unknown};
use crate::program::{Call, Place, Route, Rows, Slice, Threads};
use crate::units::{Bytes, Span};
use std::slice::from_ref;

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
        let (_, Direction::HostToDevice, from, _) = call.crossing()? else { return None };
        if call.sides().rows.is_some() {
            return None;
        }
        let place = self.program.allocation(from.allocation).place;
        let is_pinned = place == Place::Host(HostMemory::Pinned);
        let model = self.profile.inline.as_ref().filter(|_| is_pinned)?;
        let bytes = from.length.as_f64();
        let halved = self.halved;
        let span = |ns: f64| Span::from_nanos_f64(halved.ns(Bottleneck::Copies, ns.max(0.0)));
        let returns = span(model.until_return.at(bytes));
        let duration = span(model.until_complete.at(bytes)).saturating_sub(returns);
        (from.length <= model.most_bytes).then_some((returns, duration))
    }

    pub(super) fn copy(
        &self,
        (direction, device): (Direction, DeviceId),
        ashore: &Slice,
        locality: &Locality,
    ) -> Known<CallCost> {
        if self.program.allocation(ashore.allocation).place == Place::Host(HostMemory::Pageable) {
            return self.staged(direction, ashore, locality);
        }
        let work = self.transfer((direction, device), ashore.length);
        let ((host, latency), work) = Unknown::both(self.issue(direction), work)?;
        Ok(CallCost { latency, work, ..CallCost::on_host(host) })
    }

    /// A copy to another device.
    pub(super) fn peer_copy(&self, [from, to]: [&Slice; 2]) -> Known<CallCost> {
        let work = self.between_peers(self.program.peers_of(from, to), from.length)?;
        let latency = self.profile.start(OperationKind::PeerCopy)?;
        Ok(CallCost { work, latency, ..CallCost::on_host(self.profile.call(TimedCall::PeerCopy)?) })
    }

    fn between_peers(&self, way: [DeviceId; 2], bytes: Bytes) -> Known<Work> {
        let alone = self.profile.peer_copy(way, bytes)?;
        let fixed = self.profile.peer_copy(way, Bytes::new(1)).unwrap_or_default().nanos_f64();
        let alone = self.halved.in_parts(fixed, (alone.nanos_f64(), Bottleneck::PeerCopy));
        let is_half = self.halved.has(Bottleneck::PeerCopy);
        let bytes = if is_half { Bytes::new(bytes.get().div_ceil(2)) } else { bytes };
        Ok(Work::PeerCopy { way, alone: Span::from_nanos_f64(alone), bytes })
    }

    /// A copy of pinned memory on its engine.
    pub(super) fn transfer(&self, way: (Direction, DeviceId), bytes: Bytes) -> Known<Work> {
        let work = self.whole_transfer(way, bytes)?;
        Ok(self.halved.copy(work, self.on_link(&work)))
    }

    /// A copy of pinned memory on its engine, with no part of its price halved.
    pub(super) fn whole_transfer(
        &self,
        (direction, device): (Direction, DeviceId),
        bytes: Bytes,
    ) -> Known<Work> {
        let alone = self.profile.copy(direction, bytes)?;
        // Copies that never overlap the other direction do not need to know what that costs.
        let [delay, longer] = if self.traffic.both_ways[device.0] {
            self.profile.beside_the_other((direction, bytes), self.traffic.footprint.copied_out)?
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
    pub(super) fn issue(&self, direction: Direction) -> Known<(Span, Span)> {
        let call = [TimedCall::CopyIn, TimedCall::CopyOut][direction as usize];
        let start = self.profile.start(OperationKind::of_copy(direction));
        Unknown::both(self.profile.call(call), start)
    }

    pub(super) fn staged(
        &self,
        direction: Direction,
        ashore: &Slice,
        locality: &Locality,
    ) -> Known<CallCost> {
        let (returns, complete) = self.profile.staging(
            direction,
            ashore.length,
            self.footprint_in_caches(direction, ashore),
        )?;
        let [returns, complete] = self.staged_in_parts(direction, ashore, [returns, complete]);
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

    /// What a staged copy takes that takes `times` if no price is halved. Its bytes take as long as
    /// in one copy of all that copies use in a pass; the rest, it takes for being a copy.
    fn staged_in_parts(&self, direction: Direction, ashore: &Slice, times: [f64; 2]) -> [f64; 2] {
        if !self.halved.has(Bottleneck::Copies) && !self.halved.has(Bottleneck::Staging) {
            return times;
        }
        let footprint = self.footprint_in_caches(direction, ashore);
        let all = self.traffic.footprint.copied_both_ways.max(ashore.length);
        let in_one = self.profile.staging(direction, all, footprint);
        let share = ashore.length.as_f64() / all.as_f64().max(1.0);
        // Where nothing is known of so large a copy, all of the time is that of bytes.
        let of_bytes = in_one
            .map_or(times, |(returns, complete)| [returns, complete].map(|time| time * share));
        let in_parts = |at: usize| {
            let fixed = times[at] - of_bytes[at];
            self.halved.in_parts(fixed, (times[at], Bottleneck::Staging))
        };
        [in_parts(0), in_parts(1)]
    }

    /// For how long the bytes of a copy are on the link: as long as at the rate of large copies.
    pub(super) fn on_link(&self, work: &Work) -> Span {
        let Work::Copy { direction, alone, fixed, bytes, .. } = *work else { return Span::ZERO };
        let rate = self.profile.link_rate(direction);
        let at_best = rate.map_or(alone.saturating_sub(fixed), |rate| {
            Span::from_nanos_f64(1e9 * bytes.as_f64() / rate.bytes_per_second())
        });
        at_best.min(alone)
    }

    /// Bytes of host memory in which a staged copy looks for its data: all that copies use in a
    /// pass, as written data takes room in the caches, too. `None` if no cache has it: a copy to
    /// the host staged the data before, or no copy to the device reads what this copy overwrites.
    fn footprint_in_caches(&self, direction: Direction, ashore: &Slice) -> Option<Bytes> {
        let [is_read, is_written] =
            self.traffic.copied.each_ref().map(|all| all[ashore.allocation.0]);
        let past_caches = [is_written, !is_read][direction as usize];
        (!past_caches).then_some(self.traffic.footprint.copied_both_ways)
    }

    /// A copy inside a device: it holds no copy engine, and nothing that runs beside it slows it.
    pub(super) fn device_copy(&self, bytes: Bytes) -> Known<CallCost> {
        self.on_device(TimedCall::CopyOnDevice, self.profile.copy_on_device(bytes))
    }

    fn on_device(&self, call: TimedCall, duration: Known<Span>) -> Known<CallCost> {
        let latency = self.profile.start(OperationKind::Kernel);
        let host = Unknown::both(self.profile.call(call), latency);
        let ((host, latency), duration) = Unknown::both(host, duration)?;
        let duration = self.halved.span(Bottleneck::Kernels, duration);
        Ok(CallCost { latency, work: Work::OnDevice { duration }, ..CallCost::on_host(host) })
    }

    pub(super) fn row_copy(
        &self,
        (route, device): (Route, DeviceId),
        [from, to]: [&Slice; 2],
        rows: Rows,
        locality: &Locality,
    ) -> Known<CallCost> {
        let count = rows.count(from);
        let time = |path| self.profile.rows(path, rows.row, count);
        let Route::Crossing(direction) = route else {
            return self.on_device(TimedCall::CopyRows, time(RowPath::OnDevice));
        };
        let ashore = direction.ashore(from, to);
        let place = self.program.allocation(ashore.allocation).place;
        if place == Place::Host(HostMemory::Pageable) {
            let touch = self.touch_time(locality)?;
            let duration = time(RowPath::staged(direction))?;
            let duration = self.halved.span(Bottleneck::Staging, duration);
            let duration = duration + Span::from_nanos_f64(touch.max(0.0));
            let (host, latency) = self.issue(direction)?;
            let duration = duration.saturating_sub(host + latency);
            let work = Work::Staged { direction, duration, early: Span::ZERO };
            return Ok(CallCost {
                latency,
                work,
                waits: Waits::Staging,
                ..CallCost::on_host(host)
            });
        }
        let alone = time(RowPath::pinned(direction));
        let work = self.whole_transfer((direction, device), rows.row * count);
        let (of_rows, mut work) = Unknown::both(alone, work)?;
        // What rows take longer than as many bytes without gaps, they take one by one.
        let on_link = self.on_link(&work);
        // What the other direction costs it is that of as many bytes without gaps.
        if let Work::Copy { alone, fixed, .. } = &mut work {
            (*alone, *fixed) = (of_rows, of_rows.min(*fixed));
        }
        let work = self.halved.copy(work, on_link);
        let (_, latency) = self.issue(direction)?;
        Ok(CallCost { latency, work, ..CallCost::on_host(self.profile.call(TimedCall::CopyRows)?) })
    }

    pub(super) fn host_copy(
        &self,
        sides: [&Slice; 2],
        threads: Threads,
        locality: &Locality,
    ) -> Known<CallCost> {
        let [from, to] = sides;
        let all = threads == Threads::All;
        let footprint = self.traffic.footprint.all;
        let since = locality.around.map(|around| [0, 1].map(|side| around.reuse.0[side].1));
        let since = since.unwrap_or([footprint; 2]);
        let copy = self.profile.host_copy(all, from.length, since)?;
        let combined = Mapped::combined(self.program, from_ref(from), from_ref(to));
        let time = copy.max(self.combined(combined, all)?);
        let time = self.halved.ns(Bottleneck::Cpu, time);
        let time = (time + self.touch_time(locality)? + self.back(locality)?).max(0.0);
        let streams = self.profile.streams(from.length + to.length, footprint, time);
        Ok(CallCost { streams, ..CallCost::on_host(Span::from_nanos_f64(time)) })
    }
}

//! What copies cost that stay on their side of the link, and copies of rows.

use super::CallCosts;
use crate::cost::halved::Bottleneck;
use crate::cost::locality::Locality;
use crate::cost::remote::Mapped;
use crate::cost::work::{CallCost, Waits, Work};
use crate::machine::{DeviceId, HostMemory};
use crate::profile::{HostCall, OperationKind, RowPath, Unknown};
use crate::program::{Place, Route, Rows, Slice, Threads};
use crate::units::{Bytes, Span};
use std::slice::from_ref;

impl CallCosts<'_> {
    /// A copy inside a device: it holds no copy engine, and nothing that runs beside it slows it.
    pub(super) fn device_copy(&self, bytes: Bytes) -> Result<CallCost, Unknown> {
        self.on_device(HostCall::CopyOnDevice, self.profile.copy_on_device(bytes))
    }

    fn on_device(
        &self,
        call: HostCall,
        duration: Result<Span, Unknown>,
    ) -> Result<CallCost, Unknown> {
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
    ) -> Result<CallCost, Unknown> {
        let count = rows.count(from);
        let time = |path| self.profile.rows(path, rows.row, count);
        let Route::Crossing(direction) = route else {
            return self.on_device(HostCall::CopyRows, time(RowPath::OnDevice));
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
        let (alone, work) = Unknown::both(alone, work)?;
        // What rows take longer than as many bytes without gaps, they take one by one.
        let on_link = self.on_link(&work);
        let work = match work {
            // What the other direction costs it is that of as many bytes without gaps.
            Work::Copy { direction, delay, beside_kernels, slowdown, bytes, fixed, .. } => {
                let fixed = fixed.min(alone);
                Work::Copy { direction, alone, delay, beside_kernels, slowdown, bytes, fixed }
            }
            other => other,
        };
        let work = self.halved.copy(work, on_link);
        let (_, latency) = self.issue(direction)?;
        Ok(CallCost { latency, work, ..CallCost::on_host(self.profile.call(HostCall::CopyRows)?) })
    }

    pub(super) fn host_copy(
        &self,
        sides: [&Slice; 2],
        threads: Threads,
        locality: &Locality,
    ) -> Result<CallCost, Unknown> {
        let [from, to] = sides;
        let all = threads == Threads::All;
        let footprint = self.traffic.host_footprint;
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

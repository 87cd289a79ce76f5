//! Paths of data other than plain copies: what kernels reach across the link, and managed memory
//! that moves.

use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Curve, DeviceLocality, JustWritten, Profile};
use crate::kernels::{Arguments, Kernel};
use crate::machine::{Direction, OperationKind, Residence};
use crate::samples::TransferPath;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// A way for data: nanoseconds over bytes, back to back with nothing beside it. For managed memory
/// that moves, this is host time including the call and the synchronisation after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferModel {
    pub path: TransferPath,
    pub time: Curve,
}

priced! {
    TransferModel { OtherMemory: time; }
    besides path
}

impl Profile {
    fn transfer(&self, path: TransferPath) -> Known<&Curve> {
        let model = self.transfers.iter().find(|model| model.path == path);
        model.map(|model| &model.time).ok_or_else(|| {
            let how = match TransferPath::MANAGED.contains(&path) {
                true => " (`calibrate --managed`)",
                false => "",
            };
            Unknown::new(format!("the time of the path \"{}\"{how}", path.name()))
        })
    }

    /// Nanoseconds that a streaming kernel takes, back to back with others, to read and to write so
    /// many bytes of page-locked host memory across the link; and by how much the least of such
    /// kernels is slower than on the device's own memory.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn mapped(&self, read: Bytes, written: Bytes) -> Known<(f64, f64)> {
        let [read, written] = [read, written].map(Bytes::as_f64);
        let path =
            if read >= written { TransferPath::MappedRead } else { TransferPath::MappedWrite };
        let one_way = self.transfer(path)?;
        let least = one_way.knots[0];
        let on_device = DeviceLocality::default();
        let elements = Bytes::new(least.0 as u64).as_f32_count();
        // Any streaming kernel takes as long for so few elements.
        let usual = |kernel| self.kernel(kernel, &Arguments::default(), elements, &on_device);
        let usual = usual(Kernel::Scale).or_else(|_| usual(Kernel::Saxpy))?;
        let later = (least.1 - usual.ns).max(0.0);
        let (most, both) = (read.max(written), read.min(written));
        let time = match both > 0.0 {
            true => self.mapped_both_ways(both)? + (one_way.at(most) - one_way.at(both)).max(0.0),
            false => one_way.at(most),
        };
        Ok((time, later))
    }

    /// Nanoseconds in which a streaming kernel reads so many bytes across the link and writes as
    /// many. Where only copies were measured both ways at once, the link slows it as it slows them.
    fn mapped_both_ways(&self, bytes: f64) -> Known<f64> {
        let measured = self.transfer(TransferPath::MappedBoth);
        let alone = [
            (TransferPath::MappedRead, Direction::HostToDevice),
            (TransferPath::MappedWrite, Direction::DeviceToHost),
        ];
        measured.map(|curve| curve.at(bytes)).or_else(|unknown| {
            let mut slowest: f64 = 0.0;
            for (path, direction) in alone {
                let shared = self.shared(direction).map_err(|_| unknown.clone())?;
                let longer = shared.of_bytes(Bytes::new(bytes as u64));
                slowest = slowest.max(self.transfer(path)?.at(bytes) + longer);
            }
            Ok(slowest)
        })
    }

    /// Nanoseconds that a kernel takes longer because so many bytes of managed memory that it uses
    /// are on the host.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn faults(&self, bytes: Bytes) -> Known<f64> {
        let fault = self.transfer(TransferPath::ManagedFault)?.at(bytes.as_f64());
        let resident = self.transfer(TransferPath::ManagedResident)?.at(bytes.as_f64());
        // What was measured begins with the call and ends when the host knows.
        let start = self.launch(Kernel::Scale)? + self.start(OperationKind::Kernel)?;
        let others = start + self.wake_host()?;
        Ok((fault - others.nanos_f64() - resident).max(0.0))
    }

    /// Nanoseconds that the CPU takes longer because so many bytes of managed memory that it uses
    /// are on a device.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn faults_back(&self, bytes: Bytes) -> Known<f64> {
        let fault = self.transfer(TransferPath::ManagedFaultOut)?.at(bytes.as_f64());
        Ok((fault - self.transfer(TransferPath::ManagedOnHost)?.at(bytes.as_f64())).max(0.0))
    }

    /// The host time of the call that prefetches so many bytes of managed memory, and how long its
    /// pages are on the way once the call has returned.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn prefetch(&self, to: Residence, bytes: Bytes) -> Known<(Span, Span)> {
        let (all, call) = match to {
            Residence::Device => {
                (TransferPath::ManagedPrefetchIn, TransferPath::ManagedPrefetchInCall)
            }
            Residence::Host => {
                (TransferPath::ManagedPrefetchOut, TransferPath::ManagedPrefetchOutCall)
            }
        };
        let time = |path| Ok(self.transfer(path)?.at(bytes.as_f64()));
        let (all, call) = Unknown::both(time(all), time(call))?;
        let [all, call] = [all, call].map(|ns: f64| Span::from_nanos_f64(ns.max(0.0)));
        Ok((call, all.saturating_sub(call + self.wake_host()?)))
    }

    /// Nanoseconds that an H2D copy of pinned memory takes longer because the CPU has just written
    /// the data, and its caches still hold what memory does not. 0 where that was not measured.
    pub fn just_written(&self, data: &JustWritten) -> f64 {
        let path = match data.by_all {
            true => TransferPath::WrittenByAll,
            false => TransferPath::WrittenByOne,
        };
        let curves = (self.transfer(path), self.transfer(TransferPath::WrittenLongAgo));
        let (Ok(written), Ok(usual)) = curves else { return 0.0 };
        let (least, most) = (written.knots[0].0, written.largest());
        let later = |bytes: Bytes| {
            let at = bytes.as_f64().clamp(least, most);
            let later = (written.at(at) - usual.at(at)).max(0.0);
            later * (bytes.as_f64() / least).min(1.0)
        };
        let [last, first] = data.since.map(later);
        (first - last).max(0.0)
    }

    /// How long a copy inside a device takes there, one behind the other.
    ///
    /// # Errors
    /// If it was not measured.
    pub fn copy_on_device(&self, bytes: Bytes) -> Known<Span> {
        let time = self.transfer(TransferPath::OnDevice)?.at(bytes.as_f64());
        Ok(Span::from_nanos_f64(time.max(0.0)))
    }
}

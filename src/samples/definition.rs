//! What a quantity is, whatever it is of.

use super::provenance::{MOST_BYTES, MOST_GPUS};
use crate::machine::DeviceId;
use crate::units::Bytes;
use std::ops::RangeInclusive;

/// What a quantity is: who does its work, how that drifts, and which amounts can be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub work: Work,
    pub doer: Doer,
    /// Whether it is about copies over the host's link that are so large that nearly all of their
    /// time is set by the link's rate.
    pub is_of_rate: bool,
    /// What curves are over comes first.
    amounts: Vec<(&'static str, u64, RangeInclusive<u64>)>,
}

/// Work that a moment of the machine slows down alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Calls of the host, which do not wait for the device.
    Issuing,
    /// Calls of the host, and what the device does until they return.
    Waiting,
    /// Copies of pageable memory.
    Staging,
    /// CPU kernels.
    Computing,
    /// Management of host memory, and its use.
    Memory,
    /// What the device does by itself.
    Device,
    /// Several things that go on at once, or that take turns.
    Together,
}

/// Who does what is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doer {
    /// The device alone: the host only issues the work.
    Device,
    /// One host thread. It takes half as long again if something else uses its core.
    OneThread,
    /// Several host threads at once. If all cores work, they disturb each other anyway.
    Several,
}

/// Streams, kernels or nodes of a graph: more than any measurement has, by far.
const MOST: u64 = 10_000;

impl Definition {
    pub(super) fn new(work: Work) -> Self {
        let doer = match work {
            Work::Device => Doer::Device,
            Work::Together => Doer::Several,
            Work::Issuing | Work::Waiting | Work::Staging | Work::Computing | Work::Memory => {
                Doer::OneThread
            }
        };
        Self { work, doer, is_of_rate: false, amounts: Vec::new() }
    }

    /// Done by all threads, if `by_team`, and otherwise by one.
    pub(super) fn by_team(self, by_team: bool) -> Self {
        Self { doer: if by_team { Doer::Several } else { Doer::OneThread }, ..self }
    }

    pub(super) fn of_rate(self, is_of_rate: bool) -> Self {
        Self { is_of_rate, ..self }
    }

    fn amount(mut self, key: &'static str, amount: u64, possible: RangeInclusive<u64>) -> Self {
        self.amounts.push((key, amount, possible));
        self
    }

    /// Bytes or elements of anything.
    pub(super) fn size(self, key: &'static str, size: u64) -> Self {
        self.amount(key, size, 1..=MOST_BYTES)
    }

    pub(super) fn bytes(self, bytes: Bytes) -> Self {
        self.size("bytes", bytes.get())
    }

    pub(super) fn footprint(self, footprint: Bytes) -> Self {
        self.size("footprint", footprint.get())
    }

    pub(super) fn count(self, key: &'static str, count: u64) -> Self {
        self.amount(key, count, 1..=MOST)
    }

    pub(super) fn count_or_none(self, key: &'static str, count: u64) -> Self {
        self.amount(key, count, 0..=MOST)
    }

    pub(super) fn gpu(self, key: &'static str, DeviceId(device): DeviceId) -> Self {
        self.amount(key, device as u64, 0..=MOST_GPUS - 1)
    }

    pub(super) fn gpus(self, key: &'static str, devices: usize) -> Self {
        self.amount(key, devices as u64, 1..=MOST_GPUS)
    }

    /// With the amounts of another quantity, which this one is about.
    pub(super) fn with(mut self, other: Self) -> Self {
        self.amounts.extend(other.amounts);
        self
    }

    /// What a curve of such quantities is over: bytes, elements, nodes, streams.
    pub fn first_amount(&self) -> Option<u64> {
        self.amounts.first().map(|&(_, amount, _)| amount)
    }

    /// The first amount that nothing can be measured of, in words.
    pub(super) fn problem(&self) -> Option<String> {
        let (key, amount, possible) =
            self.amounts.iter().find(|(_, amount, possible)| !possible.contains(amount))?;
        let (least, most) = (possible.start(), possible.end());
        Some(format!("`{key}` is {amount}, but must be {least} to {most}"))
    }

    /// Bytes that are moved, if it is of so many.
    pub(super) fn bytes_moved(&self) -> Option<Bytes> {
        let bytes = self.amounts.iter().find(|(key, ..)| *key == "bytes");
        bytes.map(|&(_, bytes, _)| Bytes::new(bytes))
    }

    /// Whether it takes the CPU and its memory.
    pub const fn is_of_host(&self) -> bool {
        matches!(self.work, Work::Staging | Work::Computing | Work::Memory)
    }

    /// Whether the state of the device matters for it.
    pub const fn uses_device(&self) -> bool {
        !matches!(self.work, Work::Computing | Work::Memory)
    }
}

//! Copies from host memory to host memory, which the CPU makes.

use super::caches::{blend, further};
use super::draws::Draws;
use super::unknown::Unknown;
use super::{Curve, Profile};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Copies by one thread or by all: nanoseconds over bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCopyModel {
    pub by_all: bool,
    /// The same memory again and again.
    pub near: Curve,
    /// Memory that no cache holds.
    pub far: Curve,
}

impl HostCopyModel {
    pub(super) fn draw(&mut self, draws: &mut Draws<'_>) {
        let factor = draws.factor(self.near.scatter.max(self.far.scatter));
        self.near.scale(factor);
        self.far.scale(factor);
    }
}

impl Profile {
    /// Nanoseconds in which one thread, or all, copy so many bytes, in a program that uses
    /// `footprint` bytes of host memory in turn.
    ///
    /// # Errors
    /// If such copies were not measured.
    pub fn host_copy(&self, by_all: bool, bytes: Bytes, footprint: Bytes) -> Result<f64, Unknown> {
        let model = self.host_copies.iter().find(|model| model.by_all == by_all);
        let who = if by_all { "all threads" } else { "one thread" };
        let model = model.ok_or_else(|| Unknown::new(format!("copies by {who} of the CPU")))?;
        let [near, far] = [&model.near, &model.far].map(|curve| curve.at(bytes.as_f64()));
        // Both sides of the copy itself were used in turn where it was measured near by.
        let own = bytes + bytes;
        if footprint <= own {
            return Ok(near);
        }
        let misses = self.caches.twins(own).zip(self.caches.twins(footprint));
        let what = || Unknown::new("what the CPU finds in its caches of memory used before");
        let (there, here) = misses.ok_or_else(what)?;
        Ok(blend(near, far.max(near), further(there, here)))
    }
}

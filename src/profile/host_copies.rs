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
        let near = model.near.at(bytes.as_f64());
        // Of a piece of the smallest copy that was measured out of memory, a part of its time.
        let least = model.far.knots.first().map_or(0.0, |knot| knot.0);
        let part = (bytes.as_f64() / least.max(1.0)).min(1.0);
        let far = model.far.at(bytes.as_f64()) * part;
        // Both sides of a copy were used in turn where it was measured near by. Larger ones than
        // the largest there find less of their data in the caches.
        let most = Bytes::new(2 * model.near.largest() as u64);
        let (own, footprint) = ((bytes + bytes).min(most), footprint.max(bytes + bytes));
        if footprint <= own {
            return Ok(near);
        }
        // One thread that copies goes through its memory as the driver's thread does that stages.
        let misses = |around| match by_all {
            true => self.caches.twins(around),
            false => self.caches.staging(around),
        };
        let misses = misses(own).zip(misses(footprint));
        let what = || Unknown::new("what the CPU finds in its caches of memory used before");
        let (there, here) = misses.ok_or_else(what)?;
        Ok(blend(near, far.max(near), further(there, here)))
    }
}

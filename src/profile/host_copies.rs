//! Copies from host memory to host memory, which the CPU makes.

use super::caches::{blend, further, misses_of};
use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Curve, Profile};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Copies by one thread or by all: nanoseconds over bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCopyModel {
    pub by_all: bool,
    /// Between the same memory again and again.
    pub near: Curve,
    /// From memory that no cache holds into the same memory again and again.
    pub into_cache: Option<Curve>,
    /// Between memory that no cache holds.
    pub far: Curve,
}

priced! {
    HostCopyModel { SpelledOut: near, into_cache, far; }
    besides by_all; by |copies| copies.near.scatter.max(copies.far.scatter)
}

impl Profile {
    /// Nanoseconds in which one thread, or all, copy so many bytes. `since` is how many bytes of
    /// host memory were used since the source was used last, and since the target was, what the
    /// copy itself uses included.
    ///
    /// # Errors
    /// If such copies were not measured.
    pub fn host_copy(&self, by_all: bool, bytes: Bytes, since: [Bytes; 2]) -> Known<f64> {
        let model = self.host_copies.iter().find(|model| model.by_all == by_all);
        let who = if by_all { "all threads" } else { "one thread" };
        let model = model.ok_or_else(|| Unknown::new(format!("copies by {who} on the CPU")))?;
        let near = model.near.at(bytes.as_f64());
        // Both sides of a copy were used in turn where it was measured near by. Larger ones than
        // the largest there find less of their data in the caches.
        let most = Bytes::new(2 * model.near.largest() as u64);
        let own = (bytes + bytes).min(most);
        if since.iter().all(|&since| since <= own) {
            return Ok(near);
        }
        let far = part_of(&model.far, bytes).max(near);
        let into_cache = model.into_cache.as_ref().map(|curve| part_of(curve, bytes));
        let into_cache = into_cache.map(|time| time.clamp(near, far));
        let [read, written] = since.map(|since| self.misses(by_all, own, since));
        let what = || Unknown::new("the CPU's cache hit rates for recently used memory");
        let (read, written) = read.zip(written).ok_or_else(what)?;
        Ok(match into_cache {
            Some(into) => near + (into - near) * read + (far - into) * written,
            None => blend(near, far, read.max(written)),
        })
    }

    /// The share of data that a copy of nearby memory no longer finds in the caches once `since`
    /// bytes were used in between.
    fn misses(&self, by_all: bool, own: Bytes, since: Bytes) -> Option<f64> {
        // One thread that copies goes through its memory as the driver's thread does that stages.
        let misses = |around| match by_all {
            true => misses_of(&self.caches.twin_misses, around),
            false => self.caches.staging(around),
        };
        let (there, here) = misses(own).zip(misses(since.max(own)))?;
        Some(further(there, here))
    }
}

/// The time of a copy by a curve; of less than the smallest copy that was measured, a part of its
/// time.
fn part_of(curve: &Curve, bytes: Bytes) -> f64 {
    let least = curve.knots.first().map_or(0.0, |knot| knot.0);
    curve.at(bytes.as_f64()) * (bytes.as_f64() / least.max(1.0)).min(1.0)
}

//! What caches keep of the data that a plan uses again.

use super::Around;
use super::checked::{misses, not_negative};
use crate::samples::SHARED_FOOTPRINT;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What the CPU's caches keep, and the device's: the share of data that is gone when it is
/// used again, over the bytes that are used in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheModel {
    /// For the driver's thread that stages copies.
    #[serde(default, deserialize_with = "misses")]
    pub staging_misses: Option<Vec<(f64, f64)>>,
    /// For one thread, of what its core keeps for itself: how far times have gone
    /// from [`Warmth::Same`](super::Warmth::Same) to [`Warmth::Shared`](super::Warmth::Shared).
    #[serde(default, deserialize_with = "misses", skip_serializing_if = "Option::is_none")]
    pub own_misses: Option<Vec<(f64, f64)>>,
    /// The same for all threads at once, over what they go round together: two threads of a
    /// core share what it keeps.
    #[serde(default, deserialize_with = "misses", skip_serializing_if = "Option::is_none")]
    pub own_team_misses: Option<Vec<(f64, f64)>>,
    /// One thread on data that all used before, and all on data that one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_to_one: Option<Handed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_to_team: Option<Handed>,
    /// All, each on its share, on data of a kernel in which they helped each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_behind_helpers: Option<Handed>,
    /// For the team of threads that runs twins.
    #[serde(default, deserialize_with = "misses")]
    pub twin_misses: Option<Vec<(f64, f64)>>,
    /// For what copies to the host write, while others go to the device.
    #[serde(default, deserialize_with = "misses", skip_serializing_if = "Option::is_none")]
    pub written_misses: Option<Vec<(f64, f64)>>,
    /// For kernels on the device, over the bytes of its memory.
    #[serde(default, deserialize_with = "misses", skip_serializing_if = "Option::is_none")]
    pub device_misses: Option<Vec<(f64, f64)>>,
    /// The footprint at which [`Warmth::Shared`](super::Warmth::Shared) was measured.
    pub shared_bytes: Bytes,
}

/// What a byte costs more that is in the caches of cores whose threads used it before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handed {
    #[serde(deserialize_with = "not_negative")]
    pub read_ns_per_byte: f64,
    #[serde(deserialize_with = "not_negative")]
    pub written_ns_per_byte: f64,
}

impl Default for CacheModel {
    fn default() -> Self {
        let shared_bytes = SHARED_FOOTPRINT;
        Self {
            staging_misses: None,
            own_misses: None,
            own_team_misses: None,
            handed_to_one: None,
            handed_to_team: None,
            handed_behind_helpers: None,
            twin_misses: None,
            written_misses: None,
            device_misses: None,
            shared_bytes,
        }
    }
}

impl Handed {
    /// Nanoseconds that it takes longer to read, and to write, so many bytes.
    fn nanos(&self, [reads, writes]: [Bytes; 2]) -> f64 {
        reads.as_f64() * self.read_ns_per_byte + writes.as_f64() * self.written_ns_per_byte
    }
}

impl CacheModel {
    /// Share of misses, 0 to 1, on going round `footprint`; `None` if it was not measured.
    pub fn staging(&self, footprint: Bytes) -> Option<f64> {
        self.staging_misses.as_ref().map(|knots| share(knots, footprint))
    }

    /// The same for one thread and the caches of its core, or for all of them at once, each
    /// with its share.
    pub fn own(&self, footprint: Bytes, threads: u64) -> Option<f64> {
        let team = self.own_team_misses.as_ref().filter(|_| threads > 1);
        if let Some(knots) = team {
            return Some(share(knots, footprint));
        }
        let each = Bytes::new(footprint.get() / threads);
        self.own_misses.as_ref().map(|knots| share(knots, each))
    }

    /// Nanoseconds that it takes longer to read, and to write, what others used before; nothing
    /// where that was not measured.
    pub(super) fn handing_over(&self, around: &Around, to_team: bool) -> f64 {
        let taken = if to_team { &self.handed_to_team } else { &self.handed_to_one };
        let parts = [(taken, around.handed), (&self.handed_behind_helpers, around.helped)];
        parts.map(|(costs, bytes)| costs.map_or(0.0, |costs| costs.nanos(bytes))).iter().sum()
    }

    /// Share of misses, 0 to 1, on going round `footprint`; `None` if it was not measured.
    pub fn twins(&self, footprint: Bytes) -> Option<f64> {
        self.twin_misses.as_ref().map(|knots| share(knots, footprint))
    }

    /// The same for copies to the host that write so much.
    pub fn written(&self, footprint: Bytes) -> Option<f64> {
        self.written_misses.as_ref().map(|knots| share(knots, footprint))
    }

    /// The same for kernels on the device.
    pub fn device(&self, footprint: Bytes) -> Option<f64> {
        self.device_misses.as_ref().map(|knots| share(knots, footprint))
    }
}

fn share(knots: &[(f64, f64)], footprint: Bytes) -> f64 {
    crate::stats::interpolate(knots, footprint.as_f64()).clamp(0.0, 1.0)
}

/// The share of what is found `there` that is not found `here`: what is
/// measured at a footprint has the misses of that footprint in it.
pub(super) fn further(there: f64, here: f64) -> f64 {
    if there < 1.0 { ((here - there) / (1.0 - there)).max(0.0) } else { 0.0 }
}

/// The same of data that a core keeps, used again after so many times what is used at once.
///
/// Where most is lost of what is used at once, by going round as much in small pieces, a kernel
/// may still find all of it: on an H200's host, threads that went round 24 MiB found all or
/// nothing from one time to the next, and a twin with 24 MiB of its own found all. So behind
/// twice as much, no more than [`MOST_AT_ONCE`] counts as lost at once, and less than that in
/// between.
pub(super) fn lost(at_once: f64, here: f64, times: f64) -> f64 {
    let ramp = (times - 1.0).clamp(0.0, 1.0);
    further(at_once, here).max(ramp * further(at_once.min(MOST_AT_ONCE), here))
}

const MOST_AT_ONCE: f64 = 0.5;

pub(super) fn blend(hot: f64, cold: f64, misses: f64) -> f64 {
    hot + (cold - hot) * misses
}

#[cfg(test)]
mod tests {
    use super::{further, lost};

    #[test]
    fn what_is_lost_there_is_not_lost_again() {
        for there in [0.25, 0.5, 0.9375, 1.0] {
            assert_eq!(further(there, there), 0.0);
            assert_eq!(lost(there, there, 1.0), 0.0);
        }
        assert_eq!(further(0.25, 0.625), 0.5);
        assert_eq!(further(0.375, 0.125), 0.0);
        assert_eq!(further(0.25, 1.0), 1.0);
    }

    #[test]
    fn behind_twice_as_much_it_is_lost_whatever_is_lost_at_once() {
        for at_once in [0.25, 0.5, 0.9375, 1.0] {
            assert_eq!(lost(at_once, 1.0, 2.0), 1.0);
            assert_eq!(lost(at_once, 1.0, 9.0), 1.0);
        }
        assert_eq!(lost(1.0, 1.0, 1.5), 0.5);
        // Little is lost at once: as before.
        assert_eq!(lost(0.25, 0.625, 2.0), 0.5);
    }
}

//! How much of the data that a plan uses again is still in caches.

use super::checked_numbers::{misses, not_negative};
use super::locality::HostLocality;
use super::prices::priced;
use crate::samples::SHARED_FOOTPRINT;
use crate::stats::interpolate;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Cache misses on the CPU and on the device: the share of data that is no longer cached when it is
/// used again, over the bytes used in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheModel {
    /// Misses of the driver's thread that stages copies of pageable memory.
    #[serde(default, deserialize_with = "misses")]
    pub staging_misses: Option<Vec<(f64, f64)>>,
    /// Misses of one thread in the caches of its own core: how far times have moved from
    /// [`Warmth::Same`] to [`Warmth::Shared`].
    #[serde(default, deserialize_with = "misses")]
    pub own_misses: Option<Vec<(f64, f64)>>,
    /// Misses of all threads at once in the caches of their own cores, over the bytes that they use
    /// together: two threads of a core share its caches.
    #[serde(default, deserialize_with = "misses")]
    pub own_team_misses: Option<Vec<(f64, f64)>>,
    /// Extra time of one thread on data that all threads used before; `handed_to_team` is of all
    /// threads on data that one used before.
    pub handed_to_one: Option<Handed>,
    pub handed_to_team: Option<Handed>,
    /// Extra time of all threads, each on its share, on data of a kernel in which threads helped
    /// with each other's shares.
    pub handed_behind_helpers: Option<Handed>,
    /// Misses of the team of threads that runs CPU twins, in all caches.
    #[serde(default, deserialize_with = "misses")]
    pub twin_misses: Option<Vec<(f64, f64)>>,
    /// Misses for what D2H copies write, while H2D copies are under way.
    #[serde(default, deserialize_with = "misses")]
    pub written_misses: Option<Vec<(f64, f64)>>,
    /// Misses of kernels on the device, over bytes of device memory.
    #[serde(default, deserialize_with = "misses")]
    pub device_misses: Option<Vec<(f64, f64)>>,
    /// The footprint at which [`Warmth::Shared`] was measured.
    pub shared_bytes: Bytes,
}

/// Where a CPU finds data that it has used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warmth {
    /// In the caches, as far as it fits: nothing else was used in between.
    Same,
    /// In the cache that all cores share, but in no cache of a single core.
    Shared,
    /// In memory.
    Memory,
}

impl Warmth {
    pub(super) const fn place(self) -> &'static str {
        match self {
            Self::Same => "on the CPU",
            Self::Shared => "on the CPU with its data in the shared cache",
            Self::Memory => "on the CPU with its data in memory",
        }
    }
}

/// Extra time for each byte that is in the cache of another core, whose thread used it last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handed {
    #[serde(deserialize_with = "not_negative")]
    pub read_ns_per_byte: f64,
    #[serde(deserialize_with = "not_negative")]
    pub written_ns_per_byte: f64,
}

priced! {
    CacheModel {
        No: staging_misses, own_misses, own_team_misses, handed_to_one, handed_to_team,
            handed_behind_helpers, twin_misses, written_misses, device_misses;
    }
    besides shared_bytes
}

priced! {
    Handed { No: read_ns_per_byte, written_ns_per_byte; }
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
    /// Extra nanoseconds of reading and writing these numbers of bytes.
    fn nanos(&self, [reads, writes]: [Bytes; 2]) -> f64 {
        reads.as_f64() * self.read_ns_per_byte + writes.as_f64() * self.written_ns_per_byte
    }
}

impl CacheModel {
    /// Share of misses, 0 to 1, on going round `footprint`; `None` if it was not measured.
    pub fn staging(&self, footprint: Bytes) -> Option<f64> {
        misses_of(&self.staging_misses, footprint)
    }

    /// Share of misses in the caches of single cores: of one thread that uses `footprint` bytes in
    /// turn, or of all threads, each with its share; `None` if it was not measured.
    pub fn own(&self, footprint: Bytes, threads: u64) -> Option<f64> {
        if threads > 1 && self.own_team_misses.is_some() {
            return misses_of(&self.own_team_misses, footprint);
        }
        let each = Bytes::new(footprint.get() / threads);
        misses_of(&self.own_misses, each)
    }

    /// Extra nanoseconds of reading and writing what other threads used before; 0 where that was
    /// not measured.
    pub(super) fn handing_over(&self, around: &HostLocality, to_team: bool) -> f64 {
        let taken = if to_team { &self.handed_to_team } else { &self.handed_to_one };
        let parts = [(taken, around.handed), (&self.handed_behind_helpers, around.helped)];
        parts.map(|(costs, bytes)| costs.map_or(0.0, |costs| costs.nanos(bytes))).iter().sum()
    }
}

/// Share of misses, 0 to 1, when `footprint` bytes are used in turn; `None` if it was not measured.
pub(super) fn misses_of(knots: &Option<Vec<(f64, f64)>>, footprint: Bytes) -> Option<f64> {
    let share = |knots: &Vec<(f64, f64)>| interpolate(knots, footprint.as_f64()).clamp(0.0, 1.0);
    knots.as_ref().map(share)
}

/// The share of data, cached while the misses were `there`, that is lost once they are `here`.
/// A time measured at a footprint already includes the misses of that footprint.
pub(super) fn further(there: f64, here: f64) -> f64 {
    if there < 1.0 { ((here - there) / (1.0 - there)).max(0.0) } else { 0.0 }
}

/// Like [`further`], but for the private caches of cores. `times` is how much is used between two
/// uses of the data, over what is used at once.
///
/// A kernel may still find all of its data where small pieces that add up to as much would lose
/// most of it: on an H200's host, threads that used 24 MiB in small pieces found all or nothing
/// from one time to the next, while a twin with 24 MiB of its own found all. So no more than
/// [`MOST_AT_ONCE`] counts as lost within the kernel itself once twice as much is used in between,
/// and less before that.
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

//! How much of what is used again is still in caches, from times over growing footprints.

use super::estimator::{Estimator, pick, sized};
use super::staging::staged_around;
use crate::kernels::Kernel;
use crate::machine::Direction;
use crate::profile::{CacheModel, Handed};
use crate::samples::{
    DEVICE_FOOTPRINT, Handing, MEMORY_FOOTPRINT, MOST_OF_ONE_CORE, ONE_TEAM, ONE_THREAD, Quantity,
    SHARED_FOOTPRINT, Taker, WRITTEN_KEPT, WRITTEN_THROUGH,
};
use crate::stats::{isotonic, median};
use crate::units::Bytes;

pub(super) fn caches(estimator: &Estimator<'_>) -> CacheModel {
    let twins = pick!(Quantity::Twin { variant, elements, footprint }
        if variant.kernel == Kernel::Saxpy => (elements, footprint.get()));
    let around = pick!(Quantity::KernelAround { variant, elements, footprint }
        if variant.kernel == Kernel::Scale => (elements, footprint.get()));
    let own_misses = |what, (near, far): (Bytes, Bytes)| {
        let around = pick!(Quantity::Twin { variant, elements, footprint }
            if footprint <= far && (variant, elements) == what => (elements, footprint.get()));
        misses(estimator, (near, far), around)
    };
    let handed = |taker: Taker| {
        let elements = estimator.first(pick!(Quantity::Handed { taker: of, elements, .. }
            if of == taker => elements))?;
        let ns =
            |part| Some(estimator.estimate_of(&Quantity::Handed { taker, part, elements })?.ns);
        let own = ns(Handing::Nothing)?;
        let bytes = Bytes::of_f32(elements).as_f64();
        let per_byte = |part| Some((ns(part)? - own).max(0.0) / bytes);
        Some(Handed {
            read_ns_per_byte: per_byte(Handing::Read)?,
            written_ns_per_byte: per_byte(Handing::Written)?,
        })
    };
    CacheModel {
        handed_to_one: handed(Taker::One),
        handed_to_team: handed(Taker::Team),
        handed_behind_helpers: handed(Taker::TeamBehindHelpers),
        staging_misses: staging_misses(estimator),
        own_misses: own_misses(ONE_THREAD, (STAYS_PRIVATE, MOST_OF_ONE_CORE)),
        own_team_misses: own_misses(ONE_TEAM, (STAYS_WITH_TEAM, SHARED_FOOTPRINT)),
        twin_misses: misses(estimator, (SHARED_FOOTPRINT, MEMORY_FOOTPRINT), twins),
        written_misses: written_misses(estimator),
        device_misses: misses(estimator, (STAYS_ON_DEVICE, DEVICE_FOOTPRINT), around),
        shared_bytes: SHARED_FOOTPRINT,
    }
}

/// The share of what copies to the host write that goes on to memory, over the bytes they write. It
/// comes from how long copies to the device take meanwhile; `None` where these take no longer.
fn written_misses(estimator: &Estimator<'_>) -> Option<Vec<(f64, f64)>> {
    let shared = pick!(Quantity::Shared { direction: Direction::HostToDevice, bytes, footprint }
        => (bytes.get(), footprint.get()));
    let found = misses(estimator, (WRITTEN_KEPT, WRITTEN_THROUGH), shared);
    found.filter(|shares| shares.last().is_some_and(|&(_, all)| all == 1.0))
}

/// The share of misses over footprints, from copies of growing size that use the same memory each
/// time. The time per byte rises from that of the largest size that surely stays in the caches to
/// that of copies that never find anything there.
fn staging_misses(estimator: &Estimator<'_>) -> Option<Vec<(f64, f64)>> {
    let around = staged_around(estimator);
    let time_per_byte = |going_round: Option<Bytes>| {
        // These are plain points, not a curve: a time that is linear in the size is not linear per
        // byte.
        let (direction, complete) = (Direction::HostToDevice, true);
        let time = estimator.points(sized(|bytes| {
            let bytes = Bytes::new(bytes);
            let footprint = match going_round {
                Some(around) if around > bytes && bytes >= STAYS => around,
                None if bytes >= STAYS => bytes,
                _ => Bytes::ZERO,
            };
            Quantity::Staged { direction, bytes, footprint, complete }
        }));
        time.map_or_else(Vec::new, |(points, _)| {
            points.iter().map(|&(bytes, ns)| (bytes, ns / bytes)).collect::<Vec<_>>()
        })
    };
    let same = time_per_byte(None);
    let rates: Vec<f64> = time_per_byte(Some(around)).iter().map(|knot| knot.1).collect();
    let &(_, hot) = same.first().filter(|&&(bytes, _)| bytes == STAYS.as_f64())?;
    let cold = median(&rates)?;
    // At the footprint that was chosen so that nothing stays, all accesses miss.
    let all = (around.as_f64(), f64::INFINITY);
    let less = same.into_iter().filter(|knot| knot.0 < all.0);
    Some(shares(less.chain([all]).collect(), (hot, cold)))
}

/// The share of misses over footprints, from the size that was measured with the most footprints.
/// At the smallest footprint, which must be no larger than `near`, nothing misses; at the largest,
/// which must be no smaller than `far`, everything does.
fn misses(
    estimator: &Estimator<'_>,
    (near, far): (Bytes, Bytes),
    key: impl Fn(&Quantity) -> Option<(u64, u64)>,
) -> Option<Vec<(f64, f64)>> {
    let all = estimator.kinds(&key);
    let footprints_of = |size| all.iter().filter(|pair| pair.0 == size).count();
    let size = all.iter().map(|pair| pair.0).max_by_key(|&size| footprints_of(size))?;
    let time = |footprint: u64| {
        estimator.across_visits(|quantity| key(quantity) == Some((size, footprint)))
    };
    let points: Vec<(f64, f64)> = (all.iter())
        .filter(|pair| pair.0 == size)
        .filter_map(|&(_, footprint)| Some((footprint as f64, time(footprint)?)))
        .collect();
    let [(least, hot), _, .., (most, cold)] = points[..] else { return None };
    if least > near.as_f64() || most < far.as_f64() {
        return None;
    }
    Some(shares(points, (hot, cold)))
}

/// Shares of misses over footprints, from times: `hot` is the time without misses, `cold` the time
/// with nothing else. A larger footprint never means fewer misses, so dips, and peaks before them,
/// are noise and are averaged out.
fn shares(times: Vec<(f64, f64)>, (hot, cold): (f64, f64)) -> Vec<(f64, f64)> {
    let share = |ns: f64| ((ns - hot) / (cold - hot).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let (footprints, shares): (Vec<f64>, Vec<f64>) =
        times.into_iter().map(|(footprint, ns)| (footprint, share(ns))).unzip();
    footprints.into_iter().zip(isotonic(&shares)).collect()
}

/// A footprint that the caches of any device keep.
const STAYS_ON_DEVICE: Bytes = Bytes::mib(8);

/// A footprint that stays within one core's private caches, if it has any.
const STAYS_PRIVATE: Bytes = Bytes::kib(256);

/// A footprint that stays within the private caches of a team's cores, if each has that much or the
/// team has several.
const STAYS_WITH_TEAM: Bytes = Bytes::mib(2);

/// Copies of this size find the data of the copy before in the caches, on any CPU with a cache
/// worth the name.
const STAYS: Bytes = Bytes::mib(32);

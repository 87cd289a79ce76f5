//! Models of staging, CPU twins, caches and memory management.

use super::lookup::Lookup;
use crate::kernels::{Kernel, Variant};
use crate::machine::Direction;
use crate::profile::{
    CacheModel, CallCosts, Curve, Handed, MemoryCosts, StagingModel, TwinModel, TwoWays, Warmth,
};
use crate::samples::{
    DEVICE_FOOTPRINT, Handing, MEMORY_FOOTPRINT, MOST_OF_ONE_CORE, MemoryWork, ONE_TEAM,
    ONE_THREAD, Quantity, SHARED_FOOTPRINT, Taker, WRITTEN_KEPT, WRITTEN_THROUGH,
};
use crate::stats::{isotonic, median, theil_sen};
use crate::units::Bytes;

pub(super) fn caches(lookup: &Lookup<'_>) -> CacheModel {
    let twins = |quantity: &Quantity| match *quantity {
        Quantity::Twin { variant, elements, footprint } if variant.kernel == Kernel::Saxpy => {
            Some((elements, footprint.get()))
        }
        _ => None,
    };
    let around = |quantity: &Quantity| match *quantity {
        Quantity::KernelAround { variant, elements, footprint }
            if variant.kernel == Kernel::Scale =>
        {
            Some((elements, footprint.get()))
        }
        _ => None,
    };
    let own_misses = |what, (near, far): (Bytes, Bytes)| {
        misses(lookup, (near, far), |quantity| match *quantity {
            Quantity::Twin { variant, elements, footprint } if footprint <= far => {
                ((variant, elements) == what).then_some((elements, footprint.get()))
            }
            _ => None,
        })
    };
    let handed = |taker: Taker| {
        let elements = lookup.measurements().find_map(|m| match m.quantity {
            Quantity::Handed { taker: of, elements, .. } => (of == taker).then_some(elements),
            _ => None,
        })?;
        let ns = |part| Some(lookup.estimate_of(&Quantity::Handed { taker, part, elements })?.ns);
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
        staging_misses: staging_misses(lookup),
        own_misses: own_misses(ONE_THREAD, (STAYS_PRIVATE, MOST_OF_ONE_CORE)),
        own_team_misses: own_misses(ONE_TEAM, (STAYS_WITH_TEAM, SHARED_FOOTPRINT)),
        twin_misses: misses(lookup, (SHARED_FOOTPRINT, MEMORY_FOOTPRINT), twins),
        written_misses: written_misses(lookup),
        device_misses: misses(lookup, (STAYS_ON_DEVICE, DEVICE_FOOTPRINT), around),
        shared_bytes: SHARED_FOOTPRINT,
    }
}

/// The share of what copies to the host write that goes on to memory, over the bytes they write. It
/// comes from how long copies to the device take meanwhile; `None` where these take no longer.
fn written_misses(lookup: &Lookup<'_>) -> Option<Vec<(f64, f64)>> {
    let found = misses(lookup, (WRITTEN_KEPT, WRITTEN_THROUGH), |quantity| match *quantity {
        Quantity::Shared { direction: Direction::HostToDevice, bytes, footprint } => {
            Some((bytes.get(), footprint.get()))
        }
        _ => None,
    });
    found.filter(|shares| shares.last().is_some_and(|&(_, all)| all == 1.0))
}

/// The share of misses over footprints, from copies of growing size that use the same memory each
/// time. The time per byte rises from that of the largest size that surely stays in the caches to
/// that of copies that never find anything there.
fn staging_misses(lookup: &Lookup<'_>) -> Option<Vec<(f64, f64)>> {
    let around = staged_around(lookup);
    let time_per_byte = |going_round: Option<Bytes>| {
        // These are plain points, not a curve: a time that is linear in the size is not linear per
        // byte.
        let time = lookup.points(|quantity| match *quantity {
            Quantity::Staged {
                direction: Direction::HostToDevice,
                bytes,
                footprint,
                complete: true,
            } => {
                let fits = match going_round {
                    Some(around) => footprint == around && around > bytes,
                    None => footprint == bytes,
                };
                (bytes >= STAYS && fits).then_some(bytes.get())
            }
            _ => None,
        });
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
    lookup: &Lookup<'_>,
    (near, far): (Bytes, Bytes),
    key: impl Fn(&Quantity) -> Option<(u64, u64)>,
) -> Option<Vec<(f64, f64)>> {
    let mut all: Vec<(u64, u64)> = lookup.measurements().filter_map(|m| key(&m.quantity)).collect();
    all.sort_unstable();
    all.dedup();
    let footprints_of = |size| all.iter().filter(|pair| pair.0 == size).count();
    let size = all.iter().map(|pair| pair.0).max_by_key(|&size| footprints_of(size))?;
    let time =
        |footprint: u64| lookup.across_visits(|quantity| key(quantity) == Some((size, footprint)));
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

pub(super) fn staging(lookup: &Lookup<'_>, calls: &CallCosts) -> Vec<StagingModel> {
    let around = staged_around(lookup);
    let curve = |way: Direction, end: bool, found: Warmth| {
        lookup.curve(|quantity| match quantity {
            Quantity::Staged { direction, bytes, footprint, complete } => {
                let fits = match found {
                    Warmth::Same => footprint == bytes,
                    Warmth::Shared => *footprint == MOST_OF_ONE_CORE && footprint > bytes,
                    Warmth::Memory => *footprint == around && around > *bytes,
                };
                (fits && (*direction, *complete) == (way, end)).then_some(bytes.get())
            }
            _ => None,
        })
    };
    let mut models = Vec::new();
    for direction in Direction::BOTH {
        for found in [Warmth::Same, Warmth::Shared, Warmth::Memory] {
            let Some(mut until_complete) = curve(direction, true, found) else { continue };
            // "For transfers from device memory to pageable host memory, the
            // function will return only once the copy has completed" (CUDA Driver
            // API manual, "API synchronization behavior").
            let mut until_return = curve(direction, false, found)
                .or_else(|| (direction == Direction::DeviceToHost).then(|| until_complete.clone()));
            if found == Warmth::Memory {
                until_return.iter_mut().for_each(straighten);
                straighten(&mut until_complete);
            }
            // A synchronisation behind the copy saw its end, and has a cost of its own.
            for knot in &mut until_complete.knots {
                knot.1 = (knot.1 - calls.synchronize.map_or(0.0, |cost| cost.ns)).max(0.0);
            }
            models.push(StagingModel { direction, found, until_return, until_complete });
        }
    }
    models
}

/// From this size on, staging data out of memory runs at a constant rate.
const STEADY: f64 = 4.0 * 1024.0 * 1024.0;

/// Puts the large sizes on one robust line (Theil 1950, Sen 1968). Each of them takes too long to
/// be measured often, and memory is not equally busy all the time.
fn straighten(curve: &mut Curve) {
    let large: Vec<(f64, f64)> =
        curve.knots.iter().copied().filter(|knot| knot.0 >= STEADY).collect();
    let (Some(line), Some(&(first, _)), Some(&(last, _))) =
        (theil_sen(&large), large.first(), large.last())
    else {
        return;
    };
    curve.knots.retain(|knot| knot.0 < first);
    curve.knots.extend([(first, line.at(first).max(0.0)), (last, line.at(last).max(0.0))]);
}

/// The largest footprint of a kind of measurement that used other memory in between, if it is so
/// large that nothing stays in the caches; otherwise 0, which matches no measurement. `of` gives a
/// measurement's footprint and how much of it belongs to the operation itself.
fn most_around(lookup: &Lookup<'_>, of: impl Fn(&Quantity) -> Option<(Bytes, Bytes)>) -> Bytes {
    let all = lookup.measurements().filter_map(|m| of(&m.quantity));
    let with_others = all.filter(|(footprint, own)| footprint > own).map(|pair| pair.0);
    with_others.max().filter(|&most| most >= MEMORY_FOOTPRINT).unwrap_or(Bytes::ZERO)
}

fn staged_around(lookup: &Lookup<'_>) -> Bytes {
    most_around(lookup, |quantity| match quantity {
        Quantity::Staged { bytes, footprint, .. } => Some((*footprint, *bytes)),
        _ => None,
    })
}

pub(super) fn twins(lookup: &Lookup<'_>) -> Vec<TwinModel> {
    let variant_of = |quantity: &Quantity| match quantity {
        Quantity::Twin { variant, .. } => Some(*variant),
        _ => None,
    };
    let mut variants: Vec<Variant> =
        lookup.measurements().filter_map(|m| variant_of(&m.quantity)).collect();
    variants.sort_unstable();
    variants.dedup();
    let curve = |wanted: Variant, found: Warmth| {
        let around = most_around(lookup, |quantity| match quantity {
            Quantity::Twin { variant, elements, footprint } if *variant == wanted => {
                Some((*footprint, Bytes::new(variant.bytes(*elements))))
            }
            _ => None,
        });
        lookup.curve(|quantity| match quantity {
            Quantity::Twin { variant, elements, footprint } => {
                let own = Bytes::new(variant.bytes(*elements));
                let fits = match found {
                    Warmth::Same => *footprint == own,
                    Warmth::Shared => *footprint == SHARED_FOOTPRINT,
                    Warmth::Memory => *footprint == around && around > own,
                };
                (fits && *variant == wanted).then_some(*elements)
            }
            _ => None,
        })
    };
    let mut models = Vec::new();
    for variant in variants {
        for found in [Warmth::Same, Warmth::Shared, Warmth::Memory] {
            models.extend(curve(variant, found).map(|time| TwinModel { variant, found, time }));
        }
    }
    models
}

pub(super) fn memory(lookup: &Lookup<'_>) -> MemoryCosts {
    let curve = |wanted: MemoryWork| {
        lookup.curve(|quantity| match quantity {
            Quantity::Memory { work, bytes } if *work == wanted => Some(bytes.get()),
            _ => None,
        })
    };
    let above = |first: MemoryWork, second: MemoryWork| Some(curve(first)?.above(&curve(second)?));
    MemoryCosts {
        device_allocate: curve(MemoryWork::DeviceAllocate),
        pinned_allocate: curve(MemoryWork::PinnedAllocate),
        register: curve(MemoryWork::Register),
        first_touch: above(MemoryWork::FirstTouch, MemoryWork::SecondTouch),
        first_touch_team: above(MemoryWork::FirstTouchTeam, MemoryWork::SecondTouchTeam),
        renew: curve(MemoryWork::Renew),
        device_free: curve(MemoryWork::DeviceFree),
        pinned_free: curve(MemoryWork::PinnedFree),
        unregister: curve(MemoryWork::Unregister),
        combined_read: curve(MemoryWork::CombinedRead),
        combined_write: curve(MemoryWork::CombinedWrite),
        combined_read_team: curve(MemoryWork::CombinedReadTeam),
        combined_write_team: curve(MemoryWork::CombinedWriteTeam),
        two_ways: two_ways(lookup),
    }
}

/// The sizes at which memory management takes one of two times. A curve can hold only one of them.
fn two_ways(lookup: &Lookup<'_>) -> Vec<TwoWays> {
    let mut sizes: Vec<(MemoryWork, Bytes)> = lookup
        .measurements()
        .filter_map(|measurement| match measurement.quantity {
            Quantity::Memory { work, bytes } => Some((work, bytes)),
            _ => None,
        })
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let two = |(work, bytes)| {
        let time = lookup.estimate_of(&Quantity::Memory { work, bytes })?;
        time.other.is_some().then_some(TwoWays { work, bytes, time })
    };
    sizes.into_iter().filter_map(two).collect()
}

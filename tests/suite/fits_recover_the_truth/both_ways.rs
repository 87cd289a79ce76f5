//! How much longer copies take when both directions are busy.

use super::*;
use hallway::samples::{WRITTEN_KEPT, WRITTEN_THROUGH};

fn shared(direction: Direction, bytes: Bytes) -> Quantity {
    Quantity::Shared { direction, bytes, footprint: WRITTEN_THROUGH }
}

/// The slowdown lies on a line from 1 MiB on, and on no line below that. At some sizes, the engines
/// fell into step in one of the two visits.
#[test]
fn small_copies_both_ways_are_known_size_by_size() {
    let alone = |bytes: f64| 1_000.0 + bytes / 50.0;
    let large = |bytes: f64| 2_000.0 + 0.004 * bytes;
    let truth =
        |bytes: f64| if bytes < 1_048_576.0 { 500.0 + 2.2 * bytes.sqrt() } else { large(bytes) };
    let sizes = [4_u64 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20];
    let mut all = Vec::new();
    for bytes in sizes {
        for direction in Direction::BOTH {
            let (size, bytes) = (bytes as f64, Bytes::new(bytes));
            let one = |quantity, ns| measured(quantity, 1, vec![Span::from_nanos_f64(ns); 9]);
            all.push(one(Quantity::Copy { direction, bytes }, alone(size)));
            let mut visit = |longer| {
                all.push(one(shared(direction, bytes), alone(size) + longer));
            };
            visit(truth(size));
            if [Bytes::kib(64), Bytes::kib(256)].contains(&bytes) {
                visit(50.0);
            }
        }
    }
    let link = fitted(all).link;
    for shared in [link.down_shared, link.up_shared] {
        let shared = shared.expect("known");
        for bytes in sizes {
            let size = bytes as f64;
            let bytes = Bytes::new(bytes);
            let found = shared.of_copy(bytes) + shared.of_bytes(bytes);
            assert_within(found, truth(size), 0.01, bytes);
        }
    }
}

/// Longer copies meet more traffic of others on the link.
#[test]
fn each_byte_of_copies_both_ways_is_known_size_by_size() {
    let alone = |bytes: f64| 1_000.0 + bytes / 50.0;
    let rates = [(1_u64 << 20, 0.002), (2 << 20, 0.002), (4 << 20, 0.002), (16 << 20, 0.003)];
    let mut all = Vec::new();
    for (bytes, rate) in rates.into_iter().chain([(64 << 20, 0.004)]) {
        for direction in Direction::BOTH {
            let (size, bytes) = (bytes as f64, Bytes::new(bytes));
            let one = |quantity, ns| measured(quantity, 1, vec![Span::from_nanos_f64(ns); 9]);
            all.push(one(Quantity::Copy { direction, bytes }, alone(size)));
            let longer = 1_300.0 + rate * size;
            all.push(one(shared(direction, bytes), alone(size) + longer));
        }
    }
    let link = fitted(all).link;
    for shared in [link.down_shared, link.up_shared] {
        let shared = shared.expect("known");
        assert_within(shared.per_copy_ns, 1_300.0, 0.02, "per copy");
        for (bytes, rate) in rates {
            let found = shared.of_bytes(Bytes::new(bytes));
            assert_within(found, rate * bytes as f64, 0.02, bytes);
        }
        assert_within(shared.per_byte_ns, 0.004, 0.01, "the largest");
        for bytes in [64 << 20, 1 << 30] {
            assert_within(shared.of_bytes(Bytes::new(bytes)), 0.004 * bytes as f64, 0.01, bytes);
        }
    }
}

/// Copies both ways are compared with those of the other direction in the same visit.
#[test]
fn visits_of_copies_both_ways_are_kept_apart() {
    let alone = |bytes: u64| 1_000.0 + bytes as f64 / 50.0;
    let visit = |slowdown: f64| {
        let mut all = Vec::new();
        for bytes in [1_u64 << 16, 1 << 20, 1 << 24, 1 << 26] {
            for direction in Direction::BOTH {
                let bytes = Bytes::new(bytes);
                let one = |quantity, ns| measured(quantity, 1, vec![Span::from_nanos_f64(ns); 9]);
                let ns = alone(bytes.get());
                all.push(one(Quantity::Copy { direction, bytes }, ns));
                all.push(one(shared(direction, bytes), slowdown * ns));
            }
        }
        all
    };
    let rate = |visits: Vec<Vec<Measurement>>| {
        fitted(visits.concat()).link.down_shared.expect("known").per_byte_ns
    };
    let [first, second] = [1.2, 2.6].map(|slowdown| rate(vec![visit(slowdown)]));
    let both = rate(vec![visit(1.2), visit(2.6)]);
    assert_within(both, (first + second) / 2.0, 0.01, "the rate of both visits");
}

/// Copies both ways have neighbours that are quiet now and then. The fit finds the usual slowdown,
/// its scatter, and the slowdown at the best moments.
#[test]
fn copies_both_ways_have_a_best_beside_the_usual() {
    let alone = |bytes: u64| 1_000.0 + bytes as f64 / 50.0;
    let mut all = Vec::new();
    for bytes in [1_u64 << 20, 4 << 20, 16 << 20, 64 << 20] {
        for direction in Direction::BOTH {
            let bytes = Bytes::new(bytes);
            let ns = alone(bytes.get());
            let copy = Quantity::Copy { direction, bytes };
            all.push(measured(copy, 1, vec![Span::from_nanos_f64(ns); 9]));
            // Each byte takes 0.002 to 0.006 ns longer, with one sample in each visit.
            for visit in 0..21 {
                let longer = (0.002 + 0.0002 * f64::from(visit)) * bytes.as_f64();
                let times = vec![Span::from_nanos_f64(ns + longer)];
                all.push(measured(shared(direction, bytes), 1, times));
            }
        }
    }
    let link = fitted(all).link;
    for shared in [link.down_shared, link.up_shared] {
        let shared = shared.expect("known");
        assert_within(shared.per_byte_ns, 0.004, 0.01, "usual");
        assert_within(shared.at_best_per_byte_ns.expect("known"), 0.0024, 0.01, "at best");
    }
    // The median deviation is a quarter of the usual slowdown.
    assert_within(link.scatter, 1.4826 * 0.25, 0.05, "scatter");
}

/// How much longer copies both ways take whose working set is larger than what a host's caches
/// keep.
fn through(bytes: Bytes) -> f64 {
    1_000.0 + 0.004 * bytes.as_f64()
}

/// A machine on which large copies take `kept` times that slowdown, by direction, where the caches
/// keep what copies to the host write. Of a working set of 16 MiB, a quarter goes on to memory.
fn machine_that_keeps(kept: [f64; 2]) -> Profile {
    let alone = |bytes: Bytes| 1_000.0 + bytes.as_f64() / 50.0;
    let mut all = Vec::new();
    for (direction, kept) in Direction::BOTH.into_iter().zip(kept) {
        for bytes in SIZES {
            let mut measure = |quantity, ns| {
                all.push(measured(quantity, 1, vec![Span::from_nanos_f64(ns); 9]));
            };
            measure(Quantity::Copy { direction, bytes }, alone(bytes));
            let mut beside = |footprint, share| {
                let quantity = Quantity::Shared { direction, bytes, footprint };
                measure(quantity, alone(bytes) + share * through(bytes));
            };
            beside(WRITTEN_THROUGH, 1.0);
            if bytes >= Bytes::mib(1) {
                beside(WRITTEN_KEPT, kept);
            }
            if bytes == Bytes::mib(4) {
                beside(Bytes::mib(16), 0.75 * kept + 0.25);
            }
        }
    }
    fitted(all)
}

const SIZES: [Bytes; 5] =
    [Bytes::kib(64), Bytes::kib(256), Bytes::mib(1), Bytes::mib(2), Bytes::mib(4)];

#[test]
fn what_is_written_to_the_host_may_stay_in_its_caches() {
    // If copies to the device are no slower without the caches, nothing tells how much these keep.
    for (kept, is_told) in [([0.7, 0.75], true), ([1.05, 0.75], false)] {
        let profile = machine_that_keeps(kept);
        let cases = [(1, 0.0), (8, 0.0), (16, 0.25), (256, 1.0), (4_096, 1.0)];
        for (written, misses) in cases.map(|(mib, misses)| (Bytes::mib(mib), misses)) {
            for (direction, kept) in Direction::BOTH.into_iter().zip(kept) {
                for bytes in SIZES {
                    let found = profile.beside_the_other((direction, bytes), written);
                    let found: f64 = found.expect("known").into_iter().sum();
                    let is_kept = is_told && bytes >= Bytes::mib(1);
                    let share = if is_kept { kept + (1.0 - kept) * misses } else { 1.0 };
                    assert_within(found, share * through(bytes), 0.02, bytes);
                }
            }
        }
    }
}

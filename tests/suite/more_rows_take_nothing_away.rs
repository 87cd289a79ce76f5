//! A table with more rows knows no less.

use super::predicted::reread;
use super::samples_from_elsewhere::{example, fitted, ranked, read};
use hallway::fit::fit;
use hallway::machine::Direction;
use hallway::profile::Profile;
use hallway::units::Bytes;

/// Rows for copies with a large footprint say how the caches miss. A copy that itself
/// uses as much at once says nothing about that, however large it is.
#[test]
fn of_larger_copies_of_pageable_memory() {
    let mib = 1 << 20;
    let profile = |rows: &[(u64, u64, &str)]| {
        let row = |&(bytes, footprint, seconds): &(u64, u64, &str)| {
            let ends = [("H2D", "complete"), ("H2D", "return"), ("D2H", "complete")];
            ends.map(|(path, end)| format!("{path},pageable,{end},{bytes},{footprint},{seconds}\n"))
        };
        let rows: String = rows.iter().flat_map(row).collect();
        fitted(&format!("path,memory,until,bytes,footprint,seconds\n{rows}"))
    };
    let few = [(32 * mib, 32 * mib, "1e-3"), (32 * mib, 2048 * mib, "2e-3")];
    let without = profile(&few);
    let past_caches = |profile: &Profile| {
        let found = profile.staging(Direction::HostToDevice, Bytes::mib(32), None);
        found.expect("it was measured").1
    };
    assert_eq!(past_caches(&without), 2e6);
    for own in [2048 * mib, 4096 * mib] {
        let with = profile(&[&few[..], &[(own, own, "64e-3")]].concat());
        assert_eq!(with.staging.len(), without.staging.len());
        assert_eq!(past_caches(&with), 2e6);
        let misses = with.caches.staging(Bytes::mib(2048)).expect("it was measured");
        assert!(misses > 0.99, "{misses}");
        reread(&with, |text| text).expect("one that can be read");
    }
}

#[test]
fn of_a_kernel_with_more_data() {
    let row = |elements: u64, footprint: &str| format!("scale,cpu,{elements},{footprint},1e-3\n");
    let head = "# cpu_threads = 4\nkernel,processor,elements,footprint,seconds\n";
    let rows = row(1 << 20, "") + &row(1 << 20, "1 GiB");
    let models = |rows: &str| fitted(&format!("{head}{rows}")).twins.len();
    assert_eq!(models(&rows), 2);
    assert_eq!(models(&(rows + &row(1 << 28, ""))), 2);
}

/// The slowdown of copies beside each other is relative to the time of the smallest copy.
/// Plans whose copies never run at once do not need that time.
#[test]
fn of_small_copies_if_there_are_large_ones() {
    let table = example();
    let rows = table.lines().filter(|line| !line.starts_with("H2D,pinned,4096,"));
    let rows: String = rows.map(|line| format!("{line}\n")).collect();
    assert_ne!(rows.len(), table.len());
    // The smallest copy's part of a trip is given by another row.
    let profile = fit(&read(&(rows + ",,,,,,copy-in,copy-in,2.8e-6\n")).expect("right"));
    let profile = profile.expect("rows");
    assert!(profile.copy(Direction::HostToDevice, Bytes::new(1)).is_err());
    let ranking = ranked(1 << 24, &profile);
    let names: Vec<String> = ranking.plans.iter().map(|ranked| ranked.plan.name()).collect();
    assert!(names.contains(&"round-trip, pinned".to_owned()), "{names:?}");
}

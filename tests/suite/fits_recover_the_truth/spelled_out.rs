//! What only spelled-out programs need: rows, copies by the CPU, memory in a pass.

use super::*;
use hallway::samples::{FAR, MANY_ROWS, MemoryWork, RowPath, WaitPart};

#[test]
fn a_row_costs_what_more_rows_take_longer() {
    let mut clock = Clock::new(0.01, 0.0);
    let path = RowPath::PinnedIn;
    // 2000 for a copy, and for each row 40 and a nanosecond for eight bytes.
    let truth = |row: u64, rows: u64| 2_000.0 + rows as f64 * (40.0 + row as f64 / 8.0);
    let mut all = Vec::new();
    for row in [64, 1_024, 16_384] {
        for rows in MANY_ROWS {
            let times = clock.times(truth(row, rows), 20);
            all.push(measured(Quantity::Rows { path, row: Bytes::new(row), rows }, 1, times));
        }
    }
    let profile = fitted(all);
    for (row, rows) in [(64, 1_000), (512, 500), (16_384, 3_000), (65_536, 200)] {
        let found = profile.rows(path, Bytes::new(row), rows).expect("measured").nanos_f64();
        let error = found / truth(row, rows) - 1.0;
        assert!(error.abs() < 0.03, "{rows} rows of {row}: {error}");
    }
    profile.rows(RowPath::OnDevice, Bytes::new(64), 9).expect_err("not measured");
}

#[test]
fn copies_by_the_cpu_take_longer_from_memory() {
    let mut clock = Clock::new(0.01, 0.0);
    let mut all = Vec::new();
    for bytes in [4 << 10, 1 << 20, 32 << 20].map(Bytes::new) {
        for (footprint, into_cache, per_byte) in
            [(bytes + bytes, false, 0.1), (FAR, false, 0.2), (FAR, true, 0.13)]
        {
            let times = clock.times(50.0 + bytes.as_f64() * per_byte, 20);
            let what = Quantity::HostCopy { by_all: false, bytes, footprint, into_cache };
            all.push(measured(what, 1, times));
        }
    }
    let profile = fitted(all);
    let bytes = Bytes::mib(1);
    let near = profile.host_copy(false, bytes, [bytes + bytes; 2]).expect("measured");
    assert!((near / (50.0 + 0.1 * bytes.as_f64()) - 1.0).abs() < 0.02, "{near}");
    // How much of what lies between is still in the caches was not measured here.
    profile.host_copy(false, bytes, [Bytes::mib(999); 2]).expect_err("no caches");
    let unknown = profile.host_copy(true, bytes, [bytes; 2]).expect_err("one thread was measured");
    assert!(unknown.what().contains("copies by all threads"), "{}", unknown.what());
    let mut machine = machine();
    machine.host_copies = profile.host_copies;
    machine.caches.staging_misses = Some(vec![(1e7, 0.0), (1e9, 1.0)]);
    let far = machine.host_copy(false, bytes, [Bytes::mib(999); 2]).expect("measured");
    assert!((far / (50.0 + 0.2 * bytes.as_f64()) - 1.0).abs() < 0.02, "{far}");
    let since = [Bytes::mib(999), bytes + bytes];
    let into_cache = machine.host_copy(false, bytes, since).expect("measured");
    assert!((into_cache / (50.0 + 0.13 * bytes.as_f64()) - 1.0).abs() < 0.02, "{into_cache}");
}

#[test]
fn what_takes_longer_by_the_load_waits_for_it() {
    let mut clock = Clock::new(0.05, 0.0);
    let mut all = Vec::new();
    for (work, waits) in [(MemoryWork::DeviceFree, 1.0), (MemoryWork::PinnedAllocate, 0.1)] {
        for (part, ns) in
            WaitPart::ALL.into_iter().zip([90_000.0, 90_000.0 + waits * 1e6, 1_000_000.0])
        {
            all.push(measured(Quantity::MemoryBeside { work, part }, 1, clock.times(ns, 5)));
        }
    }
    let profile = fitted(all);
    assert_eq!(profile.memory.waits_for_device, Some(vec![MemoryWork::DeviceFree]));
    assert!(profile.waits_for_device(MemoryWork::DeviceFree));
    assert!(!profile.waits_for_device(MemoryWork::PinnedAllocate));
    // Where nothing was measured, it is as documented.
    assert!(machine().waits_for_device(MemoryWork::PinnedAllocate));
    assert!(!machine().waits_for_device(MemoryWork::DeviceAllocate));
}

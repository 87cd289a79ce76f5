//! A table of somebody else's measurements makes a profile that answers for what
//! is in the table and for nothing else.

use crate::workloads::simple;
use hallway::fit::fit;
use hallway::kernels::{Kernel, Variant};
use hallway::machine::Direction;
use hallway::profile::{DeviceLocality, OperationKind, Profile, TimedCall};
use hallway::samples::{CalibrationExtent, Quantity, Samples, TransferPath};
use hallway::search::{Plan, Ranking, candidates, rank};
use hallway::units::{Bytes, Span};
use std::path::Path;

const MACHINE: &str = "# gpu = Test\n# multiprocessors = 10\n# device_memory = 1 GiB\n";

/// What `hallway fit` reads from a file with this in it.
pub(super) fn read(text: &str) -> Result<Samples, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.CSV");
    std::fs::write(&path, text).expect("written");
    Samples::load(&path).map_err(|error| error.to_string())
}

pub(super) fn fitted(table: &str) -> Profile {
    fit(&read(&format!("{MACHINE}{table}")).expect("right")).expect("there are rows")
}

/// The table that the guide shows.
pub(super) fn example() -> String {
    let guide = "docs/guides/describe-a-machine-by-a-table.md";
    let guide = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(guide));
    let guide = guide.expect("there");
    let (_, rest) = guide.split_once("```csv write=lab.csv\n").expect("an example");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// The plans that scale so many elements.
pub(super) fn ranked(elements: u64, profile: &Profile) -> Ranking {
    rank(candidates(&simple(Kernel::Scale, elements, "")), profile, 3, 1)
}

/// Both ways at once, whatever clock whoever measured it had: what two GPUs carry together is no
/// less than what each way carried, and no more than both.
#[test]
fn both_ways_at_once_are_at_most_the_sum_of_both() {
    for (down, up) in [(45.0, 45.0), (45.0, 30.0), (45.0, 20.0), (45.0, 15.0)] {
        let mut table = "path,memory,bytes,gpus,concurrent,seconds\n".to_owned();
        for bytes in [1 << 20, 64 << 20] {
            let alone = ["H2D,pinned,B,2,,50", "D2H,pinned,B,2,,50"].map(str::to_owned);
            let both = [format!("H2D,pinned,B,2,D2H,{down}"), format!("D2H,pinned,B,2,H2D,{up}")];
            for line in alone.into_iter().chain(both) {
                let (head, rate) = line.rsplit_once(',').expect("a rate");
                let seconds = f64::from(bytes) / (rate.parse::<f64>().expect("one") * 1e9) + 5e-6;
                table += &format!("{},{seconds:e}\n", head.replace('B', &bytes.to_string()));
            }
        }
        let root = &fitted(&table).multi_gpu.roots[0];
        let both = root.both_bytes_per_second.expect("measured").bytes_per_second() / 1e9;
        assert!(
            (2.0 * down - 0.1..=2.0 * (down + up) + 0.1).contains(&both),
            "{down} {up}: {both}"
        );
    }
}

#[test]
fn a_footprint_holds_what_is_used_at_once() {
    for (table, own) in [
        ("kernel,elements,processor,footprint,seconds\nscale,1024,cpu,4096,1e-6\n", "8 KiB"),
        ("path,memory,bytes,footprint,seconds\nH2D,pageable,1 MiB,4 KiB,1e-6\n", "1 MiB"),
    ] {
        let table = format!("{MACHINE}# cpu_threads = 4\n{table}");
        let error = read(&table).expect_err("less than its own");
        assert!(
            error.contains(&format!("4 KiB is less than the {own} that one repetition uses")),
            "{error}"
        );
    }
}

#[test]
fn rows_of_one_quantity_are_repetitions() {
    let samples = read(&format!(
        "{MACHINE}seconds,bytes,memory,path\n3e-6,4 KiB,pinned,H2D\n1e-6,4096,pinned,H2D\n\
         # a comment\n\n2e-6,4096,pinned,H2D\n"
    ));
    let samples = samples.expect("right");
    assert_eq!(samples.machine.gpu, "Test");
    assert_eq!(samples.machine.extent, CalibrationExtent::Elsewhere);
    let [one] = &samples.measurements[..] else { panic!("{samples:?}") };
    let (direction, bytes) = (Direction::HostToDevice, Bytes::kib(4));
    assert_eq!(one.quantity, Quantity::Copy { direction, bytes });
    assert_eq!(one.times, [3, 1, 2].map(Span::from_micros));
    let time = fit(&samples).expect("one row is enough").copy(direction, bytes);
    assert_eq!(time, Ok(Span::from_micros(2)));
}

#[test]
fn every_kind_of_row_becomes_a_model() {
    let profile = fitted(
        "path,memory,bytes,concurrent,kernel,degree,elements,processor,call,operation,after,\
         streams,until,seconds\n\
         H2D,pinned,4096,,,,,,,,,,,2e-6\n\
         H2D,pinned,40960,,,,,,,,,,,4e-6\n\
         H2D,pinned,4096,D2H,,,,,,,,,,3e-6\n\
         H2D,pinned,40960,D2H,,,,,,,,,,6e-6\n\
         H2D,pageable,4096,,,,,,,,,,,10e-6\n\
         H2D,pageable,4096,,,,,,,,,,return,8e-6\n\
         D2H,pageable,4096,,,,,,,,,,,12e-6\n\
         ,,,,polynomial,16,4096,,,,,,,20e-6\n\
         ,,,,scale,,4096,gpu,,,,,,30e-6\n\
         ,,,,,,,,copy-in,,,,,1e-6\n\
         ,,,,,,,,record,,,,,5e-7\n\
         ,,,,,,,,synchronize,,,,,15e-7\n\
         ,,,,,,,,,copy-in,,,,7e-6\n\
         ,,,,,,,,,kernel,kernel,,,25e-7\n\
         ,,,,,,,,,kernel,copy-in,,,4e-6\n\
         ,,,,,,,,,kernel,kernel,two,,5e-6\n",
    );
    let (down, up) = (Direction::HostToDevice, Direction::DeviceToHost);
    let bytes = Bytes::kib(4);
    let alone = profile.copy(down, bytes).expect("known");
    assert_eq!(alone, Span::from_micros(2));
    let shared = profile.shared(down).expect("known");
    let longer = shared.per_copy_ns + shared.of_bytes(bytes);
    assert!((longer - 1_000.0).abs() < 1e-6, "{shared:?}");
    assert!(profile.shared(up).is_err());
    // The synchronisation behind the copy is no part of it.
    assert_eq!(profile.staging(down, bytes, Some(bytes)), Ok((8_000.0, 8_500.0)));
    // A copy to pageable memory is complete when it returns.
    assert_eq!(profile.staging(up, bytes, Some(bytes)), Ok((12_000.0, 10_500.0)));
    assert_eq!(profile.call(TimedCall::CopyIn), Ok(Span::from_micros(1)));
    assert_eq!(profile.call(TimedCall::Record), Ok(Span::from_nanos(500)));
    // A round trip without the call, the copy and the synchronisation.
    assert_eq!(profile.start(OperationKind::CopyIn), Ok(Span::from_nanos(2_500)));
    assert_eq!(profile.kernel_gap(), Ok(2_500.0));
    let (kernel, copy) = (OperationKind::Kernel, OperationKind::CopyIn);
    let first = |from, across| {
        profile.hand_over(from, kernel, across).map(|found| found.map(|h| h.first.ns))
    };
    assert_eq!(first(copy, false), Ok(Some(4_000.0)));
    assert_eq!(first(kernel, true), Ok(Some(5_000.0)));
    assert_eq!(first(kernel, false), Ok(None));
    assert!(first(copy, true).unwrap_err().to_string().contains("hand-over"));
}

#[test]
fn other_paths_than_plain_copies_have_rows_too() {
    let profile = fitted(
        "path,memory,bytes,concurrent,call,seconds\n\
         H2D,write-combined,4096,,,3e-6\n\
         D2D,,4096,,,4e-6\n\
         H2D,mapped,4096,,,5e-6\n\
         D2H,mapped,4096,,,6e-6\n\
         D2H,mapped,4096,H2D,,7e-6\n\
         ,,,,launch,9e-6\n",
    );
    let paths: Vec<_> = profile.transfers.iter().map(|m| (m.path, m.time.knots[0].1)).collect();
    use TransferPath::{MappedBoth, MappedRead, MappedWrite, OnDevice, WriteCombined};
    let expected = [WriteCombined, OnDevice, MappedRead, MappedWrite, MappedBoth];
    let times = [3_000.0, 4_000.0, 5_000.0, 6_000.0, 7_000.0];
    assert_eq!(paths, expected.into_iter().zip(times).collect::<Vec<_>>());
    assert!(profile.copies.is_empty());
    assert_eq!(profile.calls.launch.expect("known").ns, 9_000.0);
}

#[test]
fn a_plan_is_asked_for_what_it_may_come_to_and_for_no_more() {
    let table = example();
    let lines = table.lines().filter(|line| !line.ends_with("kernel,copy-in,6.5e-6"));
    assert_eq!(lines.clone().count() + 1, table.lines().count());
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let profile = fit(&read(&lines).expect("right")).expect("rows");
    let ranking = ranked(1 << 24, &profile);
    // It waits for its copies before it launches a kernel.
    let names: Vec<String> = ranking.plans.iter().map(|r| r.plan.name()).collect();
    assert_eq!(names, ["round-trip, pinned"]);
    let resident = |(plan, _): &&(hallway::search::Plan, _)| plan.name() == "resident, pinned";
    let (_, unknown) = ranking.unknown.iter().find(resident).expect("not predicted");
    assert!(unknown.what().contains("hand-over from an H2D copy to a kernel"), "{unknown}");
}

#[test]
fn what_goes_round_little_memory_says_nothing_of_much() {
    let row = |bytes, footprint| format!("D2H,pageable,{bytes},{footprint},1e-3\n");
    let head = "path,memory,bytes,footprint,seconds\n";
    let profile = |rows: &[(u64, u64)]| {
        let rows: String = rows.iter().map(|&(bytes, footprint)| row(bytes, footprint)).collect();
        fitted(&format!("{head}{rows}"))
    };
    let mib = 1 << 20;
    let little = profile(&[(32 * mib, 32 * mib), (32 * mib, 64 * mib)]);
    let bytes = Bytes::mib(32);
    assert!(little.staging(Direction::DeviceToHost, bytes, Some(bytes)).is_ok());
    assert!(little.staging(Direction::DeviceToHost, bytes, Some(Bytes::mib(64))).is_err());
    assert_eq!(little.staging.len(), 1);
    let much = profile(&[(32 * mib, 32 * mib), (32 * mib, 2048 * mib)]);
    assert_eq!(much.staging.len(), 2);
}

#[test]
fn a_size_says_nothing_of_sizes_that_behave_otherwise() {
    let copies = |sizes: &[(u64, f64)]| {
        let rows = sizes.iter().map(|(bytes, seconds)| format!("H2D,pinned,{bytes},{seconds}\n"));
        let rows: String = rows.collect();
        let profile = fitted(&format!("path,memory,bytes,seconds\n{rows}"));
        move |bytes| profile.copy(Direction::HostToDevice, Bytes::new(bytes))
    };
    let single = copies(&[(1 << 26, 1.2e-3)]);
    assert_eq!(single(1 << 26), Ok(Span::from_micros(1_200)));
    assert!(single(1 << 25).unwrap_err().what().contains("below 64 MiB"));
    assert!(single(1 << 27).unwrap_err().what().contains("above 64 MiB"));
    // In proportion to their size: twice as much takes twice as long, but nobody
    // knows where it ends below.
    let large = copies(&[(1 << 26, 1.2e-3), (1 << 27, 2.4e-3)]);
    assert_eq!(large(1 << 28), Ok(Span::from_micros(4_800)));
    assert!(large(1 << 20).is_err());
    // A cost that is fixed: half as much takes as long, but nobody knows the rate.
    let small = copies(&[(1 << 10, 20e-6), (1 << 12, 21e-6)]);
    assert_eq!(small(4), Ok(Span::from_micros(20)));
    assert!(small(1 << 20).is_err());
}

#[test]
fn the_table_in_the_readme_predicts_some_plans_and_says_what_others_lack() {
    let profile = fit(&read(&example()).expect("right")).expect("rows");
    let ranking = ranked(1 << 24, &profile);
    let names: Vec<String> = ranking.plans.iter().map(|r| r.plan.name()).collect();
    for name in ["round-trip, pinned", "resident, pinned"] {
        assert!(names.iter().any(|found| found == name), "no {name}: {:?}", ranking.unknown);
    }
    // No memory management is in it, so that set-up is left open.
    assert!(ranking.plans.iter().all(|ranked| ranked.setup.is_err()));
    let why = |family: &str| {
        let is_meant =
            |plan: &Plan| plan.strategy.is_some_and(|one| one.family.name().to_string() == family);
        let found = ranking.unknown.iter().find(|(plan, _)| is_meant(plan));
        found.unwrap_or_else(|| panic!("{family} was predicted")).1.to_string()
    };
    assert!(why("cpu").contains("on the CPU"), "{}", why("cpu"));
    assert!(why("by-chunk").contains("other direction"), "{}", why("by-chunk"));
}

/// Every kernel can be in a table, by the name that its argument has in scenarios.
#[test]
fn kernels_have_a_column_for_their_argument() {
    for kernel in Kernel::ALL {
        let (name, default) = kernel.extent().map_or(("bytes", 0), |e| (e.name, e.default));
        let number = if default > 0 { default.to_string() } else { String::new() };
        let head = format!("kernel,{name},elements,processor,seconds\n");
        let row = |elements, number: &str, processor| {
            format!("{kernel},{number},{elements},{processor},1e-4\n")
        };
        let variant = Variant { kernel, extent: default };
        let machine = format!("{MACHINE}# cpu_threads = 2\n");
        for processor in ["gpu", "cpu"] {
            let samples = read(&format!("{machine}{head}{}", row(65_536, &number, processor)));
            let quantity = samples.expect("right").measurements.remove(0).quantity;
            let footprint = Bytes::new(variant.bytes(65_536));
            let expected = match processor {
                "gpu" => Quantity::Kernel { variant, elements: 65_536 },
                _ => Quantity::Twin { variant, elements: 65_536, footprint },
            };
            assert_eq!(quantity, expected);
        }
        if kernel.grain(&variant.arguments()) > 1 {
            let error = read(&format!("{machine}{head}{}", row(65_537, &number, "gpu")));
            assert!(error.unwrap_err().contains("`elements`"), "{kernel}");
        }
        if default > 0 {
            let error = read(&format!("{machine}{head}{}", row(65_536, "0", "gpu")));
            assert!(error.unwrap_err().contains(&format!("`{name}`")), "{kernel}");
        }
    }
}

/// A variant of long rows begins at a large size: that takes nothing from others.
#[test]
fn an_extent_is_asked_about_only_where_it_counts() {
    let profile = fitted(
        "kernel,taps,elements,seconds\nconvolution,3,1000,12e-6\nconvolution,3,100000,90e-6\n\
         convolution,5,1000,13e-6\nconvolution,5,100000,95e-6\nconvolution,99,100000,1e-3\n",
    );
    let time = |taps, n| {
        let arguments = Variant { kernel: Kernel::Convolution, extent: taps }.arguments();
        let found = DeviceLocality::default();
        profile.kernel(Kernel::Convolution, &arguments, n, &found).map(|time| time.ns)
    };
    assert_eq!(time(3, 1_000), Ok(12_000.0));
    assert_eq!(time(5, 1_000), Ok(13_000.0));
    // Fewer than the fewest take as long as those.
    assert_eq!(time(1, 1_000), Ok(12_000.0));
    assert!(time(7, 1_000).unwrap_err().what().contains("below 100000 elements"));
    assert!(time(7, 100_000).is_ok());
    let one = fitted("kernel,taps,elements,seconds\nconvolution,9,1000,12e-6\n");
    let arguments = Variant { kernel: Kernel::Convolution, extent: 11 }.arguments();
    let error =
        one.kernel(Kernel::Convolution, &arguments, 1_000, &DeviceLocality::default()).unwrap_err();
    assert!(error.what().contains("with a `taps` other than 9"), "{error}");
}

#[test]
fn a_table_without_rows_is_no_profile() {
    assert!(fit(&read(&format!("{MACHINE}seconds\n")).expect("no rows yet")).is_err());
}

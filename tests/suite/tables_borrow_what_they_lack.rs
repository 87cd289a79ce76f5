//! A table of somebody else's measurements borrows what it lacks from another machine's profile.
//! The profile says what is borrowed, ranges are as wide as machines differ, and the verdict says
//! what hangs on it.

use super::kept::saved;
use super::predicted::{calibrated, case, case_path, milliseconds, plan_of};
use super::said;
use super::samples_from_elsewhere::{example, ranked, read};
use super::workloads::simple;
use hallway::findings::{Assessment, BorrowedCost};
use hallway::fit::Like;
use hallway::kernels::Kernel;
use hallway::profile::{BorrowedCosts, Profile};
use hallway::samples::{GraphCall, SetupStep, TABLE_TEMPLATE};
use hallway::search::{Ranked, Ranking, Wins, break_even, candidates_for, rank};
use hallway::study::fit_and_assess;
use std::sync::LazyLock;

/// Profiles of one GPU with cuBLAS, and of two without.
pub(super) static LIKES: LazyLock<[Like; 2]> = LazyLock::new(|| {
    let like =
        |folder: &str| Like { from: format!("calibration/{folder}"), profile: calibrated(folder) };
    ["h200", "others/two-h200"].map(like)
});

pub(super) fn fitted(table: &str, likes: &[Like]) -> Profile {
    fit_and_assess(&read(table).expect("right"), likes, &mut |_| {}).expect("rows")
}

/// What a case's machine is from what the case states alone.
pub(super) fn machine(table: &str) -> Profile {
    let text = std::fs::read_to_string(case_path(table)).expect("there");
    fitted(text.split("# Borrowed").next().expect("its beginning"), &*LIKES)
}

fn answered(scenario: &str, profile: &Profile) -> Ranking {
    let workload = case(scenario);
    rank(candidates_for(&workload, profile), profile, 100, 1)
}

/// Plans, and what was measured of each in milliseconds.
type Plans = &'static [(&'static str, f64)];

/// What was measured, by the table of the machine and the scenario.
const MEASURED: [(&str, &str, Plans); 7] = [
    (
        "01-overlap-four-streams/rtx3090.csv",
        "01-overlap-four-streams/streams.toml",
        &[
            ("resident, pinned", 1.52),
            ("by-chunk 4 x4 depth, pinned", 0.984),
            ("by-chunk 4 x4 breadth, pinned", 0.970),
        ],
    ),
    // 0.11 GB/s.
    (
        "05-copies-of-256-bytes/h20.csv",
        "05-copies-of-256-bytes/blocks.toml",
        &[("one by one", 9.53)],
    ),
    // 32 GB/s pinned.
    (
        "06-staging-needs-pinning/rtx5090.csv",
        "06-staging-needs-pinning/layer.toml",
        &[("resident, pinned", 10.6)],
    ),
    // 27 us for each of 384.
    (
        "06-staging-needs-pinning/rtx5090.csv",
        "06-staging-needs-pinning/matrix-by-matrix.toml",
        &[("by-engine 1, pinned", 10.4)],
    ),
    (
        "10-both-directions-unequal/a100.csv",
        "10-both-directions-unequal/copies.toml",
        &[("by-engine 64, pinned", 17.0)],
    ),
    (
        "12-mapped-or-copied/gtx1060.csv",
        "12-mapped-or-copied/fits.toml",
        &[
            ("resident, pinned", 421.0),
            ("zero-copy, pinned", 266.0),
            ("by-engine 64, pinned", 266.0),
        ],
    ),
    (
        "12-mapped-or-copied/gtx1060.csv",
        "12-mapped-or-copied/does-not-fit.toml",
        &[("zero-copy, pinned", 665.0), ("buffered 64 ring 2, pinned", 665.0)],
    ),
];

#[test]
fn what_people_measured_lies_in_ranges_from_what_they_state() {
    let mut widths = Vec::new();
    for (table, scenario, plans) in MEASURED {
        let ranking = answered(scenario, &machine(table));
        for &(plan, measured) in plans {
            let ranked = plan_of(&ranking, plan);
            let (low, high) = ranked.forecast.interval();
            let [low, middle, high] =
                [low, ranked.makespan(), high].map(|time| time.nanos_f64() * 1e-6);
            println!("{scenario}, {plan}: {low} to {high} ms, measured {measured} ms");
            assert!(low <= measured && measured <= high, "{plan}: {low} to {high}, {measured}");
            widths.push((high - low) / 2.0 / middle);
        }
    }
    widths.sort_by(f64::total_cmp);
    let median = widths[widths.len() / 2];
    assert!(median <= 0.3, "ranges are {median} wide: {widths:?}");
}

#[test]
fn answers_are_those_of_the_cases() {
    let streams = answered("01-overlap-four-streams/streams.toml", &machine(MEASURED[0].0));
    let [whole, depth, breadth] =
        ["resident, pinned", "by-chunk 4 x4 depth, pinned", "by-chunk 4 x4 breadth, pinned"]
            .map(|plan| milliseconds(&streams, plan));
    assert!((0.55..0.75).contains(&(depth / whole)), "a third is saved: {depth} of {whole} ms");
    assert!((depth / breadth - 1.0).abs() < 0.02, "{depth} and {breadth} ms");

    let blocks = answered("05-copies-of-256-bytes/blocks.toml", &machine(MEASURED[1].0));
    assert!(milliseconds(&blocks, "one by one") > 100.0 * milliseconds(&blocks, "as one"));

    let expert = machine(MEASURED[2].0);
    let layer = answered("06-staging-needs-pinning/layer.toml", &expert);
    let [pinned, pageable] =
        ["resident, pinned", "resident, pageable"].map(|plan| milliseconds(&layer, plan));
    assert!(pageable > 2.5 * pinned, "{pageable} ms, pinned {pinned} ms");
    // One transfer instead of one for each matrix gains nothing unless memory is pinned.
    let matrices = answered("06-staging-needs-pinning/matrix-by-matrix.toml", &expert);
    let [by_matrix, by_matrix_pageable] =
        ["resident, pinned", "resident, pageable"].map(|plan| milliseconds(&matrices, plan));
    assert!(by_matrix > 1.3 * pinned, "{by_matrix} ms, whole {pinned} ms");
    let gain = by_matrix_pageable / pageable;
    assert!((0.9..1.15).contains(&gain), "{by_matrix_pageable} ms, whole {pageable} ms");

    let both = answered("10-both-directions-unequal/copies.toml", &machine(MEASURED[4].0));
    let overlapped = milliseconds(&both, "by-engine 64, pinned");
    assert!((16.2..17.5).contains(&overlapped), "{overlapped} ms");
    let gain = overlapped / milliseconds(&both, "resident, pinned");
    assert!((0.7..0.85).contains(&gain), "{gain} of the time in turn");

    let slow = machine("18-batch-that-pays-for-its-weights/rtx3090-gen3-x8.csv");
    let scenario = case("18-batch-that-pays-for-its-weights/x8-rows-0034.toml");
    let sizes = break_even(&scenario, &slow).expect("both sides are known");
    let [Wins { from: Some(from), from_range: Some([Some(low), Some(high)]), until: None, .. }] =
        sizes.gpu_wins[..]
    else {
        panic!("{sizes:?}")
    };
    let [low, from, high] = [low, from, high].map(|elements| elements.0 / 4096.0);
    assert!((130.0..=160.0).contains(&from), "from {from} rows on");
    assert!(low <= 130.0 && 160.0 <= high && high <= 1.3 * from, "{low} to {high} rows");

    let both = ["multi-gpu 8 on 2 by-engine, pinned", "multi-gpu 8 on 2 by-engine peers, pinned"];
    let weights = |table: &str| answered("22-peers-slower-than-host/weights.toml", &machine(table));
    let times = |table: &str| {
        let ranking = weights(table);
        both.map(|plan| milliseconds(&ranking, plan))
    };
    let apart = weights("22-peers-slower-than-host/pcie-only.csv");
    let [host, peers] = both.map(|plan| milliseconds(&apart, plan));
    assert!((6.4..7.2).contains(&(peers - host)), "{host} and {peers} ms");
    let [host, peers] = both.map(|plan| {
        let (low, high) = plan_of(&apart, plan).forecast.interval();
        [low, high].map(|time| time.nanos_f64() * 1e-6)
    });
    let lost = peers[0] - host[1]..peers[1] - host[0];
    assert!(lost.contains(&6.8), "{lost:?} ms");
    let [host, peers] = times("22-peers-slower-than-host/nvlink.csv");
    assert!((peers / host - 1.0).abs() < 0.05, "{host} and {peers} ms");
    let [host, peers] = times("22-peers-slower-than-host/one-slot.csv");
    assert!(peers < 0.95 * host, "{host} and {peers} ms");
}

/// What is borrowed is marked, and its own times stay as they are.
#[test]
fn what_is_borrowed_is_marked_and_what_is_stated_stays() {
    let (own, like) = (fitted(&example(), &[]), fitted(&example(), &*LIKES));
    assert!(own.borrowed.is_empty());
    let lender = &like.borrowed[0];
    assert_eq!((lender.from.as_str(), lender.gpu.as_str()), ("calibration/h200", "NVIDIA H200"));
    let names: Vec<&String> =
        like.borrowed_costs().flat_map(|(_, group)| &group.parameters).collect();
    for name in ["calls.record", "graph.launch.per_node", "memory.pinned_allocate"] {
        assert!(names.iter().any(|found| *found == name), "no {name} in {names:?}");
    }
    // Every parameter is the table's own or borrowed, and the table's own are as they were.
    let before = own.parameters();
    for parameter in like.parameters() {
        let is_borrowed = names.contains(&&parameter.name);
        match before.iter().find(|one| one.name == parameter.name) {
            Some(same) => assert_eq!((same, is_borrowed), (&parameter, false)),
            None => assert!(is_borrowed, "{} is not marked", parameter.name),
        }
    }
    // It is as uncertain as machines differ.
    let record = like.calls.record.expect("borrowed");
    assert!(record.scatter >= BorrowedCosts::Calls.spread());
    assert!(like.calls.launch.expect("stated").scatter < 0.01);
    // It is written and read.
    assert_eq!(saved(&like), like);
}

fn assessed(elements: u64, profile: &Profile) -> Assessment {
    let workload = simple(Kernel::Scale, elements, "");
    Assessment::new(&workload, 1, &ranked(elements, profile), None)
}

#[test]
fn the_verdict_says_what_hangs_on_borrowed_costs() {
    let rates = example();
    let rates = rates.lines().filter(|line| !line.starts_with(",,,,,"));
    let rates: String = rates.map(|line| format!("{line}\n")).collect();
    let said = |elements| {
        let profile = fitted(&rates, &*LIKES);
        let assessment = assessed(elements, &profile);
        let text = said::text(&assessment, &profile);
        (assessment.verdict.borrowed, said::the(&text, "Borrowed").to_owned())
    };
    // In microseconds, calls and hand-overs are much; in milliseconds, next to nothing.
    let (borrowed, small) = said(1 << 12);
    assert!(small.starts_with("from calibration/h200"), "{small}");
    let widest = |one: &BorrowedCost| {
        let widths = one.ranges.iter().map(|range| {
            range.high_ns.saturating_sub(range.low_ns).nanos_f64() / range.time_ns.nanos_f64()
        });
        widths.fold(0.0, f64::max)
    };
    assert!(borrowed.iter().any(|one| widest(one) > 0.5), "{borrowed:?}");
    for one in &borrowed {
        // Two machines may lend costs of one name.
        let mut same = borrowed.iter().filter(|other| other.costs == one.costs);
        let is_said = same.any(|one| one.changes_fastest || widest(one) >= 0.02);
        assert_eq!(small.contains(one.costs.name()), is_said, "{one:?}: {small}");
    }
    let (borrowed, large) = said(1 << 26);
    assert!(large.starts_with("no time changes by 2% or more"), "{large}");
    assert!(borrowed.iter().all(|one| one.share < 0.02), "{borrowed:?}");
    let profile = fitted(&example(), &[]);
    let own = assessed(1 << 26, &profile);
    assert!(own.verdict.borrowed.is_empty());
    assert!(said::labelled(&said::text(&own, &profile), "Borrowed").is_empty());
}

/// Another machine's parameters lie within the range of those that are borrowed, nine times of ten.
#[test]
fn borrowed_costs_are_as_uncertain_as_machines_differ() {
    let folders = ["h200", "others/busy-h200", "others/one-h200", "others/programs-h200"];
    let profiles = folders.map(|folder| calibrated(folder).parameters());
    let borrowing = fitted(&example(), &*LIKES);
    for group in borrowing.borrowed.iter().flat_map(|one| &one.groups) {
        let (mut inside, mut all) = (0, 0);
        let pairs = profiles.iter().flat_map(|one| profiles.iter().map(move |other| (one, other)));
        for (one, other) in pairs.filter(|(one, other)| one != other) {
            for name in &group.parameters {
                let of = |all: &[hallway::profile::Parameter]| {
                    all.iter().find(|parameter| parameter.name == *name).cloned()
                };
                let (Some(one), Some(other)) = (of(one), of(other)) else { continue };
                for (size, value) in one.points {
                    let Some(there) = other.at(size).filter(|&there| there > 0.0) else { continue };
                    all += 1;
                    let apart = (value / there - 1.0).abs();
                    inside += usize::from(apart <= 1.645 * group.costs.spread());
                }
            }
        }
        assert!(inside * 10 >= all * 9, "{:?}: {inside} of {all}", group.costs);
    }
}

/// A profile without trials has ranges as wide as the model is off on machines that have them.
#[test]
fn ranges_without_trials_are_as_wide_as_the_model_is_off() {
    let profile = fitted(&example(), &[]);
    let error = profile.model_error.expect("no plans were tried");
    let mut errors: Vec<f64> =
        ["h200", "others/busy-h200", "others/one-h200", "others/programs-h200", "others/two-h200"]
            .iter()
            .map(|folder| calibrated(folder).accuracy.expect("tried").p95_error)
            .collect();
    errors.sort_by(f64::total_cmp);
    assert!((error / errors[2] - 1.0).abs() < 0.05, "{error}, measured {errors:?}");
    let ranking = ranked(1 << 24, &profile);
    let resident = plan_of(&ranking, "resident, pinned");
    let (low, high) = resident.forecast.interval();
    let middle = resident.makespan().nanos_f64();
    assert!(low.nanos_f64() < middle / (1.0 + error) + 1.0, "{low:?}");
    assert!(high.nanos_f64() > middle * (1.0 + error) - 1.0, "{high:?}");
}

/// A template that somebody fills in predicts all plans with pinned memory, without borrowing.
#[test]
fn a_template_that_is_filled_in_predicts_plans() {
    let template = TABLE_TEMPLATE;
    assert!(read(template).is_err(), "the machine is left open");
    let words =
        SetupStep::ALL.map(SetupStep::word).into_iter().chain(GraphCall::ALL.map(|c| c.word()));
    for word in words {
        assert!(template.contains(&format!(",{word},")), "no line for {word}");
    }
    let named = template
        .replace("# gpu = ?", "# gpu = Test")
        .replace("# multiprocessors = ?", "# multiprocessors = 100")
        .replace("# cpu_threads = ?", "# cpu_threads = 16")
        .replace("# device_memory = ?", "# device_memory = 16 GiB");
    assert!(read(&named).expect("nothing is filled in").measurements.is_empty());
    let mut columns: Vec<&str> = Vec::new();
    let mut filled = String::new();
    for line in named.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        if columns.is_empty() && cells.contains(&"seconds") {
            columns = cells;
        } else if let (Some(open), false) = (line.strip_suffix('?'), line.starts_with('#')) {
            let get = |name: &str| {
                let at = columns.iter().position(|column| *column == name).expect("a column");
                cells[at].parse::<f64>().unwrap_or(0.0)
            };
            let work = get("bytes") / 2e10 + get("elements") / 1e11 + get("nodes") * 1e-6;
            let both = if line.contains("H2D") && line.contains("D2H") { 1.2 } else { 1.0 };
            let seconds = (3e-6 + work * both) * get("streams").max(1.0);
            filled += &format!("{open}{seconds:e}\n");
            continue;
        }
        filled += &format!("{line}\n");
    }
    let profile = fitted(&filled, &[]);
    let ranking = ranked(1 << 22, &profile);
    let unknown = ranking.unknown.iter().filter(|(plan, _)| plan.name().ends_with(", pinned"));
    let unknown: Vec<String> =
        unknown.map(|(plan, unknown)| format!("{}: {unknown}", plan.name())).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    for family in ["by-chunk", "by-engine", "buffered", "graph", "resident", "cpu"] {
        let is_meant = |ranked: &&Ranked| ranked.plan.name().starts_with(family);
        let plan = ranking.plans.iter().find(is_meant);
        assert!(plan.is_some(), "no {family}: {:?}", ranking.unknown);
    }
    assert!(ranking.plans.iter().all(|ranked| ranked.setup.is_ok()));
}

//! A sweep gives at each value what `evaluate` says there, finds the values at which the winner
//! changes, says how sure that is, and may be shared by several processes.

use super::predicted::{PROFILE, repository, scenario};
use super::workloads::simple;
use hallway::kernels::Kernel;
use hallway::scenario::{Source, Workload};
use hallway::search::{
    Compared, Scale, Setting, Sweep, break_even, candidates_for, rank, scaled, values_between,
};
use hallway::simulate::{Draws, Tally};
use std::path::PathBuf;

fn path_of(name: &str) -> PathBuf {
    repository().join("scenarios").join(name)
}

/// At each value, the best plans take as long as in a ranking of all plans.
#[test]
fn a_point_is_what_a_ranking_of_all_plans_says() {
    let workload = simple(Kernel::Stencil, 1 << 20, "");
    let (profile, draws) = (&*PROFILE, Draws::new(20, 1));
    let at = |elements: f64| scaled(&workload, elements as u64);
    let sweep = Sweep {
        workload: &at,
        values: vec![3e4, 3e6],
        here: None,
        scale: Scale { is_whole: true, is_coarse: false },
        compared: Compared::Runs,
        profile,
        draws,
        done: &Tally::default(),
    };
    let (points, _) = sweep.run(0..2, &|| {});
    assert_eq!(points.len(), 2);
    for point in points {
        let here = at(point.value).expect("scales");
        let all = rank(candidates_for(&here, profile), profile, draws.count, draws.seed);
        for on_cpu in [true, false] {
            let best = all.choice(|plan| plan.is_cpu() == on_cpu).expect("a plan");
            let found = point.best(on_cpu).expect("a plan");
            assert_eq!(found.plan.name(), best.plan.name());
            assert_eq!(point.time(found).map(|times| times[0]), Some(best.makespan()));
        }
    }
}

/// A turn lies in its range, and ranges of neighbouring turns do not overlap.
#[test]
fn a_turn_has_a_range_that_holds_it() {
    let workload = scenario("option-pricing");
    let found = break_even(&workload, &PROFILE).expect("both sides are known");
    let ranges = found.gpu_wins.iter().filter_map(|wins| wins.from_range.or(wins.until_range));
    assert!(ranges.count() > 0, "{found:?}");
    for wins in &found.gpu_wins {
        for (at, range) in [(wins.from, wins.from_range), (wins.until, wins.until_range)] {
            let (Some(Setting(at)), Some([low, high])) = (at, range) else { continue };
            assert!(low.is_none_or(|low| low.0 <= at), "{wins:?}");
            assert!(high.is_none_or(|high| at <= high.0), "{wins:?}");
        }
    }
}

#[test]
fn values_are_spread_by_equal_ratios_and_whole_where_they_must_be() {
    assert_eq!(values_between(1.0, 1000.0, 4, true), [1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(values_between(1.0, 4.0, 9, true), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(values_between(0.25, 4.0, 3, false), [0.25, 1.0, 4.0]);
    // Values in between are rounded to four digits; the ends are as asked for.
    assert_eq!(values_between(16_777_216.0, 33_554_432.0, 2, true), [16_777_216.0, 33_554_432.0]);
    assert_eq!(values_between(1.0, 65_536.0, 3, true), [1.0, 256.0, 65_536.0]);
    assert_eq!(values_between(99_999.0, 100_001.0, 3, true), [99_999.0, 100_000.0, 100_001.0]);
}

/// Each key of a scenario changes what it names, and nothing else.
#[test]
fn any_number_of_a_scenario_can_be_varied() {
    let (source, as_it_is) = Source::load(&path_of("three-task-graph.toml")).expect("committed");
    let task = as_it_is.tasks[0].name.clone();
    let with = |name: &str, value: f64| -> Workload {
        let is_meant = |key: &&hallway::scenario::Key| key.to_string() == name;
        let key = source.keys().iter().find(is_meant).unwrap_or_else(|| panic!("no {name}"));
        source.with_value(key, value).unwrap_or_else(|error| panic!("{error}"))
    };
    let mut expected = as_it_is.clone();
    expected.batches = 7;
    assert_eq!(with("batches", 7.0), expected);
    expected = as_it_is.clone();
    expected.plans.chunks = vec![8];
    assert_eq!(with("chunks", 8.0), expected);
    expected = as_it_is.clone();
    expected.limits.device_memory = Some("1 GiB".parse().expect("an amount"));
    assert_eq!(with("limits.device_memory", f64::from(1 << 30)), expected);
    expected = as_it_is.clone();
    expected.tasks[0].iterations = 3;
    assert_eq!(with(&format!("task.{task}.iterations"), 3.0), expected);
    let all: Vec<String> = source.keys().iter().map(ToString::to_string).collect();
    assert!(!all.iter().any(|key| key.contains("schema_version")), "{all:?}");
}

/// Numbers in programs and own kernels are found by the names of what they stand in.
#[test]
fn numbers_of_programs_and_kernels_have_paths() {
    for (file, keys) in [
        (
            "kernels/rectangular-product.toml",
            "kernel.product on the CPU.cpu.roofline.flops_per_element",
        ),
        ("kernels/rectangular-product.toml", "program.pageable.memory.da.size"),
        ("programs/ten-times.toml", "buffer.x.elements"),
    ] {
        let (source, _) = Source::load(&path_of(file)).expect("committed");
        let all: Vec<String> = source.keys().iter().map(ToString::to_string).collect();
        assert!(all.iter().any(|key| key == keys), "{file}: {all:?}");
    }
}

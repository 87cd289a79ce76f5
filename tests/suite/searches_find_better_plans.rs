//! With a profile, the search finds numbers of chunks, streams and buffers that no list has.

use super::predicted::{PROFILE, RANKED, scenario};
use hallway::families::{Buffered, ByChunk, ByEngine, Family, Issue, Strategy, build};
use hallway::machine::HostMemory;
use hallway::program::Program;
use hallway::scenario::{FamilyName, PlanChoice, Workload};
use hallway::search::{Candidates, Plan, candidates, candidates_for};
use hallway::simulate::makespan;
use hallway::units::Span;
use rayon::prelude::*;
use std::collections::BTreeMap;

fn time(program: &Program) -> Option<Span> {
    makespan(program, &PROFILE).ok()
}

fn best(candidates: &Candidates, is_meant: impl Fn(Family) -> bool) -> Option<Span> {
    let plans = candidates.plans.iter();
    let meant = plans.filter(|plan| plan.strategy.is_some_and(|one| is_meant(one.family)));
    meant.filter_map(|plan| time(&plan.program)).min()
}

/// Two buffers of so many elements, and `iterations` of a stencil between them.
fn stencil(elements: u64, iterations: u64) -> Workload {
    let mut workload = scenario("stencil-halo");
    workload.buffers.iter_mut().for_each(|buffer| buffer.elements = elements);
    workload.tasks[0].iterations = iterations;
    workload
}

fn spaces() -> Vec<Workload> {
    let mut all: Vec<Workload> =
        ["stream-saxpy", "compute-polynomial", "image-batches"].into_iter().map(scenario).collect();
    for (elements, iterations) in [(1 << 18, 2), (1 << 22, 40), (1 << 24, 4)] {
        all.push(stencil(elements, iterations));
    }
    all
}

/// A small space has every number of chunks and streams, every order and every ring. Its best plan
/// is found, or one nearly as good, whether the search prunes or not.
#[test]
fn the_best_of_all_plans_is_found_or_nearly() {
    for mut workload in spaces() {
        workload.plans = PlanChoice::default();
        let chunks = 1..=20;
        let by_engine = chunks.clone().map(|chunks| Family::from(ByEngine { chunks }));
        let orders = [Issue::DepthFirst, Issue::BreadthFirst];
        let by_chunk = chunks.clone().flat_map(|chunks| {
            let streams = (2..=5).flat_map(move |streams| orders.map(|issue| (streams, issue)));
            streams.map(move |(streams, issue)| ByChunk { chunks, streams, issue }.into())
        });
        let rings = chunks
            .flat_map(|chunks| (2..=5).map(move |ring| Family::from(Buffered { chunks, ring })));
        let all: Vec<Family> = by_engine.chain(by_chunk).chain(rings).collect();
        let pinned = |family| Strategy {
            family,
            memory: HostMemory::Pinned,
            graph: false,
            each_pass: false,
        };
        let timed = all.into_par_iter().filter_map(|family| {
            let time = time(&build(&workload, pinned(family)).ok()?)?;
            Some((time, pinned(family).to_string()))
        });
        let (exhaustive, fastest) = timed.min().expect("some fit");
        let exhaustive = exhaustive.nanos_f64();
        // In one piece, a plan by task may be the same program as one of these.
        let is_meant = |family| match family {
            Family::ByTask(by_task) => by_task.chunks == 1,
            _ => matches!(family, Family::ByEngine(_) | Family::Buffered(_) | Family::ByChunk(_)),
        };
        let found = candidates_for(&workload, &PROFILE);
        let found = best(&found, is_meant).expect("some are tried").nanos_f64();
        let name = &workload.name;
        assert!(found <= exhaustive * 1.005, "{name}: {found} against {exhaustive} of {fastest}");
    }
}

#[test]
fn what_is_found_is_faster_than_what_was_listed() {
    let mut faster = 0;
    for (workload, _) in RANKED.iter() {
        let mut workload = workload.clone();
        workload.plans = PlanChoice::default();
        let (listed, searched) = (candidates(&workload), candidates_for(&workload, &PROFILE));
        let of_families = |family: Family| family.name() != FamilyName::ByTask;
        let [before, after] = [&listed, &searched].map(|all| best(all, of_families));
        assert!(after <= before, "{}: {after:?} and {before:?}", workload.name);
        faster += usize::from(after < before);
    }
    assert!(faster > 0, "nothing better than a power of two");
}

#[test]
fn the_same_profile_gives_the_same_plans() {
    let names = |all: &Candidates| all.plans.iter().map(Plan::name).collect::<Vec<_>>();
    for workload in spaces().into_iter().take(2) {
        let [one, other] = [(); 2].map(|()| candidates_for(&workload, &PROFILE));
        assert_eq!(names(&one), names(&other));
    }
}

/// In one piece, a plan of one family may be that of another, under another name. Runs are told
/// apart by what was done, and so would not fit one of the names.
#[test]
fn no_plan_has_two_names() {
    for power in 10..20 {
        let mut workload = scenario("compute-polynomial");
        workload.buffers.iter_mut().for_each(|buffer| buffer.elements = (1 << power) + 920);
        let mut names = BTreeMap::new();
        for plan in candidates_for(&workload, &PROFILE).plans {
            let name = plan.name();
            let before = names.insert(plan.identity(), name.clone());
            assert_eq!(before, None, "`{name}` of {} elements", workload.buffers[0].elements);
        }
    }
}

/// A scenario that names numbers of chunks gets these.
#[test]
fn what_is_asked_for_is_what_is_tried() {
    let mut workload = scenario("stencil-halo");
    workload.plans.chunks = vec![8];
    let searched = candidates_for(&workload, &PROFILE);
    let is_eight = |strategy: Strategy| [1, 8].contains(&strategy.family.chunks());
    assert!(searched.plans.iter().all(|plan| plan.strategy.is_some_and(is_eight)));
}

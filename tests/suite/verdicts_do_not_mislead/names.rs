//! A plan's name says what it does, and nothing else.

use super::*;
use hallway::machine::HostMemory;
use hallway::program::{Allocation, Place, Program};
use std::collections::BTreeMap;

#[test]
fn plans_without_host_memory_name_none() {
    let workload = task("scale", ["\"device\"", "\"device\""], 1 << 20, "");
    let ranking = ranked(&workload);
    let gpu: Vec<String> =
        ranking.plans.iter().filter(|one| !one.is_cpu()).map(|one| one.plan.name()).collect();
    assert!(gpu.contains(&"resident".to_owned()), "{gpu:?}");
    assert!(gpu.iter().all(|name| !name.contains("page") && !name.contains("pinned")), "{gpu:?}");
}

/// Two names for one thing make a reader look for a difference that is not there.
#[test]
fn plans_that_differ_in_name_differ_in_what_they_do() {
    let device = "\"device\"";
    let host = "\"host\"";
    let split = "split = { along = \"elements\" }";
    let mut workloads: Vec<Workload> =
        ["stencil-halo", "image-batches", "small-scale", "separable-blur", "reduce-sum"]
            .map(scenario)
            .into();
    for homes in [[device, device], [device, host], [host, device], [host, host]] {
        workloads.extend(["", split].map(|more| task("scale", homes, 1 << 20, more)));
    }
    for workload in workloads {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for plan in candidates(&workload).programs() {
            let places: Vec<_> = plan
                .allocations
                .iter()
                .map(|one| (format!("{:?}", one.place), one.bytes))
                .collect();
            let does = format!("{places:?} {:?} {:?}", plan.setup, plan.body);
            let other = names.insert(does, plan.label.clone());
            assert_eq!(other, None, "{}: `{}` does the same", workload.name, plan.label);
            assert_eq!(kind_in_name(&plan), kind_in_use(&plan), "{}", plan.label);
        }
    }
}

/// The kind of host memory that a plan's name gives.
fn kind_in_name(plan: &Program) -> Option<HostMemory> {
    match plan.label.rsplit_once(", ") {
        Some((_, "pinned")) => Some(HostMemory::Pinned),
        Some((_, "pageable")) => Some(HostMemory::Pageable),
        _ => None,
    }
}

/// The kind that it has, pinned if any of it is. The CPU works in whatever memory its data is, and
/// that the rest is pageable goes without saying.
fn kind_in_use(plan: &Program) -> Option<HostMemory> {
    let on_cpu = plan.computes_on_cpu();
    let counts = |one: &&Allocation| !on_cpu || one.holds.is_none();
    let has = |memory| {
        let mut counted = plan.allocations.iter().filter(counts);
        counted.any(|one| one.place == Place::Host(memory))
    };
    let pageable = !on_cpu && has(HostMemory::Pageable);
    match has(HostMemory::Pinned) {
        true => Some(HostMemory::Pinned),
        false => pageable.then_some(HostMemory::Pageable),
    }
}

//! `memory` under `[plans]` is obeyed by plans of every kind, whatever would be faster.

use super::predicted::PROFILE;
use super::workloads::{ON_DEVICE, ON_HOST, PINNED, floats, head, read, task};
use hallway::machine::HostMemory;
use hallway::program::{Call, Place, Program};
use hallway::scenario::Workload;
use hallway::search::{Candidates, candidates_for};

/// A product of two arrays at home on the host, the first of them held as given; `more` is of the
/// task.
fn saxpy(host: &str, other: &str, more: &str) -> Workload {
    let buffers = floats(["x"], 1_000_000, host) + &floats(["y", "z"], 1_000_000, other);
    read(&(head("saxpy", "") + &buffers + &task("saxpy", "saxpy", &["x", "y"], "z", more)))
}

fn found(workload: &Workload) -> Candidates {
    candidates_for(workload, &PROFILE)
}

fn labels(found: &Candidates) -> Vec<String> {
    found.plans.iter().map(|plan| plan.name()).collect()
}

/// Memory that a program pins, or has pinned of its own.
fn pins(program: &Program) -> bool {
    let own = program.allocations.iter().filter(|one| one.holds.is_none());
    let takes = own.map(|one| one.place).any(|place| place.is_pinned());
    takes || program.calls().any(|call| matches!(call, Call::Pin(_)))
}

#[test]
fn no_plan_pins_where_data_is_to_stay_pageable() {
    for (host, other) in [(ON_HOST, ON_HOST), (ON_HOST, ON_DEVICE), (PINNED, ON_DEVICE)] {
        let free = found(&saxpy(host, other, ""));
        let asked = found(&saxpy(host, other, "[plans]\nmemory = [\"pageable\"]"));
        assert!(host == PINNED || free.plans.iter().any(|plan| pins(&plan.program)), "unasked");
        let names = labels(&asked);
        for kind in ["cpu", "resident", "by-task 1"] {
            assert!(names.iter().any(|name| name.starts_with(kind)), "no {kind}: {names:?}");
        }
        for plan in &asked.plans {
            assert!(!pins(&plan.program), "{} of {host}, {other}", plan.name());
            let homes = plan.program.allocations.iter().filter(|one| one.holds.is_some());
            let pinned = homes.filter(|one| one.place == Place::Host(HostMemory::Pinned)).count();
            assert_eq!(
                pinned,
                usize::from(host == PINNED),
                "{}: as the scenario has it",
                plan.name()
            );
        }
    }
}

#[test]
fn a_family_that_is_asked_for_holds_it_so_too() {
    let asked = |family: &str, memory: &str| {
        let plans =
            format!("[plans]\nfamilies = [\"{family}\"]\nmemory = [\"{memory}\"]\nchunks = [4]");
        found(&saxpy(ON_HOST, ON_HOST, &plans))
    };
    for family in ["hybrid", "by-engine", "by-chunk", "buffered", "managed", "by-task"] {
        let found = asked(family, "pageable");
        let names = labels(&found);
        assert!(!names.is_empty(), "{family}: {:?}", found.refused);
        assert!(found.plans.iter().all(|plan| !pins(&plan.program)), "{names:?}");
    }
    for family in ["staged", "packed", "zero-copy"] {
        let found = asked(family, "pageable");
        assert!(found.plans.is_empty(), "{family} goes through pinned memory");
        let why = &found.refused[0].reason;
        assert!(
            why.contains("needs pinned memory") || why.contains("pageable host memory"),
            "{why}"
        );
    }
    let pinned = asked("by-task", "pinned");
    let mut on_gpu = labels(&pinned).into_iter().filter(|name| name != "cpu");
    assert!(on_gpu.all(|name| name.ends_with(", pinned")), "{:?}", labels(&pinned));
    let each = asked("by-task", "pinned-each-pass");
    assert!(each.plans.is_empty() && each.refused[0].reason.contains("`memory`"), "{each:?}");
}

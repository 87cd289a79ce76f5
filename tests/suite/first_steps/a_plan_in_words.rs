//! `hallway explain` says what a plan does, and does not take a thousand lines for it.

use super::*;
use hallway::program::Call;
use hallway::report::{Calls, Timed, explain};
use hallway::scenario::Workload;
use hallway::search::candidates;

#[test]
fn of_each_plan_of_each_scenario_fits_on_a_few_pages() {
    for path in scenarios(&[""]) {
        let workload = Workload::load(&path).expect("valid");
        for plan in candidates(&workload).plans {
            let text = explain(&workload, &plan, (Calls::Shortened, Timed::No), None);
            let name = format!("{} of {}", plan.name(), workload.name);
            assert!(text.lines().count() < 250, "{name}:\n{text}");
            for allocation in &plan.program.allocations {
                assert!(text.contains(&allocation.name), "{name}: no {}", allocation.name);
            }
            let narrow = explain(&workload, &plan, (Calls::Shortened, Timed::No), Some(60));
            let widest = narrow.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(60), "{name}:\n{narrow}");
            let all = explain(&workload, &plan, (Calls::All, Timed::No), None);
            let calls = plan.program.setup.len() + plan.program.body.len();
            assert!(all.lines().count() >= calls, "{name}: not all of {calls} calls");
            assert!(!all.contains("--all"), "{name}");
            let waits = |call: &&Call| matches!(call, Call::Wait { .. });
            let waits = plan.program.body.iter().filter(waits).count();
            assert_eq!(all.matches("{ wait = ").count(), waits, "{name}");
        }
    }
}

#[test]
fn has_its_calls_with_streams_ranges_and_events() {
    let command = ["explain", "scenarios/stencil-halo.toml", "--plan", "by-engine 4, pinned"];
    let output = ran(repository(), command);
    let text = stdout(&output);
    for words in [
        "Each batch is split into 4 chunks.",
        "The set-up pins 2 buffers",
        "An event makes a kernel wait for a copy to the GPU, 4 times per run.",
        "The host waits only at the end of a run, for",
        // The last chunk begins four elements, the halo, before three quarters of 64 MiB.
        "copy = \"field[50331632 B..]\", to = \"gpu:field 4[..16777232 B]\"",
        "launch = \"stencil\"",
        "{ wait = \"e0\", stream = \"s1\" }  # recorded by call 2",
        "of host memory",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
}

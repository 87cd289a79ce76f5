//! `examples/choose_plan.rs` sends small jobs to the CPU and large ones to the GPU, and asks once
//! for each kind and size.

#[path = "../../examples/choose_plan.rs"]
mod choose_plan;

use choose_plan::{Decision, Dispatcher, Job};
use std::path::Path;

fn dispatcher() -> Dispatcher {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pricing = folder.join("scenarios/option-pricing.toml");
    Dispatcher::new(&folder.join("calibration/h200/profile.toml"), &[("pricing", &pricing)])
        .expect("committed files")
}

fn job(elements: u64) -> Job {
    Job { kind: "pricing", elements }
}

#[test]
fn size_decides_the_side_and_the_slower_side_is_told() {
    let mut dispatcher = dispatcher();
    let mut decide = |elements| {
        let (decision, _) = dispatcher.decide(&job(elements)).expect("predicted");
        decision.clone()
    };
    let (small, large): (Decision, Decision) = (decide(1_000), decide(2_000_000));
    assert!(!small.on_gpu && small.plan == "cpu", "{small:?}");
    assert!(large.on_gpu, "{large:?}");
    for decision in [small, large] {
        assert!(decision.other_side.expect("both sides fit") > decision.time, "{decision:?}");
    }
}

#[test]
fn sizes_of_a_class_are_predicted_once() {
    let mut dispatcher = dispatcher();
    let mut is_new = |elements| dispatcher.decide(&job(elements)).expect("predicted").1;
    assert!(is_new(1_100));
    assert!(!is_new(2_048), "1,100 is rounded up to 2,048");
    assert!(is_new(2_049), "2,049 is rounded up to 4,096");
}

#[test]
fn a_kind_without_a_scenario_is_refused_by_name() {
    let unknown = Job { kind: "painting", elements: 1 };
    let error = dispatcher().decide(&unknown).map(|_| ()).expect_err("no such kind");
    assert!(error.to_string().contains("painting"), "{error}");
}

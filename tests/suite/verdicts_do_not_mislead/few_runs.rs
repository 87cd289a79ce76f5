//! A process that does its work once pays for its context as it pays for copies.

use super::*;
use hallway::machine::Side;
use hallway::units::Span;

/// What is fresh in each pass is touched for the first time in each pass, and paid for there.
#[test]
fn fresh_memory_is_not_paid_for_twice() {
    let fresh = "\"host\"\nhost = { state = \"fresh\" }";
    let first_use = |home: &str| {
        let assessment = assessed(&task("scale", ["\"host\"", home], 1 << 20, ""), 1);
        plan(&assessment, "cpu").first_use_ns
    };
    assert_eq!(first_use(fresh), Some(Span::ZERO));
    assert!(first_use("\"host\"") > Some(Span::from_micros(100)));
}

/// A table of measurements may have nothing about contexts.
#[test]
fn first_use_that_is_not_known_is_said_to_be_missing() {
    let mut profile = PROFILE.clone();
    profile.setup.context = None;
    let workload = scenario("stencil-halo");
    let ranking = rank(candidates(&workload), &profile, 40, 1);
    let assessment = Assessment::new(&workload, 1, &ranking, None);
    let gpu = assessment.plans.iter().find(|plan| plan.side != Side::Cpu).expect("one");
    assert!(gpu.first_use_ns.is_none() && gpu.program_ns.is_some());
    let text = said::text(&assessment, &profile);
    let start = "the profile lacks part of the cost of the first use of the GPU";
    assert!(said::the(&text, "First use").starts_with(start), "{text}");
}

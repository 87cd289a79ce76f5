//! Of plans that nobody tried, nothing is claimed.

use super::*;
use hallway::report::{Evaluation, Origin, Rows};
use hallway::search::break_even;
use hallway::units::Bytes;

fn text(workload: &Workload) -> String {
    let sizes = break_even(workload, &h200());
    let scenarios = vec![Assessment::new(workload, 1, &ranked(workload), sizes)];
    let profile = Origin::new("p", &h200());
    Evaluation { profile, seed: 1, draws: 40, trials: 0, context_ns: None, scenarios, gate: None }
        .text(Rows::All)
}

/// Other plans might send what does not fit in pieces.
#[test]
fn where_no_plan_fits_the_size_is_said_and_that_it_goes_for_these_plans() {
    let mut whole = task("polynomial", ["\"host\""; 2], 1 << 20, "arguments = { degree = 1024 }");
    whole.tasks[0].splittable = false;
    whole.limits.device_memory = Some(Bytes::mib(64));
    let sizes = break_even(&whole, &h200()).expect("known");
    let from = sizes.too_large_for_gpu.expect("two buffers in 64 MiB");
    // Found by halving, to a sixteenth.
    let most = (64 << 20) / 8;
    assert!((most..=most + most / 8).contains(&from), "{from}");
    assert_eq!(sizes.too_large_for_cpu, None);
    let text = text(&whole);
    assert!(text.contains("none of those on the GPU fits into memory."), "{text}");
    assert!(!text.contains("CPU wins at every size"), "{text}");
}

#[test]
fn the_cpu_wins_against_the_plans_that_were_tried() {
    let text = text(&scenario("stream-saxpy"));
    assert!(
        text.contains("None of the plans tried on the GPU beats the CPU in a pass at any size"),
        "{text}"
    );
}

/// Another order of calls, or other calls, may go below a plan's bound.
#[test]
fn a_lower_bound_is_of_one_plan() {
    let workload = scenario("stencil-halo");
    let text = text(&workload);
    let said = "In its own order, its calls take at least 1.";
    assert!(text.contains(said) && text.contains("; other plans may take less."), "{text}");
    // As one does here.
    let assessment = assessed(&workload, 1);
    let bounds = assessment.plans.iter().map(|plan| plan.lower_bound_ns);
    let fastest = assessment.plans[0].predicted_ns;
    assert!(bounds.max().expect("some") > fastest);
}

//! Pinned memory is registered in place or allocated anew, and the two have prices of their own.

use super::*;
use hallway::report::{Evaluation, Origin, Rows};

fn text(assessment: &Assessment, profile: &Profile) -> String {
    let (profile, scenarios) = (Origin::new("p", profile), vec![assessment.clone()]);
    Evaluation { profile, seed: 1, draws: 40, trials: 0, context_ns: None, scenarios, gate: None }
        .text(Rows::All)
}

#[test]
fn both_ways_to_pin_have_a_price() {
    let assessment = assessed(&scenario("stencil-halo"), 1);
    let best = plan(&assessment, assessment.verdict.gpu_plan.as_ref().expect("one"));
    let pinning = best.pinning.as_ref().expect("it pins");
    let [register, allocate, copy] =
        [pinning.register_ns, pinning.allocate_ns, pinning.copy_ns].map(|one| one.expect("known"));
    // Two buffers of 64 MiB, on a machine that was calibrated.
    assert_eq!(pinning.bytes.get(), 128 << 20);
    assert!(register < best.setup_ns.expect("known"), "set-up registers, and does more: {best:?}");
    assert!(allocate > register * 4, "pages have to be found and zeroed: {pinning:?}");
    assert!(copy.nanos() > 100_000, "{pinning:?}");
    let said = format!(
        "Set-up pins 128 MiB where they are, by registering: {register}. Allocating pinned memory \
         instead takes {allocate}, and {copy} each time that it is filled or emptied."
    );
    let text = text(&assessment, &h200());
    assert!(text.contains(&said), "{text}");
    assert!(plan(&assessment, "resident, pageable").pinning.is_none());
}

#[test]
fn a_price_that_is_not_known_is_not_made_up() {
    let mut profile = h200();
    profile.memory.pinned_allocate = None;
    let workload = scenario("stencil-halo");
    let ranking = rank(candidates(&workload), &profile, 40, 1);
    let assessment = Assessment::new(&workload, 1, &ranking, None);
    let best = plan(&assessment, assessment.verdict.gpu_plan.as_ref().expect("one"));
    assert_eq!(best.pinning.as_ref().expect("it pins").allocate_ns, None);
    let text = text(&assessment, &profile);
    assert!(text.contains("What new pinned memory costs, the profile does not know."), "{text}");
}

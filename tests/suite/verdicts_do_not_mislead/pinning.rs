//! Pinned memory is registered in place or allocated anew, and the two have prices of their own.

use super::*;

#[test]
fn both_ways_to_pin_have_a_price() {
    let assessment = assessed(&scenario("stencil-halo"), 1);
    let best = assessment.best_on_gpu().expect("one");
    let pinning = &best.pinning.as_ref().expect("it pins").prices;
    let [register, allocate, copy] =
        [pinning.register_ns, pinning.allocate_ns, pinning.copy_ns].map(|one| one.expect("known"));
    // Two buffers of 64 MiB, on a machine that was calibrated.
    assert_eq!(pinning.bytes.get(), 128 << 20);
    assert!(register < best.setup_ns.expect("known"), "set-up registers, and does more: {best:?}");
    assert!(allocate > register * 4, "pages have to be found and zeroed: {pinning:?}");
    assert!(copy.nanos() > 100_000, "{pinning:?}");
    let said = format!(
        "pinning 128 MiB in place (cudaHostRegister) takes {register}; allocating pinned memory \
         instead takes {allocate}, plus {copy} per copy in or out"
    );
    let text = said::text(&assessment, &PROFILE);
    assert!(said::labelled(&text, "Pinning").contains(&said.as_str()), "{text}");
    assert!(plan(&assessment, "resident, pageable").pinning.is_none());
}

#[test]
fn a_price_that_is_not_known_is_not_made_up() {
    let mut profile = PROFILE.clone();
    profile.memory.pinned_allocate = None;
    let workload = scenario("stencil-halo");
    let ranking = rank(candidates(&workload), &profile, 40, 1);
    let assessment = Assessment::new(&workload, 1, &ranking, None);
    let best = assessment.best_on_gpu().expect("one");
    assert_eq!(best.pinning.as_ref().expect("it pins").prices.allocate_ns, None);
    let text = said::text(&assessment, &profile);
    let end = "; the profile lacks the cost of allocating pinned memory instead";
    assert!(said::labelled(&text, "Pinning").iter().any(|line| line.ends_with(end)), "{text}");
}

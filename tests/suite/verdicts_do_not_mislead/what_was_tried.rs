//! Nothing is claimed of plans that nobody tried.

use super::*;
use hallway::search::break_even;
use hallway::units::Bytes;

fn text(workload: &Workload) -> String {
    let sizes = break_even(workload, &PROFILE);
    said::text(&Assessment::new(workload, 1, &ranked(workload), sizes), &PROFILE)
}

/// Other plans might send what does not fit in pieces.
#[test]
fn where_no_plan_fits_the_size_is_said_and_that_it_goes_for_these_plans() {
    let mut whole = task("polynomial", ["\"host\""; 2], 1 << 20, "arguments = { degree = 1024 }");
    whole.tasks[0].splittable = false;
    whole.limits.device_memory = Some(Bytes::mib(64));
    let sizes = break_even(&whole, &PROFILE).expect("known");
    let from = sizes.too_large_for_gpu.expect("two buffers in 64 MiB");
    // Found by halving, to a sixteenth.
    let most = (64 << 20) / 8;
    assert!((most..=most + most / 8).contains(&from), "{from}");
    assert_eq!(sizes.too_large_for_cpu, None);
    let text = text(&whole);
    assert!(
        said::the(&text, "Sizes").ends_with(" elements, no plan tried on the GPU fits in memory"),
        "{text}"
    );
    assert!(!said::the(&text, "Break-even").contains("at every size"), "{text}");
}

//! What holds the host thread, and what of that bounds the plan.

use super::*;
use hallway::cost::Bottleneck;
use hallway::findings::HeldBy;
use hallway::units::Span;

const PINNED: &str = "\"host\"\nhost = { memory = \"pinned\" }";
const PAGEABLE: &str = "\"host\"\nhost = { memory = \"pageable\" }";

fn text_of(assessment: &Assessment) -> String {
    said::text(assessment, &h200())
}

/// PyTorch issues 39694 and 48065: an asynchronous copy to pageable memory behind a kernel of half
/// a second returns after the kernel. That holds the host, but it is the kernel that bounds.
#[test]
fn kernels_bound_a_copy_that_waits_for_them() {
    let long =
        "iterations = 300\narguments = { degree = 65536 }\n[plans]\nfamilies = [\"resident\"]";
    let behind =
        |memory: &str| assessed(&task("polynomial", ["\"device\"", memory], 1 << 20, long), 1);
    let pageable = behind(PAGEABLE);
    let held = plan(&pageable, "resident, pageable");
    assert_eq!(held.bottleneck, Some(Bottleneck::Kernels));
    assert!(held.host_thread.held > 0.99, "{held:?}");
    assert_eq!(held.host_thread.held_by, HeldBy::WaitingCopies);
    assert!(plan(&pageable, "resident, pinned").host_thread.held < 0.01);
    let pinned = behind(PINNED);
    let free = plan(&pinned, "resident, pinned");
    assert_eq!(free.bottleneck, Some(Bottleneck::Kernels));
    assert!(free.host_thread.held < 0.01);
    assert!(free.host_thread.free_after_ns < Span::from_millis(2), "{free:?}");
    let said = "held for 100% of a run of `resident, pageable`: copies of pageable memory wait in \
                their calls for the work ahead of them";
    let text = text_of(&pageable);
    assert!(said::the(&text, "Host thread").contains(said), "{text}");
    let said =
        format!("free after {} of a run of `resident, pinned`", free.host_thread.free_after_ns);
    let text = text_of(&pinned);
    assert!(said::the(&text, "Host thread").contains(&said), "{text}");
}

/// The link could carry it in a quarter of the time. Which of the two was busy for longer was a
/// matter of a percent.
#[test]
fn the_staging_thread_bounds_copies_of_pageable_memory() {
    for power in [20, 22, 24, 26] {
        for homes in [[PAGEABLE, "\"device\""], ["\"device\"", PAGEABLE]] {
            let families = "[plans]\nfamilies = [\"resident\"]";
            let assessment = assessed(&task("scale", homes, 1 << power, families), 1);
            let staged = plan(&assessment, "resident, pageable");
            assert_eq!(staged.bottleneck, Some(Bottleneck::Staging), "{power}: {staged:?}");
            assert_eq!(staged.host_thread.held_by, HeldBy::Staging);
            let pinned = plan(&assessment, "resident, pinned");
            assert_ne!(pinned.bottleneck, Some(Bottleneck::Staging), "{power}: {pinned:?}");
        }
    }
}

//! What holds the host thread, and what of that bounds the plan. Copies that wait for kernels are
//! in `public_cases`.

use super::*;
use hallway::cost::Bottleneck;
use hallway::findings::HeldBy;
const PAGEABLE: &str = "\"host\"\nhost = { memory = \"pageable\" }";

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

//! Launches and set-up that cost more or less.

use super::change::SetupPrice;
use crate::profile::Profile;

/// Scales what a launch costs the host, wherever it is made.
pub(super) fn scale_launches(profile: &mut Profile, factor: f64) {
    scale(profile, factor, |key| key.starts_with("calls.launch"));
}

/// Scales a price of set-up, also where a program pays it in a pass.
pub(super) fn scale_setup(profile: &mut Profile, price: SetupPrice, factor: f64) {
    scale(profile, factor, |key| {
        paid_for(key).is_some_and(|of| price == SetupPrice::All || price == of)
    });
}

fn scale(profile: &mut Profile, factor: f64, is_meant: impl Fn(&str) -> bool) {
    let prices = profile.prices_mut().into_iter();
    prices.filter(|price| is_meant(&price.key.dotted())).for_each(|mut price| price.scale(factor));
}

/// Which part of set-up a price is paid for.
fn paid_for(key: &str) -> Option<SetupPrice> {
    Some(match key {
        "memory.register"
        | "memory.unregister"
        | "memory.pinned_allocate"
        | "memory.pinned_free" => SetupPrice::Pin,
        "memory.device_allocate" | "memory.device_free" => SetupPrice::Allocate,
        "setup.stream" => SetupPrice::Streams,
        "setup.event" => SetupPrice::Events,
        "setup.context" | "setup.new_context" => SetupPrice::Context,
        "graph.capture.per_graph"
        | "graph.capture.per_node"
        | "graph.instantiate.per_graph"
        | "graph.instantiate.per_node" => SetupPrice::Graphs,
        _ if key.starts_with("setup.") => SetupPrice::Module,
        _ => return None,
    })
}

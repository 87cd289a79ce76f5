//! Launches and set-up that cost more or less.

use super::change::SetupPrice;
use crate::profile::{Curve, Estimate, Other, Profile};

fn scale(estimate: &mut Estimate, factor: f64) {
    estimate.ns *= factor;
    estimate.other = estimate.other.map(|other| Other { ns: other.ns * factor, ..other });
}

/// Scales what a launch costs the host, wherever it is made.
pub(super) fn scale_launches(profile: &mut Profile, factor: f64) {
    let calls = &mut profile.calls;
    let launches = [
        &mut calls.launch,
        &mut calls.launch_beside_copy_in,
        &mut calls.launch_beside_copy_out,
        &mut calls.launch_behind_wait,
        &mut calls.launch_by_cublas,
        &mut calls.launch_by_cufft,
    ];
    launches.into_iter().flatten().for_each(|launch| scale(launch, factor));
}

/// Scales a price of set-up, also where a program pays it in a pass.
pub(super) fn scale_setup(profile: &mut Profile, price: SetupPrice, factor: f64) {
    let is_meant = |one: SetupPrice| price == SetupPrice::All || price == one;
    let memory = &mut profile.memory;
    let pin: [&mut Option<Curve>; 4] = [
        &mut memory.register,
        &mut memory.unregister,
        &mut memory.pinned_allocate,
        &mut memory.pinned_free,
    ];
    let allocate = [&mut memory.device_allocate, &mut memory.device_free];
    let pin = pin.into_iter().filter(|_| is_meant(SetupPrice::Pin));
    let allocate = allocate.into_iter().filter(|_| is_meant(SetupPrice::Allocate));
    pin.chain(allocate).flatten().for_each(|curve| curve.scale(factor));
    let setup = &mut profile.setup;
    let made = [
        (SetupPrice::Context, &mut setup.new_context),
        (SetupPrice::Module, &mut setup.new_module),
        (SetupPrice::Module, &mut setup.first_launch),
        (SetupPrice::Module, &mut setup.next_kernel),
        (SetupPrice::Streams, &mut setup.stream),
        (SetupPrice::Events, &mut setup.event),
        (SetupPrice::Context, &mut setup.context),
        (SetupPrice::Module, &mut setup.module),
    ];
    for (of, estimate) in made {
        estimate.iter_mut().filter(|_| is_meant(of)).for_each(|one| scale(one, factor));
    }
    if is_meant(SetupPrice::Graphs) {
        let graph = &mut profile.graph;
        for call in [&mut graph.capture, &mut graph.instantiate].into_iter().flatten() {
            scale(&mut call.per_graph, factor);
            scale(&mut call.per_node, factor);
        }
    }
}

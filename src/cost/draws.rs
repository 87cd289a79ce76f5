//! Machines that the scatter of a profile allows.

use super::analysis::Analysis;
use super::antithetic::Antithetic;
use super::compiled::{CompileError, CompiledProgram};
use crate::profile::{Estimate, MemoryCosts, MultiGpu, Profile, RootModel};
use crate::program::Program;
use crate::stats::deviate;
use crate::units::Bandwidth;
use rand::RngExt;

/// A machine from which the calibration could have come, and the random numbers for a program on
/// it.
pub(crate) struct Draw {
    profile: Profile,
    random: Antithetic,
}

impl Draw {
    /// The first `draws` of a seed.
    pub fn all(profile: &Profile, draws: usize, seed: u64) -> Vec<Self> {
        let draw = |number| {
            let mut random = Antithetic::new(seed, number);
            Self { profile: drawn(profile, &mut random), random }
        };
        (0..draws).map(draw).collect()
    }

    /// Compiles a program for this machine.
    ///
    /// # Errors
    /// As for [`CompiledProgram::new`].
    pub fn compile(
        &self,
        program: &Program,
        analysis: &Analysis,
    ) -> Result<CompiledProgram<'_>, CompileError> {
        CompiledProgram::drawn(program, analysis, &self.profile, Some(self.random.clone()))
    }
}

/// The profile with every model scaled once, each by its own scatter.
fn drawn(profile: &Profile, random: &mut Antithetic) -> Profile {
    let mut machine = profile.clone();
    let calls = &mut machine.calls;
    let latency = &mut machine.latency;
    let estimates = [
        &mut calls.launch,
        &mut calls.copy_in,
        &mut calls.copy_out,
        &mut calls.clear,
        &mut calls.record,
        &mut calls.wait,
        &mut calls.synchronize,
        &mut latency.start_kernel,
        &mut latency.start_copy_in,
        &mut latency.start_copy_out,
        &mut latency.wake_host,
        &mut latency.kernel_gap,
        &mut calls.launch_beside_copy_in,
        &mut calls.launch_beside_copy_out,
        &mut calls.launch_behind_wait,
        &mut calls.copy_out_behind_wait,
        &mut calls.launch_by_cublas,
        &mut calls.launch_by_cufft,
    ];
    let polling = latency.semaphore_polling.iter_mut().map(|polling| &mut polling.period);
    let hand_overs = machine.hand_overs.iter_mut().flat_map(|h| [&mut h.first, &mut h.queued]);
    let in_graphs = machine.graph.estimates();
    let estimates = estimates.into_iter().flatten().chain(polling);
    for estimate in estimates.chain(hand_overs).chain(in_graphs) {
        *estimate = drawn_estimate(estimate, random);
    }
    let copies = machine.copies.iter_mut().map(|model| &mut model.time);
    let kernels = machine.kernels.iter_mut().map(|model| &mut model.time);
    let twins = machine.twins.iter_mut().map(|model| &mut model.time);
    for curve in copies.chain(kernels).chain(twins) {
        *curve = curve.scaled(factor(curve.scatter, random));
    }
    for model in &mut machine.staging {
        let factor = factor(model.until_complete.scatter, random);
        model.until_return = model.until_return.as_ref().map(|curve| curve.scaled(factor));
        model.until_complete = model.until_complete.scaled(factor);
    }
    if let Some(inline) = &mut machine.inline {
        let factor = factor(inline.until_complete.scatter, random);
        inline.until_return = inline.until_return.scaled(factor);
        inline.until_complete = inline.until_complete.scaled(factor);
    }
    let link = &mut machine.link;
    let longer = factor(link.scatter, random);
    let through = [&mut link.down_shared, &mut link.up_shared];
    let kept = [&mut link.down_shared_kept, &mut link.up_shared_kept];
    for shared in through.into_iter().chain(kept).flatten() {
        shared.per_copy_ns *= longer;
        shared.per_byte_ns *= longer;
        shared.per_byte = shared.per_byte.as_ref().map(|curve| curve.scaled(longer));
        shared.per_small_copy = shared.per_small_copy.as_ref().map(|curve| curve.scaled(longer));
    }
    draw_multi_gpu(&mut machine.multi_gpu, random);
    let MemoryCosts { renew, first_touch, first_touch_team, .. } = &mut machine.memory;
    for curve in [renew, first_touch, first_touch_team].into_iter().flatten() {
        *curve = curve.scaled(factor(curve.scatter, random));
    }
    machine
}

/// Scales the models of several GPUs. This comes last, so that a seed draws the same first device
/// with and without others.
fn draw_multi_gpu(several: &mut MultiGpu, random: &mut Antithetic) {
    let MultiGpu { use_device, peer_copy, start_peer_copy, crossing, .. } = several;
    for estimate in [use_device, peer_copy, start_peer_copy, crossing].into_iter().flatten() {
        *estimate = drawn_estimate(estimate, random);
    }
    for peer in &mut several.peers {
        peer.time = peer.time.scaled(factor(peer.time.scatter, random));
    }
    for root in &mut several.roots {
        let factor = factor(root.scatter, random);
        let RootModel { down_bytes_per_second, up_bytes_per_second, both_bytes_per_second, .. } =
            root;
        for rate in [down_bytes_per_second, up_bytes_per_second, both_bytes_per_second] {
            let scaled = |rate: Bandwidth| rate.bytes_per_second() / factor;
            *rate = rate.map(|rate| Bandwidth::from_bytes_per_second(scaled(rate)));
        }
    }
}

/// A drawn value of an estimate. For a bimodal estimate, a mode is drawn first, with its observed
/// probability.
fn drawn_estimate(estimate: &Estimate, random: &mut Antithetic) -> Estimate {
    let other = estimate.other.filter(|other| random.random::<f64>() < other.share);
    let ns = other.map_or(estimate.ns, |other| other.ns) * factor(estimate.scatter, random);
    Estimate::new(ns, estimate.scatter)
}

fn factor(scatter: f64, random: &mut Antithetic) -> f64 {
    deviate(scatter, || random.random())
}

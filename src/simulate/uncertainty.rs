//! How sure a prediction is. The engine runs under seeded draws of the profile, of how long each
//! launch takes, and of where the edges of the device's clock lie.

use super::antithetic::Antithetic;
use super::engine::Simulator;
use super::found::Found;
use super::program::{CompiledProgram, SimulateError};
use super::tally::Tally;
use crate::profile::{Estimate, MemoryCosts, MultiGpu, Profile, RootModel};
use crate::program::Program;
use crate::stats::{deviate, quantile};
use crate::timeline::Timeline;
use crate::units::{Bandwidth, Span};
use rand::RngExt;
use rayon::prelude::*;
use std::borrow::Borrow;
use std::cmp::Ordering;

/// The number of draws behind a range, unless the caller says otherwise; margins are computed with
/// as many. With 40 draws, the median error of calibrations' trials depended on the seed by a tenth
/// of a percent. With 100 it depends on it by half of that, and the errors are smaller by as much.
pub const DRAWS: usize = 100;

/// A predicted body: its makespans under profiles drawn from the scatter of the fitted one, and the
/// timeline of the median draw. That timeline stands for the machine better than one under the
/// fitted profile itself, in which an operation may narrowly miss a poll of its engine that most
/// draws catch.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub timeline: Timeline,
    /// Makespans under the draws, in order. The i-th draws of all forecasts with the same seed are
    /// of the same machine.
    pub draws: Vec<Span>,
    /// By how much both ends of the range are moved, from the calibration's trials of plans of this
    /// kind, on the scale of [`Margin::score`](crate::profile::Margin::score).
    pub margin: f64,
}

impl Forecast {
    /// The predicted time of one pass: the makespan of the median draw.
    pub fn makespan(&self) -> Span {
        self.timeline.makespan
    }

    /// The range that holds the true time nine times out of ten: the 5% and 95% quantiles of the
    /// draws, with both ends moved by the margin. It always contains the prediction.
    pub fn interval(&self) -> (Span, Span) {
        let draws: Vec<f64> = self.draws.iter().map(|span| span.nanos_f64()).collect();
        let middle = self.makespan().nanos_f64();
        let end = |q: f64| quantile(&draws, q).unwrap_or(middle);
        let (low, high) = (end(0.05).min(middle), end(0.95).max(middle));
        let moved = |end: f64, outwards: f64| {
            let inwards = middle + (end - middle) * (1.0 + self.margin);
            let end =
                if self.margin < 0.0 { inwards } else { end * (outwards * self.margin).exp() };
            Span::from_nanos_f64(end)
        };
        (moved(low, -1.0), moved(high, 1.0))
    }

    /// Whether the draws leave open which of the two is faster: neither is faster in nine draws of
    /// ten. Without draws, whether both take equally long.
    pub fn ties_with(&self, other: &Self) -> bool {
        self.ties_over(other, [Span::ZERO; 2], 1)
    }

    /// Whether the draws do not settle which of two programs is faster that go `runs` times
    /// through this body and the other, each after something that takes as long as `before`.
    pub fn ties_over(&self, other: &Self, before: [Span; 2], runs: u64) -> bool {
        let order =
            |mine: Span, theirs: Span| (before[0] + mine * runs).cmp(&(before[1] + theirs * runs));
        if self.draws.is_empty() {
            return order(self.makespan(), other.makespan()) == Ordering::Equal;
        }
        let in_draws = |wanted: Ordering| {
            let pairs = self.draws.iter().zip(&other.draws);
            pairs.filter(|&(&mine, &theirs)| order(mine, theirs) == wanted).count()
        };
        let most = in_draws(Ordering::Less).max(in_draws(Ordering::Greater));
        (most as f64) < SETTLED * self.draws.len() as f64
    }
}

/// The share of draws that settles which of two plans is faster.
const SETTLED: f64 = 0.9;

/// Predicts a plan's body with its uncertainty.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the plan does not
/// fit its machine.
pub fn forecast(
    plan: &Program,
    profile: &Profile,
    draws: usize,
    seed: u64,
) -> Result<Forecast, SimulateError> {
    let machines = drawn_machines(profile, draws, seed);
    forecast_on(plan, profile, &machines, &Tally::default())
}

/// Predicts several plans under the same draws, on all CPU threads. The results are in the order of
/// the plans.
pub fn forecast_all<P: Borrow<Program> + Sync>(
    plans: &[P],
    profile: &Profile,
    draws: usize,
    seed: u64,
) -> Vec<Result<Forecast, SimulateError>> {
    forecast_counted(plans, profile, (draws, seed), &Tally::default())
}

/// Like [`forecast_all`]. Counts the calls of a plan whenever it has been simulated: once for
/// each draw, and once for its timeline.
pub fn forecast_counted<P: Borrow<Program> + Sync>(
    plans: &[P],
    profile: &Profile,
    (draws, seed): (usize, u64),
    done: &Tally,
) -> Vec<Result<Forecast, SimulateError>> {
    let machines = drawn_machines(profile, draws, seed);
    plans.par_iter().map(|plan| forecast_on(plan.borrow(), profile, &machines, done)).collect()
}

fn forecast_on(
    plan: &Program,
    profile: &Profile,
    machines: &[Machine],
    done: &Tally,
) -> Result<Forecast, SimulateError> {
    let mut simulator = Simulator::default();
    let found = Found::new(plan, profile);
    let program = |&number: &usize| {
        let Machine { profile, luck } = &machines[number];
        CompiledProgram::with_luck(plan, &found, profile, Some(luck.clone()))
    };
    let mut ranks: Vec<usize> = (0..machines.len()).collect();
    let makespan = |number: &usize| {
        let makespan = simulator.makespan(&program(number)?);
        done.add(plan.body.len() as u64);
        Ok(makespan)
    };
    let draws = ranks.iter().map(makespan).collect::<Result<Vec<Span>, SimulateError>>()?;
    ranks.sort_by_key(|&number| draws[number]);
    let middle = ranks.get(ranks.len() / 2);
    let timeline =
        simulator.timeline(&middle.map_or_else(|| CompiledProgram::new(plan, profile), program)?);
    done.add(plan.body.len() as u64);
    let accuracy = profile.accuracy.as_ref();
    let margin = accuracy.map_or(0.0, |found| found.margin(plan, timeline.makespan));
    Ok(Forecast { timeline, draws, margin })
}

/// A machine from which the calibration could have come, and the random numbers for a plan on it.
struct Machine {
    profile: Profile,
    luck: Antithetic,
}

fn drawn_machines(profile: &Profile, draws: usize, seed: u64) -> Vec<Machine> {
    let machine = |number| {
        let mut random = Antithetic::new(seed, number);
        Machine { profile: drawn(profile, &mut random), luck: random }
    };
    (0..draws).map(machine).collect()
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
    let looks = latency.semaphore_polling.iter_mut().map(|looks| &mut looks.period);
    let hand_overs = machine.hand_overs.iter_mut().flat_map(|h| [&mut h.first, &mut h.queued]);
    let in_graphs = machine.graph.estimates();
    let estimates = estimates.into_iter().flatten().chain(looks);
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

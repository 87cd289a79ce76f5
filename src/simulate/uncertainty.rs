//! How sure a prediction is: the same engine under seeded draws of the profile.

use super::engine::Simulator;
use super::program::{Program, SimulateError};
use crate::plan::Plan;
use crate::profile::{Estimate, MultiGpu, Profile, RootModel};
use crate::stats::quantile;
use crate::timeline::Timeline;
use crate::units::{Bandwidth, Span};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Draws behind a range where nobody says otherwise: the fitted profile and pairs around
/// it. Margins are made with as many.
pub const DRAWS: usize = 41;

/// The share of draws on one side of the fitted profile that says that it is by chance where
/// few machines are: twice as many there as on the other side.
const ONE_SIDED: f64 = 2.0 / 3.0;

/// A predicted body: the timeline of the fitted profile and the makespans of profiles drawn
/// from its scatter. With the fitted profile itself, an operation may just miss a look of its
/// engine that most of the machines it stands for catch: then the timeline is of the one in
/// the middle.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub timeline: Timeline,
    /// Makespans under the draws, in the order of the draws: the i-th draw of
    /// every forecast with the same seed is of the same machine.
    pub draws: Vec<Span>,
    /// What calibration's trials of such plans have the range widened by at both
    /// ends: the logarithm of the factor.
    pub margin: f64,
}

impl Forecast {
    pub fn makespan(&self) -> Span {
        self.timeline.makespan
    }

    /// The range that holds the true time nine times out of ten: that of the
    /// draws, with the margin on both sides. It always holds the prediction.
    pub fn interval(&self) -> (Span, Span) {
        let draws: Vec<f64> = self.draws.iter().map(|span| span.nanos_f64()).collect();
        let middle = self.makespan().nanos_f64();
        let bound = |q, margin: f64| quantile(&draws, q).unwrap_or(middle) * margin.exp();
        let (low, high) = (bound(0.05, -self.margin), bound(0.95, self.margin));
        (Span::from_nanos_f64(low.min(middle)), Span::from_nanos_f64(high.max(middle)))
    }

    /// Whether the draws do not settle which of the two is faster: neither is
    /// in nine draws out of ten.
    pub fn ties_with(&self, other: &Self) -> bool {
        let pairs = self.draws.iter().zip(&other.draws);
        let faster = pairs.filter(|(mine, theirs)| mine < theirs).count() as f64;
        let share = faster / self.draws.len().max(1) as f64;
        !self.draws.is_empty() && share > 0.1 && share < 0.9
    }
}

/// Predicts a plan's body with its uncertainty.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the plan does not
/// fit its machine.
pub fn forecast(
    plan: &Plan,
    profile: &Profile,
    draws: usize,
    seed: u64,
) -> Result<Forecast, SimulateError> {
    let machines = drawn_machines(profile, draws, seed);
    forecast_on(plan, profile, &machines)
}

/// Predicts several plans under the same draws, on all threads.
pub fn forecast_all(
    plans: &[Plan],
    profile: &Profile,
    draws: usize,
    seed: u64,
) -> Vec<Result<Forecast, SimulateError>> {
    let machines = drawn_machines(profile, draws, seed);
    plans.par_iter().map(|plan| forecast_on(plan, profile, &machines)).collect()
}

fn forecast_on(
    plan: &Plan,
    profile: &Profile,
    machines: &[Profile],
) -> Result<Forecast, SimulateError> {
    let mut simulator = Simulator::default();
    let makespan = |machine| Ok(simulator.makespan(&Program::new(plan, machine)?));
    let draws = machines.iter().map(makespan).collect::<Result<Vec<Span>, SimulateError>>()?;
    let typical = typical(machines, &draws).unwrap_or(profile);
    let timeline = simulator.timeline(&Program::new(plan, typical)?);
    let accuracy = profile.accuracy.as_ref();
    let margin = accuracy.map_or(0.0, |found| found.margin(plan, timeline.makespan));
    Ok(Forecast { timeline, draws, margin })
}

/// The machine whose run is the prediction: the fitted profile, which is the first, unless
/// most draws lie on one side of it. Then it is the one in the middle.
fn typical<'m>(machines: &'m [Profile], draws: &[Span]) -> Option<&'m Profile> {
    let fitted = draws.first()?;
    let share = |side: Ordering| {
        draws.iter().filter(|draw| draw.cmp(&fitted) == side).count() as f64 / draws.len() as f64
    };
    if share(Ordering::Less).max(share(Ordering::Greater)) < ONE_SIDED {
        return machines.first();
    }
    let mut ranks: Vec<usize> = (0..draws.len()).collect();
    ranks.sort_by_key(|&rank| draws[rank]);
    machines.get(ranks[ranks.len() / 2])
}

/// The fitted profile, and pairs that lie on opposite sides of it: what is a little too
/// long in one is as much too short in the other, so that no luck of the draw is left in
/// the middle (antithetic variates; Hammersley and Morton 1956).
fn drawn_machines(profile: &Profile, draws: usize, seed: u64) -> Vec<Profile> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut machines = vec![profile.clone()];
    while machines.len() < draws {
        let mut first = Deviates { random: random.clone(), mirrored: false };
        machines.push(drawn(profile, &mut first));
        machines.push(drawn(profile, &mut Deviates { random, mirrored: true }));
        random = first.random;
    }
    machines.truncate(draws);
    machines
}

/// Seeded deviates, or the same ones mirrored.
struct Deviates {
    random: ChaCha8Rng,
    mirrored: bool,
}

impl Deviates {
    /// Between 0 and 1.
    fn uniform(&mut self) -> f64 {
        let deviate = self.random.random::<f64>();
        if self.mirrored { 1.0 - deviate } else { deviate }
    }

    /// One plus a normal deviate times the scatter, kept well above zero. The sum
    /// of twelve uniform deviates less six is normal enough here (Irwin 1927, Hall
    /// 1927) and, unlike a logarithm, the same to the last bit everywhere.
    fn factor(&mut self, scatter: f64) -> f64 {
        let normal = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        (1.0 + scatter * normal).max(0.2)
    }
}

/// A machine that this calibration could have come from: every model scaled
/// once, by its own scatter.
fn drawn(profile: &Profile, random: &mut Deviates) -> Profile {
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
    ];
    let looks = latency.looks.iter_mut().map(|looks| &mut looks.period);
    let hand_overs = machine.hand_overs.iter_mut().flat_map(|h| [&mut h.first, &mut h.queued]);
    let in_graphs = machine.graph.estimates();
    let estimates = estimates.into_iter().flatten().chain(looks);
    for estimate in estimates.chain(hand_overs).chain(in_graphs) {
        let other = estimate.other.filter(|other| random.uniform() < other.share);
        let ns = other.map_or(estimate.ns, |other| other.ns) * random.factor(estimate.scatter);
        *estimate = Estimate::new(ns, estimate.scatter);
    }
    let copies = machine.copies.iter_mut().map(|model| &mut model.time);
    let kernels = machine.kernels.iter_mut().map(|model| &mut model.time);
    let twins = machine.twins.iter_mut().map(|model| &mut model.time);
    for curve in copies.chain(kernels).chain(twins) {
        *curve = curve.scaled(random.factor(curve.scatter));
    }
    for model in &mut machine.staging {
        let factor = random.factor(model.until_complete.scatter);
        model.until_return = model.until_return.as_ref().map(|curve| curve.scaled(factor));
        model.until_complete = model.until_complete.scaled(factor);
    }
    if let Some(inline) = &mut machine.inline {
        let factor = random.factor(inline.until_complete.scatter);
        inline.until_return = inline.until_return.scaled(factor);
        inline.until_complete = inline.until_complete.scaled(factor);
    }
    let factor = random.factor(machine.link.scatter);
    let link = &mut machine.link;
    for shared in [&mut link.down_shared, &mut link.up_shared].into_iter().flatten() {
        shared.per_copy_ns *= factor;
        shared.per_byte_ns *= factor;
    }
    draw_multi_gpu(&mut machine.multi_gpu, random);
    machine
}

/// Last of all, so that the same seed draws the same first device without others.
fn draw_multi_gpu(several: &mut MultiGpu, random: &mut Deviates) {
    let MultiGpu { use_device, peer_copy, start_peer_copy, crossing, .. } = several;
    for estimate in [use_device, peer_copy, start_peer_copy, crossing].into_iter().flatten() {
        *estimate = Estimate::new(estimate.ns * random.factor(estimate.scatter), estimate.scatter);
    }
    for peer in &mut several.peers {
        peer.time = peer.time.scaled(random.factor(peer.time.scatter));
    }
    for root in &mut several.roots {
        let factor = random.factor(root.scatter);
        let RootModel { down_bytes_per_second, up_bytes_per_second, both_bytes_per_second, .. } =
            root;
        for rate in [down_bytes_per_second, up_bytes_per_second, both_bytes_per_second] {
            let scaled = |rate: Bandwidth| rate.bytes_per_second() / factor;
            *rate = rate.map(|rate| Bandwidth::from_bytes_per_second(scaled(rate)));
        }
    }
}

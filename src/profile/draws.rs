//! Another machine from which the calibration could have come: each parameter drawn by its scatter.

use super::{Curve, Estimate, Profile};
use crate::stats::deviate;

/// Draws parameters.
pub(super) struct Draws<'r> {
    /// Gives numbers that are uniform from 0 to 1.
    uniform: &'r mut dyn FnMut() -> f64,
}

impl Draws<'_> {
    pub fn factor(&mut self, scatter: f64) -> f64 {
        deviate(scatter, &mut self.uniform)
    }

    /// For a bimodal estimate, draws a mode first, with its observed probability.
    pub fn estimate(&mut self, estimate: &mut Estimate) {
        let other = estimate.other.filter(|other| (self.uniform)() < other.share);
        let ns = other.map_or(estimate.ns, |other| other.ns) * self.factor(estimate.scatter);
        *estimate = Estimate::new(ns, estimate.scatter);
    }

    pub fn estimates<const N: usize>(&mut self, estimates: [&mut Option<Estimate>; N]) {
        estimates.into_iter().flatten().for_each(|estimate| self.estimate(estimate));
    }

    pub fn curve(&mut self, curve: &mut Curve) {
        self.together(curve.scatter, [curve]);
    }

    /// Curves that come from the same samples: one deviate moves all of them.
    pub fn together<'c>(&mut self, scatter: f64, curves: impl IntoIterator<Item = &'c mut Curve>) {
        let factor = self.factor(scatter);
        curves.into_iter().for_each(|curve| curve.scale(factor));
    }
}

impl Profile {
    /// The profile with every parameter that predictions use moved once, each by its own scatter.
    ///
    /// Each model says how it is drawn. The order must stay: with the same random numbers in
    /// another order, every range would change. What a profile of one GPU without fresh memory has
    /// comes first, so that a seed draws that part alike for all.
    #[must_use]
    pub fn drawn(&self, uniform: &mut dyn FnMut() -> f64) -> Self {
        let mut machine = self.clone();
        let draws = &mut Draws { uniform };
        machine.calls.draw(draws);
        machine.latency.draw(draws);
        machine.calls.draw_additions(draws);
        let polling = machine.latency.semaphore_polling.iter_mut();
        polling.for_each(|polling| draws.estimate(&mut polling.period));
        let hand_overs = machine.hand_overs.iter_mut();
        let hand_overs = hand_overs.flat_map(|one| [&mut one.first, &mut one.queued]);
        hand_overs.for_each(|time| draws.estimate(time));
        machine.graph.draw(draws);
        machine.copies.iter_mut().for_each(|model| draws.curve(&mut model.time));
        machine.kernels.iter_mut().for_each(|model| draws.curve(&mut model.time));
        machine.twins.iter_mut().for_each(|model| draws.curve(&mut model.time));
        machine.staging.iter_mut().for_each(|model| model.draw(draws));
        machine.inline.iter_mut().for_each(|model| model.draw(draws));
        machine.link.draw(draws);
        machine.multi_gpu.draw(draws);
        machine.memory.draw(draws);
        machine.own_kernels.iter_mut().for_each(|model| draws.curve(&mut model.time));
        machine.own_commands.iter_mut().for_each(|model| draws.curve(&mut model.time));
        machine
    }

    /// Draws the prices of what only spelled-out programs do: use memory of the other side (mapped,
    /// write-combined and managed), take memory in a pass, copy rows or on one side. It has random
    /// numbers of its own, so that ranges of other programs do not depend on whether the profile
    /// knows it.
    #[must_use]
    pub fn drawn_beyond(mut self, uniform: &mut dyn FnMut() -> f64) -> Self {
        let draws = &mut Draws { uniform };
        self.memory.draw_combined(draws);
        self.transfers.iter_mut().for_each(|model| draws.curve(&mut model.time));
        self.calls.draw_spelled(draws);
        self.memory.draw_spelled(draws);
        self.host_copies.iter_mut().for_each(|model| model.draw(draws));
        self.rows.iter_mut().for_each(|model| model.draw(draws));
        self.interference.iter_mut().for_each(|found| found.draw(draws));
        self
    }
}

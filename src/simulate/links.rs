//! Links that flows share: fair rates for all of them.
//!
//! Rates are *weighted max-min fair*: no flow can go faster without slowing another flow whose rate
//! per unit of weight is no higher. They are found by filling (Bertsekas & Gallager, *Data
//! Networks*, 2nd ed., section 6.5.2): one level rises, every open flow runs at its weight times
//! the level, and a flow stops at its cap or when one of its links is full.
//!
//! All rates are found anew with every change: a machine has three copy engines for each GPU, and
//! so a handful of flows.
//!
//! The caller chooses the units: a capacity is in amounts of the link (say, bytes) per time, a rate
//! in amounts of the flow per time, and a coefficient in amounts of the link per amount of the
//! flow.

use crate::cost::LinkId;

/// The most links that one flow uses.
pub const MOST_LINKS: usize = 3;

/// Links whose levels are this close, relative to the level, fill up at once, so that rounding does
/// not separate links that fill up together in exact arithmetic. The value is far above the
/// rounding of a sum of some hundred flows, and far below what can be measured. Rates are exact to
/// within it, and no link is overfull by more.
const TIE: f64 = 1e-12;

/// A flow with the rate that it has since the last [`Links::share`].
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// The flow's share relative to others on the same full link.
    weight: f64,
    /// The highest rate that the flow may have, and that its links allow it alone.
    cap: f64,
    /// The level at which the flow runs at its cap.
    full: f64,
    uses: [(LinkId, f64); MOST_LINKS],
    pub rate: f64,
    /// Whether the rate is still to be found.
    is_open: bool,
}

/// The links that flows share.
#[derive(Debug, Default)]
pub struct Links {
    links: Vec<SharedLink>,
}

#[derive(Debug)]
struct SharedLink {
    capacity: f64,
    /// What its finished flows leave, and how much of it its open flows use for each level.
    left: f64,
    load: f64,
    /// The level at which the link is full.
    full: f64,
}

impl Links {
    /// # Panics
    /// If a capacity is not a finite number above 0.
    pub fn new(capacities: &[f64]) -> Self {
        let link = |&capacity: &f64| {
            assert!(capacity > 0.0 && capacity.is_finite(), "a link's capacity is {capacity}");
            SharedLink { capacity, left: capacity, load: 0.0, full: f64::INFINITY }
        };
        Self { links: capacities.iter().map(link).collect() }
    }

    /// A flow with a weight above 0 and the highest rate that it may have: at least 0, infinite for
    /// no limit. `uses`: how much of each link it uses per unit of its rate, at least 0; of a link
    /// that is listed twice, 0 at least once.
    ///
    /// # Panics
    /// If a number is not as it has to be, or a flow that uses no link has no highest rate.
    pub fn flow(&self, weight: f64, cap: f64, uses: [(LinkId, f64); MOST_LINKS]) -> Flow {
        assert!(weight > 0.0 && weight.is_finite(), "a flow's weight is {weight}");
        assert!(cap >= 0.0, "a flow's cap is {cap}");
        let mut flow = Flow { weight, cap, full: 0.0, uses, rate: 0.0, is_open: true };
        for (link, coefficient) in flow.uses {
            assert!(coefficient >= 0.0, "a flow's coefficient is {coefficient}");
            if coefficient > 0.0 {
                flow.cap = flow.cap.min(self.links[link.0 as usize].capacity / coefficient);
            }
        }
        assert!(flow.cap.is_finite(), "a flow on no link needs a cap");
        flow.full = flow.cap / weight;
        flow
    }

    /// Gives flows their rates.
    pub fn share(&mut self, flows: &mut [Option<Flow>]) {
        flows.iter_mut().flatten().for_each(|flow| flow.is_open = true);
        let mut level = 0.0;
        while flows.iter().flatten().any(|flow| flow.is_open) {
            level = self.fill(level, flows);
        }
    }

    /// Raises the level until a link is full or, if flows reach their caps before that, finishes
    /// those flows. Returns the new level.
    ///
    /// Flows at their caps leave more for the others, so a link's own level never falls: all caps
    /// below the lowest link's level can be reached at once. Rounding may let a link's level fall a
    /// little, even to 0, but the returned level does not fall.
    fn fill(&mut self, level: f64, flows: &mut [Option<Flow>]) -> f64 {
        let level = level.max(self.lowest(flows));
        let mut are_capped = false;
        for flow in flows.iter_mut().flatten().filter(|flow| flow.is_open && flow.full <= level) {
            (flow.rate, flow.is_open, are_capped) = (flow.cap, false, true);
        }
        if are_capped {
            return level;
        }
        for flow in flows.iter_mut().flatten().filter(|flow| flow.is_open) {
            let is_full = |(link, _): (usize, f64)| self.links[link].full <= level * (1.0 + TIE);
            if flow.used().any(is_full) {
                (flow.rate, flow.is_open) = ((flow.weight * level).min(flow.cap), false);
            }
        }
        level
    }

    /// The lowest level at which a link is full: what its finished flows leave, divided by weight
    /// among its open flows. The sums are formed anew each time, since a running difference would
    /// keep the rounding of flows that have left.
    fn lowest(&mut self, flows: &[Option<Flow>]) -> f64 {
        for link in &mut self.links {
            (link.left, link.load) = (link.capacity, 0.0);
        }
        for flow in flows.iter().flatten() {
            for (link, coefficient) in flow.used() {
                let link = &mut self.links[link];
                if flow.is_open {
                    link.load += coefficient * flow.weight;
                } else {
                    link.left -= coefficient * flow.rate;
                }
            }
        }
        let full = |link: &mut SharedLink| {
            link.full = if link.load > 0.0 { link.left / link.load } else { f64::INFINITY };
            link.full
        };
        self.links.iter_mut().map(full).fold(f64::INFINITY, f64::min)
    }
}

impl Flow {
    /// The links that the flow uses, and how much of each.
    fn used(&self) -> impl Iterator<Item = (usize, f64)> {
        let uses = self.uses.iter().map(|&(link, coefficient)| (link.0 as usize, coefficient));
        uses.filter(|&(_, coefficient)| coefficient > 0.0)
    }
}

//! Another machine from which the calibration could have come: each price drawn by its scatter.

use super::Profile;
use super::prices::{Amount, Drawn, Price, SharedSamples};
use crate::stats::deviate;

/// Gives numbers that are uniform from 0 to 1.
type Uniform<'r> = dyn FnMut() -> f64 + 'r;

impl Profile {
    /// The profile with every price that predictions use moved once, each by its own scatter, and
    /// prices that come from the same samples by one factor.
    ///
    /// Prices of what only spelled-out programs do, and of memory of the other side, have random
    /// numbers of their own, so that ranges of other programs do not depend on whether the profile
    /// knows them.
    #[must_use]
    pub fn drawn<'r>(&self, usual: &mut Uniform<'r>, spelled_out: &mut Uniform<'r>) -> Self {
        let mut machine = self.clone();
        let mut prices = machine.prices_without_keys();
        prices.retain(|price| price.drawn != Drawn::No);
        prices.sort_by_key(|price| price.drawn);
        let mut before: Option<(SharedSamples, f64)> = None;
        for mut price in prices {
            let is_usual = matches!(price.drawn, Drawn::First | Drawn::Usual);
            let uniform = if is_usual { &mut *usual } else { &mut *spelled_out };
            let own = choose_mode(&mut price, uniform);
            let factor = match (price.samples, before) {
                (Some(samples), Some((same, factor))) if samples == same => factor,
                (samples, _) => deviate(samples.map_or(own, |shared| shared.scatter), uniform),
            };
            before = price.samples.map(|samples| (samples, factor));
            price.scale(factor);
        }
        machine
    }
}

/// Draws a mode of a bimodal time with its observed probability. Returns the scatter about it.
fn choose_mode(price: &mut Price<'_>, uniform: &mut Uniform<'_>) -> f64 {
    match &mut price.amount {
        Amount::Time(time) => {
            let other = time.other.take().filter(|other| uniform() < other.share);
            time.ns = other.map_or(time.ns, |other| other.ns);
            time.scatter
        }
        Amount::Curve(curve) => curve.scatter,
        Amount::Number(_) | Amount::Rate(_) | Amount::Shares(_) => 0.0,
    }
}

//! How long each single launch takes.
//!
//! Launches behind each other in one plan, with nothing else about them changed, take from two
//! thirds to one and a half of what they take in the mean. Plans go through their engines' looks
//! with these, not with the mean: where that would miss each look by a little, or catch it,
//! launches of different length miss some and catch others.

use super::antithetic::Antithetic;
use crate::profile::Profile;
use crate::units::Span;
use rand::Rng;

/// Draws the times of launches, one after the other; with none, or where it is not known how
/// far they lie apart, all take what the profile says.
pub(super) struct Luck<'p> {
    spread: Option<(Antithetic, &'p [(f64, f64)])>,
}

impl<'p> Luck<'p> {
    pub fn new(profile: &'p Profile, random: Option<Antithetic>) -> Self {
        Self { spread: random.zip(profile.calls.launch_spread.as_deref()) }
    }

    /// Whether any launch takes anything else than the profile says.
    pub fn is_drawn(&self) -> bool {
        self.spread.is_some()
    }

    /// What the next launch takes that usually takes so long.
    pub fn launch(&mut self, usual: Span) -> Span {
        let Some((random, spread)) = &mut self.spread else { return usual };
        let factor = crate::stats::interpolate(spread, random.random());
        Span::from_nanos_f64((usual.nanos_f64() * factor).max(0.0))
    }
}

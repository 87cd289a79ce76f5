//! What bounds a program: which of its prices, halved, makes a pass shortest.
//!
//! What is busy longest need not be what bounds a program: kernels that read the host's memory in
//! place keep the multiprocessors busy and wait for the link, and small copies keep the link's
//! engine busy and hardly use the link. So each group of prices is halved in turn, and the program
//! is simulated again.

use crate::cost::{Analysis, Bottleneck, CompileError, CompiledProgram, Halved, Prices};
use crate::profile::Profile;
use crate::program::Program;
use serde::{Deserialize, Serialize};

/// How much time halving a group of costs saves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// The group of costs.
    pub of: Bottleneck,
    /// Share of the run that is saved. A run that consists only of these costs saves half of its
    /// time.
    pub share: f64,
}

/// What a pass gains from each group of prices, the largest first. Those that gain nothing are left
/// out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gains(pub Vec<Gain>);

/// A group of prices that gains less than this share of the pass does not bound it.
const MUCH: f64 = 0.05;

impl Gains {
    /// What bounds the program.
    pub fn bottleneck(&self) -> Bottleneck {
        let first = self.0.first().filter(|first| first.share >= MUCH);
        first.map_or(Bottleneck::Balanced, |first| first.of)
    }
}

/// Finds what bounds a program, on the machine without scatter.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the program does not
/// fit its machine.
pub fn gains(program: &Program, profile: &Profile) -> Result<Gains, CompileError> {
    let analysis = Analysis::new(program, profile);
    let usual = CompiledProgram::usual(program, &analysis, profile)?;
    let takes = usual.makespan().nanos_f64().max(1.0);
    let gain = |of: Bottleneck| {
        let prices = Prices { halved: Halved::of(of), ..Prices::usual(profile) };
        let compiled = CompiledProgram::priced(program, &analysis, &prices, None)?;
        // Most programs have none of the calls that some groups are about.
        let is_usual = of != Bottleneck::Waits && compiled.body.costs == usual.body.costs;
        let share = if is_usual { 0.0 } else { 1.0 - compiled.makespan().nanos_f64() / takes };
        Ok::<Gain, CompileError>(Gain { of, share })
    };
    let groups = Bottleneck::GROUPS.into_iter().map(gain);
    let mut gains: Vec<Gain> = groups.collect::<Result<_, _>>()?;
    // Where bytes go both ways at once, fewer in one direction may gain nothing, and fewer in both
    // much. Where they go one after the other, only both together may be more than something else.
    let is_of_link = |one: &&Gain| Bottleneck::LINK.contains(&one.of);
    let shares = |of_link| {
        let some = gains.iter().filter(move |one| is_of_link(one) == of_link);
        some.map(|one| one.share.max(0.0))
    };
    let (apart, largest) = (shares(true).sum::<f64>(), shares(true).fold(0.0, f64::max));
    let other = shares(false).fold(0.0, f64::max);
    let both = gain(Bottleneck::Link)?;
    if both.share >= apart + MUCH || (largest < other && other < both.share) {
        gains.push(both);
    }
    gains.retain(|one| one.share > 0.0);
    gains.sort_by(|one, other| other.share.total_cmp(&one.share));
    Ok(Gains(gains))
}

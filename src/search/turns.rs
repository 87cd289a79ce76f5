//! Where, along a number that grows, the winner changes, and how sure that is.
//!
//! Two neighbours among the values that were tried have different winners: the turn lies between
//! them, and is found by halving. From there, its range goes outwards to the values at which the
//! draws and the margins leave no doubt who wins.

use super::halving::halved;
use crate::profile::Profile;
use crate::program::Program;
use crate::simulate::{Draws, Tally, forecast_all};
use crate::units::Span;
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Range;

/// A value of a number that is swept. In JSON, it is a whole number if possible.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Setting(pub f64);

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let is_whole = self.0.fract() == 0.0 && (0.0..9e15).contains(&self.0);
        if is_whole { to.serialize_u64(self.0 as u64) } else { to.serialize_f64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        f64::deserialize(from).map(Self)
    }
}

/// A range of values in which the GPU wins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wins {
    /// The smallest value. `null` if the range begins at the smallest value tried.
    pub from: Option<Setting>,
    /// The largest value. `null` if the range ends at the largest value tried.
    pub until: Option<Setting>,
    /// The interval in which `from` lies, given the ranges of the times. An end is `null` if it is
    /// beyond the values tried.
    pub from_range: Option<[Option<Setting>; 2]>,
    /// The interval in which `until` lies.
    pub until_range: Option<[Option<Setting>; 2]>,
}

/// A change of the winner between two values that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// The last value tried before the change.
    pub after: Setting,
    /// Its approximate position: the first value examined at which the new winner leads.
    pub at: Setting,
    /// The smallest value at which the new winner may already lead. `null` if it is below all
    /// values tried.
    pub earliest: Option<Setting>,
    /// The largest value at which the old winner may still lead. `null` if it is beyond all values
    /// tried.
    pub latest: Option<Setting>,
}

/// Which side is faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lead {
    /// The logarithm of how many times as fast the GPU is; below 0, the CPU is faster.
    Of(f64),
    /// No plan of either side fits into the machine.
    NoPlan,
    Unknown,
}

/// The lead of the GPU, as in [`Lead::Of`], by the times of the CPU and of the GPU. A kernel may be
/// stated to take no time at all.
pub(super) fn lead_of([cpu, gpu]: [Span; 2]) -> f64 {
    (cpu.nanos_f64().max(1.0) / gpu.nanos_f64().max(1.0)).ln()
}

impl Lead {
    /// The lead, if both sides are known and one of them has a plan.
    pub fn known(self) -> Option<f64> {
        match self {
            Self::Of(lead) => Some(lead),
            Self::NoPlan | Self::Unknown => None,
        }
    }
}

/// Between which leads the true one is, nine times out of ten, of two programs: the CPU's and the
/// GPU's.
pub(super) fn drawn_lead(
    programs: &[Program; 2],
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Option<(f64, f64)> {
    let [cpu, gpu] = forecast_all(programs, profile, draws, done).try_into().ok()?;
    Some(gpu.ok()?.lead_over(&cpu.ok()?, [Span::ZERO; 2], 1))
}

/// The plans of both sides at every value.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    /// Who leads, by the predicted times.
    pub lead: &'a (dyn Fn(f64) -> Lead + Sync),
    /// Between which leads the true one is, nine times out of ten. `None` if that is not known.
    pub range: &'a (dyn Fn(f64) -> Option<(f64, f64)> + Sync),
}

/// A lead of less than this share does not change the winner: near a tie it would change at every
/// value.
pub(super) const CLEARLY: f64 = 0.05;
/// Halving ends where both values differ by less than this share; on a coarse scale, the second.
const RESOLUTION: f64 = 1.0 / 64.0;
const COARSE: f64 = 1.0 / 4.0;

/// The values that a number may have.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Whether only whole values make sense.
    pub is_whole: bool,
    /// Whether turns are found less exactly, because it takes long to look at a value.
    pub is_coarse: bool,
}

impl Scale {
    /// A value between two, unless they are near enough to each other. Halving the ratio keeps the
    /// relative precision the same everywhere.
    fn between(self, low: f64, high: f64) -> Option<f64> {
        let resolution = if self.is_coarse { COARSE } else { RESOLUTION };
        if high - low <= low.abs() * resolution {
            return None;
        }
        let middle = if low > 0.0 { (low * high).sqrt() } else { f64::midpoint(low, high) };
        let middle = if self.is_whole { middle.floor() } else { middle };
        (low < middle && middle < high).then_some(middle)
    }

    /// The ends of a stretch, narrowed to where a condition changes that holds at the first alone.
    pub fn narrowed(
        self,
        ends: (f64, f64),
        holds: impl Fn(f64) -> Option<bool>,
    ) -> Option<(f64, f64)> {
        halved(ends, |low, high| self.between(low, high), holds)
    }
}

/// The changes of the winner right after values whose places are in `own`.
pub(super) fn turns(
    values: &[f64],
    own: Range<usize>,
    scale: Scale,
    sides: Sides<'_>,
) -> Vec<Turn> {
    let pairs = own.into_par_iter().filter(|place| place + 1 < values.len());
    pairs.filter_map(|place| turn(values, place, scale, sides)).collect()
}

fn turn(values: &[f64], place: usize, scale: Scale, sides: Sides<'_>) -> Option<Turn> {
    let Sides { lead, range } = sides;
    let [before, after] = [place, place + 1].map(|place| lead(values[place]).known());
    let (before, after) = (before?, after?);
    let gpu_wins = after > 0.0;
    if (before > 0.0) == gpu_wins {
        return None;
    }
    let old_leads = |at: f64| lead(at).known().map(|lead| (lead > 0.0) != gpu_wins);
    let (last, at) = scale.narrowed((values[place], values[place + 1]), old_leads)?;
    // Whether the range leaves no doubt that the old winner leads, or the new one.
    let is_settled = |at: f64, is_new: bool| {
        let is_gpu = is_new == gpu_wins;
        range(at).map(|(low, high)| if is_gpu { low > 0.0 } else { high < 0.0 })
    };
    // The range of a time that is not known has no end; of memory that is too small, none either.
    let is_certain = before.is_infinite() || after.is_infinite();
    let (earliest, latest) = if is_certain {
        (Some(at), Some(at))
    } else {
        let earliest = || {
            let below = values[..=place].iter().rev().copied();
            let settled = |at: f64| is_settled(at, false).unwrap_or(false);
            let (inner, outer) = outwards(last, below, settled)?;
            let found = scale.narrowed((outer, inner), |at| is_settled(at, false));
            Some(found.map_or(outer, |(_, uncertain)| uncertain))
        };
        let latest = || {
            let above = values[place + 1..].iter().copied();
            let settled = |at: f64| is_settled(at, true).unwrap_or(false);
            let (inner, outer) = outwards(at, above, settled)?;
            let found = scale.narrowed((inner, outer), |at| is_settled(at, true).map(|is| !is));
            Some(found.map_or(outer, |(_, certain)| certain))
        };
        rayon::join(earliest, latest)
    };
    let ends = [earliest.map(|end| end.min(at)), latest.map(|end| end.max(at))];
    let [earliest, latest] = ends.map(|end| end.map(Setting));
    Some(Turn { after: Setting(values[place]), at: Setting(at), earliest, latest })
}

/// The first of some values, going outwards, that is settled, and the one before it, which is not.
fn outwards(
    from: f64,
    values: impl Iterator<Item = f64>,
    is_settled: impl Fn(f64) -> bool,
) -> Option<(f64, f64)> {
    let mut inner = from;
    for value in values {
        if is_settled(value) {
            return Some((inner, value));
        }
        inner = value;
    }
    None
}

/// The stretches in which the GPU leads, from the leads at values that were tried and the turns
/// between them. A lead that never gets clear of a tie does not count.
pub(super) fn wins(known: &[(f64, f64)], turns: &[Turn]) -> Vec<Wins> {
    let nothing = Wins { from: None, until: None, from_range: None, until_range: None };
    let Some((first, rest)) = known.split_first() else { return Vec::new() };
    let mut gpu_wins = first.1 > 0.0;
    let mut found = if gpu_wins { vec![nothing] } else { Vec::new() };
    let mut last = first.0;
    for &(value, lead) in rest {
        if (lead > 0.0) == gpu_wins {
            last = value;
        } else if lead.abs() > CLEARLY {
            let turn = turns.iter().find(|turn| turn.after.0 == last);
            let at = turn.map_or(Setting(value), |turn| turn.at);
            // Where the values between cannot be predicted, the turn is anywhere among them.
            let between = [Some(Setting(last)), Some(Setting(value))];
            let range = Some(turn.map_or(between, |turn| [turn.earliest, turn.latest]));
            match found.last_mut().filter(|_| gpu_wins) {
                Some(wins) => (wins.until, wins.until_range) = (Some(at), range),
                None => found.push(Wins { from: Some(at), from_range: range, ..nothing }),
            }
            (gpu_wins, last) = (!gpu_wins, value);
        }
    }
    apart(&mut found);
    found
}

/// Where the winner changes and changes back before it was settled, neither range goes beyond the
/// other change.
fn apart(found: &mut [Wins]) {
    let least = |end: &mut Option<[Option<Setting>; 2]>, least: Setting| {
        if let Some([low, _]) = end {
            *low = Some(low.map_or(least, |low| Setting(low.0.max(least.0))));
        }
    };
    let most = |end: &mut Option<[Option<Setting>; 2]>, most: Setting| {
        if let Some([_, high]) = end {
            *high = Some(high.map_or(most, |high| Setting(high.0.min(most.0))));
        }
    };
    for place in 0..found.len() {
        let (before, rest) = found.split_at_mut(place);
        let wins = &mut rest[0];
        if let (Some(from), Some(until)) = (wins.from, wins.until) {
            most(&mut wins.from_range, until);
            least(&mut wins.until_range, from);
        }
        if let (Some(last), Some(from)) = (before.last_mut(), wins.from) {
            most(&mut last.until_range, from);
            last.until.into_iter().for_each(|until| least(&mut wins.from_range, until));
        }
    }
}

//! Compares two profiles, parameter by parameter.

use crate::profile::{Intervals, Parameter, Profile};
use std::collections::BTreeSet;

/// A parameter, or a point of a curve, that two profiles both have with an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub name: String,
    /// The section of the profile's file.
    pub section: String,
    /// The size that the point of a curve belongs to.
    pub size: Option<f64>,
    pub values: [f64; 2],
    /// Half the width of the 95% interval around each value.
    pub half_widths: [f64; 2],
}

impl Pair {
    /// How far apart the values are, in half widths of the narrower interval.
    pub fn distance(&self) -> f64 {
        let [one, other] = self.values;
        let [width, other_width] = self.half_widths;
        (one - other).abs() / width.min(other_width).max(f64::MIN_POSITIVE)
    }

    /// Whether each lies in the interval around the other.
    pub fn is_same(&self) -> bool {
        self.distance() <= 1.0
    }

    /// A key that is equal for all places of a section that hold the same estimate: a fit writes an
    /// estimate that several models share into each of them.
    fn estimate(&self) -> (String, [u64; 4]) {
        let [[one, other], widths] = [self.values, self.half_widths];
        (self.section.clone(), [one, other, widths[0], widths[1]].map(f64::to_bits))
    }

    /// The share by which the second lies above the first.
    pub fn change(&self) -> f64 {
        self.values[1] / self.values[0] - 1.0
    }
}

/// What two profiles have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Sorted by distance, the largest first.
    pub pairs: Vec<Pair>,
    /// Names of parameters that only one profile has, or has without an interval.
    pub unpaired: Vec<String>,
}

impl Agreement {
    /// Compares the parameters of two profiles, each within its interval.
    pub fn of([one, other]: [&Profile; 2], intervals: [&Intervals; 2]) -> Self {
        let (mut pairs, mut unpaired) = (Vec::new(), Vec::new());
        let [ones, others] = [one, other].map(Profile::parameters);
        let named = |among: &[Parameter], name: &str| {
            among.iter().find(|parameter| parameter.name == name).cloned()
        };
        for parameter in &ones {
            let other = named(&others, &parameter.name);
            match other.and_then(|other| paired([parameter, &other], intervals)) {
                Some(found) => pairs.extend(found),
                None => unpaired.push(parameter.name.clone()),
            }
        }
        let new = others.into_iter().map(|other| other.name);
        unpaired.extend(new.filter(|name| named(&ones, name).is_none()));
        pairs.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
        let mut seen = BTreeSet::new();
        pairs.retain(|pair| seen.insert(pair.estimate()));
        Self { pairs, unpaired }
    }

    /// The share of pairs that are the same; `None` if there are no pairs.
    pub fn share(&self) -> Option<f64> {
        let same = self.pairs.iter().filter(|pair| pair.is_same()).count();
        (!self.pairs.is_empty()).then(|| same as f64 / self.pairs.len() as f64)
    }
}

/// The points of the first parameter that lie within the second one's sizes: two fits of a curve
/// need not bend at the same sizes. `None` without intervals.
fn paired(both: [&Parameter; 2], intervals: [&Intervals; 2]) -> Option<Vec<Pair>> {
    let [one, other] = both;
    let (width, other_width) = (intervals[0].around(one)?, intervals[1].around(other)?);
    let pair = |&(size, value): &(f64, f64)| {
        Some(Pair {
            name: one.name.clone(),
            section: one.section.clone(),
            size: one.is_curve.then_some(size),
            values: [value, other.at(size)?],
            half_widths: [width.at(size)?, other_width.at(size)?],
        })
    };
    // A value that is 0 or 1 by definition says nothing about a machine.
    let is_known = |pair: &Pair| pair.values[0] != pair.values[1] || pair.half_widths != [0.0; 2];
    Some(one.points.iter().filter_map(pair).filter(is_known).collect())
}

//! How sure a profile is, in a line, and how many measured times its ranges held.

use super::Origin;
use super::words::{fine_percent, joined, percent, plural};
use crate::profile::Profile;
use crate::simulate::COVERAGE;
use crate::stats::{NINE_OF_TEN, deviations_holding, median};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many of the least sure kinds are named.
const NAMED: usize = 3;

/// The median half width of the 95% intervals: of all parameters, and of the kinds with the widest.
pub fn sureness(profile: &Profile) -> String {
    let no_widths = BTreeMap::new();
    let half_widths = profile.intervals.as_ref().map_or(&no_widths, |found| &found.half_widths);
    let mut of_kinds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut known = 0;
    let parameters = profile.parameters();
    for parameter in &parameters {
        let widths = half_widths.get(&parameter.name);
        known += usize::from(widths.is_some());
        let shares = widths.into_iter().flatten().zip(&parameter.points);
        let shares = shares.map(|(width, point)| width / point.1.abs());
        // A parameter that is 0 has no relative width.
        let shares = shares.filter(|share| share.is_finite());
        of_kinds.entry(parameter.section.clone()).or_default().extend(shares);
    }
    let all: Vec<f64> = of_kinds.values().flatten().copied().collect();
    let Some(middle) = median(&all) else {
        return "The parameters have no intervals, which require a two-pass calibration."
            .to_owned();
    };
    let medians = of_kinds.into_iter().filter_map(|(kind, shares)| Some((kind, median(&shares)?)));
    let mut medians: Vec<(String, f64)> = medians.collect();
    medians.sort_by(|a, b| b.1.total_cmp(&a.1));
    let worst = medians.iter().take(NAMED);
    let worst =
        worst.map(|(kind, share)| format!("{} \u{b1}{}", kind_name(kind), fine_percent(*share)));
    let without = match parameters.len() - known {
        0 => String::new(),
        some => format!("; {} measured in only one pass", plural(some as u64, "parameter")),
    };
    format!(
        "95% intervals: median \u{b1}{}; widest: {}{without}.",
        fine_percent(middle),
        joined(worst, ", ")
    )
}

/// How much the rates of large copies differed between the two passes of a calibration, as shares
/// of the rates. Something else used the link during the calibration, so predictions of copies may
/// be off by as much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnsteadyLink {
    /// The difference for copies to the device.
    pub h2d: f64,
    /// The difference for copies to the host.
    pub d2h: f64,
}

impl UnsteadyLink {
    /// `None` if both passes found about the same rates, or if there was one pass.
    pub fn of(profile: &Profile) -> Option<Self> {
        let widths = &profile.intervals.as_ref()?.half_widths;
        let share = |name: &str, rate: f64| {
            let width = widths.get(name).and_then(|widths| widths.first()).copied();
            width.unwrap_or_default() / rate
        };
        let (down, up) = (profile.link.down_bytes_per_second?, profile.link.up_bytes_per_second?);
        let h2d = share("link.down_bytes_per_second", down.bytes_per_second());
        let d2h = share("link.up_bytes_per_second", up.bytes_per_second());
        (h2d > STEADY || d2h > STEADY).then_some(Self { h2d, d2h })
    }

    /// The larger of both differences.
    pub fn widest(self) -> f64 {
        self.h2d.max(self.d2h)
    }

    /// What was seen, and what to do.
    pub fn sentence(self) -> String {
        format!(
            "H2D known to \u{b1}{}, D2H to \u{b1}{}: the link was busy; calibrate again",
            percent(self.h2d),
            percent(self.d2h)
        )
    }
}

/// Relative width from which on a link counts as unsteady. On quiet hosts of H200s, rates were
/// known within 1.4 to 3%.
const STEADY: f64 = 0.1;

/// A readable name for a section of the profile's file.
pub(super) fn kind_name(section: &str) -> &str {
    match section {
        "latency" => "latencies",
        "polling" => "waiting streams",
        "handover" => "hand-overs",
        "copy" => "pinned copies",
        "staging" => "pageable copies",
        "kernel" => "kernels",
        "twin" => "kernels on the CPU",
        "memory" => "memory management",
        other => other,
    }
}

/// How many of the times measured on a machine are within their predicted ranges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RangesHeld {
    /// Share of the measured times that are within their ranges.
    pub share: f64,
    /// Number of measured times.
    pub tries: usize,
    /// True if the times are from trials of the calibration, false if they are from runs of
    /// `verify`.
    pub of_trials: bool,
}

/// How the ranges of predictions from a profile did: in verified runs if there are at least as many
/// as the calibration had trials, for a few runs say less than these. `None` if nothing was tried.
pub fn ranges_held(origin: &Origin, profile: &Profile) -> Option<RangesHeld> {
    let trials = profile.trials();
    let in_runs = origin
        .scored
        .as_ref()
        .filter(|scored| scored.plans >= trials)
        .map(|scored| RangesHeld { share: scored.coverage, tries: scored.plans, of_trials: false });
    let in_trials = profile.accuracy.as_ref().map(|accuracy| RangesHeld {
        share: accuracy.coverage,
        tries: trials,
        of_trials: true,
    });
    in_runs.or(in_trials)
}

/// A share of held times that says nothing of the width any more.
const HARDLY_ANY: f64 = 0.05;

impl RangesHeld {
    /// How many times as wide the ranges have to be to hold what they are made for, if errors are
    /// normal deviates; 1 if they held enough, or less by no more than chance: two standard
    /// deviations of a binomial share.
    pub fn widening(&self) -> f64 {
        let chance = 2.0 * (COVERAGE * (1.0 - COVERAGE) / self.tries as f64).sqrt();
        if self.share >= COVERAGE - chance {
            return 1.0;
        }
        NINE_OF_TEN / deviations_holding(self.share.max(HARDLY_ANY))
    }

    /// What ranges held, in words.
    pub(super) fn sentence(&self) -> String {
        let what = if self.of_trials { "trial" } else { "measured run" };
        let (held, aim) = (percent(self.share), percent(COVERAGE));
        let tries = plural(self.tries as u64, what);
        if self.widening() == 1.0 {
            format!("Ranges contained {held} of {tries} (target: {aim})")
        } else {
            format!("Ranges contain {aim} of {tries} ({held} before widening)")
        }
    }
}

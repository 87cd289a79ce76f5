//! What is said of a profile that was just fitted.

use super::Failure;
use super::profiles::deliver;
use super::terminal::width;
use crate::profile::Profile;
use crate::report;
use crate::samples::{CalibrationExtent, Samples};
use std::path::Path;

/// Reports a new profile: how certain it is, and the parameters that no prediction shows.
pub(super) fn fitted(path: &Path, samples: &Samples, profile: &Profile) -> Result<(), Failure> {
    let count = samples.measurements.len();
    let sure = report::sureness(profile);
    let mut head = format!("{}: {count} measurements\n{sure}\n", path.display());
    if let Some(unsteady) = report::UnsteadyLink::of(profile).map(report::UnsteadyLink::sentence) {
        head += &format!("Link: {unsteady}.\n");
    }
    if samples.is_unfinished {
        head += "The calibration is unfinished, so the profile is incomplete. `hallway \
                 calibrate --resume` continues it.\n";
    }
    let once = samples.measurements.iter().filter(|one| one.times.len() == 1).count();
    if samples.machine.extent == CalibrationExtent::Elsewhere && once > 0 {
        head += &format!(
            "Quantities measured only once: {once}. Their scatter is unknown, so ranges are too \
             narrow.\n"
        );
    }
    for lender in &profile.borrowed {
        let costs = lender.groups.iter().map(|group| {
            let spread = (100.0 * group.costs.spread()).round();
            format!("{} (\u{b1}{spread}%)", group.costs.name())
        });
        let costs: Vec<String> = costs.collect();
        head += &format!("Borrowed from {}: {}.\n", lender.from, costs.join(", "));
    }
    let (trials, known) = (samples.trials.len(), profile.trials());
    if known < trials {
        head += &format!(
            "{known} of {trials} trials can be predicted; only these set the width of the \
             ranges.\n"
        );
    }
    let width = width(None, None);
    deliver(&report::folded(&(head + &report::calibration(profile, width)), width), None)
}

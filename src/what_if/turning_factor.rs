//! From which factor on the verdict turns.

use super::change::{Change, Knob, Variation};
use super::vary::{scaling, vary};
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::search::{halved, lead};
use rayon::prelude::*;

/// The smallest and the largest factor that are tried.
pub const SEARCHED: [f64; 2] = [1.0 / 64.0, 64.0];

/// The factor nearest to 1 at which the other side is faster in a pass.
#[derive(Debug, Clone, PartialEq)]
pub struct TurningFactor {
    pub knob: Knob,
    pub at: f64,
    /// Whether the GPU is faster there.
    pub to_gpu: bool,
}

/// Two factors this close are as good as one.
const CLOSE: f64 = 1.01;

/// Where the verdict of a pass turns, for a variation that scales one thing: with the plans that a
/// break-even tries. `None` if it scales nothing or several things, or a side has no plan;
/// `Some(None)` if it does not turn at any factor that is tried.
pub fn turning_factor(
    profile: &Profile,
    workload: &Workload,
    variation: &Variation,
) -> Option<Option<TurningFactor>> {
    let [change] = variation.changes.as_slice() else { return None };
    let (knob, _) = scaling(change, &profile.machine).ok()??;
    if let Knob::Setup(_) = knob {
        // It is paid before the first pass.
        return None;
    }
    let gpu_leads = |factor: f64| {
        let changes = vec![Change::Times(knob.clone(), factor)];
        let varied = vary(profile, workload, &Variation { text: String::new(), changes }).ok()?;
        Some(lead(&varied.workload, &varied.profile)? > 0.0)
    };
    let now = gpu_leads(1.0)?;
    let steps = SEARCHED[1].log2() as i32;
    let powers = (1..=steps).flat_map(|step| [-step, step]);
    let factors: Vec<f64> = powers.map(|step| f64::from(step).exp2()).collect();
    let turned: Vec<Option<bool>> = factors.par_iter().map(|&factor| gpu_leads(factor)).collect();
    let found = factors.iter().zip(&turned).find(|(_, leads)| **leads == Some(!now));
    let Some((&beyond, _)) = found else { return Some(None) };
    // Between the last power of two with today's verdict and the first with the other one.
    let before = if beyond < 1.0 { beyond * 2.0 } else { beyond / 2.0 };
    let between = |same: f64, other: f64| {
        ((same / other).max(other / same) > CLOSE).then(|| (same * other).sqrt())
    };
    let is_same = |factor: f64| gpu_leads(factor).map(|leads| leads == now);
    let (_, at) = halved((before, beyond), between, is_same)?;
    Some(Some(TurningFactor { knob, at, to_gpu: !now }))
}

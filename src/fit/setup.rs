//! What it costs to make what a plan needs, and to use it for the first time.

use super::estimator::Estimator;
use crate::profile::{Estimate, SetupCosts};
use crate::samples::{Quantity, SetupStep};

pub(super) fn setup(estimator: &Estimator<'_>) -> SetupCosts {
    let cost = |step| estimator.estimate_of(&Quantity::Setup { step });
    // What a later launch takes as well is paid in each pass, not once.
    let later = cost(SetupStep::LaterLaunch);
    let beyond_later = |step| {
        let (first, later) = (cost(step)?, later?);
        Some(Estimate::new((first.ns - later.ns).max(0.0), first.scatter))
    };
    SetupCosts {
        stream: cost(SetupStep::Stream),
        event: cost(SetupStep::Event),
        context: cost(SetupStep::Context),
        module: cost(SetupStep::Module),
        new_context: cost(SetupStep::NewContext),
        new_module: cost(SetupStep::NewModule),
        first_launch: beyond_later(SetupStep::FirstLaunch),
        next_kernel: beyond_later(SetupStep::NextKernel),
    }
}

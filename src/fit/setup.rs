//! What it costs to make what a plan needs.

use super::estimator::Estimator;
use crate::profile::SetupCosts;
use crate::samples::{Quantity, SetupStep};

pub(super) fn setup(estimator: &Estimator<'_>) -> SetupCosts {
    let cost = |step| estimator.estimate_of(&Quantity::Setup { step });
    SetupCosts {
        stream: cost(SetupStep::Stream),
        event: cost(SetupStep::Event),
        context: cost(SetupStep::Context),
        module: cost(SetupStep::Module),
    }
}

//! Where the kernels of a plan find their data, and what goes on beside copies. This is worked out
//! once, however often the plan is simulated.

use super::around::around;
use super::cost::Data;
use super::in_flight::InFlight;
use super::on_device::on_device;
use crate::profile::{Around, OnDevice, Profile};
use crate::program::Program;
use std::collections::BTreeMap;

/// What calls find, by their places in the body.
pub(super) struct Found {
    around: BTreeMap<usize, Around>,
    on_device: BTreeMap<usize, OnDevice>,
    pub in_flight: InFlight,
}

impl Found {
    /// Finds the data of all kernels of a plan, for a machine with as many CPU threads as that of
    /// the profile.
    pub fn new(plan: &Program, profile: &Profile) -> Self {
        let around = around(plan, profile.machine.cpu_threads.max(1));
        Self { around, on_device: on_device(plan), in_flight: InFlight::of(plan) }
    }

    pub fn at(&self, place: usize) -> Data<'_> {
        Data { around: self.around.get(&place), on_device: self.on_device.get(&place) }
    }
}

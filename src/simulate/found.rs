//! Where the kernels of a plan find their data: worked out once, however often it is simulated.

use super::around::around;
use super::cost::Data;
use super::on_device::on_device;
use crate::plan::Plan;
use crate::profile::{Around, OnDevice, Profile};
use std::collections::BTreeMap;

/// Of each kernel, by its place in the body.
pub(super) struct Found {
    around: BTreeMap<usize, Around>,
    on_device: BTreeMap<usize, OnDevice>,
}

impl Found {
    /// On a machine with as many threads as that of the profile.
    pub fn new(plan: &Plan, profile: &Profile) -> Self {
        let around = around(plan, profile.machine.cpu_threads.max(1));
        Self { around, on_device: on_device(plan) }
    }

    pub fn at(&self, place: usize) -> Data<'_> {
        Data { around: self.around.get(&place), on_device: self.on_device.get(&place) }
    }
}

//! What is known of a program without any costs: where its kernels find their data, and what goes
//! on beside its copies. This is worked out once, however often the program is compiled.

use super::around::around;
use super::in_flight::InFlight;
use super::on_device::on_device;
use crate::profile::{DeviceLocality, HostLocality, Profile};
use crate::program::Program;
use std::collections::BTreeMap;

/// What is known of calls, by their places in the body.
pub(crate) struct Analysis {
    around: BTreeMap<usize, HostLocality>,
    on_device: BTreeMap<usize, DeviceLocality>,
    pub(super) in_flight: InFlight,
}

/// Where a kernel finds its data.
#[derive(Default)]
pub(super) struct Locality<'a> {
    /// Set for a kernel on the CPU.
    pub around: Option<&'a HostLocality>,
    pub on_device: Option<&'a DeviceLocality>,
}

impl Analysis {
    /// Analyses a program for a machine with as many CPU threads as that of the profile.
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let around = around(program, profile.machine.cpu_threads.max(1));
        Self { around, on_device: on_device(program), in_flight: InFlight::of(program) }
    }

    pub(super) fn at(&self, place: usize) -> Locality<'_> {
        Locality { around: self.around.get(&place), on_device: self.on_device.get(&place) }
    }
}

//! What is known of a program without any costs: where its kernels find their data, and what goes
//! on beside its copies. This is worked out once, however often the program is compiled.

use super::around::around;
use super::in_flight::InFlight;
use super::on_device::on_device;
use super::pages::{NewPages, new_pages};
use super::remote::moves;
use crate::profile::{DeviceLocality, HostLocality, Profile};
use crate::program::Program;
use crate::units::Bytes;
use std::collections::BTreeMap;

/// What is known of calls, by their places in the body.
pub(crate) struct Analysis {
    around: BTreeMap<usize, HostLocality>,
    on_device: BTreeMap<usize, DeviceLocality>,
    new_pages: BTreeMap<usize, NewPages>,
    moves: BTreeMap<usize, Bytes>,
    pub(super) in_flight: InFlight,
}

/// Where a call finds its data.
#[derive(Default)]
pub(super) struct Locality<'a> {
    /// Set for a kernel on the CPU.
    pub around: Option<&'a HostLocality>,
    pub on_device: Option<&'a DeviceLocality>,
    /// Set for a call that uses pages of host memory first.
    pub new_pages: Option<&'a NewPages>,
    /// Bytes of managed memory that move because of the call.
    pub moves: Bytes,
}

impl Analysis {
    /// Analyses a program for a machine with as many CPU threads as that of the profile.
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let around = around(program, profile.machine.cpu_threads.max(1));
        Self {
            around,
            on_device: on_device(program),
            new_pages: new_pages(program, profile.machine.page_bytes()),
            moves: moves(program),
            in_flight: InFlight::of(program),
        }
    }

    pub(super) fn at(&self, place: usize) -> Locality<'_> {
        Locality {
            around: self.around.get(&place),
            on_device: self.on_device.get(&place),
            new_pages: self.new_pages.get(&place),
            moves: self.moves.get(&place).copied().unwrap_or_default(),
        }
    }
}

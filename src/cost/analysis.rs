//! What is known of a program without any costs: where its kernels find their data, and what goes
//! on beside its copies. This is worked out once, however often the program is compiled.

use super::around::around;
use super::classes::Classes;
use super::in_flight::InFlight;
use super::on_device::on_device;
use super::pages::{NewPages, new_pages};
use super::remote::moves;
use super::shape::check_shape;
use super::traffic::Traffic;
use crate::profile::{DeviceLocality, HostLocality, Profile, Unknown};
use crate::program::Program;
use crate::units::Bytes;

/// What is known of a program's body on any machine.
pub(crate) struct Analysis {
    /// Whether programs of this kind were measured.
    pub(super) shape: Result<(), Unknown>,
    pub(super) traffic: Traffic,
    pub(super) classes: Classes,
}

/// Where a call finds its data.
#[derive(Default, Clone, Copy)]
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
        let (in_flight, traffic) = (InFlight::of(program), Traffic::of(program));
        let shape = check_shape(program, &in_flight);
        if shape.is_err() {
            // It is refused, perhaps for having more calls than can be numbered.
            return Self { shape, traffic, classes: Classes::default() };
        }
        let around = around(program, profile.machine.cpu_threads.max(1));
        let on_device = on_device(program);
        let new_pages = new_pages(program, profile.machine.page_bytes());
        let moves = moves(program);
        let locality_at = |place: usize| Locality {
            around: around.get(&place),
            on_device: on_device.get(&place),
            new_pages: new_pages.get(&place),
            moves: moves.get(&place).copied().unwrap_or_default(),
        };
        let classes = Classes::of(program, &in_flight, locality_at);
        Self { shape, traffic, classes }
    }
}

//! What is known of a program without any costs: where its kernels find their data, and what goes
//! on beside its copies. This is worked out once, however often the program is compiled.

use super::around::around;
use super::classes::Classes;
use super::in_flight::InFlight;
use super::locality::Locality;
use super::on_device::on_device;
use super::pages::new_pages;
use super::remote::moves;
use super::shape::check_shape;
use super::traffic::Traffic;
use super::written::{JustWrittenAt, just_written};
use crate::profile::{Profile, Unknown};
use crate::program::{DoesNotFit, Program, Whose, check_fits};

/// What is known of a program's body on any machine.
pub(crate) struct Analysis {
    /// Whether the program fits the machine, and programs of this kind were measured.
    pub(super) fits: Result<(), DoesNotFit>,
    pub(super) shape: Result<(), Unknown>,
    pub(super) traffic: Traffic,
    pub(super) classes: Classes,
    /// H2D copies of what the CPU has just written.
    pub(super) written: JustWrittenAt,
}

impl Analysis {
    /// Analyses a program for a machine with as many CPU threads as that of the profile.
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let (in_flight, traffic) = (InFlight::of(program), Traffic::of(program));
        let fits = check_fits(program, profile.machine.capacities(), Whose::Machine);
        let shape = check_shape(program, &in_flight);
        if shape.is_err() {
            // It is refused, perhaps for having more calls than can be numbered.
            let (classes, written) = (Classes::default(), JustWrittenAt::default());
            return Self { fits, shape, traffic, classes, written };
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
        Self { fits, shape, traffic, classes, written: just_written(program) }
    }
}

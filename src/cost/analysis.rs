//! What is known of a program without any costs: where its kernels find their data, and what goes
//! on beside its copies. This is worked out once, however often the program is compiled.

use super::classes::Classes;
use super::history::MemoryHistory;
use super::in_flight::InFlight;
use super::shape::check_shape;
use super::traffic::Traffic;
use crate::profile::{Profile, Unknown};
use crate::program::{DoesNotFit, Program, Whose, check_fits};

/// What is known of a program's body on any machine.
pub(crate) struct Analysis {
    /// Whether the program fits the machine, and programs of this kind were measured.
    pub(super) fits: Result<(), DoesNotFit>,
    pub(super) shape: Result<(), Unknown>,
    pub(super) traffic: Traffic,
    pub(super) classes: Classes,
}

impl Analysis {
    /// Analyses a program for a machine with as many CPU threads as that of the profile.
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let (in_flight, traffic) = (InFlight::of(program), Traffic::of(program));
        let fits = check_fits(program, profile.machine.capacities(), Whose::Machine);
        let shape = check_shape(program, &in_flight);
        if shape.is_err() {
            // It is refused, perhaps for having more calls than can be numbered.
            return Self { fits, shape, traffic, classes: Classes::default() };
        }
        let history = MemoryHistory::after_a_pass(program, profile);
        let classes = Classes::of(program, &in_flight, history);
        Self { fits, shape, traffic, classes }
    }
}

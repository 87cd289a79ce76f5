//! What is known of a program without any costs: where its kernels find their data, and what goes
//! on beside its copies. This is worked out once, however often the program is compiled. Programs
//! of a kind that was never measured are refused here, whatever their calls cost.

use super::call::{NO_STREAM, NONE};
use super::channels::CHANNELS;
use super::classes::Classes;
use super::history::MemoryHistory;
use super::in_flight::InFlight;
use super::structure::Structure;
use super::traffic::Traffic;
use super::work::CallCost;
use crate::machine::DeviceId;
use crate::profile::{Known, Profile, Unknown};
use crate::program::{Access, AccessKind, DoesNotFit, Place, Program, User, Whose, check_fits};
use std::sync::{Arc, OnceLock};

/// What is known of a program's body on any machine.
pub(crate) struct Analysis {
    /// Whether the program fits the machine, and programs of this kind were measured.
    pub(super) fits: Result<(), DoesNotFit>,
    pub(super) shape: Known,
    pub(super) traffic: Traffic,
    pub(super) classes: Classes,
    structure: OnceLock<Arc<Structure>>,
}

impl Analysis {
    /// Analyses a program for a machine with as many CPU threads as that of the profile.
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let (in_flight, traffic) = (InFlight::of(program), Traffic::of(program));
        let fits = check_fits(program, profile.machine.capacities(), Whose::Machine);
        let shape = check_shape(program, &in_flight);
        if shape.is_err() {
            // It is refused, perhaps for having more calls than can be numbered.
            return Self {
                fits,
                shape,
                traffic,
                classes: Classes::default(),
                structure: OnceLock::new(),
            };
        }
        let footprint = traffic.footprint.all;
        let history = MemoryHistory::after_a_pass(program, profile, footprint);
        let classes = Classes::of((program, &traffic), &in_flight, history);
        Self { fits, shape, traffic, classes, structure: OnceLock::new() }
    }

    /// The structure of the program, which is worked out with the first prices. Another one is only
    /// needed if a call turns out to be of another kind with other prices.
    pub(super) fn structure(
        &self,
        program: &Program,
        costs: &[CallCost],
        places: &[u32],
    ) -> Arc<Structure> {
        let new = || Arc::new(Structure::new(program, &self.classes, (costs, places)));
        let known = self.structure.get_or_init(new);
        if known.is_of(costs) { Arc::clone(known) } else { new() }
    }
}

/// # Errors
/// What of the program was not measured.
fn check_shape(program: &Program, in_flight: &InFlight) -> Known {
    let is_too_large =
        program.lane_count() >= usize::from(NO_STREAM) || program.body.len() >= NONE as usize;
    let what = if is_too_large {
        "plans with this many streams or calls"
    } else if program.devices() > 1 && program.has_graphs() {
        "graphs in a program on several GPUs"
    } else if program.thread_count() > 1 && program.has_graphs() {
        "graphs in a program with several host threads"
    } else if program.thread_count() > 1 && shares_channels(program) {
        "streams that share a channel in a program with several host threads"
    } else if in_flight.works_at_once {
        "copies of pageable memory, or CPU work, in several host threads at once"
    } else if in_flight.stages {
        "a copy of pageable memory concurrent with one of pinned memory in the same direction"
    } else if in_flight.meets_mapped {
        "a kernel on host memory concurrent with copies or with another such kernel (have one \
         wait for the other, or copy the kernel's data to the GPU)"
    } else if program.devices() > 1 && uses_host_memory(program) {
        "kernels on host memory in a program on several GPUs"
    } else {
        return Ok(());
    };
    Err(Unknown::refused(what))
}

fn shares_channels(program: &Program) -> bool {
    (0..program.devices()).any(|id| program.streams_of(DeviceId(id)) > CHANNELS)
}

/// Whether a kernel on a device uses memory of the host, or managed memory.
fn uses_host_memory(program: &Program) -> bool {
    let is_meant = |one: &Access| {
        matches!((one.by, one.kind), (User::Kernel(_), _) | (_, AccessKind::Moves(_)))
    };
    let accesses = program.body.iter().flat_map(|call| program.accesses(call));
    let mut places =
        accesses.filter(is_meant).map(|one| program.allocation(one.allocation()).place);
    places.any(|place| matches!(place, Place::Host(_)))
}

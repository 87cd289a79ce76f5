//! What a pass copies and launches, whatever that costs on a machine.

use crate::machine::DeviceId;
use crate::program::{AccessKind, Call, HostFootprint, Program, Threads};

pub(crate) struct Traffic {
    /// Bytes of host memory that a pass uses.
    pub footprint: HostFootprint,
    /// For each allocation, whether a copy to the device reads it, and whether one to the
    /// host writes it.
    pub copied: [Vec<bool>; 2],
    /// For each allocation, whether all threads of the CPU write it together.
    pub by_team: Vec<bool>,
    /// For each device, whether copies of one direction may overlap those of the other.
    pub both_ways: Vec<bool>,
    /// For each device, whether copies may overlap kernels.
    pub launches: Vec<bool>,
}

impl Traffic {
    pub fn of(program: &Program) -> Self {
        let mut copies = vec![[false; 2]; program.devices()];
        let mut launches = vec![false; program.devices()];
        let mut computes = false;
        for call in &program.body {
            computes |= call.works_on_cpu();
            if let Some((stream, direction, ..)) = call.crossing() {
                copies[program.device_of(stream).0][direction as usize] = true;
            }
            if let Some(stream) = call.stream().filter(|_| call.is_launch() || call.is_clear()) {
                launches[program.device_of(stream).0] = true;
            }
        }
        let is_alone = |device| program.streams_of(DeviceId(device)) < 2;
        let meet = |(device, copies)| !is_alone(device) && copies == [true; 2];
        let both_ways = copies.into_iter().enumerate().map(meet).collect();
        let launches = launches.into_iter().enumerate();
        let launches = launches.map(|(device, any)| any && !is_alone(device)).collect();
        let footprint = program.host_footprint();
        let mut by_team = vec![false; program.allocations.len()];
        let is_of_team =
            |call: &&Call| computes && call.cpu_threads(footprint.all) == Some(Threads::All);
        for call in program.body.iter().filter(is_of_team) {
            for one in program.accesses(call).filter(|one| one.kind == AccessKind::Writes) {
                by_team[one.allocation().0] = true;
            }
        }
        Self { footprint, by_team, copied: program.copied(), both_ways, launches }
    }
}

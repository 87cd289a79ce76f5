//! What a pass copies and launches, whatever that costs on a machine.

use crate::machine::{DeviceId, Direction};
use crate::program::{AccessKind, Call, Program, Threads};
use crate::units::Bytes;

pub(crate) struct Traffic {
    /// Bytes of host memory that a pass uses.
    pub host_footprint: Bytes,
    /// Bytes of host memory that copies use in a pass.
    pub copied_both_ways: Bytes,
    /// Bytes of host memory that copies to the host write in a pass.
    pub copied_out: Bytes,
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
        for call in &program.body {
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
        let host_footprint = program.host_footprint();
        let mut by_team = vec![false; program.allocations.len()];
        let is_of_team = |call: &&Call| call.cpu_threads(host_footprint) == Some(Threads::All);
        for call in program.body.iter().filter(is_of_team) {
            for one in program.accesses(call).filter(|one| one.kind == AccessKind::Writes) {
                by_team[one.allocation().0] = true;
            }
        }
        Self {
            host_footprint,
            by_team,
            copied_both_ways: program.copied_footprint(&Direction::BOTH),
            copied_out: program.copied_footprint(&[Direction::DeviceToHost]),
            copied: program.copied(),
            both_ways,
            launches,
        }
    }
}

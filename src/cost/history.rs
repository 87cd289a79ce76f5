//! The history of memory: who used each byte last, how much other memory was used since, who wrote
//! it, and whether its pages are there.
//!
//! It is one walk over what calls touch. Each question has a ledger of its own, which is asked
//! before a call and told of it afterwards: the caches of the CPU and of each device, what the CPU
//! has written, new pages, and managed pages. A rule for who uses memory how is a line in
//! [`MemoryHistory::note`].

use super::cpu_caches::CpuCaches;
use super::device_caches::{Bringer, DeviceCaches};
use super::locality::{Locality, NewPages};
use super::pages::Pages;
use super::uses::Uses;
use super::written::Written;
use crate::machine::{DeviceId, Direction, HostMemory, Residence};
use crate::profile::{JustWritten, MemoryCost, Profile};
use crate::program::{
    Access, AccessKind, AllocationId, Call, Place, Program, Slice, Threads, User,
};
use crate::units::Bytes;

/// What happened to memory until a call.
pub(super) struct MemoryHistory<'p> {
    program: &'p Program,
    footprint: Bytes,
    cpu: CpuCaches,
    devices: Vec<DeviceCaches>,
    written: Written,
    pages: Pages,
    /// What the CPU had written of the pinned memory that the last call copied to a device.
    just_written: Option<JustWritten>,
    /// The managed pages that are on a device.
    away: Uses<()>,
}

impl<'p> MemoryHistory<'p> {
    /// Nothing has been used in any cache, and all pages are there, on the host.
    pub fn new(program: &'p Program, profile: &Profile) -> Self {
        let devices = (0..program.devices()).map(DeviceId);
        let devices = devices.map(|id| DeviceCaches::new(program.bytes_in(Place::Device(id))));
        let footprint = program.host_footprint();
        Self {
            program,
            footprint,
            cpu: CpuCaches::new(footprint, profile.machine.cpu_threads.max(1)),
            devices: devices.collect(),
            written: Written::default(),
            just_written: None,
            pages: Pages::new(program, profile.machine.page_bytes()),
            away: Uses::default(),
        }
    }

    /// Memory is as a pass leaves it: the body repeats, so its first call follows the last.
    pub fn after_a_pass(program: &'p Program, profile: &Profile) -> Self {
        let mut history = Self::new(program, profile);
        for call in &program.body {
            history.note(call, &mut Locality::default());
        }
        history
    }

    /// An allocation gets new pages.
    pub fn renew(&mut self, allocation: AllocationId) {
        let length = self.program.allocation(allocation).bytes;
        self.pages.renew(&Slice { allocation, offset: Bytes::ZERO, length });
    }

    /// How old the data of an H2D copy is, if that was the last call and the CPU wrote the data.
    pub const fn just_written(&self) -> Option<JustWritten> {
        self.just_written
    }

    /// Walks past a call, and says which new pages it uses.
    pub fn new_pages(&mut self, call: &Call) -> Option<NewPages> {
        let mut found = Locality::default();
        self.note(call, &mut found);
        found.new_pages
    }

    /// Walks past a call, and says where it finds its data.
    pub fn pass(&mut self, call: &Call) -> Locality {
        let around = self.cpu.find(call);
        let on_device = call.launched().and_then(|(stream, step)| {
            let DeviceId(device) = self.program.device_of(stream);
            Some(self.devices[device].find(step.library()?))
        });
        let mut found = Locality { around, on_device, ..Locality::default() };
        self.note(call, &mut found);
        found
    }

    /// Notes what a call uses, and finds the pages that it waits for.
    fn note(&mut self, call: &Call, found: &mut Locality) {
        self.just_written = None;
        let threads = call.cpu_threads(self.footprint);
        for access in self.program.accesses(call) {
            let slice = &access.touched.slice;
            let place = self.program.allocation(access.allocation()).place;
            let is_written = access.kind == AccessKind::Writes;
            match (access.by, access.kind) {
                (User::Cpu, AccessKind::Scratch) => {}
                (User::Cpu, _) => {
                    self.cpu.note(call, slice);
                    let is_shared = threads == Some(Threads::All);
                    if is_written {
                        self.written.note(slice, is_shared);
                    }
                    let cost = match is_shared {
                        true => MemoryCost::FirstTouchTeam,
                        false => MemoryCost::FirstTouch,
                    };
                    self.pages.note(&access, is_written.then_some(cost), found);
                    self.move_pages(slice, place, Residence::Host, found);
                }
                (User::Engine(..), AccessKind::Moves(side)) => {
                    self.move_pages(slice, place, side, found);
                }
                (User::Engine(_, Direction::HostToDevice), AccessKind::Reads) => {
                    self.pages.note(&access, Some(MemoryCost::FirstRead), found);
                    if place == Place::Host(HostMemory::Pinned) {
                        self.just_written = self.written.read(slice);
                    }
                }
                (User::Engine(_, Direction::DeviceToHost), AccessKind::Writes) => {
                    self.pages.note(&access, Some(MemoryCost::FirstCopy), found);
                    self.forget_on_cpu(slice);
                }
                (User::Kernel(stream), _) => {
                    let DeviceId(device) = self.program.device_of(stream);
                    if access.kind != AccessKind::Scratch {
                        self.devices[device].note(slice, Bringer::Device);
                    }
                    if is_written {
                        self.forget_on_cpu(slice);
                    }
                    self.move_pages(slice, place, Residence::Device, found);
                }
                (User::Engine(..) | User::Device(_), AccessKind::Writes) => {
                    self.arrive(&access, place);
                }
                (User::System, AccessKind::Changes(change)) if change.is_new() => {
                    self.forget_on_cpu(slice);
                    if place == Place::Host(HostMemory::Pageable) {
                        self.pages.renew(slice);
                    }
                }
                _ => {}
            }
        }
    }

    /// A device writes memory of its own, or of another device.
    fn arrive(&mut self, access: &Access, place: Place) {
        let Place::Device(DeviceId(device)) = place else { return };
        let bringer = match access.by {
            User::Engine(..) => Bringer::Copy,
            _ => Bringer::Device,
        };
        self.devices[device].note(&access.touched.slice, bringer);
    }

    /// No core has memory in its caches that is new, or that a device wrote.
    fn forget_on_cpu(&mut self, slice: &Slice) {
        self.cpu.forget(slice);
        self.written.forget(slice);
    }

    /// Managed memory is used on a side: the pages that are on the other one move.
    fn move_pages(&mut self, slice: &Slice, place: Place, side: Residence, found: &mut Locality) {
        if !place.is_managed() {
            return;
        }
        let away = self.away.covered(slice);
        match side {
            Residence::Device => {
                found.moves += slice.length - away;
                self.away.note(slice, ());
            }
            Residence::Host => {
                found.moves += away;
                self.away.forget(slice);
            }
        }
    }
}

//! The history of memory: who used each byte last, how much other memory was used since, who wrote
//! it, and whether its pages are there.
//!
//! It is one walk over what calls touch. Each question has a ledger of its own, which is asked
//! before a call and told of it afterwards: the caches of the CPU and of each device, what the CPU
//! has written, new pages, and managed pages. A rule for who uses memory how is a line in
//! [`MemoryHistory::note`].

use super::caches::{Bringer, CpuCaches, DeviceCaches, Locality, NewPages};
use super::uses::Uses;
use super::written::age_of;
use crate::machine::{DeviceId, Direction, HostMemory, Residence};
use crate::profile::{JustWritten, MemoryWork, Profile};
use crate::program::{
    Access, AccessKind, AllocationId, Call, Place, Program, Slice, Step, Threads, User,
};
use crate::units::Bytes;

/// What happened to memory until a call.
pub(super) struct MemoryHistory<'p> {
    program: &'p Program,
    footprint: Bytes,
    cpu: CpuCaches,
    devices: Vec<DeviceCaches>,
    /// What the CPU has written that no copy has read since, and whether all its threads did.
    written: Uses<bool>,
    pages: Pages,
    /// How old the data of an H2D copy is, if that was the last call and the CPU wrote the data.
    pub just_written: Option<JustWritten>,
    /// The managed pages that are on a device.
    away: Uses<()>,
}

impl<'p> MemoryHistory<'p> {
    /// Nothing has been used in any cache, and all pages are there, on the host.
    /// `footprint`: bytes of host memory that a pass uses.
    pub fn new(program: &'p Program, profile: &Profile, footprint: Bytes) -> Self {
        let devices = (0..program.devices()).map(DeviceId);
        let devices = devices.map(|id| DeviceCaches::new(program.bytes_in(Place::Device(id))));
        Self {
            program,
            footprint,
            cpu: CpuCaches::new(footprint, profile.machine.cpu_threads.max(1)),
            devices: devices.collect(),
            written: Uses::default(),
            just_written: None,
            pages: Pages::new(program, profile.machine.page_bytes()),
            away: Uses::default(),
        }
    }

    /// Memory is as a pass leaves it: the body repeats, so its first call follows the last.
    pub fn after_a_pass(program: &'p Program, profile: &Profile, footprint: Bytes) -> Self {
        let mut history = Self::new(program, profile, footprint);
        let mut found = Locality::default();
        program.body.iter().for_each(|call| history.note(call, &mut found));
        history
    }

    /// An allocation gets new pages.
    pub fn renew(&mut self, allocation: AllocationId) {
        let length = self.program.allocation(allocation).bytes;
        self.pages.renew(&Slice { allocation, offset: Bytes::ZERO, length });
    }

    /// Walks past a call, and says which new pages it uses.
    pub fn new_pages(&mut self, call: &Call) -> Option<NewPages> {
        let mut found = Locality::default();
        self.note(call, &mut found);
        found.new_pages
    }

    /// Walks past a call, and says where it finds its data.
    pub fn pass(&mut self, call: &Call) -> Locality {
        let mut found = Locality::default();
        if call.works_on_cpu() {
            found.around = self.cpu.find(call);
        } else if let Some((stream, Step::Library(step))) = call.launched() {
            let DeviceId(device) = self.program.device_of(stream);
            found.on_device = Some(self.devices[device].find(step));
        }
        self.note(call, &mut found);
        found
    }

    /// Notes what a call uses, and finds the pages that it waits for.
    fn note(&mut self, call: &Call, found: &mut Locality) {
        self.just_written = None;
        self.program.accesses(call).for_each(|access| self.note_access(call, &access, found));
    }

    fn note_access(&mut self, call: &Call, access: &Access, found: &mut Locality) {
        let slice = &access.touched.slice;
        let place = self.program.allocation(access.allocation()).place;
        let is_written = access.kind == AccessKind::Writes;
        match (access.by, access.kind) {
            (User::Cpu, AccessKind::Scratch) => {}
            (User::Cpu, _) => {
                self.cpu.note(call, slice);
                let is_shared = call.cpu_threads(self.footprint) == Some(Threads::All);
                if is_written {
                    self.written.note(slice, is_shared);
                }
                let cost = match is_shared {
                    true => MemoryWork::FirstTouchTeam,
                    false => MemoryWork::FirstTouch,
                };
                self.pages.note(access, is_written.then_some(cost), found);
                self.move_pages(slice, place, Residence::Host, found);
            }
            (User::Engine(..), AccessKind::Moves(side)) => {
                self.move_pages(slice, place, side, found);
            }
            (User::Engine(_, Direction::HostToDevice), AccessKind::Reads) => {
                self.pages.note(access, Some(MemoryWork::FirstRead), found);
                if place == Place::Host(HostMemory::Pinned) {
                    self.just_written = age_of(slice, &self.written);
                    self.written.forget(slice);
                }
            }
            (User::Engine(_, Direction::DeviceToHost), AccessKind::Writes) => {
                self.pages.note(access, Some(MemoryWork::FirstCopy), found);
                self.forget_on_cpu(slice, place);
            }
            (User::Kernel(stream), _) => {
                let DeviceId(device) = self.program.device_of(stream);
                if access.kind != AccessKind::Scratch {
                    self.devices[device].note(slice, Bringer::Device);
                }
                if is_written {
                    self.forget_on_cpu(slice, place);
                }
                self.move_pages(slice, place, Residence::Device, found);
            }
            (User::Engine(..) | User::Device(_), AccessKind::Writes) => {
                self.arrive(access, place);
            }
            (User::System, AccessKind::Changes(change)) if change.is_new() => {
                self.forget_on_cpu(slice, place);
                if place == Place::Host(HostMemory::Pageable) {
                    self.pages.renew(slice);
                }
            }
            _ => {}
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

    /// Once a device has written host memory, or the system has given out new pages for it, no core
    /// has it in its caches. A device's own memory is never there.
    fn forget_on_cpu(&mut self, slice: &Slice, place: Place) {
        if matches!(place, Place::Host(_)) {
            self.cpu.forget(slice);
            self.written.forget(slice);
        }
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

/// Which pages of memory have been used. The system gives a process a page when something uses it
/// for the first time, and that waits for it. How long depends on who it is: threads of the CPU, or
/// the driver, which stages a copy.
pub(super) struct Pages {
    page: Bytes,
    /// The size of each allocation that has pages which count as new until they are used.
    renewed: Vec<Option<Bytes>>,
    read: Uses<()>,
    /// A page that was only read is a page of zeros that others read, too: whoever writes to it
    /// first gets another one.
    written: Uses<()>,
}

impl Pages {
    /// All pages of all allocations have been used.
    pub fn new(program: &Program, page: Bytes) -> Self {
        let renewed = vec![None; program.allocations.len()];
        Self { page, renewed, read: Uses::default(), written: Uses::default() }
    }

    /// An allocation, all of it, gets new pages.
    pub fn renew(&mut self, whole: &Slice) {
        self.renewed[whole.allocation.0] = Some(whole.length);
        self.read.forget(whole);
        self.written.forget(whole);
    }

    /// Notes a use of memory. If new pages cost whoever uses it something, they are found.
    pub fn note(&mut self, access: &Access, cost: Option<MemoryWork>, found: &mut Locality) {
        let allocation = access.allocation();
        let Some(whole) = self.renewed[allocation.0] else { return };
        let pages = self.pages_of(&access.touched.slice, whole);
        let known = if access.writes() { &self.written } else { &self.read };
        let new = pages.length - known.covered(&pages);
        // Rows far apart leave pages between them alone.
        let new = access.touched.bytes_of_rows(self.page).map_or(new, |most| most.min(new));
        self.read.note(&pages, ());
        if access.writes() {
            self.written.note(&pages, ());
        }
        if let Some(cost) = cost.filter(|_| new > Bytes::ZERO) {
            let before = found.new_pages.map_or(Bytes::ZERO, |other| other.bytes);
            let allocation = found.new_pages.map_or(allocation, |other| other.allocation);
            found.new_pages = Some(NewPages { allocation, cost, bytes: before + new });
        }
    }

    /// A slice with the rest of its first and its last page. Memory begins with a page; of its last
    /// one, only what belongs to it counts.
    fn pages_of(&self, slice: &Slice, whole: Bytes) -> Slice {
        let page = self.page.get();
        let offset = Bytes::new(slice.offset.get() / page * page);
        let end = Bytes::new(slice.end().get().next_multiple_of(page)).min(whole);
        Slice { offset, length: end - offset, ..*slice }
    }
}

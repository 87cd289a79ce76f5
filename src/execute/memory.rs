//! The memory behind a plan's allocations.

use super::data::Contents;
use super::error::{ExecuteError, Executed};
use crate::gpu::{AnyDevice, AnyMemory, AnyRegistration, AnyStream};
use crate::host::{PageMemory, available_memory};
use crate::machine::{Capacities, HostMemory, Residence};
use crate::program::{
    Allocation, AllocationId, MemoryChange, Place, Program, Slice, Whose, check_fits,
};
use crate::scenario::{Home, Workload};
use crate::units::Bytes;
use std::borrow::Cow;
use std::slice;

pub(super) enum Memory<D: AnyDevice> {
    /// Not allocated yet.
    None,
    Pageable(PageMemory),
    /// Pageable memory, pinned as long as the registration lives. The registration is
    /// declared first, so it is dropped first.
    Registered {
        _registration: D::Registration,
        pages: PageMemory,
        /// Its address on the device.
        there: u64,
    },
    Pinned(D::PinnedMemory),
    Managed(D::ManagedMemory),
    Device(D::DeviceMemory),
    /// Device memory that was allocated in a stream.
    Pooled(D::PooledMemory),
}

impl<D: AnyDevice> Memory<D> {
    /// The address for the CPU, or `None` if the CPU cannot access the memory.
    pub fn host_address(&mut self) -> Option<*mut f32> {
        match self {
            Self::Pageable(pages) | Self::Registered { pages, .. } => Some(pages.as_mut_ptr()),
            Self::Pinned(pinned) => Some(pinned.address() as *mut f32),
            Self::Managed(memory) => Some(memory.address() as *mut f32),
            Self::None | Self::Device(_) | Self::Pooled(_) => None,
        }
    }

    /// The address on the device, or `None` for memory that devices cannot access. With unified
    /// addressing, page-locked and managed memory has one address on both sides.
    pub fn device_address(&self) -> Option<u64> {
        match self {
            Self::Device(memory) => Some(memory.address()),
            Self::Managed(memory) => Some(memory.address()),
            Self::Pooled(memory) => Some(memory.address()),
            Self::Pinned(pinned) => Some(pinned.address()),
            Self::Registered { there, .. } => Some(*there),
            Self::None | Self::Pageable(_) => None,
        }
    }
}

/// The pages of a plan's host memory before it is set up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// All pages were touched.
    Touched,
    /// Pages that the body writes before anybody reads them are as a new process gets them.
    New,
}

/// All memory of a plan, indexed by allocation.
pub(super) struct Memories<'d, D: AnyDevice> {
    /// Plans on the CPU need none.
    pub device: Option<&'d D>,
    pub all: Vec<Memory<D>>,
}

impl<'d, D: AnyDevice> Memories<'d, D> {
    /// Allocates what exists before the plan: the workload's buffers with their contents.
    pub fn before(
        device: Option<&'d D>,
        workload: &Workload,
        program: &Program,
        contents: &Contents,
    ) -> Executed<Self> {
        let all = program.allocations.iter().map(|_| Memory::None).collect();
        let mut memories = Self { device, all };
        for (index, allocation) in program.allocations.iter().enumerate() {
            let Some(id) = allocation.holds else { continue };
            let combined = Place::Host(HostMemory::WriteCombined);
            let place = match workload.buffer(id).home {
                Home::Device => Place::FIRST_DEVICE,
                Home::Host(_) if program.needs_device() && allocation.place == combined => combined,
                Home::Host(home) if program.needs_device() && home.is_pinned() => {
                    Place::Host(HostMemory::Pinned)
                }
                // For the CPU alone, pinned memory is like any other.
                Home::Host(_) | Home::Scratch => Place::Host(HostMemory::Pageable),
            };
            let held = Allocation { place, ..allocation.clone() };
            memories.allocate(index, &held)?;
            memories.put((index, &held), 0, contents.of(id))?;
        }
        Ok(memories)
    }

    /// Gives back the pages that the body writes before anybody reads them, so that whoever
    /// touches them first pays for that, as in a new process.
    pub fn renew_pages(&mut self, program: &Program) -> Executed {
        let written_first = program.written_first();
        for (memory, _) in self.all.iter_mut().zip(written_first).filter(|(_, first)| *first) {
            if let Memory::Pageable(pages) = memory {
                pages.renew()?;
            }
        }
        Ok(())
    }

    /// The first device of the plan.
    pub fn device(&self) -> Executed<&'d D> {
        need(self.device)
    }

    /// Makes an allocation of the plan's set-up.
    pub fn allocate(&mut self, index: usize, allocation: &Allocation) -> Executed {
        let room = room(allocation);
        self.all[index] = match allocation.place {
            Place::Device(id) => Memory::Device(self.device()?.nth(id.0)?.allocate(room)?),
            Place::Host(HostMemory::Pinned) => {
                Memory::Pinned(self.device()?.allocate_pinned(room)?)
            }
            Place::Host(HostMemory::WriteCombined) => {
                Memory::Pinned(self.device()?.allocate_write_combined(room)?)
            }
            Place::Host(HostMemory::Managed) => {
                let memory = self.device()?.allocate_managed(allocation.bytes)?;
                let start = memory.address() as *mut u8;
                // SAFETY: the memory was just allocated with that size, and nobody else uses it.
                unsafe { start.write_bytes(0, allocation.bytes.as_usize()) };
                Memory::Managed(memory)
            }
            Place::Host(HostMemory::Pageable) => {
                let mut pages = PageMemory::new(allocation.bytes)?;
                pages.as_mut_slice().fill(0.0);
                Memory::Pageable(pages)
            }
        };
        Ok(())
    }

    /// Puts values into an allocation, from the element at `start` on.
    fn put(
        &mut self,
        (index, allocation): (usize, &Allocation),
        start: usize,
        values: &[f32],
    ) -> Executed {
        if let Some(address) = self.all[index].host_address() {
            // SAFETY: the allocation holds that many values and is borrowed exclusively.
            let target = unsafe { slice::from_raw_parts_mut(address, allocation.bytes.in_f32s()) };
            target[start..start + values.len()].copy_from_slice(values);
        } else if let (Some(address), Place::Device(id)) =
            (self.all[index].device_address(), allocation.place)
        {
            let device = self.device()?.nth(id.0)?;
            device.make_current()?;
            let stream = device.stream(0)?;
            let [offset, bytes] = [start, values.len()].map(|length| Bytes::of_f32(length as u64));
            assert!(offset + bytes <= room(allocation), "the values exceed the allocation");
            let target = address + offset.get();
            // SAFETY: both sides hold that many bytes until the copy has been waited for.
            unsafe { stream.copy_in(values.as_ptr(), target, bytes)? };
            stream.synchronize()?;
        }
        Ok(())
    }

    /// Takes memory, gives it back, renews it or pins it, as a call of a pass does.
    pub fn change(
        &mut self,
        (index, allocation): (usize, &Allocation),
        change: MemoryChange,
        stream: Option<&D::Stream>,
    ) -> Executed {
        let is_pageable = allocation.place == Place::Host(HostMemory::Pageable);
        let memory = &mut self.all[index];
        match (change, stream) {
            (MemoryChange::Allocate, Some(stream)) => {
                *memory = Memory::Pooled(stream.allocate(room(allocation))?);
            }
            // Nobody touches it, unless the driver does.
            (MemoryChange::Allocate, None) if is_pageable => {
                *memory = Memory::Pageable(PageMemory::new(allocation.bytes)?);
            }
            (MemoryChange::Allocate, None) => self.allocate(index, allocation)?,
            (MemoryChange::Free, None) => *memory = Memory::None,
            (MemoryChange::Free, Some(stream)) => {
                if let Memory::Pooled(memory) = std::mem::replace(memory, Memory::None) {
                    stream.free(memory)?;
                }
            }
            (MemoryChange::Pin, _) => {
                *memory = match std::mem::replace(memory, Memory::None) {
                    Memory::Pageable(mut pages) => {
                        let (start, device) = (pages.as_mut_ptr(), need(self.device)?);
                        let bytes = Bytes::new(4 * pages.as_slice().len() as u64);
                        // SAFETY: the pages stay mapped for longer than the registration lives.
                        let registration = unsafe { device.register(start, bytes)? };
                        let there = registration.device_address()?;
                        Memory::Registered { _registration: registration, pages, there }
                    }
                    other => other,
                };
            }
            (MemoryChange::Unpin, _) => {
                *memory = match std::mem::replace(memory, Memory::None) {
                    Memory::Registered { _registration: registration, pages, .. } => {
                        drop(registration);
                        Memory::Pageable(pages)
                    }
                    other => other,
                };
            }
            // New, untouched pages.
            (MemoryChange::Renew, _) => {
                if let Memory::Pageable(pages) = memory {
                    pages.renew()?;
                }
            }
        }
        Ok(())
    }

    /// Where an allocation is, for the device if it has it, and otherwise for the host.
    pub fn address(&mut self, AllocationId(index): AllocationId) -> u64 {
        let memory = &mut self.all[index];
        let there = memory.device_address();
        there.unwrap_or_else(|| memory.host_address().map_or(0, |start| start as u64))
    }

    /// Moves pages of managed memory to one side, in stream order.
    pub fn prefetch(&self, stream: &D::Stream, target: &Slice, to: Residence) -> Executed {
        if let Memory::Managed(memory) = &self.all[target.allocation.0] {
            stream.prefetch(memory, (target.offset, target.length), to)?;
        }
        Ok(())
    }

    /// The host address of a slice.
    pub fn on_host(&mut self, slice: &Slice) -> *mut f32 {
        let start = self.all[slice.allocation.0].host_address();
        let start = start.expect("a checked plan uses host memory on the host");
        // SAFETY: a slice lies within its allocation.
        unsafe { start.byte_add(slice.offset.as_usize()) }
    }

    /// The device address of a slice.
    pub fn on_device(&self, slice: &Slice) -> u64 {
        let start = self.all[slice.allocation.0].device_address();
        start.expect("a checked plan uses device memory on the device") + slice.offset.get()
    }

    /// Restores the contents from before the program, and writes NaN to everything else.
    pub fn begin_anew(&mut self, program: &Program, contents: &Contents) -> Executed {
        let nothing = vec![f32::NAN; 1 << 20];
        for (index, allocation) in program.allocations.iter().enumerate() {
            let length = allocation.bytes.in_f32s();
            let values = match allocation.holds {
                Some(id) => contents.of(id),
                None => &nothing[..length.min(nothing.len())],
            };
            // If there are fewer values than elements, they are repeated.
            for start in (0..length).step_by(values.len().max(1)) {
                let values = &values[..values.len().min(length - start)];
                self.put((index, allocation), start, values)?;
            }
        }
        Ok(self.device.map_or(Ok(()), D::make_current)?)
    }

    /// Reads the contents of an allocation, wherever it is.
    pub fn read(&mut self, index: usize, length: usize) -> Executed<Cow<'_, [f32]>> {
        if let Some(address) = self.all[index].host_address() {
            // SAFETY: the allocation holds at least that many values and is borrowed exclusively.
            return Ok(Cow::Borrowed(unsafe { slice::from_raw_parts(address, length) }));
        }
        let mut values = vec![f32::NAN; length];
        if let Some(address) = self.all[index].device_address() {
            let stream = self.device()?.stream(0)?;
            let bytes = Bytes::of_f32(length as u64);
            // SAFETY: both sides hold that many values until the copy has been waited for.
            unsafe { stream.copy_out(address, values.as_mut_ptr(), bytes)? };
            stream.synchronize()?;
        }
        Ok(Cow::Owned(values))
    }
}

/// What an allocation takes: contents are set and read in whole `f32` values.
fn room(allocation: &Allocation) -> Bytes {
    Bytes::of_f32(allocation.bytes.in_f32s() as u64)
}

pub(super) fn need<D>(device: Option<&D>) -> Executed<&D> {
    device.ok_or(ExecuteError::NeedsDevice)
}

/// Checks that the plan fits into what is free, before anything is allocated: the system
/// may kill, without a word, whoever takes the last page.
pub(super) fn check_room<D: AnyDevice>(device: Option<&D>, program: &Program) -> Executed {
    let free = |device: &D| {
        let devices = (0..program.devices().max(1)).map(|index| device.nth(index)?.free_memory());
        devices.collect::<Result<Vec<_>, _>>()
    };
    // What the plan takes of any device has to fit on the one with the least free memory.
    let device = device.map(free).transpose()?.and_then(|free| free.into_iter().min());
    let host = available_memory();
    let there_is = Capacities { device, pinned: host, host };
    check_fits(program, there_is, Whose::Now).map_err(|source| {
        let plan = program.label.clone();
        ExecuteError::DoesNotFit { plan, source }
    })
}

//! Memory of the pretend device, all of it the host's.

use super::clock;
use super::device::State;
use hallway::gpu::{AnyMemory, AnyRegistration, GpuError};
use hallway::host::PageMemory;
use hallway::units::Bytes;
use std::rc::Rc;

/// What the device does not have. There is no value of it.
pub enum Nothing {}

impl AnyMemory for Nothing {
    fn address(&self) -> u64 {
        match *self {}
    }
}

/// Device memory or pinned memory.
pub struct PretendMemory {
    pages: PageMemory,
    state: Rc<State>,
    is_pinned: bool,
    bytes: Bytes,
}

impl PretendMemory {
    pub(super) fn new(state: &Rc<State>, bytes: Bytes, is_pinned: bool) -> Result<Self, GpuError> {
        let little = |_| GpuError::LittleMemory { free: Bytes::ZERO };
        let mut pages = PageMemory::new(bytes.max(Bytes::new(4))).map_err(little)?;
        if state.uses_data {
            // New memory holds anything.
            pages.as_mut_slice().fill(f32::NAN);
        }
        let start = pages.as_ptr() as u64;
        if is_pinned {
            state.pinned.borrow_mut().push((start, start + bytes.get()));
        }
        Ok(Self { pages, state: Rc::clone(state), is_pinned, bytes })
    }
}

impl AnyMemory for PretendMemory {
    fn address(&self) -> u64 {
        self.pages.as_ptr() as u64
    }
}

impl Drop for PretendMemory {
    fn drop(&mut self) {
        let truths = &self.state.truths;
        if self.is_pinned {
            let start = self.address();
            self.state.pinned.borrow_mut().retain(|range| range.0 != start);
            clock::pass(truths.pinned_free.of_bytes(self.bytes));
        } else {
            clock::pass(truths.device_free);
        }
    }
}

pub struct PretendRegistration {
    state: Rc<State>,
    start: u64,
    bytes: Bytes,
}

impl PretendRegistration {
    pub(super) fn new(state: &Rc<State>, start: u64, bytes: Bytes) -> Self {
        state.pinned.borrow_mut().push((start, start + bytes.get()));
        Self { state: Rc::clone(state), start, bytes }
    }
}

impl AnyRegistration for PretendRegistration {
    fn device_address(&self) -> Result<u64, GpuError> {
        Ok(self.start)
    }
}

impl Drop for PretendRegistration {
    fn drop(&mut self) {
        self.state.pinned.borrow_mut().retain(|range| range.0 != self.start);
        clock::pass(self.state.truths.unregister.of_bytes(self.bytes));
    }
}

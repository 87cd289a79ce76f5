//! Memory of the pretend device, all of it the host's.

use super::clock;
use super::device::State;
use hallway::gpu::{AnyMemory, AnyRegistration, GpuError};
use hallway::units::Bytes;
use std::cell::UnsafeCell;
use std::rc::Rc;

/// What the device does not have. There is no value of it.
pub enum Nothing {}

impl AnyMemory for Nothing {
    fn address(&self) -> u64 {
        match *self {}
    }
}

/// Device memory, or pinned memory with its registration.
pub struct PretendMemory {
    values: Box<[UnsafeCell<f32>]>,
    pinned: Option<(Rc<State>, Bytes)>,
}

impl PretendMemory {
    /// New memory holds anything.
    pub(super) fn on_device(bytes: Bytes) -> Self {
        let length = (bytes.get().div_ceil(4) as usize).max(1);
        let values = (0..length).map(|_| UnsafeCell::new(f32::NAN)).collect();
        Self { values, pinned: None }
    }

    pub(super) fn pinned(state: &Rc<State>, bytes: Bytes) -> Self {
        let mut memory = Self::on_device(bytes);
        let start = memory.address();
        state.pinned.borrow_mut().push((start, start + bytes.get()));
        memory.pinned = Some((Rc::clone(state), bytes));
        memory
    }
}

impl AnyMemory for PretendMemory {
    fn address(&self) -> u64 {
        self.values.as_ptr() as u64
    }
}

impl Drop for PretendMemory {
    fn drop(&mut self) {
        if let Some((state, bytes)) = &self.pinned {
            let start = self.values.as_ptr() as u64;
            state.pinned.borrow_mut().retain(|range| range.0 != start);
            clock::pass(state.truths.pinned_free.of_bytes(*bytes));
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

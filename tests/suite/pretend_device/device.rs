//! The device: what it makes, and what that costs.

use super::clock::{self, HELD};
use super::memory::{Nothing, PretendMemory, PretendRegistration};
use super::stream::{PretendBlocker, PretendEvent, PretendStream};
use super::truths::Truths;
use hallway::gpu::{AnyDevice, AnyGraph, AnyRecorder, GpuError, Monitor, Record};
use hallway::host::Team;
use hallway::kernels::{Arguments, Geometry, Kernel, OwnKernel, Parameter, ReadAndWritten, Shape};
use hallway::units::{Bytes, Span};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

/// One GPU. Data moves and kernels compute as soon as they are issued, which is one of the orders
/// that a program without races allows; its own clock says when they would have. A calibration
/// needs only that, and gigabytes of memory: for it, no data moves and no page is touched.
pub struct PretendDevice {
    pub(super) state: Rc<State>,
}

/// What the device and its streams share.
pub(super) struct State {
    pub truths: Truths,
    pub team: Team,
    pub uses_data: bool,
    /// When each stream that was ever held was released.
    pub releases: RefCell<Vec<Option<u64>>>,
    /// When each engine has done all that it was given, by [`super::stream::Engine`].
    pub engines: [Cell<u64>; 3],
    streams: Cell<usize>,
    /// Starts and ends of page-locked memory.
    pub pinned: RefCell<Vec<(u64, u64)>>,
}

impl PretendDevice {
    pub fn new(truths: &Truths) -> Self {
        Self::with(truths, true)
    }

    pub fn without_data(truths: &Truths) -> Self {
        Self::with(truths, false)
    }

    fn with(truths: &Truths, uses_data: bool) -> Self {
        let state = State {
            truths: *truths,
            uses_data,
            releases: RefCell::default(),
            team: Team::new(1).expect("a thread"),
            engines: [const { Cell::new(0) }; 3],
            streams: Cell::new(0),
            pinned: RefCell::default(),
        };
        Self { state: Rc::new(state) }
    }
}

impl State {
    /// A time on the clock. What waits for a release that has not come yet stays beyond all times.
    pub fn on_clock(&self, time: u64) -> u64 {
        let releases = self.releases.borrow();
        let release = (time / HELD).checked_sub(1).and_then(|number| releases[number as usize]);
        release.map_or(time, |release| release + time % HELD)
    }

    /// When all engines have done what they were given.
    pub fn idle(&self) -> u64 {
        self.engines.iter().map(|end| self.on_clock(end.get())).max().unwrap_or(0)
    }
}

/// What the device refuses by name.
pub(super) fn refused<T>(call: &'static str) -> Result<T, GpuError> {
    Err(GpuError::Call { call, name: "the pretend device has no such call".to_owned() })
}

/// What a launch starts.
pub enum PretendLaunch {
    Library(LibraryLaunch),
    /// What takes a time and does nothing.
    StandIn(Span),
}

/// A kernel that maps elements to elements, with its addresses.
pub struct LibraryLaunch {
    pub(super) kernel: Kernel,
    pub(super) arguments: Arguments,
    pub(super) inputs: Vec<u64>,
    pub(super) output: u64,
    /// Elements that are worked on, elements of each input, and those in front of the first.
    pub(super) counts: [usize; 3],
}

impl AnyGraph<PretendDevice> for Nothing {
    fn instantiate(&self) -> Result<Self, GpuError> {
        match *self {}
    }
}

impl AnyRecorder for Nothing {
    fn now(&self) -> Result<u64, GpuError> {
        match *self {}
    }

    fn record<T>(&self, _: impl FnOnce() -> T) -> Result<(T, Vec<Record>), GpuError> {
        match *self {}
    }
}

impl AnyDevice for PretendDevice {
    type Stream = PretendStream;
    type Event = PretendEvent;
    type DeviceMemory = PretendMemory;
    type PinnedMemory = PretendMemory;
    type ManagedMemory = Nothing;
    type PooledMemory = Nothing;
    type Registration = PretendRegistration;
    type Launch = PretendLaunch;
    type Graph = Nothing;
    type ExecutableGraph = Nothing;
    type Recorder = Nothing;
    type Blocker = PretendBlocker;

    fn now() -> Instant {
        clock::read()
    }

    fn supports(kernel: Kernel) -> bool {
        kernel.shape() == Shape::Map && kernel.library().is_none()
    }

    fn uses_data(&self) -> bool {
        self.state.uses_data
    }

    fn monitor(&self) -> Option<Monitor> {
        None
    }

    fn recorder() -> Option<&'static Nothing> {
        None
    }

    fn nth(&self, index: usize) -> Result<&Self, GpuError> {
        match index {
            0 => Ok(self),
            _ => Err(GpuError::TooFewDevices { wanted: index + 1, count: 1 }),
        }
    }

    fn make_current(&self) -> Result<(), GpuError> {
        Ok(())
    }

    fn synchronize(&self) -> Result<(), GpuError> {
        clock::wait_until(
            self.state.idle(),
            self.state.truths.synchronize,
            self.state.truths.wake_host,
        );
        Ok(())
    }

    fn enable_access(&self, _: &Self) -> Result<(), GpuError> {
        refused("enable_access")
    }

    fn free_memory(&self) -> Result<Bytes, GpuError> {
        Ok(self.state.truths.memory)
    }

    fn keep_pool(&self) -> Result<(), GpuError> {
        refused("keep_pool")
    }

    fn has_pools(&self) -> Result<bool, GpuError> {
        Ok(false)
    }

    fn may_have_more_contexts(&self) -> Result<bool, GpuError> {
        Ok(false)
    }

    fn another_context(&self) -> Result<impl Sized, GpuError> {
        refused::<Nothing>("another_context")
    }

    fn load_again(&self) -> Result<impl Sized, GpuError> {
        refused::<Nothing>("load_again")
    }

    fn blocker(&self) -> Result<PretendBlocker, GpuError> {
        Ok(PretendBlocker::new(&self.state))
    }

    fn legacy_default_stream(&self) -> PretendStream {
        panic!("the pretend device has no legacy default stream")
    }

    fn blocking_stream(&self, _: i32) -> Result<PretendStream, GpuError> {
        refused("blocking_stream")
    }

    fn stream(&self, _: i32) -> Result<PretendStream, GpuError> {
        clock::pass(self.state.truths.stream);
        let number = self.state.streams.replace(self.state.streams.get() + 1);
        Ok(PretendStream::new(&self.state, number))
    }

    fn ordering_event(&self) -> Result<PretendEvent, GpuError> {
        clock::pass(self.state.truths.event);
        Ok(PretendEvent::new(&self.state))
    }

    fn timing_event(&self) -> Result<PretendEvent, GpuError> {
        clock::pass(self.state.truths.event);
        Ok(PretendEvent::new(&self.state))
    }

    fn allocate(&self, bytes: Bytes) -> Result<PretendMemory, GpuError> {
        clock::pass(self.state.truths.device_allocate);
        PretendMemory::new(&self.state, bytes, false)
    }

    fn allocate_pinned(&self, bytes: Bytes) -> Result<PretendMemory, GpuError> {
        clock::pass(self.state.truths.pinned_allocate.of_bytes(bytes));
        PretendMemory::new(&self.state, bytes, true)
    }

    fn allocate_write_combined(&self, _: Bytes) -> Result<PretendMemory, GpuError> {
        refused("allocate_write_combined")
    }

    fn allocate_managed(&self, _: Bytes) -> Result<Nothing, GpuError> {
        Err(GpuError::NoManagedMemory)
    }

    unsafe fn register(
        &self,
        address: *mut f32,
        bytes: Bytes,
    ) -> Result<PretendRegistration, GpuError> {
        clock::pass(self.state.truths.register.of_bytes(bytes));
        Ok(PretendRegistration::new(&self.state, address as u64, bytes))
    }

    fn kernel(
        &self,
        (kernel, arguments): (Kernel, Arguments),
        inputs: &[u64],
        (output, _): (u64, u64),
        (count, input_count, lead): (u64, u64, u64),
    ) -> Result<PretendLaunch, GpuError> {
        if !Self::supports(kernel) {
            return refused("a reduction, or a kernel of a library");
        }
        let counts = [count, input_count, lead].map(|count| count as usize);
        let inputs = inputs.to_vec();
        let launch = LibraryLaunch { kernel, arguments, inputs, output, counts };
        Ok(PretendLaunch::Library(launch))
    }

    fn own_kernel(
        &self,
        kernel: &OwnKernel,
        _: (Option<Geometry>, &[Parameter]),
        _: [&[u64]; 2],
        _: Option<[u64; 3]>,
    ) -> Result<PretendLaunch, GpuError> {
        let problem = "the pretend device compiles no code".to_owned();
        Err(GpuError::OwnLaunch { kernel: kernel.name.clone(), problem })
    }

    fn stand_in(
        &self,
        time: Span,
        _: Option<Geometry>,
        _: &[ReadAndWritten],
    ) -> Result<PretendLaunch, GpuError> {
        Ok(PretendLaunch::StandIn(time))
    }
}

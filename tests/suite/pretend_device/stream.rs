//! Streams and events of the pretend device: a call costs the host, an operation waits for what is
//! before it, and for its engine.

use super::clock::{self, HELD};
use super::device::{LibraryLaunch, PretendDevice, PretendLaunch, State, refused};
use super::memory::Nothing;
use hallway::gpu::{AnyBlocker, AnyEvent, AnyStream, GpuError, RowShape, RowSide};
use hallway::host::Operand;
use hallway::machine::Residence;
use hallway::units::{Bytes, Span};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    CopyIn,
    CopyOut,
    Kernels,
}

/// The last operation of a stream.
#[derive(Clone, Copy)]
struct Last {
    stream: usize,
    engine: Option<Engine>,
    end: u64,
}

pub struct PretendStream {
    state: Rc<State>,
    number: usize,
    last: Cell<Last>,
    /// What the next operation has to wait for in other streams.
    awaited: RefCell<Vec<Last>>,
}

pub struct PretendEvent {
    state: Rc<State>,
    recorded: Cell<Option<(Last, u64)>>,
}

impl PretendStream {
    pub(super) fn new(state: &Rc<State>, number: usize) -> Self {
        let last = Cell::new(Last { stream: number, engine: None, end: 0 });
        Self { state: Rc::clone(state), number, last, awaited: RefCell::default() }
    }

    /// Issues an operation that keeps an engine busy. `call` is what the call takes of the host.
    fn issue(&self, engine: Engine, (call, lasts): (u64, u64)) {
        let State { truths, engines, .. } = &*self.state;
        let issued = clock::now();
        clock::pass(call);
        let arrives = clock::now() + truths.starts[engine as usize];
        let busy = &engines[engine as usize];
        let free = self.state.on_clock(busy.get());
        let end = arrives.max(self.ready(engine, issued)).max(free) + lasts;
        busy.set(end);
        self.last.set(Last { stream: self.number, engine: Some(engine), end });
    }

    /// When an operation that was issued then need wait for no other any more.
    fn ready(&self, engine: Engine, issued: u64) -> u64 {
        let before = self.awaited.take().into_iter().chain([self.last.get()]);
        let ends = before.map(|last| (last, self.state.on_clock(last.end)));
        // What ended before the call is handed over already.
        let under_way = ends.filter(|&(_, end)| end > issued);
        under_way.map(|(last, end)| end + self.hand_over(last, engine)).max().unwrap_or(0)
    }

    fn hand_over(&self, from: Last, to: Engine) -> u64 {
        let across = usize::from(from.stream != self.number);
        let hand_overs = &self.state.truths.hand_overs;
        from.engine.map_or(0, |from| hand_overs[from as usize][to as usize][across])
    }

    fn copy(&self, engine: Engine, (host, bytes): (u64, Bytes)) {
        let range = (host, host + bytes.get());
        let pinned = self.state.pinned.borrow();
        let is_pinned = pinned.iter().any(|lock| lock.0 <= range.0 && range.1 <= lock.1);
        let truths = &self.state.truths;
        if is_pinned {
            let lasts = truths.lasts[engine as usize].of_bytes(bytes);
            self.issue(engine, (truths.calls[engine as usize], lasts));
        } else {
            self.stage(engine, truths.staged[engine as usize].map(|time| time.of_bytes(bytes)));
        }
    }

    /// Copies pageable memory, through pinned memory of the driver. The call waits until there is
    /// nothing before it; a copy to the host sends its command ahead.
    fn stage(&self, engine: Engine, [returns, complete]: [u64; 2]) {
        let State { truths, engines, .. } = &*self.state;
        let called = clock::now();
        let ready =
            self.ready(engine, called).max(self.state.on_clock(engines[engine as usize].get()));
        assert!(ready < HELD, "a copy of pageable memory waits for a held stream");
        let ahead = match engine {
            Engine::CopyOut => truths.calls[engine as usize] + truths.starts[engine as usize],
            _ => 0,
        };
        let begins = called.max(ready.saturating_sub(ahead));
        let end = begins + complete;
        clock::pass(begins + returns - called);
        engines[engine as usize].set(end);
        self.last.set(Last { stream: self.number, engine: Some(engine), end });
    }

    fn end(&self) -> u64 {
        let (awaited, last) = (self.awaited.borrow(), self.last.get());
        let ends = awaited.iter().chain([&last]).map(|last| self.state.on_clock(last.end));
        ends.max().unwrap_or(0)
    }
}

/// Copies bytes that may be on either side.
///
/// # Safety
/// Both ranges must be valid, and not overlap.
unsafe fn carry(from: u64, to: u64, bytes: Bytes) {
    // SAFETY: the caller promises that both ranges are valid.
    unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes.as_usize()) };
}

impl AnyStream<PretendDevice> for PretendStream {
    unsafe fn copy_in(&self, from: *const f32, to: u64, bytes: Bytes) -> Result<(), GpuError> {
        if self.state.uses_data {
            // SAFETY: the caller promises that both ranges are valid.
            unsafe { carry(from as u64, to, bytes) };
        }
        self.copy(Engine::CopyIn, (from as u64, bytes));
        Ok(())
    }

    unsafe fn copy_out(&self, from: u64, to: *mut f32, bytes: Bytes) -> Result<(), GpuError> {
        if self.state.uses_data {
            // SAFETY: the caller promises that both ranges are valid.
            unsafe { carry(from, to as u64, bytes) };
        }
        self.copy(Engine::CopyOut, (to as u64, bytes));
        Ok(())
    }

    unsafe fn copy_on_device(&self, _: u64, _: u64, _: Bytes) -> Result<(), GpuError> {
        refused("copy_on_device")
    }

    unsafe fn copy_to_peer(
        &self,
        _: u64,
        _: (&PretendDevice, u64),
        _: Bytes,
    ) -> Result<(), GpuError> {
        refused("copy_to_peer")
    }

    unsafe fn copy_rows(&self, _: RowSide, _: RowSide, _: RowShape) -> Result<(), GpuError> {
        refused("copy_rows")
    }

    unsafe fn clear(&self, target: u64, bytes: Bytes) -> Result<(), GpuError> {
        if self.state.uses_data {
            // SAFETY: the caller promises that the range is valid.
            unsafe { (target as *mut u8).write_bytes(0, bytes.as_usize()) };
        }
        let truths = &self.state.truths;
        self.issue(Engine::Kernels, (truths.clear, truths.lasts[Engine::Kernels as usize].of(0)));
        Ok(())
    }

    fn prefetch(&self, memory: &Nothing, _: (Bytes, Bytes), _: Residence) -> Result<(), GpuError> {
        match *memory {}
    }

    fn prepare(&self, _: &PretendLaunch) -> Result<(), GpuError> {
        Ok(())
    }

    unsafe fn launch(&self, launch: &PretendLaunch) -> Result<(), GpuError> {
        let truths = &self.state.truths;
        let LibraryLaunch { kernel, arguments, inputs, output, counts } = match launch {
            PretendLaunch::Library(launch) => launch,
            PretendLaunch::StandIn(time) => {
                let call = truths.calls[Engine::Kernels as usize];
                self.issue(Engine::Kernels, (call, time.nanos()));
                return Ok(());
            }
        };
        let [count, inner, lead] = counts;
        let elements = (*count as u64).max(truths.fewest_elements);
        let lasts = truths.lasts[Engine::Kernels as usize].of(elements);
        self.issue(Engine::Kernels, (truths.calls[Engine::Kernels as usize], lasts));
        if !self.state.uses_data {
            return Ok(());
        }
        // SAFETY: the caller promises that the memory is valid.
        unsafe {
            let written = std::slice::from_raw_parts_mut(*output as *mut f32, *count);
            let operand = |input: &u64| match input == output {
                true => Operand::Output,
                false => Operand::Array(std::slice::from_raw_parts(*input as *const f32, *inner)),
            };
            let operands: Vec<Operand<'_>> = inputs.iter().map(operand).collect();
            self.state.team.run(*kernel, arguments, &operands, written, *lead);
        }
        Ok(())
    }

    fn allocate(&self, _: Bytes) -> Result<Nothing, GpuError> {
        refused("allocate in a stream")
    }

    fn free(&self, memory: Nothing) -> Result<(), GpuError> {
        match memory {}
    }

    fn record(&self, event: &PretendEvent) -> Result<(), GpuError> {
        clock::pass(self.state.truths.record);
        let end = self.end();
        let last = Last { end, ..self.last.get() };
        event.recorded.set(Some((last, end.max(clock::now()))));
        Ok(())
    }

    fn wait(&self, event: &PretendEvent) -> Result<(), GpuError> {
        clock::pass(self.state.truths.wait);
        self.awaited.borrow_mut().extend(event.recorded.get().map(|(last, _)| last));
        Ok(())
    }

    fn synchronize(&self) -> Result<(), GpuError> {
        let truths = &self.state.truths;
        clock::wait_until(self.end(), truths.synchronize, truths.wake_host);
        Ok(())
    }

    fn capture<E: From<GpuError>>(&self, _: impl FnOnce() -> Result<(), E>) -> Result<Nothing, E> {
        Ok(refused("capture")?)
    }

    unsafe fn replay(&self, graph: &Nothing) -> Result<(), GpuError> {
        match *graph {}
    }

    fn mark(&self, _: &PretendEvent) -> Result<(), GpuError> {
        refused("mark")
    }
}

impl PretendEvent {
    pub(super) fn new(state: &Rc<State>) -> Self {
        Self { state: Rc::clone(state), recorded: Cell::new(None) }
    }
}

impl AnyEvent for PretendEvent {
    fn synchronize(&self) -> Result<(), GpuError> {
        let truths = &self.state.truths;
        let end = self.recorded.get().map_or(0, |(_, at)| self.state.on_clock(at));
        clock::wait_until(end, truths.synchronize, truths.wake_host);
        Ok(())
    }

    fn since(&self, earlier: &Self) -> Result<Span, GpuError> {
        match (self.recorded.get(), earlier.recorded.get()) {
            (Some((_, at)), Some((_, before))) => {
                let [at, before] = [at, before].map(|time| self.state.on_clock(time));
                Ok(Span::from_nanos(at.saturating_sub(before)))
            }
            _ => refused("since"),
        }
    }
}

/// Holds one stream at a time. When that is released, all that was issued meanwhile is there.
pub struct PretendBlocker {
    state: Rc<State>,
}

impl PretendBlocker {
    pub(super) fn new(state: &Rc<State>) -> Self {
        Self { state: Rc::clone(state) }
    }
}

impl AnyBlocker<PretendDevice> for PretendBlocker {
    fn hold(&mut self, stream: &PretendStream) -> Result<(), GpuError> {
        let mut releases = self.state.releases.borrow_mut();
        releases.push(None);
        clock::pass(self.state.truths.calls[Engine::Kernels as usize]);
        stream.last.set(Last {
            engine: None,
            end: releases.len() as u64 * HELD,
            ..stream.last.get()
        });
        Ok(())
    }

    fn end(&self, streams: &[&PretendStream]) -> Result<(), GpuError> {
        let arrived = clock::now() + self.state.truths.starts.into_iter().max().unwrap_or(0);
        if let Some(release) = self.state.releases.borrow_mut().last_mut() {
            *release = Some(arrived);
        }
        streams.iter().try_for_each(|stream| Self::finish(stream))
    }

    fn finish(stream: &PretendStream) -> Result<(), GpuError> {
        stream.synchronize()
    }
}

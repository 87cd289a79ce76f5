//! Host costs of API calls, and round trips to an idle device.

use super::context::{MeasurementContext, Piece, clocked};
use crate::gpu::{GpuError, Launch, Stream};
use crate::kernels::Kernel;
use crate::machine::Direction;
use crate::samples::{Link, SHORT_COPY, TimedCall};
use crate::units::{Bytes, Span};
use std::time::{Duration, Instant};

/// A copy of this size lasts longer than a few dozen calls, at up to 400 GB/s.
const BESIDE: Bytes = Bytes::mib(64);
/// Long enough for a short kernel to finish, or for a copy to start.
const A_WHILE: Duration = Duration::from_micros(30);

fn wait_a_while() {
    let start = Instant::now();
    while start.elapsed() < A_WHILE {
        std::hint::spin_loop();
    }
}

impl MeasurementContext<'_> {
    /// Host time of `count` calls to a held stream, so that none of them waits for the
    /// device.
    pub fn call(&mut self, call: TimedCall, count: u64) -> Result<Span, GpuError> {
        let piece = self.piece(false)?;
        if call == TimedCall::Synchronize {
            return self.synchronize_behind(&piece, count);
        }
        let library = self.library_launch(call)?;
        let launch = library.as_ref().unwrap_or(&piece.kernel);
        self.blocker.hold(&self.streams[0])?;
        // The event has not happened: to wait for one that has is no work.
        self.streams[0].record(&self.ordering[0])?;
        let (stream, other) = (&self.streams[0], &self.streams[1]);
        let (array, from, to) =
            (self.arrays[0].address(), self.pinned[0].as_mut_ptr(), self.pinned[1].as_mut_ptr());
        let time = clocked(|| {
            (0..count as usize).try_for_each(|at| match call {
                // SAFETY: all memory belongs to the context and outlives the stream's
                // work.
                TimedCall::Launch | TimedCall::Multiply | TimedCall::Transform => unsafe {
                    stream.launch(launch)
                },
                // SAFETY: all memory belongs to the context and outlives the stream's work.
                TimedCall::CopyIn => unsafe { stream.copy_in(from, array, SHORT_COPY) },
                // SAFETY: all memory belongs to the context and outlives the stream's work.
                TimedCall::CopyOut => unsafe { stream.copy_out(array, to, SHORT_COPY) },
                TimedCall::Clear => self.clear(stream),
                // SAFETY: all memory belongs to the context and outlives the stream's work.
                TimedCall::LaunchAndRecord => unsafe {
                    stream.launch(&piece.kernel)?;
                    stream.record(&self.ordering[1 + at])
                },
                // SAFETY: all memory belongs to the context and outlives the stream's work.
                TimedCall::WaitAndLaunch => unsafe {
                    other.wait(&self.ordering[0])?;
                    other.launch(&piece.kernel)
                },
                TimedCall::Record => stream.record(&self.ordering[1 + at]),
                TimedCall::Wait => other.wait(&self.ordering[0]),
                TimedCall::Synchronize => stream.synchronize(),
                TimedCall::PeerCopy => self.issue(stream, Link::PeerCopy, &piece),
                TimedCall::UseDevice => self.members[(1 + at) % 2].device.make_current(),
            })
        });
        self.blocker.end(&[stream, other])?;
        time
    }

    /// The launch by a library that `call` times, after a first such launch has
    /// completed. A first launch may wait for the device; on a held stream it would wait
    /// for ever. `None` for other calls.
    fn library_launch(&self, call: TimedCall) -> Result<Option<Launch>, GpuError> {
        let Some((variant, elements)) = call.of_library() else { return Ok(None) };
        let launch = self.launch_of(variant, elements)?;
        // SAFETY: the arrays are larger, and they outlive the launch, which is waited
        // for.
        unsafe { self.streams[0].launch(&launch)? };
        self.streams[0].synchronize()?;
        Ok(Some(launch))
    }

    /// Clears part of the array that kernels write. Clearing an array that they read
    /// would feed them zeros.
    fn clear(&self, stream: &Stream) -> Result<(), GpuError> {
        let array = &self.arrays[Kernel::MOST_INPUTS];
        // SAFETY: the array belongs to the context and outlives the stream's work.
        unsafe { stream.clear(array.address(), SHORT_COPY) }
    }

    /// Host times of `count` launches beside no copy, beside a copy to the device and
    /// beside one from it. The order rotates from sample to sample.
    pub fn launches_beside(&mut self, count: u64) -> Result<[Span; 3], GpuError> {
        let piece = self.piece(false)?;
        let [to_device, to_host] = self.pinned.each_mut().map(|memory| memory.as_mut_ptr());
        let (stream, copying) = (&self.streams[0], &self.streams[1]);
        let [ins, outs] = Direction::BOTH;
        let copies = [None, Some((ins, to_device)), Some((outs, to_host))];
        let mut times = [Span::ZERO; 3];
        for at in (0..3).map(|place| (place + self.turn as usize) % 3) {
            if let Some((way, ashore)) = copies[at] {
                self.copy_at(copying, way, ashore, BESIDE, self.turn)?;
            }
            wait_a_while();
            let launch = |_| self.issue(stream, Link::Kernel, &piece);
            times[at] = clocked(|| (0..count).try_for_each(launch))?;
            stream.synchronize()?;
            copying.synchronize()?;
        }
        Ok(times)
    }

    /// Host time of `count` synchronisations, each behind an operation that has finished
    /// a while ago. Synchronising a stream that is known to be empty can be much quicker.
    fn synchronize_behind(&self, piece: &Piece, count: u64) -> Result<Span, GpuError> {
        let stream = &self.streams[0];
        let mut sum = Span::ZERO;
        for _ in 0..count {
            self.issue(stream, Link::Kernel, piece)?;
            wait_a_while();
            sum += clocked(|| stream.synchronize())?;
        }
        Ok(sum)
    }

    /// Host time of `count` calls to an idle device. What each call starts is waited for,
    /// untimed.
    pub fn idle_call(&mut self, call: TimedCall, count: u64) -> Result<Span, GpuError> {
        let piece = self.piece(false)?;
        let (stream, other) = (&self.streams[0], &self.streams[1]);
        let event = &self.ordering[0];
        stream.record(event)?;
        let mut sum = Span::ZERO;
        for _ in 0..count {
            stream.synchronize()?;
            other.synchronize()?;
            sum += clocked(|| match call {
                TimedCall::Launch => self.issue(stream, Link::Kernel, &piece),
                TimedCall::Multiply | TimedCall::Transform => {
                    unreachable!("no probe times these on an idle device")
                }
                TimedCall::CopyIn => self.issue(stream, Link::CopyIn, &piece),
                TimedCall::CopyOut => self.issue(stream, Link::CopyOut, &piece),
                TimedCall::Clear => self.clear(stream),
                TimedCall::LaunchAndRecord => {
                    self.issue(stream, Link::Kernel, &piece)?;
                    stream.record(event)
                }
                TimedCall::WaitAndLaunch => {
                    other.wait(event)?;
                    self.issue(other, Link::Kernel, &piece)
                }
                TimedCall::Record => stream.record(event),
                TimedCall::Wait => other.wait(event),
                TimedCall::Synchronize => stream.synchronize(),
                TimedCall::PeerCopy => self.issue(stream, Link::PeerCopy, &piece),
                TimedCall::UseDevice => self.members[1].device.make_current(),
            })?;
        }
        stream.synchronize()?;
        other.synchronize()?;
        self.device.make_current()?;
        Ok(sum)
    }

    /// Host time from issuing dependent operations to the return of a synchronisation.
    pub fn round_trip(
        &mut self,
        links: &[Link],
        across: bool,
        long: bool,
    ) -> Result<Span, GpuError> {
        let piece = self.piece(long)?;
        let stream = |at: usize| &self.streams[at % 2 * usize::from(across)];
        clocked(|| {
            for (at, &link) in links.iter().enumerate() {
                if across && at > 0 {
                    stream(at).wait(&self.ordering[at - 1])?;
                }
                self.issue(stream(at), link, &piece)?;
                if across && at + 1 < links.len() {
                    stream(at).record(&self.ordering[at])?;
                }
            }
            stream(links.len() - 1).synchronize()
        })
    }
}

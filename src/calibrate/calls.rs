//! Host costs of calls: made back to back, and among others as plans make them.

use super::context::{MeasurementContext, Piece, Timed, clocked};
use super::probe::{Counts, Probe, Streams, WarmUp};
use crate::gpu::{AnyBlocker, AnyDevice, AnyMemory, AnyStream, GpuResult, RowShape, RowSide};
use crate::kernels::Kernel;
use crate::machine::{Direction, OperationKind};
use crate::samples::{
    IN_ONE_STREAM, IN_TURN, IN_TURN_COPY, Quantity, SHORT_COPY, TURNS, TimedCall,
};
use crate::units::{Bytes, Span};
use std::time::Duration;

/// The probes of calls.
pub(super) fn probes() -> Vec<Probe> {
    use TimedCall::{
        AllocateInStream, Clear, CopyIn, CopyOnDevice, CopyOut, CopyRows, FreeInStream, Launch,
        Multiply, Synchronize, Transform,
    };
    let calls = [Launch, CopyIn, CopyOut, Clear, Synchronize, Multiply, Transform];
    // Calls that only spelled-out programs make.
    let spelled = [CopyOnDevice, CopyRows, AllocateInStream, FreeInStream];
    let spelled = spelled.map(|one| call(one).visits(2).limit(0.3, 5).telling(false));
    let others = spelled.into_iter().chain([in_turn(), beside_copies()]);
    calls.map(call).into_iter().chain(others).collect()
}

/// Calls of one kind, back to back.
pub(super) fn call(call: TimedCall) -> Probe {
    let probe = Probe::new(Quantity::Call { call }, Counts::Of(32));
    let probe = probe.visits(5).quickly_twice().warm_up(WarmUp::Calls).telling(true);
    if call.of_library().is_some() { probe.streams(Streams::First) } else { probe }
}

fn in_turn() -> Probe {
    let of = |one_stream, calls: &[(TimedCall, usize)]| -> Vec<Quantity> {
        let calls = calls.iter().map(|&(call, _)| Some(call)).chain([None]);
        calls.map(|call| Quantity::CallInTurn { call, one_stream }).collect()
    };
    let what = [of(false, &IN_TURN), of(true, &IN_ONE_STREAM)].concat();
    // Calls differ by a tenth from visit to visit, and all calls of a plan come from here. With 5
    // visits a pass, a launch took 3.48 us and 3.94 us, within minutes.
    let probe = Probe::together(what, Counts::Of(TURNS)).visits(48).quickly_twice();
    probe.warm_up(WarmUp::Calls).streams(Streams::Same)
}

fn beside_copies() -> Probe {
    let copies = [None, Some(Direction::HostToDevice), Some(Direction::DeviceToHost)];
    let what = copies.map(|copy| Quantity::LaunchBeside { copy });
    // This is a difference of a tenth of what is measured. With 5 visits a pass, launches took
    // 0.26 us and 0.72 us longer beside copies, within minutes.
    let probe = Probe::together(what, Counts::Of(32)).visits(16).quickly_twice();
    probe.warm_up(WarmUp::Calls).streams(Streams::Same)
}

/// Rows of a copy whose call is timed.
const FEW_ROWS: RowShape =
    RowShape { row: Bytes::new(64), count: 16, pitch: [Bytes::new(128), Bytes::new(64)] };

/// What is allocated in a stream.
const POOLED: Bytes = Bytes::mib(1);

/// A copy of this size lasts longer than a few dozen calls, at up to 400 GB/s.
const BESIDE: Bytes = Bytes::mib(64);

/// Long enough for a short kernel to finish, or for a copy to start.
const A_WHILE: Duration = Duration::from_micros(30);

fn wait_a_while<D: AnyDevice>() {
    let start = D::now();
    while D::elapsed(start) < A_WHILE {
        std::hint::spin_loop();
    }
}

/// Makes one call of a kind, and may time it.
type Make<'m> = dyn FnMut(TimedCall, &dyn Fn() -> GpuResult) -> GpuResult + 'm;

/// The kinds of calls in one turn, and how many of each the turn has.
type Kinds = &'static [(TimedCall, usize)];

/// Makes all calls of one turn, which takes one piece of data through the device.
type Turn<'r, D> = fn(&MeasurementContext<'r, D>, &Piece<D>, u64, &mut Make<'_>) -> GpuResult;

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Host time of `count` calls to a held stream, so that none of them waits for the device.
    pub fn call(&mut self, call: TimedCall, count: u64) -> Timed {
        let piece = self.piece(false)?;
        match call {
            TimedCall::Synchronize => return self.synchronize_behind(&piece, count),
            TimedCall::AllocateInStream | TimedCall::FreeInStream => {
                return self.pooled(call, count);
            }
            _ => {}
        }
        let of_library = call.of_library();
        let library = of_library.map(|(variant, elements)| self.ready_launch(variant, elements));
        let library = library.transpose()?;
        let launch = library.as_ref().unwrap_or(&piece.kernel);
        self.blocker.hold(&self.streams[0])?;
        // The event has not happened: to wait for one that has is no work.
        self.streams[0].record(&self.ordering[0])?;
        let (stream, other) = (&self.streams[0], &self.streams[1]);
        let (array, from, to) =
            (self.arrays[0].address(), self.pinned[0].as_mut_ptr(), self.pinned[1].as_mut_ptr());
        let time = clocked::<D, _, _>(|| {
            // SAFETY: all memory belongs to the context and outlives the stream's work.
            (0..count as usize).try_for_each(|at| unsafe {
                match call {
                    TimedCall::Launch | TimedCall::Multiply | TimedCall::Transform => {
                        stream.launch(launch)
                    }
                    TimedCall::CopyIn => stream.copy_in(from, array, SHORT_COPY),
                    TimedCall::CopyOut => stream.copy_out(array, to, SHORT_COPY),
                    // Clearing an array that kernels read would feed them zeros.
                    TimedCall::Clear => {
                        stream.clear(self.arrays[Kernel::MOST_INPUTS].address(), SHORT_COPY)
                    }
                    TimedCall::PeerCopy => self.issue(stream, OperationKind::PeerCopy, &piece),
                    TimedCall::UseDevice => self.members[(1 + at) % 2].device.make_current(),
                    TimedCall::CopyOnDevice => {
                        stream.copy_on_device(array, self.arrays[1].address(), SHORT_COPY)
                    }
                    TimedCall::CopyRows => {
                        stream.copy_rows(RowSide::Host(from), RowSide::Device(array), FEW_ROWS)
                    }
                    _ => unreachable!("these are timed by themselves, or among others"),
                }
            })
        });
        self.blocker.end(&[stream, other])?;
        time
    }

    /// Host times of `count` launches beside no copy, beside a copy to the device and
    /// beside one from it. The order rotates from sample to sample.
    pub fn launches_beside(&mut self, count: u64) -> Timed<[Span; 3]> {
        let piece = self.piece(false)?;
        let (stream, copying) = (&self.streams[0], &self.streams[1]);
        let copies = [None, Some(Direction::HostToDevice), Some(Direction::DeviceToHost)];
        let mut times = [Span::ZERO; 3];
        for at in (0..3).map(|place| (place + self.turn as usize) % 3) {
            if let Some(way) = copies[at] {
                self.copy_turn(copying, way, BESIDE, self.turn)?;
            }
            wait_a_while::<D>();
            let launch = |_| self.issue(stream, OperationKind::Kernel, &piece);
            times[at] = clocked::<D, _, _>(|| (0..count).try_for_each(launch))?;
            stream.synchronize()?;
            copying.synchronize()?;
        }
        Ok(times)
    }

    /// Host time of `count` synchronisations, each behind an operation that has finished
    /// a while ago. Synchronising a stream that is known to be empty can be much quicker.
    fn synchronize_behind(&self, piece: &Piece<D>, count: u64) -> Timed {
        let stream = &self.streams[0];
        let mut sum = Span::ZERO;
        for _ in 0..count {
            self.issue(stream, OperationKind::Kernel, piece)?;
            wait_a_while::<D>();
            sum += clocked::<D, _, _>(|| stream.synchronize())?;
        }
        Ok(sum)
    }

    /// Host time of `count` allocations in a held stream, or of giving as many back there.
    fn pooled(&mut self, call: TimedCall, count: u64) -> Timed {
        self.device.keep_pool()?;
        let stream = &self.streams[0];
        let take = || (0..count).map(|_| stream.allocate(POOLED)).collect::<Result<Vec<_>, _>>();
        // The pool grows now: to grow, it might wait for a stream that is held.
        take()?.into_iter().try_for_each(|memory| stream.free(memory))?;
        stream.synchronize()?;
        let mut memory = Vec::new();
        if call == TimedCall::FreeInStream {
            memory = take()?;
            stream.synchronize()?;
        }
        self.blocker.hold(stream)?;
        let time = clocked::<D, _, _>(|| {
            if call == TimedCall::FreeInStream {
                return memory.drain(..).try_for_each(|memory| stream.free(memory));
            }
            memory = take()?;
            Ok(())
        });
        let given_back = memory.into_iter().try_for_each(|memory| stream.free(memory));
        self.blocker.end(&[stream])?;
        given_back?;
        time
    }
}

impl<'r, D: AnyDevice> MeasurementContext<'r, D> {
    /// Host time of calls among others, over `count` turns of a pipeline. For each kind
    /// of [`IN_TURN`] it gives the sum over its calls, each with a clock of its own; then
    /// the time of as many turns without clocks; and then both for [`IN_ONE_STREAM`].
    pub fn calls_in_turn(&mut self, count: u64) -> Timed<Vec<Span>> {
        let piece = Piece { bytes: IN_TURN_COPY, ..self.piece(false)? };
        let mut times = Vec::new();
        let turns: [(Kinds, Turn<'r, D>); 2] =
            [(&IN_TURN, Self::across_streams), (&IN_ONE_STREAM, Self::in_one_stream)];
        for (kinds, turn) in turns {
            let mut sums = vec![Span::ZERO; kinds.len()];
            let mut each = |kind: TimedCall, call: &dyn Fn() -> GpuResult| {
                let time = clocked::<D, _, _>(call)?;
                let mut of_kinds = sums.iter_mut().zip(kinds);
                let sum = of_kinds.find(|(_, (one, _))| *one == kind);
                *sum.expect("a turn makes only calls of these kinds").0 += time;
                Ok(())
            };
            (0..count).try_for_each(|at| turn(self, &piece, at, &mut each))?;
            self.streams[..3].iter().try_for_each(|stream| stream.synchronize())?;
            let turns =
                || (0..count).try_for_each(|at| turn(self, &piece, at, &mut |_, call| call()));
            sums.push(clocked::<D, _, _>(turns)?);
            self.streams[..3].iter().try_for_each(|stream| stream.synchronize())?;
            times.extend(sums);
        }
        Ok(times)
    }

    /// The calls of a pipeline that has a stream for each engine.
    fn across_streams(&self, piece: &Piece<D>, at: u64, make: &mut Make<'_>) -> GpuResult {
        let [ins, kernels, outs] = [&self.streams[0], &self.streams[1], &self.streams[2]];
        let events = &self.ordering[2 * at as usize..];
        let copy = |stream, way| self.copy_turn(stream, way, piece.bytes, at);
        make(TimedCall::CopyIn, &|| copy(ins, Direction::HostToDevice))?;
        make(TimedCall::Record, &|| ins.record(&events[0]))?;
        make(TimedCall::Wait, &|| kernels.wait(&events[0]))?;
        make(TimedCall::Launch, &|| self.issue(kernels, OperationKind::Kernel, piece))?;
        kernels.record(&events[1])?;
        outs.wait(&events[1])?;
        make(TimedCall::CopyOut, &|| copy(outs, Direction::DeviceToHost))
    }

    /// The calls of a pipeline over three streams in which each piece stays in one stream.
    fn in_one_stream(&self, piece: &Piece<D>, at: u64, make: &mut Make<'_>) -> GpuResult {
        let stream = &self.streams[at as usize % 3];
        let copy = |way| self.copy_turn(stream, way, piece.bytes, at);
        make(TimedCall::CopyIn, &|| copy(Direction::HostToDevice))?;
        make(TimedCall::Launch, &|| self.issue(stream, OperationKind::Kernel, piece))?;
        make(TimedCall::CopyOut, &|| copy(Direction::DeviceToHost))
    }
}

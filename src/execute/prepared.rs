//! A plan's body with every name resolved to an address or a handle, so that running it
//! is one driver call after another.

use super::copies::PreparedCopy;
use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::{Memories, need};
use crate::gpu::{AnyDevice, AnyEvent, AnyStream};
use crate::host::{Operand, Team};
use crate::kernels::{Arguments, Kernel};
use crate::machine::{DeviceId, Residence};
use crate::program::{
    Allocation, Awaited, Call, LibraryStep, MemoryChange, OwnStep, ProductShape, Program, Slice,
    Step,
};
use crate::units::Bytes;
use std::time::Duration;

/// One call with its handles and addresses, ready to be made. A stream and an event are given by
/// their places among the handles. The graph of a replay is `None` until its calls have been
/// captured.
pub(super) enum Prepared<'d, D: AnyDevice> {
    Use(&'d D),
    Clear { stream: usize, target: u64, bytes: Bytes },
    Copy(PreparedCopy<'d, D>),
    Prefetch { stream: usize, target: Slice, to: Residence },
    Launch { stream: usize, launch: D::Launch },
    Record { stream: usize, event: usize },
    Wait { stream: usize, event: usize },
    Replay { stream: usize, graph: Option<D::ExecutableGraph> },
    Synchronize { stream: usize },
    SynchronizeEvent { event: usize },
    SynchronizeDevice(&'d D),
    Memory(MemoryCall<'d, D>),
    Work(Duration),
    Compute(Computation),
}

/// A call that takes memory, gives it back, renews it or pins it.
pub(super) struct MemoryCall<'d, D> {
    index: usize,
    allocation: &'d Allocation,
    device: Option<&'d D>,
    stream: Option<usize>,
    change: MemoryChange,
}

/// A step on the CPU, with the addresses and lengths of its operands.
pub(super) struct Computation {
    kernel: Kernel,
    arguments: Arguments,
    inputs: Vec<(*const f32, usize)>,
    output: (*mut f32, usize),
    lead: usize,
    /// Size of the host memory that the plan uses in a pass.
    footprint: Bytes,
}

impl Computation {
    pub fn new<D: AnyDevice>(
        step: &LibraryStep,
        footprint: Bytes,
        memories: &mut Memories<D>,
    ) -> Self {
        let count = |bytes: Bytes| bytes.as_usize() / 4;
        let input = |slice| memories.on_host(slice).cast_const();
        Self {
            kernel: step.kernel,
            arguments: step.arguments,
            inputs: {
                let lengths = step.inputs.iter().map(|slice| count(slice.length));
                step.inputs.iter().map(input).zip(lengths).collect()
            },
            output: (memories.on_host(&step.output), count(step.output.length)),
            lead: step.lead as usize,
            footprint,
        }
    }

    pub fn run(&self, team: &Team) {
        let (start, length) = self.output;
        // SAFETY: the slices lie within live allocations. An input that is the output
        // itself is passed as `Operand::Output`, and a checked plan has no other input
        // that overlaps it.
        let output = unsafe { std::slice::from_raw_parts_mut(start, length) };
        let operand = |&(input, length): &(*const f32, usize)| {
            if std::ptr::eq(input, start) {
                Operand::Output
            } else {
                // SAFETY: the slice lies within a live allocation.
                Operand::Array(unsafe { std::slice::from_raw_parts(input, length) })
            }
        };
        // An array on the stack: an allocation would take a thirtieth of the time of a
        // small kernel.
        let inputs: [_; Kernel::MOST_INPUTS] =
            std::array::from_fn(|index| self.inputs.get(index).map_or(Operand::Output, operand));
        let inputs = &inputs[..self.inputs.len()];
        let kernel = (self.kernel, &self.arguments);
        team.run_around(self.footprint, kernel, inputs, output, self.lead);
    }
}

impl<'d, D: AnyDevice> Prepared<'d, D> {
    pub fn new(
        (program, call): (&'d Program, &Call),
        footprint: Bytes,
        (device, handles): (Option<&'d D>, &Handles<D>),
        memories: &mut Memories<D>,
    ) -> Result<Self, ExecuteError> {
        if let Some((id, change)) = call.memory_change() {
            let (allocation, stream) = (program.allocation(id), call.stream().map(|one| one.0));
            let call = MemoryCall { index: id.0, allocation, device, stream, change };
            return Ok(Self::Memory(call));
        }
        match call.awaited() {
            Some(Awaited::Stream(stream)) => return Ok(Self::Synchronize { stream: stream.0 }),
            Some(Awaited::Event(event)) => return Ok(Self::SynchronizeEvent { event: event.0 }),
            Some(Awaited::Device(DeviceId(id))) => {
                return Ok(Self::SynchronizeDevice(need(device)?.nth(id)?));
            }
            Some(Awaited::Thread(_)) | None => {}
        }
        Ok(match call {
            Call::Clear { stream, target } => Self::Clear {
                stream: stream.0,
                target: memories.on_device(target),
                bytes: target.length,
            },
            Call::Copy { .. } => Self::Copy(PreparedCopy::new((program, call), device, memories)?),
            Call::Prefetch { stream, target, to } => {
                Self::Prefetch { stream: stream.0, target: *target, to: *to }
            }
            Call::Use(DeviceId(id)) => Self::Use(need(device)?.nth(*id)?),
            Call::Launch { stream, step } => {
                let DeviceId(id) = program.device_of(*stream);
                let device = need(device)?.nth(id)?;
                let launch = match step {
                    Step::Library(step) => launch(step, device, memories)?,
                    Step::Own(step) => own_launch((program, step), device, memories)?,
                };
                handles.streams[stream.0].prepare(&launch)?;
                Self::Launch { stream: stream.0, launch }
            }
            Call::Record { stream, event } => Self::Record { stream: stream.0, event: event.0 },
            Call::Wait { stream, event } => Self::Wait { stream: stream.0, event: event.0 },
            Call::Replay { stream, .. } => Self::Replay { stream: stream.0, graph: None },
            Call::Work { time } => Self::Work(Duration::from_nanos(time.nanos())),
            Call::Compute { step: Step::Library(step) } => {
                Self::Compute(Computation::new(step, footprint, memories))
            }
            _ => unreachable!("one thread makes all calls, the CPU has no code: checked before"),
        })
    }

    /// Makes the call.
    #[inline]
    pub fn make(
        &self,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
        team: &Team,
    ) -> Result<(), ExecuteError> {
        let stream = |index: &usize| &handles.streams[*index];
        // SAFETY: the addresses lie in the plan's live allocations, and every pass ends
        // with a wait for everything that it has issued.
        unsafe {
            match self {
                Self::Copy(copy) => copy.make(handles, team)?,
                Self::Prefetch { stream: s, target, to } => {
                    memories.prefetch(stream(s), target, *to)?;
                }
                Self::Use(device) => device.make_current()?,
                Self::Launch { stream: s, launch } => stream(s).launch(launch)?,
                Self::Record { stream: s, event } => stream(s).record(&handles.events[*event])?,
                Self::Wait { stream: s, event } => stream(s).wait(&handles.events[*event])?,
                Self::Replay { stream: s, graph } => {
                    let graph = graph.as_ref().expect("graphs are captured during set-up");
                    stream(s).replay(graph)?;
                }
                Self::Synchronize { stream: s } => stream(s).synchronize()?,
                Self::Clear { stream: s, target, bytes } => stream(s).clear(*target, *bytes)?,
                // The thread is busy: a system call could give the core away.
                Self::Work(time) => {
                    let start = D::now();
                    while D::now() - start < *time {
                        std::hint::spin_loop();
                    }
                }
                Self::Compute(computation) => computation.run(team),
                Self::SynchronizeEvent { event } => handles.events[*event].synchronize()?,
                Self::SynchronizeDevice(device) => device.synchronize()?,
                Self::Memory(MemoryCall { index, allocation, device, stream: s, change }) => {
                    let s = s.as_ref().map(stream);
                    memories.change((*index, *allocation), *change, (*device, s))?;
                }
            }
        }
        Ok(())
    }
}

/// Makes the calls of a set-up. What it allocates outside of streams is touched as well.
pub(super) fn make_setup<D: AnyDevice>(
    program: &Program,
    (device, team): (Option<&D>, &Team),
    handles: &Handles<D>,
    memories: &mut Memories<D>,
) -> Result<(), ExecuteError> {
    program.setup.iter().try_for_each(|call| match (call.memory_change(), call.stream()) {
        (Some((id, MemoryChange::Allocate)), None) => {
            memories.allocate(device, id.0, program.allocation(id))
        }
        _ => make_once((program, call), (device, team), handles, memories),
    })
}

/// Makes a call of a set-up, or of a program that is run once.
pub(super) fn make_once<D: AnyDevice>(
    (program, call): (&Program, &Call),
    (device, team): (Option<&D>, &Team),
    handles: &Handles<D>,
    memories: &mut Memories<D>,
) -> Result<(), ExecuteError> {
    // Going through the whole program for every other call would take long.
    let footprint = if call.is_compute() { program.host_footprint() } else { Bytes::ZERO };
    let prepared = Prepared::new((program, call), footprint, (device, handles), memories)?;
    if let (Some(device), Some(stream)) = (device, call.stream()) {
        device.nth(program.device_of(stream).0)?.make_current()?;
    }
    prepared.make(handles, memories, team)
}

fn own_launch<D: AnyDevice>(
    (program, step): (&Program, &OwnStep),
    device: &D,
    memories: &Memories<D>,
) -> Result<D::Launch, ExecuteError> {
    let addresses = |slices: &[Slice]| -> Vec<u64> {
        slices.iter().map(|slice| memories.on_device(slice)).collect()
    };
    let (reads, writes) = (addresses(&step.reads), addresses(&step.writes));
    let shape = step.product().map(|ProductShape { rows, inner, columns }| [rows, inner, columns]);
    let how = (step.geometry, &step.parameters[..]);
    Ok(device.own_kernel(program.own_kernel(step), how, [&reads, &writes], shape)?)
}

fn launch<D: AnyDevice>(
    step: &LibraryStep,
    device: &D,
    memories: &Memories<D>,
) -> Result<D::Launch, ExecuteError> {
    let inputs: Vec<u64> = step.inputs.iter().map(|slice| memories.on_device(slice)).collect();
    let output = memories.on_device(&step.output);
    let workspace = step.workspace.as_ref().map_or(0, |slice| memories.on_device(slice));
    let sizes = (step.elements(), step.inputs[0].length.as_f32_count(), step.lead);
    let kernel = (step.kernel, step.arguments);
    Ok(device.kernel(kernel, &inputs, (output, workspace), sizes)?)
}

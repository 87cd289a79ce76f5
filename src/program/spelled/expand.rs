//! From a program as it is spelled out to its calls, one by one.

use super::call::RawCall;
use super::cost::work_range;
use super::expansion::{Expansion, Placed, span_of};
use super::own::DeclaredKernel;
use super::scope::{NamedBuffer, RawMemory, RawStream, Scope};
use crate::files::{Fault, Spanned};
use crate::kernels::Kernel;
use crate::machine::{DeviceId, StreamId};
use crate::program::{
    AllocationId, Call, Hazard, MemoryChange, Part, Program, Shared, Slice, ThreadId, check_hazards,
};
use crate::units::Bytes;
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

// The doc comments below are the descriptions in the JSON Schema of scenarios, and so in
// docs/reference/scenario.md: they are written for those who write a program.

/// A program, call by call. Memory and streams are referred to by name. In a name, an expression in
/// braces such as `{i % 2}` is replaced by its value, where `i` is the index of an enclosing
/// `repeat`. The name of memory may be followed by a range of bytes: `x[0..4 MiB]`, `x[i * 4
/// MiB..+4 MiB]` (start and length), `x[4 MiB..]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Program"))]
#[serde(deny_unknown_fields, expecting = "a [[program]] table")]
pub struct RawProgram {
    /// Name of the program, used as its plan's name in reports.
    pub name: Spanned<String>,
    /// A name for what the program computes. Programs with the same `result` are compared with each
    /// other. Default: programs are compared if they leave the same data in the same memory,
    /// computed by the same kernels from the same buffers; all other programs get their own
    /// answers.
    #[serde(default)]
    pub result: Option<Spanned<String>>,
    /// The program's own memory, in addition to the buffers. Memory that no call allocates is
    /// allocated in the set-up.
    #[serde(default)]
    pub memory: Vec<RawMemory>,
    /// Streams with special properties. Streams that are not listed here are created with
    /// `cudaStreamCreate` on the first GPU.
    #[serde(default)]
    pub streams: Vec<RawStream>,
    /// Host time that a framework adds before each driver call in a run, such as `"6 us"`. Default:
    /// none.
    pub overhead: Option<Spanned<String>>,
    /// How far all `work` of a run together may be off, such as `"10%"`: nine times out of ten, it
    /// is off by less. Predicted ranges include it. Default: the times are exact.
    pub work_range: Option<Spanned<String>>,
    /// Calls made once, before the first run.
    #[serde(default)]
    pub setup: Vec<RawCall>,
    /// Calls made in every run, in order.
    pub calls: Vec<RawCall>,
}

/// The program that a table spells out over some buffers, with some kernels of its own.
///
/// # Errors
/// The first mistake: a name that stands for nothing, a range outside, calls that contradict each
/// other, calls that use the same bytes with nothing that orders them.
pub fn expand(
    raw: &RawProgram,
    buffers: &[NamedBuffer],
    declared: &[Arc<DeclaredKernel>],
) -> Result<Program, Fault> {
    let mut expansion = Expansion {
        scope: Scope::new(&raw.memory, &raw.streams, buffers)?,
        declared,
        at: raw.name.span(),
        in_setup: true,
        overhead: raw.overhead.as_ref().map(span_of).transpose()?,
        ..Expansion::default()
    };
    for call in &raw.setup {
        expansion.add(call)?;
    }
    let setup = std::mem::take(&mut expansion.calls);
    expansion.made_by.clear();
    expansion.in_setup = false;
    for call in &raw.calls {
        expansion.add(call)?;
    }
    for thread in expansion.threads.all() {
        expansion.threads.making = thread;
        expansion.make_current(DeviceId::FIRST);
    }
    expansion.finish(raw, setup)
}

impl Expansion<'_> {
    /// Puts the program together and checks it.
    fn finish(self, raw: &RawProgram, mut setup: Vec<Placed>) -> Result<Program, Fault> {
        let body = self.calls;
        let allocated = |id: AllocationId| {
            let takes = Some((id, MemoryChange::Allocate));
            setup.iter().chain(&body).any(|(call, _)| call.memory_change() == takes)
        };
        let whole = raw.name.span();
        let allocations = self.scope.allocations.iter().enumerate();
        let own = allocations.filter(|(_, one)| one.holds.is_none());
        let own = own.map(|(at, _)| AllocationId(at)).filter(|&id| !allocated(id));
        // A reduction needs its workspace cleared, and leaves it so for the next launch.
        let clear = |(&(stream, _, bytes), &allocation): (&(StreamId, Kernel, u64), _)| {
            let (offset, length) = (Bytes::ZERO, Bytes::new(bytes));
            Call::Clear { stream, target: Slice { allocation, offset, length } }
        };
        let own = own.map(Call::allocate).chain(self.workspaces.iter().map(clear));
        let own: Vec<Placed> = own.map(|call| (call, whole.clone())).collect();
        setup.splice(0..0, own);
        let (setup, setup_places): (Vec<_>, Vec<_>) = setup.into_iter().unzip();
        let (body, body_places): (Vec<_>, Vec<_>) = body.into_iter().unzip();
        let events = self.scope.events.len();
        let stream_names = self.scope.stream_names();
        let is_main = |thread: &ThreadId| *thread == ThreadId::MAIN;
        let threads = if self.made_by.iter().all(is_main) { Vec::new() } else { self.made_by };
        let program = Program {
            label: raw.name.get_ref().clone(),
            allocations: self.scope.allocations,
            streams: self.scope.streams,
            stream_names,
            events,
            kernels: self.kernels,
            setup,
            body,
            threads,
            work_range: raw.work_range.as_ref().map(work_range).transpose()?,
        };
        program.check().map_err(|problem| {
            let place = |(part, at): (Part, usize)| match part {
                Part::Setup => setup_places.get(at).cloned(),
                Part::Body => body_places.get(at).cloned(),
            };
            let here = problem.call.and_then(place).unwrap_or(whole.clone());
            let help = "correct the call, or the memory and streams that it uses";
            let fault = Fault::new(problem.what, here, "here", help);
            match problem.other.and_then(|(at, label)| Some((place(at)?, label))) {
                Some((there, label)) => fault.and(there, label),
                None => fault,
            }
        })?;
        check_hazards(&program).map_err(|hazard| {
            fault_of(hazard, &|at| body_places.get(at).cloned().unwrap_or(whole.clone()))
        })?;
        Ok(program)
    }
}

/// What a program lacks, at the places of its calls.
fn fault_of(hazard: Hazard, place: &dyn Fn(usize) -> Range<usize>) -> Fault {
    match hazard {
        Hazard::Unordered { first, second, allocation } => {
            let message = format!(
                "two calls use `{allocation}` and one of them writes to it, but nothing orders \
                 them"
            );
            let help = "put them in the same stream, or have the second wait for an event \
                        recorded after the first";
            Fault::new(message, place(second), "the second", help).and(place(first), "the first")
        }
        Hazard::Unissued { first, second, shared } => {
            let what = match shared {
                Shared::Stream(_) => "stream",
                Shared::Event(_) => "event",
            };
            let message = format!("two host threads use the same {what} in no defined order");
            let help = "have the second call's thread wait with `synchronize_thread` after the \
                        first call";
            Fault::new(message, place(second), "the second", help).and(place(first), "the first")
        }
        Hazard::Unfinished { last, .. } => {
            let message = "a run may end before this call is done";
            let help = "end `calls` with a `synchronize` of its stream, or a \
                        `synchronize_device`";
            Fault::new(message, place(last), "nothing waits for it", help)
        }
    }
}

//! One call of a plan on one line.

use crate::kernels::Kernel;
use crate::program::{Allocation, Call, Facts, Place, Program, Slice, Step};
use crate::report::words::count;
use std::collections::BTreeMap;

/// What the allocations of a plan are called: `host:x`, `gpu:x`, `gpu:x#2` for the second of
/// several.
pub(super) struct Names {
    names: Vec<String>,
    several_gpus: bool,
}

impl Names {
    pub fn new(program: &Program) -> Self {
        let mut names = Self { names: Vec::new(), several_gpus: program.devices() > 1 };
        let mut seen: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for allocation in &program.allocations {
            seen.entry(names.kind(allocation)).or_default().0 += 1;
        }
        for allocation in &program.allocations {
            let kind = names.kind(allocation);
            let (of, number) = seen.get_mut(&kind).expect("counted");
            *number += 1;
            let name = if *of == 1 { kind } else { format!("{kind}#{number}") };
            names.names.push(name);
        }
        names
    }

    /// Its name without the number.
    pub fn kind(&self, allocation: &Allocation) -> String {
        let place = match allocation.place {
            Place::Host(_) => "host".to_owned(),
            Place::Device(device) if self.several_gpus => format!("gpu{}", device.0),
            Place::Device(_) => "gpu".to_owned(),
        };
        format!("{place}:{}", allocation.name)
    }

    /// Equal for calls that do the same to other pieces, in whichever stream.
    pub fn sort(&self, program: &Program, call: &Call) -> String {
        let Facts { allocation, from, to, step, .. } = call.facts();
        let first = from.or(to).or(step.and_then(|step| step.inputs.first()));
        let memory = allocation.or(first.map(|slice| slice.allocation));
        let memory = memory.map(|id| &program.allocation(id).name);
        let what = match call {
            // Whichever buffer it is of.
            Call::Pin(_) => return "pin".to_owned(),
            Call::Renew(_) => return "renew".to_owned(),
            Call::Copy { direction, .. } => direction.to_string(),
            _ => step.map_or(String::new(), |step| step.kernel.to_string()),
        };
        format!("{:?} {what} {memory:?}", std::mem::discriminant(call))
    }

    /// The call in words; `recorded`: which call recorded the event that it waits for.
    pub fn call(&self, program: &Program, call: &Call, recorded: Option<usize>) -> String {
        let lane = call.stream().map_or_else(|| "host".to_owned(), |id| format!("stream {}", id.0));
        let what = match call {
            Call::Allocate(id) => {
                let bytes = program.allocation(*id).bytes;
                format!("allocate {} ({bytes})", self.names[id.0])
            }
            Call::Pin(id) => {
                format!("pin {} ({})", self.names[id.0], program.allocation(*id).bytes)
            }
            Call::Renew(id) => {
                format!(
                    "take new memory for {} ({})",
                    self.names[id.0],
                    program.allocation(*id).bytes
                )
            }
            Call::Clear { target, .. } => format!("set {} to zero", self.slice(program, target)),
            Call::Copy { direction, from, to, .. } => {
                format!("copy {direction} {}", self.way(program, from, to))
            }
            Call::PeerCopy { from, to, .. } => format!("copy P2P {}", self.way(program, from, to)),
            Call::Work { time } => format!("work for {time}"),
            Call::Launch { step, .. } => format!("launch {}", self.step(program, step)),
            Call::Compute { step } => format!("compute {}", self.step(program, step)),
            Call::Record { event, .. } => format!("record event {}", event.0),
            Call::Wait { event, .. } => match recorded {
                Some(at) => format!("wait for event {}, recorded by call {}", event.0, at + 1),
                None => format!("wait for event {}, recorded in the pass before", event.0),
            },
            Call::Synchronize { stream } => {
                return format!("{:<9}wait until stream {} is done", "host", stream.0);
            }
            Call::Use(device) => format!("make the context of GPU {} current", device.0),
            Call::Replay { calls, .. } => format!("launch the graph of the {calls} calls below"),
        };
        format!("{lane:<9}{what}")
    }

    fn way(&self, program: &Program, from: &Slice, to: &Slice) -> String {
        let length = from.length;
        format!("{length}: {} to {}", self.slice(program, from), self.slice(program, to))
    }

    fn slice(&self, program: &Program, slice: &Slice) -> String {
        let name = &self.names[slice.allocation.0];
        let all = slice.length == program.allocation(slice.allocation).bytes;
        if all {
            format!("{name}[..]")
        } else {
            format!("{name}[{}..{}]", slice.offset.get(), slice.end().get())
        }
    }

    fn step(&self, program: &Program, step: &Step) -> String {
        let inputs = step.inputs.iter().map(|slice| self.slice(program, slice));
        let inputs = inputs.collect::<Vec<_>>().join(", ");
        let (output, elements) = (self.slice(program, &step.output), count(step.elements()));
        format!("{}, {elements} elements: {inputs} to {output}", kernel(step))
    }
}

/// The kernel with its argument: `scale (a = 2)`.
fn kernel(step: &Step) -> String {
    let Step { kernel, arguments, .. } = step;
    match kernel.extent() {
        Some(extent) => format!("{kernel} ({} = {})", extent.name, arguments.extent),
        None if Kernel::has_factor(*kernel) => format!("{kernel} (a = {})", arguments.a),
        None => kernel.to_string(),
    }
}

/// For each call that waits for an event, which call before it recorded that.
pub(super) fn recorded(calls: &[Call]) -> Vec<Option<usize>> {
    let mut last = BTreeMap::new();
    let recorded = calls.iter().enumerate().map(|(at, call)| match call {
        Call::Record { event, .. } => {
            last.insert(*event, at);
            None
        }
        Call::Wait { event, .. } => last.get(event).copied(),
        _ => None,
    });
    recorded.collect()
}

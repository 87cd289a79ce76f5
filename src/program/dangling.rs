//! Names of what a program does not have.

use super::program::{AllocationId, Call, EventId, Program, Slice, Step};
use crate::machine::StreamId;

impl Program {
    /// What a call names that there is not: an allocation, bytes beyond its end, a stream, an event
    /// or calls of a graph. `None` if everything is there.
    pub(super) fn dangling(&self) -> Option<String> {
        [("setup", &self.setup), ("body", &self.body)].into_iter().find_map(|(part, calls)| {
            calls.iter().enumerate().find_map(|(at, call)| {
                let left = calls.len() - at - 1;
                let problem = self.wrong_with(call, left)?;
                Some(format!("call {at} of its {part} names {problem}"))
            })
        })
    }

    fn wrong_with(&self, call: &Call, left: usize) -> Option<String> {
        let of_stream = call.stream().and_then(|stream| self.no_stream(stream));
        of_stream.or_else(|| match call {
            Call::Allocate(id) | Call::Pin(id) | Call::Renew(id) => self.no_allocation(*id),
            Call::Clear { target, .. } => self.no_bytes(target),
            Call::Copy { from, to, .. } | Call::PeerCopy { from, to, .. } => {
                self.no_bytes(from).or_else(|| self.no_bytes(to))
            }
            Call::Launch { step, .. } | Call::Compute { step } => self.no_step(step),
            Call::Record { event, .. } | Call::Wait { event, .. } => self.no_event(*event),
            Call::Replay { calls, .. } => (*calls > left)
                .then(|| format!("{calls} calls of a graph, and {left} calls follow")),
            Call::Use(_) | Call::Synchronize { .. } => None,
        })
    }

    fn no_stream(&self, id: StreamId) -> Option<String> {
        let streams = self.streams.len();
        (id.0 >= streams).then(|| format!("stream {} of {streams}, counted from 0", id.0))
    }

    fn no_event(&self, id: EventId) -> Option<String> {
        (id.0 >= self.events).then(|| format!("event {} of {}, counted from 0", id.0, self.events))
    }

    fn no_allocation(&self, id: AllocationId) -> Option<String> {
        let allocations = self.allocations.len();
        (id.0 >= allocations)
            .then(|| format!("allocation {} of {allocations}, counted from 0", id.0))
    }

    fn no_bytes(&self, slice: &Slice) -> Option<String> {
        if let Some(problem) = self.no_allocation(slice.allocation) {
            return Some(problem);
        }
        let (allocation, first) = (self.allocation(slice.allocation), slice.offset);
        let end = first.get().checked_add(slice.length.get());
        let fits = end.is_some_and(|end| end <= allocation.bytes.get());
        (!fits).then(|| {
            let (length, name, bytes) = (slice.length, &allocation.name, allocation.bytes);
            format!("{length} from byte {} on of `{name}`, which has {bytes}", first.get())
        })
    }

    fn no_step(&self, step: &Step) -> Option<String> {
        let (has, wants) = (step.inputs.len(), step.kernel.inputs());
        if has != wants {
            return Some(format!("{has} inputs of `{}`, which takes {wants}", step.kernel));
        }
        let slices = step.inputs.iter().chain([&step.output]).chain(&step.workspace);
        slices.into_iter().find_map(|slice| self.no_bytes(slice))
    }
}

//! Which values a program leaves in memory, without computing them: two programs leave equal bytes
//! if every byte goes back to equal operations on equal bytes.
//!
//! Calls are followed in their order. That is enough for programs without a race.

use super::subject::whole;
use crate::kernels::Shape;
use crate::program::{
    AccessKind, Allocation, AllocationId, Call, LibraryStep, Program, Slice, Step, Touched,
};
use crate::units::Bytes;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of some contents: the byte at position `p` of its memory is byte `p - base` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Value {
    id: u64,
    base: i128,
}

/// A range of bytes of equal origin, relative to where the reading began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    length: u64,
    id: u64,
    /// Position of its first byte in the contents.
    first: i128,
}

/// What every memory of a program contains.
#[derive(Debug, Clone)]
pub(super) struct Values {
    memory: Vec<BTreeMap<u64, (u64, Value)>>,
}

/// The most places of a memory at which bytes are looked for.
const MOST_STARTS: usize = 64;

fn hashed(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Values {
    /// Each memory has contents of its own.
    pub fn before(program: &Program) -> Self {
        let contents = |(id, one): (usize, &Allocation)| {
            let value = Value { id: hashed(&("memory", id)), base: 0 };
            BTreeMap::from([(0, (one.bytes.get(), value))])
        };
        Self { memory: program.allocations.iter().enumerate().map(contents).collect() }
    }

    /// What a range contains, in as few segments as there are.
    pub fn read(&self, slice: &Slice) -> Vec<Segment> {
        let [from, to] = [slice.offset, slice.end()].map(Bytes::get);
        let ranges = &self.memory[slice.allocation.0];
        let before = ranges.range(..from).next_back().filter(|(_, range)| range.0 > from);
        let mut found: Vec<Segment> = Vec::new();
        for (&at, &(end, value)) in before.into_iter().chain(ranges.range(from..to)) {
            let (start, end) = (at.max(from), end.min(to));
            let first = i128::from(start) - value.base;
            match found.last_mut() {
                Some(last)
                    if last.id == value.id && last.first + i128::from(last.length) == first =>
                {
                    last.length += end - start;
                }
                _ => found.push(Segment { length: end - start, id: value.id, first }),
            }
        }
        found
    }

    /// Where some bytes are in a memory, if they begin where its contents change.
    pub fn find(&self, program: &Program, id: AllocationId, bytes: &[Segment]) -> Option<Slice> {
        let first = bytes.first()?;
        let length = Bytes::new(bytes.iter().map(|one| one.length).sum());
        let ranges = self.memory[id.0].iter().take(MOST_STARTS);
        let mut alike = ranges.filter(|&(&at, &(_, value))| {
            value.id == first.id && i128::from(at) - value.base == first.first
        });
        alike.find_map(|(&at, _)| {
            let slice = Slice { allocation: id, offset: Bytes::new(at), length };
            let fits = slice.end() <= program.allocation(id).bytes;
            (fits && self.read(&slice) == bytes).then_some(slice)
        })
    }

    fn write(&mut self, slice: &Slice, segments: &[Segment]) {
        let [from, to] = [slice.offset, slice.end()].map(Bytes::get);
        let ranges = &mut self.memory[slice.allocation.0];
        for at in [from, to] {
            if let Some((_, range)) = ranges.range_mut(..at).next_back().filter(|(_, r)| r.0 > at) {
                let rest = *range;
                range.0 = at;
                ranges.insert(at, rest);
            }
        }
        let covered: Vec<u64> = ranges.range(from..to).map(|(&at, _)| at).collect();
        for at in covered {
            ranges.remove(&at);
        }
        let mut at = from;
        for segment in segments {
            let value = Value { id: segment.id, base: i128::from(at) - segment.first };
            ranges.insert(at, (at + segment.length, value));
            at += segment.length;
        }
    }

    /// What a call does to memory.
    pub fn follow(&mut self, program: &Program, call: &Call) {
        if let Some((id, change)) = call.memory_change() {
            if change.is_new() {
                let fresh = hashed(&("new", id));
                let slice = whole(program, id);
                let length = slice.length.get();
                self.write(&slice, &[Segment { length, id: fresh, first: 0 }]);
            }
            return;
        }
        if let Some(step) = call.step() {
            self.compute(program, step);
            return;
        }
        let filled = call.fills_with();
        for access in program.accesses(call).filter(|one| one.kind == AccessKind::Writes) {
            let sides = call.sides();
            let rows = match sides.from {
                Some(from) => Touched::side(*from, sides.rows, 0),
                None => access.touched,
            };
            for (from, to) in rows.each_row().zip(access.touched.each_row()) {
                let segments = match filled {
                    Some(byte) => {
                        let length = to.length.get();
                        vec![Segment { length, id: hashed(&("filled", byte)), first: 0 }]
                    }
                    None => self.read(&from),
                };
                self.write(&to, &segments);
            }
        }
    }

    /// A kernel writes what follows from all that it reads. A piece of an elementwise kernel writes
    /// the bytes that the whole kernel would write there.
    fn compute(&mut self, program: &Program, step: &Step) {
        let reads: Vec<Vec<Segment>> = step.reads().iter().map(|one| self.read(one)).collect();
        let kernel = match step {
            Step::Library(one) => format!("{} {:?} {}", one.kernel.name(), one.arguments, one.lead),
            Step::Own(one) => {
                let name = program.kernels.get(one.kernel).map_or("", |own| &own.name);
                format!("{name} {} {}", one.elements, one.signature())
            }
        };
        if let Some(pieces) = step.library().filter(|one| is_elementwise(one)) {
            let origin = reads.iter().enumerate().find_map(|(at, read)| {
                let is_cut = pieces.kernel.whole(at, &pieces.arguments).is_none();
                (is_cut && read.len() == 1).then(|| read[0].first)
            });
            let relative = origin.and_then(|origin| {
                let of = |(at, read): (usize, &Vec<Segment>)| {
                    if pieces.kernel.whole(at, &pieces.arguments).is_some() {
                        return Some(hashed(read));
                    }
                    let [only] = read[..] else { return None };
                    Some(hashed(&(only.id, only.first - origin)))
                };
                Some((origin, reads.iter().enumerate().map(of).collect::<Option<Vec<u64>>>()?))
            });
            if let Some((first, inputs)) = relative {
                let id = hashed(&(kernel, inputs));
                let length = pieces.output.length.get();
                self.write(&pieces.output, &[Segment { length, id, first }]);
                return;
            }
        }
        let lengths: Vec<u64> = step.writes().iter().map(|one| one.length.get()).collect();
        let made = hashed(&(kernel, reads, lengths));
        for (at, slice) in step.writes().iter().enumerate() {
            let length = slice.length.get();
            self.write(slice, &[Segment { length, id: hashed(&(made, at)), first: 0 }]);
        }
    }

    /// What all of a memory contains.
    pub fn of(&self, program: &Program, id: AllocationId) -> Vec<Segment> {
        self.read(&whole(program, id))
    }
}

/// Whether every element of the output follows from the elements of the inputs at its place, and
/// from inputs that are read whole.
pub(super) fn is_elementwise(step: &LibraryStep) -> bool {
    let arguments = &step.arguments;
    let all_as_long = step.inputs.iter().enumerate().all(|(at, input)| {
        step.kernel.whole(at, arguments).is_some() || input.length == step.output.length
    });
    step.kernel.shape() == Shape::Map
        && step.kernel.halo(arguments) == 0
        && step.lead == 0
        && all_as_long
        && step.kernel.grain(arguments) == 1
}

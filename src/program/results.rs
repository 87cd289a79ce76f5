//! What a program leaves behind, and what that was made from: programs that leave the same do the
//! same work, and only those can be compared.

use super::accesses::{Access, AccessKind};
use super::call::Call;
use super::operands::{BufferId, Place};
use super::step::Step;
use super::value::Program;
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What a pass leaves in memory.
///
/// How the work was cut, staged and ordered does not show in it: chunks, streams and buffers that
/// are used in turn leave what one copy or launch leaves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Results(BTreeMap<Left, (Bytes, BTreeSet<Origin>)>);

/// Where a result is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    /// In a buffer of the scenario.
    In(BufferId),
    /// In memory of the program's own: on a device, or on the host.
    Own { on_device: bool },
}

/// What a byte was made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// What a buffer of the scenario contained before.
    Contents(BufferId),
    /// A kernel, with its numbers.
    Kernel(String),
    /// A value of each byte.
    Filled(u8),
}

/// The bytes of one allocation in ranges, by where they begin.
type Ranges = BTreeMap<u64, Range>;

#[derive(Debug, Clone)]
struct Range {
    end: u64,
    origins: BTreeSet<Origin>,
    /// Whether the program wrote it, and nothing in the program has read it since.
    is_left: bool,
    is_written: bool,
}

impl Program {
    /// What one pass leaves behind.
    ///
    /// A result is what the program writes and does not read again: what it reads again is on its
    /// way to a result. If all is read again, everything written counts. Memory of the program's
    /// own counts only if nothing is left in a buffer of the scenario.
    pub fn results(&self) -> Results {
        let mut memory: Vec<Ranges> = self.allocations.iter().map(initial).collect();
        for call in &self.body {
            self.follow(call, &mut memory);
        }
        let left = |is_result: fn(&Range) -> bool, own: bool| {
            let mut found: BTreeMap<Left, (Bytes, BTreeSet<Origin>)> = BTreeMap::new();
            for (allocation, ranges) in self.allocations.iter().zip(&memory) {
                let place = match allocation.holds {
                    Some(id) => Left::In(id),
                    None if own => {
                        Left::Own { on_device: matches!(allocation.place, Place::Device(_)) }
                    }
                    None => continue,
                };
                for (start, range) in ranges.iter().filter(|(_, range)| is_result(range)) {
                    let (bytes, origins) = found.entry(place).or_default();
                    *bytes += Bytes::new(range.end - start);
                    origins.extend(range.origins.iter().cloned());
                }
            }
            found
        };
        let unread = |range: &Range| range.is_left;
        let written = |range: &Range| range.is_written;
        let choices = [left(unread, false), left(written, false), left(unread, true)];
        let found = choices.into_iter().find(|found| !found.is_empty());
        Results(found.unwrap_or_else(|| left(written, true)))
    }

    /// Follows what a call reads into what it writes.
    fn follow(&self, call: &Call, memory: &mut [Ranges]) {
        let mut origins: BTreeSet<Origin> = self.computed_by(call).into_iter().collect();
        origins.extend(call.fills_with().map(Origin::Filled));
        for access in self.accesses(call).filter(|one| one.kind == AccessKind::Reads) {
            for slice in access.touched.each_row() {
                let ranges = &mut memory[slice.allocation.0];
                split(ranges, slice.offset.get());
                split(ranges, slice.end().get());
                for (_, range) in ranges.range_mut(slice.offset.get()..slice.end().get()) {
                    range.is_left = false;
                    origins.extend(range.origins.iter().cloned());
                }
            }
        }
        let is_written =
            |one: &Access| matches!(one.kind, AccessKind::Writes | AccessKind::Scratch);
        for access in self.accesses(call).filter(is_written) {
            for slice in access.touched.each_row() {
                let (start, end) = (slice.offset.get(), slice.end().get());
                write(&mut memory[slice.allocation.0], start, end, &origins);
            }
        }
    }

    /// The kernel of a launch, or of its twin on the CPU, with all that changes what it computes.
    fn computed_by(&self, call: &Call) -> Option<Origin> {
        Some(Origin::Kernel(match call.step()? {
            Step::Library(step) => format!("{} {:?}", step.kernel.name(), step.arguments),
            Step::Own(step) => format!("{} ({})", self.own_kernel(step).name, step.signature()),
        }))
    }
}

fn initial(allocation: &super::operands::Allocation) -> Ranges {
    let origins = allocation.holds.map(Origin::Contents).into_iter().collect();
    let end = allocation.bytes.get();
    let range = Range { end, origins, is_left: false, is_written: false };
    if end == 0 { Ranges::new() } else { Ranges::from([(0, range)]) }
}

/// Makes a range begin at a byte, if one contains it.
fn split(ranges: &mut Ranges, at: u64) {
    let Some((_, range)) = ranges.range_mut(..at).next_back().filter(|(_, r)| at < r.end) else {
        return;
    };
    let rest = range.clone();
    range.end = at;
    ranges.insert(at, rest);
}

fn write(ranges: &mut Ranges, start: u64, end: u64, origins: &BTreeSet<Origin>) {
    split(ranges, start);
    split(ranges, end);
    let covered: Vec<u64> = ranges.range(start..end).map(|(&at, _)| at).collect();
    for at in covered {
        ranges.remove(&at);
    }
    if start < end {
        let range = Range { end, origins: origins.clone(), is_left: true, is_written: true };
        ranges.insert(start, range);
    }
}

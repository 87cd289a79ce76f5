//! Copies once, in the set-up, what every pass copies to the GPU although it does not change.
//!
//! Whether it changes from pass to pass is the host's affair, so it is a condition. On the GPU,
//! nothing may write the target in between: it then still has the bytes.

use super::drop_copies::{largest_groups, without};
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{DeviceId, Direction, StreamId};
use crate::program::{Call, Place as Where, Program, Slice, Touched};
use crate::units::Bytes;
use std::collections::BTreeSet;

/// The most groups of copies that are asked about one by one.
const MOST_GROUPS: usize = 3;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    if program.body.iter().all(|call| !is_upload(call)) {
        return Err(Refusal::NoUpload);
    }
    let inside = subject.in_graphs();
    let written = Written::in_body(program);
    let mut groups = largest_groups(program, Direction::HostToDevice, MOST_GROUPS);
    // All that a recording knows to be the same in every pass is a group, too.
    let unchanged = subject.unchanged.iter().filter(|one| *one.1).map(|one| *one.0);
    let unchanged = unchanged.filter(|&at| program.body.get(at).is_some_and(is_upload)).collect();
    if !groups.contains(&unchanged) {
        groups.push(unchanged);
    }
    let stays = |at: &usize| subject.is_recorded || written.stays(program, *at);
    let (mut found, mut differs) = (Vec::new(), false);
    for group in groups {
        // A recording with digests knows whether the bytes were others in other passes.
        let known = |at: &usize| subject.unchanged.get(at).copied();
        differs |= group.iter().any(|at| known(at) == Some(false));
        let group: Vec<usize> = group.into_iter().filter(|at| known(at) != Some(false)).collect();
        let were_equal = group.iter().all(|at| known(at) == Some(true));
        let group: Vec<usize> = group.into_iter().filter(|at| !inside[*at]).filter(stays).collect();
        if group.is_empty() {
            continue;
        }
        let mut one = without(subject, &group.iter().copied().collect());
        if !subject.is_recorded {
            let copies = group.iter().map(|&at| program.body[at].clone());
            let copies: Vec<Call> = copies.collect();
            let streams = copies.iter().filter_map(Call::stream);
            let mut streams: Vec<StreamId> = streams.collect();
            streams.sort_unstable();
            streams.dedup();
            one.program.setup.extend(copies);
            one.program.setup.extend(streams.into_iter().map(Call::synchronize));
        }
        let moved = shared_targets(program, &group);
        if moved > Bytes::ZERO {
            super::taken(&mut one.program, "kept", Where::Device(DeviceId::FIRST), moved);
        }
        let open = if were_equal { Condition::OnlyRead } else { Condition::Unchanged };
        one.conditions.push(open);
        found.push(one);
    }
    match found.is_empty() {
        false => Ok(found),
        true if differs => Err(Refusal::BytesDiffer),
        true => Err(Refusal::NothingRepeated),
    }
}

/// How many bytes some uploads bring to memory to which other uploads of the body go, too: to stay
/// on the GPU, they need memory of their own.
fn shared_targets(program: &Program, uploads: &[usize]) -> Bytes {
    let all = program.body.iter().enumerate().filter(|(_, call)| is_upload(call));
    let all = all.filter_map(|(at, call)| Some((at, *call.crossing()?.3)));
    let mut targets: Vec<(usize, Slice)> = all.collect();
    targets.sort_by_key(|(_, one)| (one.allocation, one.offset));
    let uploads: BTreeSet<usize> = uploads.iter().copied().collect();
    // A target may overlap the earlier one that ends last; targets behind that one come next.
    let mut shared: BTreeSet<usize> = BTreeSet::new();
    let mut last: Option<(usize, Slice)> = None;
    for &(at, one) in &targets {
        if let Some((before, _)) = last.filter(|(_, before)| before.overlaps(&one)) {
            shared.extend([before, at]);
        }
        let goes_on = last.is_some_and(|(_, before)| {
            before.allocation == one.allocation && before.end() >= one.end()
        });
        if !goes_on {
            last = Some((at, one));
        }
    }
    let is_shared = |(at, _): &&(usize, Slice)| uploads.contains(at) && shared.contains(at);
    targets.iter().filter(is_shared).map(|(_, one)| one.length).sum()
}

fn is_upload(call: &Call) -> bool {
    call.crossing().is_some_and(|(_, way, ..)| way == Direction::HostToDevice)
}

/// Which memory ranges calls of the body write.
struct Written(Vec<Vec<(usize, Touched)>>);

impl Written {
    fn in_body(program: &Program) -> Self {
        let mut found = vec![Vec::new(); program.allocations.len()];
        for (at, call) in program.body.iter().enumerate() {
            for one in program.accesses(call).filter(|one| one.writes()) {
                found[one.allocation().0].push((at, one.touched));
            }
        }
        Self(found)
    }

    /// Whether the target of an upload is written by nothing else in a pass, and its source by
    /// nothing: then the next pass finds there what this one has copied.
    fn stays(&self, program: &Program, upload: usize) -> bool {
        let Some((_, _, from, to)) = program.body[upload].crossing() else { return false };
        [from, to].into_iter().all(|slice| {
            let mut others = self.0[slice.allocation.0].iter().filter(|one| one.0 != upload);
            others.all(|(_, touched)| !touched.slice.overlaps(slice))
        })
    }
}

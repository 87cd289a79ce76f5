//! Brings small results to the host together at the end of a pass, not one by one. Until then they
//! stay on the GPU, each in a place of its own.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Condition, Place, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{Call, CopyBy, Place as Where, Program, Route, Slice, Threads};
use crate::units::Bytes;
use std::collections::BTreeSet;

/// The fewest copies that are gathered.
const LEAST: usize = 2;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let small = small(subject);
    if small.len() < LEAST || subject.passes > 1 {
        return Err(Refusal::FewResults);
    }
    Ok(vec![gathered(subject, &small)])
}

/// A small download.
struct Download {
    at: usize,
    stream: StreamId,
    from: Slice,
    to: Slice,
}

fn small(subject: &Subject) -> Vec<Download> {
    let inside = subject.in_graphs();
    let calls = subject.program.body.iter().enumerate();
    let found = calls.filter_map(|(at, call)| {
        let (stream, way, &from, &to) = call.crossing()?;
        let is_whole = call.sides().rows.is_none() && !inside[at];
        let is_small = way == Direction::DeviceToHost && from.length <= super::SMALL;
        (is_whole && is_small).then_some(Download { at, stream, from, to })
    });
    found.collect()
}

fn gathered(subject: &Subject, all: &[Download]) -> Rewriting {
    let mut program = subject.program.clone();
    let length: Bytes = all.iter().map(|one| one.from.length).sum();
    let place = program.allocation(all[0].from.allocation).place;
    let kept = super::taken(&mut program, "kept", place, length);
    let adjoin = all.windows(2).all(|pair| {
        let [one, other] = [&pair[0].to, &pair[1].to];
        one.allocation == other.allocation && one.end() == other.offset
    });
    let brought = match adjoin {
        true => Slice { length, ..all[0].to },
        false => super::taken(&mut program, "brought", Where::Host(HostMemory::Pinned), length),
    };
    let mut patch = Patch::default();
    let mut out = Vec::new();
    let mut offset = Bytes::ZERO;
    for one in all {
        let part = |whole: &Slice| Slice {
            offset: whole.offset + offset,
            length: one.from.length,
            ..*whole
        };
        let by = CopyBy::Stream(one.stream, Route::OnDevice);
        patch.replace(one.at, vec![Call::copy(by, one.from, part(&kept))]);
        if !adjoin {
            out.push(Call::copy(CopyBy::Host(Threads::One), part(&brought), one.to));
        }
        offset += one.from.length;
    }
    let stream = all.last().map_or(StreamId(0), |one| one.stream);
    patch.append(Call::copy(CopyBy::crossing(stream, Direction::DeviceToHost), kept, brought));
    out.into_iter().for_each(|call| patch.append(call));
    let places = all.iter().map(|one| Place::of(&subject.program, one.at, Some(one.to.allocation)));
    let places = Place::gathered(places);
    let waits = waits_behind(&subject.program, all);
    let changed = subject.rewritten(patch.applied(&program), 1);
    let program = with_needed_waits(&changed, |at| waits.contains(&at));
    let later = subject.is_recorded.then_some(Condition::ReadLater);
    let conditions = later.into_iter().chain(subject.about_kernels()).collect();
    Rewriting { program, passes: 1, places, conditions }
}

/// The waits right behind the copies, which were for them.
fn waits_behind(program: &Program, all: &[Download]) -> BTreeSet<usize> {
    let behind = all.iter().filter_map(|one| {
        let mut next = one.at + 1..program.body.len();
        next.find(|&at| program.body[at].stated_time().is_none())
    });
    behind.filter(|&at| program.body[at].only_waits()).collect()
}

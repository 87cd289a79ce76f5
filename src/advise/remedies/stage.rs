//! Sends pageable data through two pinned buffers in turn: while one is copied over the link, all
//! threads of the CPU fill or empty the other one. The driver does the same with one thread.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::patch::Patch;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Place, Rewriting};
use crate::advise::subject::Subject;
use crate::machine::{Direction, HostMemory, StreamId};
use crate::program::{AllocationId, Call, CopyBy, Place as Where, Slice, Threads};
use crate::units::Bytes;

/// Copies of fewer bytes are over before a second buffer is filled.
const LEAST: Bytes = Bytes::mib(4);
/// Bytes of a buffer.
const SIZES: [Bytes; 2] = [Bytes::mib(2), Bytes::mib(8)];
/// The most pieces of one copy.
const MOST_PIECES: u64 = 512;

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let inside = subject.in_graphs();
    let program = &subject.program;
    let copies: Vec<usize> = (0..program.body.len())
        .filter(|&at| !inside[at])
        .filter(|&at| {
            let call = &program.body[at];
            call.crossing().is_some_and(|(_, way, from, to)| {
                let here = program.allocation(way.ashore(from, to).allocation).place;
                let is_pageable = here == Where::Host(HostMemory::Pageable);
                is_pageable && from.length >= LEAST && call.sides().rows.is_none()
            })
        })
        .collect();
    if copies.is_empty() {
        return Err(Refusal::NothingPageable);
    }
    Ok(SIZES.into_iter().map(|size| staged(subject, &copies, size)).collect())
}

fn staged(subject: &Subject, copies: &[usize], size: Bytes) -> Rewriting {
    let mut program = subject.program.clone();
    let pinned = Where::Host(HostMemory::Pinned);
    let ring = [0, 1].map(|_| super::taken(&mut program, "stage", pinned, size));
    let mut patch = Patch::default();
    for &at in copies {
        if let Some((stream, way, &from, &to)) = subject.program.body[at].crossing() {
            patch.replace(at, pieces(stream, way, [from, to], &ring));
        }
    }
    let places = copies.iter().map(|&at| {
        let sides = subject.program.body[at].crossing();
        let here = sides.map_or(AllocationId(0), |one| one.1.ashore(one.2, one.3).allocation);
        Place::of(&subject.program, at, Some(here))
    });
    let places = Place::gathered(places);
    let changed = subject.rewritten(patch.applied(&program), 1);
    let program = with_needed_waits(&changed, |_| false);
    Rewriting { program, passes: 1, places, conditions: Vec::new() }
}

/// One copy in pieces. A piece comes to the host while the one before is moved on.
fn pieces(
    stream: StreamId,
    way: Direction,
    [from, to]: [Slice; 2],
    ring: &[Slice; 2],
) -> Vec<Call> {
    let bytes = from.length.get();
    let size = ring[0].length.get();
    let count = bytes.div_ceil(size);
    if count > MOST_PIECES {
        return vec![Call::copy(CopyBy::crossing(stream, way), from, to)];
    }
    let mut calls = Vec::new();
    let mut last: Option<Call> = None;
    for piece in 0..count {
        let start = piece * size;
        let length = Bytes::new(size.min(bytes - start));
        let part =
            |whole: &Slice| Slice { offset: whole.offset + Bytes::new(start), length, ..*whole };
        let buffer = Slice { length, ..ring[(piece % 2) as usize] };
        let (by_host, by_link) = (CopyBy::Host(Threads::All), CopyBy::crossing(stream, way));
        match way {
            Direction::HostToDevice => {
                calls.push(Call::copy(by_host, part(&from), buffer));
                calls.push(Call::copy(by_link, buffer, part(&to)));
            }
            Direction::DeviceToHost => {
                calls.push(Call::copy(by_link, part(&from), buffer));
                calls.extend(last.replace(Call::copy(by_host, buffer, part(&to))));
            }
        }
    }
    calls.extend(last);
    calls
}

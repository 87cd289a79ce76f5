//! Spreads copies and kernels that do not need each other over several streams.
//!
//! An operation joins the stream of the latest one that it depends on, unless another one has
//! joined that stream behind it already. What depends on nothing, or would only queue there, goes
//! to the next stream in turn. Waits are put in anew, where the data needs them.

use crate::advise::missing_waits::with_needed_waits;
use crate::advise::refusal::Refusal;
use crate::advise::rewriting::{Place, Rewriting};
use crate::advise::streams::stream_beside;
use crate::advise::subject::Subject;
use crate::program::{Call, dependences};
use std::collections::BTreeSet;

/// Numbers of streams that are tried.
const STREAMS: [usize; 4] = [2, 4, 8, 16];

pub(super) fn variants(subject: &Subject) -> Result<Vec<Rewriting>, Refusal> {
    subject.check_waits()?;
    let program = &subject.program;
    if program.has_graphs() {
        return Err(Refusal::HasGraphs);
    }
    // No data orders a kernel behind a prefetch: only their stream does.
    if program.body.iter().any(|call| call.prefetches_to().is_some()) {
        return Err(Refusal::PrefetchesPages);
    }
    let moving = || program.body.iter().filter(|call| moves(call));
    if moving().count() < 2 {
        return Err(Refusal::FewOperations);
    }
    let today: BTreeSet<_> = moving().filter_map(Call::stream).collect();
    if today.len() > 1 {
        return Err(Refusal::InSeveralStreams);
    }
    let before = dependences(program);
    let mut found: Vec<Rewriting> = Vec::new();
    let mut used = 1;
    for streams in STREAMS.into_iter().filter(|&streams| subject.has_room_for(streams)) {
        let rewriting = spread(subject, &before, streams);
        // There are no more streams than independent operations.
        let now_used = rewriting.program.streams.len() - program.streams.len() + 1;
        if now_used > used {
            used = now_used;
            found.push(rewriting);
        }
    }
    if found.is_empty() { Err(Refusal::NoneIndependent) } else { Ok(found) }
}

/// Whether a call may go to another stream.
fn moves(call: &Call) -> bool {
    call.is_launch() || call.is_clear() || call.route().is_some()
}

/// The program over so many streams.
fn spread(subject: &Subject, before: &[Vec<usize>], streams: usize) -> Rewriting {
    let mut program = subject.program.clone();
    let mut places = Vec::new();
    let mut followed: BTreeSet<usize> = BTreeSet::new();
    let mut in_turn = 0;
    for (at, before) in before.iter().enumerate() {
        let call = &program.body[at];
        let Some(own) = call.stream().filter(|_| moves(call)) else { continue };
        let memory = call.sides().to.map(|to| to.allocation);
        places.push(Place::of(&subject.program, at, memory));
        let joined = before.iter().rev().find(|&&one| moves(&program.body[one]));
        let stream = match joined.filter(|&&one| followed.insert(one)) {
            Some(&one) => program.body[one].stream().unwrap_or(own),
            None => {
                in_turn += 1;
                match (in_turn - 1) % streams {
                    0 => own,
                    other => stream_beside(&mut program, own, &format!("more{other}")),
                }
            }
        };
        program.body[at] = program.body[at].clone().in_stream(stream);
    }
    let spread = subject.rewritten(program, 1);
    let program = with_needed_waits(&spread, |_| true);
    let conditions = subject.about_kernels().into_iter().collect();
    Rewriting { program, passes: 1, places: Place::gathered(places), conditions }
}

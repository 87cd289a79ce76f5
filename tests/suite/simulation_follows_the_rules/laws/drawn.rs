//! Programs that no family would make.

use super::super::*;
use proptest::prelude::prop;
use proptest::strategy::Strategy as Generator;

/// Bodies that no family would build: random calls.
pub(super) fn any_body() -> impl Generator<Value = Vec<Call>> {
    let call = (0..7_usize, 0..3_usize, 0..3_usize, 1..20_000_u64);
    let call = call.prop_map(|(kind, stream, event, elements)| match kind {
        0 => copy_in(stream, PINNED, elements),
        1 => copy_out(stream, PINNED, elements),
        2 => launch(stream, elements),
        3 => record(stream, event),
        4 => wait(stream, event),
        5 => synchronize(stream),
        _ => compute(elements),
    });
    prop::collection::vec(call, 1..60)
}

/// Random bodies in which some calls in the middle form a graph.
pub(super) fn any_body_with_a_graph() -> impl Generator<Value = Vec<Call>> {
    (any_body(), 0..60_usize, 0..60_usize, 0..3_usize).prop_map(|(mut body, one, two, stream)| {
        let (start, end) = (one.min(two).min(body.len()), one.max(two).min(body.len()));
        let rest = body.split_off(end);
        let mut calls = body.split_off(start);
        calls.retain(|call| !matches!(call, Call::Synchronize { .. } | Call::Compute { .. }));
        body.push(Call::Replay { stream: StreamId(stream), calls: calls.len() });
        body.into_iter().chain(calls).chain(rest).collect()
    })
}

/// Kinds for three streams, one of which may be the legacy default stream.
pub(super) fn any_kinds() -> impl Generator<Value = [StreamKind; 3]> {
    use StreamKind::{Blocking, LegacyDefault, NonBlocking};
    prop::sample::select(vec![
        [NonBlocking; 3],
        [LegacyDefault, Blocking, Blocking],
        [Blocking, LegacyDefault, NonBlocking],
        [NonBlocking, Blocking, LegacyDefault],
    ])
}

//! What a program's set-up takes.

use super::call_costs::CallCosts;
use super::changed::Changed;
use super::locality::Locality;
use super::traffic::Traffic;
use crate::machine::HostMemory;
use crate::profile::{Estimate, GraphCall, MemoryCost, Profile, Unknown};
use crate::program::{Place, Program, StreamKind};
use crate::units::Span;

/// Predicts the time of a program's set-up: the streams and events that it creates, the calls that
/// the host makes one after the other, and the graphs that it captures and instantiates.
///
/// # Errors
/// If the profile does not know what one of the calls costs.
pub fn setup_time(program: &Program, profile: &Profile) -> Result<Span, Unknown> {
    let (traffic, usual) = (Traffic::of(program), Changed::default());
    let costs = CallCosts::new(program, (profile, &usual), &traffic);
    let calls = program.setup.iter().map(|call| {
        // The host may wait for what they do, or the body for their end.
        if call.route().is_some() || call.is_launch() {
            return Err(Unknown::refused("the time of copies and kernels in a plan's set-up"));
        }
        Ok(costs.cost(call, &Locality::default(), (None, None))?.host)
    });
    let graphs = program.graphs().map(|graph| {
        let cost = |call| profile.graph_call(call, graph.nodes);
        Ok(cost(GraphCall::Capture)? + cost(GraphCall::Instantiate)?)
    });
    // A buffer that a plan holds in write-combined memory lives there from the start.
    let combined = program
        .allocations
        .iter()
        .filter(|one| one.holds.is_some() && one.place == Place::Host(HostMemory::WriteCombined));
    let taken = combined.map(|one| {
        let time = profile.memory(MemoryCost::PinnedAllocate, one.bytes)?;
        Ok(Span::from_nanos_f64(time.max(0.0)))
    });
    calls.chain(graphs).chain(taken).chain(handles(program, profile)).sum()
}

/// The time of creating all streams, and that of creating all events.
fn handles(program: &Program, profile: &Profile) -> [Result<Span, Unknown>; 2] {
    // The legacy default stream exists without being created.
    let created = program.streams.iter().filter(|one| one.kind != StreamKind::LegacyDefault);
    let all = |count: usize, of_one: Option<Estimate>, what: &str| match (count, of_one) {
        (0, _) => Ok(Span::ZERO),
        (_, None) => Err(Unknown::new(what)),
        (count, Some(of_one)) => Ok(of_one.span() * count as u64),
    };
    [
        all(created.count(), profile.setup.stream, "the time to create a stream"),
        all(program.events, profile.setup.event, "the time to create an event"),
    ]
}

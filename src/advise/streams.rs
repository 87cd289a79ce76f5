//! Streams that a rewritten program has besides those that it had.

use crate::machine::StreamId;
use crate::program::{Program, StreamKind, StreamTraits};

/// Adds a stream, or finds one of this name that was added before.
pub(super) fn add_stream(program: &mut Program, traits: StreamTraits, name: &str) -> StreamId {
    if program.stream_names.is_empty() {
        program.stream_names = (0..program.streams.len()).map(|id| format!("s{id}")).collect();
    }
    if let Some(at) = program.stream_names.iter().position(|one| one == name) {
        return StreamId(at);
    }
    program.streams.push(traits);
    program.stream_names.push(name.to_owned());
    StreamId(program.streams.len() - 1)
}

/// A stream for copies beside another one, of the same device, that does not wait for the default
/// stream.
pub(super) fn copy_stream(program: &mut Program, beside: StreamId, name: &str) -> StreamId {
    let device = program.device_of(beside);
    let traits = StreamTraits { kind: StreamKind::NonBlocking, priority: 0, device };
    add_stream(program, traits, name)
}

/// A stream for work of another one: it has the same priority.
pub(super) fn stream_beside(program: &mut Program, beside: StreamId, name: &str) -> StreamId {
    let traits = StreamTraits { kind: StreamKind::NonBlocking, ..program.streams[beside.0] };
    add_stream(program, traits, name)
}

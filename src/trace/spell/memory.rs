//! The memory of a spelled program.
//!
//! A trace without addresses does not say which memory a copy used. Each stream then has memory of
//! its own of each kind, as large as its largest copy needs: work in one stream is in order, so no
//! two calls are ordered by memory that were not ordered before.

use crate::trace::{MemoryKind, StreamKey};
use crate::units::Bytes;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Memory {
    sizes: BTreeMap<(StreamKey, Part), Bytes>,
}

/// What a stream has one of. Copies to the host have memory of their own, so that a copy from
/// pinned memory never reads what a copy to it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    kind: &'static str,
    is_second: bool,
}

impl Memory {
    /// A range of host memory of so many bytes.
    pub fn host(
        &mut self,
        stream: StreamKey,
        kind: MemoryKind,
        bytes: Bytes,
        is_target: bool,
    ) -> String {
        self.range(stream, Part { kind: kind.name(), is_second: is_target }, bytes)
    }

    /// A range of device memory of so many bytes.
    pub fn device(&mut self, stream: StreamKey, bytes: Bytes, is_second: bool) -> String {
        self.range(stream, Part { kind: MemoryKind::Device.name(), is_second }, bytes)
    }

    fn range(&mut self, stream: StreamKey, part: Part, bytes: Bytes) -> String {
        let size = self.sizes.entry((stream, part)).or_default();
        *size = (*size).max(bytes);
        format!("{}[0..{}]", name(stream, part), bytes.get())
    }

    /// The tables that declare it.
    pub fn tables(&self) -> impl Iterator<Item = String> {
        self.sizes.iter().map(|(&(stream, part), size)| {
            let gpu = match (part.kind, stream.device) {
                ("device", 1..) => format!(", gpu = {}", stream.device),
                _ => String::new(),
            };
            let (name, kind, size) = (name(stream, part), part.kind, size.get());
            format!("{{ name = \"{name}\", kind = \"{kind}\", size = \"{size} B\"{gpu} }}")
        })
    }
}

fn name(stream: StreamKey, part: Part) -> String {
    let gpu = if stream.device == 0 { String::new() } else { format!("-gpu{}", stream.device) };
    let second = match (part.is_second, part.kind) {
        (false, _) => "",
        (true, "device") => "-2",
        (true, _) => "-out",
    };
    format!("{}{gpu}-s{}{second}", part.kind, stream.stream)
}

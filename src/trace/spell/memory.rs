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

/// What a stream has one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Copies to the host have memory of their own, so that a copy from pinned memory never reads
    /// what a copy to it writes.
    Pageable {
        is_target: bool,
    },
    Pinned {
        is_target: bool,
    },
    /// Pageable memory of this size, of which each copy to it needs new pages.
    New(Bytes),
    Device {
        is_second: bool,
    },
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
        let part = match kind {
            MemoryKind::Pinned => Part::Pinned { is_target },
            _ => Part::Pageable { is_target },
        };
        self.range(stream, part, bytes)
    }

    /// A range of device memory of so many bytes.
    pub fn device(&mut self, stream: StreamKey, bytes: Bytes, is_second: bool) -> String {
        self.range(stream, Part::Device { is_second }, bytes)
    }

    /// A range of host memory whose pages are new for each copy.
    pub fn new_target(&mut self, stream: StreamKey, bytes: Bytes) -> String {
        self.range(stream, Part::New(bytes), bytes)
    }

    /// The name of the memory of [`Self::new_target`].
    pub fn new_name(&mut self, stream: StreamKey, bytes: Bytes) -> String {
        self.sizes.insert((stream, Part::New(bytes)), bytes);
        Part::New(bytes).name(stream)
    }

    fn range(&mut self, stream: StreamKey, part: Part, bytes: Bytes) -> String {
        let size = self.sizes.entry((stream, part)).or_default();
        *size = (*size).max(bytes);
        format!("{}[0..{}]", part.name(stream), bytes.get())
    }

    /// The tables that declare it.
    pub fn tables(&self) -> impl Iterator<Item = String> {
        self.sizes.iter().map(|(&(stream, part), size)| {
            let gpu = match (part, stream.device) {
                (Part::Device { .. }, 1..) => format!(", gpu = {}", stream.device),
                _ => String::new(),
            };
            let (name, kind, size) = (part.name(stream), part.kind(), size.get());
            format!("{{ name = \"{name}\", kind = \"{kind}\", size = \"{size} B\"{gpu} }}")
        })
    }
}

impl Part {
    const fn kind(self) -> MemoryKind {
        match self {
            Self::Pageable { .. } | Self::New(_) => MemoryKind::Pageable,
            Self::Pinned { .. } => MemoryKind::Pinned,
            Self::Device { .. } => MemoryKind::Device,
        }
    }

    fn name(self, stream: StreamKey) -> String {
        let gpu = if stream.device == 0 { String::new() } else { format!("-gpu{}", stream.device) };
        let rest = match self {
            Self::Pageable { is_target: true } | Self::Pinned { is_target: true } => "-out".into(),
            Self::Device { is_second: true } => "-2".into(),
            Self::New(bytes) => format!("-new-{}", bytes.get()),
            _ => String::new(),
        };
        format!("{}{gpu}-s{}{rest}", self.kind(), stream.stream)
    }
}

//! What the names in a program stand for: memory, streams and events.

use super::expression::{Indices, Part, evaluate, filled_in};
use super::names::{known, numbered};
use crate::files::{Fault, Spanned};
use crate::machine::{DeviceId, HostMemory, StreamId};
use crate::program::{
    Allocation, AllocationId, BufferId, EventId, MOST_STREAMS, Place, Slice, StreamKind,
    StreamTraits,
};
use crate::units::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

/// More GPUs than a host has.
const MOST_GPUS: i64 = 64;

// The doc comments of what is deserialized are descriptions in the JSON Schema of scenarios.

/// Memory that belongs to the program.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Memory"))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { name = \"d\", kind = \"device\", size = \"4 MiB\" }"
)]
pub struct RawMemory {
    /// Name of the memory. No buffer may have the same name.
    pub name: Spanned<String>,
    /// Kind of memory.
    pub kind: RawKind,
    /// Size, such as `"64 MiB"`.
    pub size: Spanned<String>,
    /// The GPU that has the memory, counted from 0. Only for `kind = "device"`. Default: 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub gpu: Option<Spanned<i64>>,
}

/// A kind of memory.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MemoryKind"))]
#[serde(rename_all = "kebab-case")]
pub enum RawKind {
    /// GPU memory.
    Device,
    /// Ordinary host memory: the driver stages copies.
    Pageable,
    /// Page-locked host memory, which kernels can also access over the link.
    Pinned,
    /// Page-locked host memory that is fast for the CPU to write and very slow to read.
    WriteCombined,
    /// Memory whose pages migrate to where they are used (`cudaMallocManaged`).
    Managed,
}

/// A stream with special properties.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Stream"))]
#[serde(deny_unknown_fields, expecting = "a table such as { name = \"s\", priority = -1 }")]
pub struct RawStream {
    /// Name by which calls refer to the stream.
    pub name: Spanned<String>,
    /// Whether the stream and the legacy default stream wait for each other. Default: `blocking`.
    pub kind: Option<RawStreamKind>,
    /// Priority: blocks from the stream with the lowest number are dispatched first. Default: 0.
    #[serde(default)]
    pub priority: i32,
    /// The GPU of the stream, counted from 0. Default: 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub gpu: Option<Spanned<i64>>,
}

/// Whether a stream and the legacy default stream wait for each other.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StreamKind"))]
#[serde(rename_all = "kebab-case")]
pub enum RawStreamKind {
    /// They wait for each other, as with `cudaStreamCreate`.
    Blocking,
    /// They do not wait for each other, as with the flag `cudaStreamNonBlocking`.
    NonBlocking,
    /// The legacy default stream itself. A copy that names this stream is asynchronous; a copy
    /// without a stream is not.
    LegacyDefault,
}

/// A buffer that calls may name.
#[derive(Debug, Clone)]
pub struct NamedBuffer {
    pub name: String,
    /// In all batches together.
    pub bytes: Bytes,
    /// Where it lives. `None`: nowhere, as no call says where.
    pub place: Option<Place>,
}

/// Everything that has a name so far.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub allocations: Vec<Allocation>,
    pub streams: Vec<StreamTraits>,
    /// The names of the streams; the legacy default streams have none.
    stream_names: Vec<Option<String>>,
    pub events: BTreeMap<String, EventId>,
    /// The rounds of the loops around the call that is read now: names may contain them.
    pub indices: Indices,
    buffers: Vec<NamedBuffer>,
}

impl Scope {
    pub fn new(
        memory: &[RawMemory],
        streams: &[RawStream],
        buffers: &[NamedBuffer],
    ) -> Result<Self, Fault> {
        let mut scope = Self { buffers: buffers.to_vec(), ..Self::default() };
        for memory in memory {
            let allocation = scope.memory(memory)?;
            scope.allocations.push(allocation);
        }
        for stream in streams {
            scope.add_stream(stream)?;
        }
        Ok(scope)
    }

    fn memory(&self, raw: &RawMemory) -> Result<Allocation, Fault> {
        let name = raw.name.get_ref().clone();
        let mut taken = self.buffers.iter().map(|buffer| &buffer.name);
        let mut taken_by_memory = self.allocations.iter().map(|one| &one.name);
        if taken.any(|one| *one == name) || taken_by_memory.any(|one| *one == name) {
            let message =
                format!("the name `{name}` already belongs to other memory or to a buffer");
            return Err(Fault::new(message, raw.name.span(), "taken", "choose another name"));
        }
        let size = raw.size.get_ref();
        let bytes = size.parse::<Bytes>().ok().filter(|bytes| *bytes > Bytes::ZERO);
        let bytes = bytes.ok_or_else(|| {
            let message = format!("`size` of memory `{name}` is `{size}`");
            Fault::new(message, raw.size.span(), "not a size", "write a size such as `\"64 MiB\"`")
        })?;
        let place = match (raw.kind, &raw.gpu) {
            (RawKind::Device, gpu) => Place::Device(device(gpu.as_ref())?),
            (_, Some(gpu)) => {
                let message = format!("memory `{name}` is host memory, but has a `gpu`");
                let help = "remove `gpu`, or write `kind = \"device\"`";
                return Err(Fault::new(message, gpu.span(), "not on a GPU", help));
            }
            (RawKind::Pageable, None) => Place::Host(HostMemory::Pageable),
            (RawKind::Pinned, None) => Place::Host(HostMemory::Pinned),
            (RawKind::WriteCombined, None) => Place::Host(HostMemory::WriteCombined),
            (RawKind::Managed, None) => Place::Host(HostMemory::Managed),
        };
        Ok(Allocation { name, place, bytes, holds: None })
    }

    fn add_stream(&mut self, raw: &RawStream) -> Result<(), Fault> {
        let name = raw.name.get_ref().clone();
        if self.named(&name).is_some() {
            let message = format!("two streams are named `{name}`");
            let help = "give each stream a distinct name";
            return Err(Fault::new(message, raw.name.span(), "same name", help));
        }
        let kind = match raw.kind {
            Some(RawStreamKind::NonBlocking) => StreamKind::NonBlocking,
            Some(RawStreamKind::LegacyDefault) => StreamKind::LegacyDefault,
            Some(RawStreamKind::Blocking) | None => StreamKind::Blocking,
        };
        let device = device(raw.gpu.as_ref())?;
        self.streams.push(StreamTraits { kind, priority: raw.priority, device });
        self.stream_names.push(Some(name));
        Ok(())
    }

    /// The stream of a name, which is made if it is new.
    pub fn stream(&mut self, name: &Spanned<String>) -> Result<StreamId, Fault> {
        let part = Part::whole(name);
        let name = filled_in(part, &self.indices)?;
        if let Some(known) = self.named(&name) {
            return Ok(known);
        }
        if self.streams.len() == MOST_STREAMS {
            let message = format!("`{name}` is one stream too many: the limit is {MOST_STREAMS}");
            let help = "let calls share streams, such as `s{i % 4}`: the GPU runs only a few at \
                        once";
            return Err(part.fault(message, "too many streams", help.to_owned()));
        }
        Ok(self.make(Some(name), StreamKind::Blocking, DeviceId::FIRST))
    }

    /// The stream of a name if there is one.
    pub fn known_stream(&self, name: &Spanned<String>) -> Result<StreamId, Fault> {
        let part = Part::whole(name);
        let name = filled_in(part, &self.indices)?;
        self.named(&name).ok_or_else(|| {
            let message = format!("no earlier call uses a stream named `{name}`");
            let names = self.stream_names.iter().flatten().map(String::as_str);
            part.fault(message, "unknown stream", known("streams", names))
        })
    }

    /// The names of all streams in their order; none if they are called as they would be without.
    pub fn stream_names(&self) -> Vec<String> {
        let names = self.stream_names.iter().enumerate();
        let names = names.map(|(id, name)| (numbered(StreamId(id)), name.clone()));
        if names.clone().all(|(numbered, name)| name.is_none_or(|name| name == numbered)) {
            return Vec::new();
        }
        names.map(|(numbered, name)| name.unwrap_or(numbered)).collect()
    }

    fn named(&self, name: &str) -> Option<StreamId> {
        let is_meant = |known: &Option<String>| known.as_deref() == Some(name);
        self.stream_names.iter().position(is_meant).map(StreamId)
    }

    /// The legacy default stream of a GPU.
    pub fn default_stream(&mut self, device: DeviceId) -> StreamId {
        let is_default = |stream: &StreamTraits| {
            stream.kind == StreamKind::LegacyDefault && stream.device == device
        };
        let at = self.streams.iter().position(is_default);
        at.map_or_else(|| self.make(None, StreamKind::LegacyDefault, device), StreamId)
    }

    /// The GPU of a number, if a call before goes to it.
    pub fn known_device(&self, gpu: &Spanned<i64>) -> Result<DeviceId, Fault> {
        let id = device(Some(gpu))?;
        if self.streams.iter().any(|stream| stream.device == id) {
            return Ok(id);
        }
        let message = format!("no earlier call uses GPU {gpu}");
        let help = "wait for a GPU that has work; GPUs are numbered from 0";
        Err(Fault::new(message, gpu.span(), "nothing to wait for", help))
    }

    fn make(&mut self, name: Option<String>, kind: StreamKind, device: DeviceId) -> StreamId {
        self.stream_names.push(name);
        self.streams.push(StreamTraits { kind, priority: 0, device });
        StreamId(self.streams.len() - 1)
    }

    /// The event of a name, which is made if it is new.
    pub fn event(&mut self, name: &Spanned<String>) -> Result<EventId, Fault> {
        let name = filled_in(Part::whole(name), &self.indices)?;
        let next = EventId(self.events.len());
        Ok(*self.events.entry(name).or_insert(next))
    }

    /// The event of a name if a call before records it.
    pub fn known_event(&self, name: &Spanned<String>) -> Result<EventId, Fault> {
        let part = Part::whole(name);
        let name = filled_in(part, &self.indices)?;
        self.events.get(&name).copied().ok_or_else(|| {
            let message = format!("no earlier call records an event named `{name}`");
            let mut known_so_far: Vec<(&EventId, &str)> =
                self.events.iter().map(|(name, id)| (id, name.as_str())).collect();
            known_so_far.sort_unstable();
            let events = known_so_far.into_iter().map(|(_, name)| name);
            part.fault(message, "unknown event", known("recorded events", events))
        })
    }

    /// The memory of a name, all of it.
    pub fn whole(&mut self, name: &Spanned<String>) -> Result<AllocationId, Fault> {
        self.allocation(Part::whole(name))
    }

    /// The range of memory that a text names: `x`, `x[0..4 MiB]`, `x[i * 4 MiB..+4 MiB]`.
    pub fn slice(&mut self, text: &Spanned<String>) -> Result<Slice, Fault> {
        let part = Part::whole(text);
        let range = part.text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let Some((name, range)) = range else {
            let allocation = self.allocation(part)?;
            let length = self.allocations[allocation.0].bytes;
            return Ok(Slice { allocation, offset: Bytes::ZERO, length });
        };
        let allocation = self.allocation(part.with_text(name))?;
        let all = self.allocations[allocation.0].bytes;
        let Some((from, to)) = range.split_once("..") else {
            let message = format!("`[{range}]` is not a range of bytes");
            let help = "write `x[0..4 MiB]`, `x[4 MiB..+4 MiB]` or `x[4 MiB..]`";
            return Err(part.fault(message, "not a range", help));
        };
        let value = |text: &str, default: i64| match text.trim() {
            "" => Ok(default),
            text => evaluate(part.with_text(text), &self.indices),
        };
        let from = value(from, 0)?;
        let to = match to.trim().strip_prefix('+') {
            Some(length) => from.saturating_add(value(length, 0)?),
            None => value(to, i64::try_from(all.get()).unwrap_or(i64::MAX))?,
        };
        let ends = (u64::try_from(from), u64::try_from(to));
        match ends {
            (Ok(from), Ok(to)) if from < to && to <= all.get() => {
                let (offset, length) = (Bytes::new(from), Bytes::new(to - from));
                Ok(Slice { allocation, offset, length })
            }
            _ => {
                let name = &self.allocations[allocation.0].name;
                let message = format!(
                    "bytes {from} to {to} are not a valid range in `{name}`, which is {all} long"
                );
                let message = message + &at_indices(&self.indices);
                Err(part.fault(message, "outside", "use a non-empty range within the memory"))
            }
        }
    }

    pub fn slices(&mut self, texts: &[Spanned<String>]) -> Result<Vec<Slice>, Fault> {
        texts.iter().map(|text| self.slice(text)).collect()
    }

    fn allocation(&mut self, part: Part<'_>) -> Result<AllocationId, Fault> {
        let name = filled_in(part, &self.indices)?;
        let name = name.trim();
        if let Some(at) = self.allocations.iter().position(|one| one.name == name) {
            return Ok(AllocationId(at));
        }
        let Some(at) = self.buffers.iter().position(|buffer| buffer.name == name) else {
            let message = format!("no memory is named `{name}`{}", at_indices(&self.indices));
            let own = self.allocations.iter().filter(|one| one.holds.is_none());
            let own = own.map(|one| one.name.as_str());
            let all = self.buffers.iter().map(|buffer| buffer.name.as_str()).chain(own);
            return Err(part.fault(message, "unknown memory", known("memory names", all)));
        };
        let NamedBuffer { name, bytes, place } = self.buffers[at].clone();
        let Some(place) = place else {
            let message = format!("buffer `{name}` has no memory, so no call can use it");
            let help = "give it another `home`, or declare memory in the program instead";
            return Err(part.fault(message, "`home = \"scratch\"`", help));
        };
        self.allocations.push(Allocation { name, place, bytes, holds: Some(BufferId(at)) });
        Ok(AllocationId(self.allocations.len() - 1))
    }
}

/// In which round of the loops a name or range was wrong.
fn at_indices(indices: &Indices) -> String {
    let all: Vec<String> =
        indices.iter().map(|(index, value)| format!("{index} = {value}")).collect();
    if all.is_empty() { String::new() } else { format!(" (with {})", all.join(", ")) }
}

fn device(gpu: Option<&Spanned<i64>>) -> Result<DeviceId, Fault> {
    let Some(gpu) = gpu else { return Ok(DeviceId::FIRST) };
    gpu.within("`gpu`", 0..=MOST_GPUS - 1).map(|number| DeviceId(number as usize))
}

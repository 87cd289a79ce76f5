//! A program as it is spelled out, before names are resolved.

use super::call::RawCall;
use crate::files::Spanned;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;

// The doc comments below are the descriptions in the JSON Schema of scenarios, and so in
// docs/reference/scenario.md: they are written for those who write a program.

/// A program, call by call. Memory and streams are referred to by name. In a name, an expression in
/// braces such as `{i % 2}` is replaced by its value, where `i` is the index of an enclosing
/// `repeat`. The name of memory may be followed by a range of bytes: `x[0..4 MiB]`, `x[i * 4
/// MiB..+4 MiB]` (start and length), `x[4 MiB..]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[program]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Program"))]
pub struct RawProgram {
    /// Name of the program, used as its plan's name in reports.
    pub name: Spanned<String>,
    /// A name for what the program computes. Programs with the same `result` are compared with each
    /// other. Default: programs are compared if they leave the same data in the same memory,
    /// computed by the same kernels from the same buffers; all other programs get their own
    /// answers.
    #[serde(default)]
    pub result: Option<Spanned<String>>,
    /// The program's own memory, in addition to the buffers. Memory that no call allocates is
    /// allocated in the set-up.
    #[serde(default)]
    pub memory: Vec<RawMemory>,
    /// Streams with special properties. Streams that are not listed here are created with
    /// `cudaStreamCreate` on the first GPU.
    #[serde(default)]
    pub streams: Vec<RawStream>,
    /// Host time that a framework adds before each driver call in a run, such as `"6 us"`. Default:
    /// none.
    pub overhead: Option<Spanned<String>>,
    /// Calls made once, before the first run.
    #[serde(default)]
    pub setup: Vec<RawCall>,
    /// Calls made in every run, in order.
    pub calls: Vec<RawCall>,
}

/// Memory that belongs to the program.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { name = \"d\", kind = \"device\", size = \"4 MiB\" }"
)]
#[cfg_attr(feature = "schema", schemars(rename = "Memory"))]
pub struct RawMemory {
    /// Name of the memory. No buffer may have the same name.
    pub name: Spanned<String>,
    /// Kind of memory.
    pub kind: RawKind,
    /// Size, such as `"64 MiB"`.
    pub size: Spanned<String>,
    /// The GPU that it is on, counted from 0. Only for `kind = "device"`. Default: 0.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub gpu: Option<Spanned<i64>>,
}

/// A kind of memory.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "MemoryKind"))]
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
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table such as { name = \"s\", priority = -1 }")]
#[cfg_attr(feature = "schema", schemars(rename = "Stream"))]
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
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "StreamKind"))]
pub enum RawStreamKind {
    /// They wait for each other, as with `cudaStreamCreate`.
    Blocking,
    /// They do not wait for each other, as with the flag `cudaStreamNonBlocking`.
    NonBlocking,
    /// The legacy default stream itself. A copy that names this stream is asynchronous; a copy
    /// without a stream is not.
    LegacyDefault,
}

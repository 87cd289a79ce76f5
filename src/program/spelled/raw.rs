//! A program as it is spelled out, before names are resolved.

use super::call::RawCall;
use crate::files::Spanned;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;

// The doc comments below are the descriptions in the JSON Schema of scenarios, and so in
// docs/reference/scenario.md: they are written for those who write a program.

/// A program, call by call. Memory and streams go by their names. In a name, `{i % 2}` becomes a
/// number, where `i` is the index of a `repeat` around the call. Memory may have a range of bytes
/// behind its name: `x[0..4 MiB]`, `x[i * 4 MiB..+4 MiB]` (from, and how many), `x[4 MiB..]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[program]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Program"))]
pub struct RawProgram {
    /// Name of the program: a plan of this name stands in reports.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// A name for what the program computes. Programs with the same `result` are compared with one
    /// another. Default: programs are compared if they leave the same data in the same memory, made
    /// by the same kernels from the same buffers; any other program gets an answer of its own.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub result: Option<Spanned<String>>,
    /// Memory of the program's own, besides the buffers. What no call of the program allocates is
    /// there from the set-up on.
    #[serde(default)]
    pub memory: Vec<RawMemory>,
    /// Streams that are not plain ones. A stream that calls name and this list does not is one
    /// that `cudaStreamCreate` makes, on the first GPU.
    #[serde(default)]
    pub streams: Vec<RawStream>,
    /// What a framework adds to each call of a pass that the host makes to the driver, such as
    /// `"6 us"`: the host works for as long before the call. Default: nothing.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub overhead: Option<Spanned<String>>,
    /// Calls that are made once, before the first pass.
    #[serde(default)]
    pub setup: Vec<RawCall>,
    /// Calls of each pass, in the order in which the host makes them.
    pub calls: Vec<RawCall>,
}

/// Memory of the program's own.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { name = \"d\", kind = \"device\", size = \"4 MiB\" }"
)]
#[cfg_attr(feature = "schema", schemars(rename = "Memory"))]
pub struct RawMemory {
    /// Name of the memory. No buffer has the same name.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// What kind of memory it is.
    pub kind: RawKind,
    /// Such as `"64 MiB"`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub size: Spanned<String>,
    /// The GPU that has it, counted from 0. Only for `kind = "device"`. Default: 0.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub gpu: Option<Spanned<i64>>,
}

/// A kind of memory.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", schemars(rename = "MemoryKind"))]
pub enum RawKind {
    /// A GPU's own.
    Device,
    /// Host memory that the driver stages.
    Pageable,
    /// Page-locked host memory, which kernels may use across the link, too.
    Pinned,
    /// Page-locked host memory that the CPU writes fast and reads very slowly.
    WriteCombined,
    /// Memory whose pages move to the side that uses them (`cudaMallocManaged`).
    Managed,
}

/// A stream that is not a plain one.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table such as { name = \"s\", priority = -1 }")]
#[cfg_attr(feature = "schema", schemars(rename = "Stream"))]
pub struct RawStream {
    /// Name by which calls refer to the stream.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Whether the stream and the legacy default stream wait for each other. Default: `blocking`,
    /// they do.
    pub kind: Option<RawStreamKind>,
    /// Blocks of the lowest number that waits are dispatched first. Default: 0.
    #[serde(default)]
    pub priority: i32,
    /// The GPU of the stream, counted from 0. Default: 0.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
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
    /// They do not, as with the flag `cudaStreamNonBlocking`.
    NonBlocking,
    /// It is the legacy default stream. A copy that names it is asynchronous, and one that names no
    /// stream is not.
    LegacyDefault,
}

//! A kernel of one's own as it is written.

use super::values::{Number, RawParameter};
use crate::files::Spanned;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// More elements than any memory holds.
pub(super) const MOST_ELEMENTS: i64 = 1 << 50;

// The doc comments below are the descriptions in the JSON Schema of scenarios: they are written for
// those who write a kernel.

/// A kernel of one's own. What it costs on the GPU is known in one of four ways: it is measured
/// (`source`, `ptx` or `cubin`), or it has `points`, a `roofline`, or a `stated` time. `cpu` says
/// what the same work costs on the CPU. `launch = "name"` in a program launches it.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a [[kernel]] table")]
#[cfg_attr(feature = "schema", schemars(rename = "Kernel"))]
pub struct RawKernel {
    /// Name of the kernel: no kernel of the library has it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Spanned<String>,
    /// File with CUDA C++ device code, relative to the scenario, or its text. NVRTC compiles it for
    /// the GPU.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawFile>"))]
    pub source: Option<Spanned<RawFile>>,
    /// File with PTX, as `nvcc -ptx` writes it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawFile>"))]
    pub ptx: Option<Spanned<RawFile>>,
    /// File with a cubin, as `nvcc -cubin -arch=sm_90` writes it.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawFile>"))]
    pub cubin: Option<Spanned<RawFile>>,
    /// The kernel in the code: an expression such as `"blur<float, 4>"` in `source`, its plain name
    /// in PTX and in a cubin.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub entry: Option<Spanned<String>>,
    /// Folders with headers that the source includes, relative to the scenario.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub include: Vec<Spanned<String>>,
    /// Names for what the kernel reads, in the order of `reads` of a launch.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub reads: Vec<Spanned<String>>,
    /// Names for what the kernel writes, in the order of `writes` of a launch.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub writes: Vec<Spanned<String>>,
    /// The kernel's parameters in the order of the code: a name of `reads` or `writes` for a
    /// pointer, or a number of a type: `{ i32 = "columns" }`, `{ f32 = 0.5 }`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<RawParameter>"))]
    pub parameters: Vec<Spanned<RawParameter>>,
    /// Threads of a block, in up to three dimensions.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Number>>"))]
    pub block: Option<Spanned<Vec<Spanned<Number>>>>,
    /// Blocks of the grid, in up to three dimensions: numbers, or expressions over the numbers of
    /// the launch, such as `"ceil(columns / 32)"`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Number>>"))]
    pub grid: Option<Spanned<Vec<Spanned<Number>>>>,
    /// Dynamic shared memory of a block, such as `"4 KiB"`. Default: none.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    pub shared: Option<Spanned<Number>>,
    /// How many elements a launch works on, such as `"rows * columns"`, where the launch does not
    /// say.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Number>"))]
    pub elements: Option<Spanned<Number>>,
    /// Those of `reads` and `writes` of which a launch on some of the elements uses these elements
    /// alone; others are read whole. With this key, plans may cut tasks that have a `split`. All
    /// of `writes` are among them. Default: the kernel stays whole.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub elementwise: Option<Spanned<Vec<Spanned<String>>>>,
    /// How many neighbours on each side an element of `elementwise` depends on, as in a stencil: in
    /// a grid of planes, the elements of a plane. A chunk then computes as many elements more on
    /// each side, which take their time and are not used. Default: 0.
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>", range(min = 0)))]
    pub halo: Option<Spanned<i64>>,
    /// Times at some numbers of elements: `[[1e6, "120 us"], [1e7, "1.1 ms"]]`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Vec<Number>>>"))]
    pub points: Option<Spanned<RawPoints>>,
    /// Work per element, held against the machine's measured rates.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawRoofline>"))]
    pub roofline: Option<Spanned<RawRoofline>>,
    /// A stated time.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawStated>"))]
    pub stated: Option<Spanned<RawStated>>,
    /// What the same work costs on the CPU.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawCpu>"))]
    pub cpu: Option<Spanned<RawCpu>>,
}

pub type RawPoints = Vec<RawPoint>;

/// A number of elements and a time. The pair of serde passes over a third value in silence.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline, with = "(f64, String)"))]
pub struct RawPoint(pub Spanned<f64>, pub Spanned<String>);

impl<'de> Deserialize<'de> for RawPoint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pair;
        impl<'de> Visitor<'de> for Pair {
            type Value = RawPoint;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pair such as [1e6, \"120 us\"]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<RawPoint, A::Error> {
                let lacks = |length| de::Error::invalid_length(length, &self);
                let size = pair.next_element()?.ok_or_else(|| lacks(0))?;
                let time = pair.next_element()?.ok_or_else(|| lacks(1))?;
                match pair.next_element::<de::IgnoredAny>()? {
                    Some(_) => Err(lacks(3)),
                    None => Ok(RawPoint(size, time)),
                }
            }
        }
        from.deserialize_seq(Pair)
    }
}

/// Work per element. The larger of both bounds is the time.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { flops_per_element = 12, bytes_per_element = 8 }"
)]
#[cfg_attr(feature = "schema", schemars(rename = "Roofline"))]
pub struct RawRoofline {
    /// Floating-point operations, of which a fused multiply-add is two.
    #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0)))]
    pub flops_per_element: Spanned<f64>,
    /// Bytes that memory gives and takes.
    #[cfg_attr(feature = "schema", schemars(with = "f64", range(min = 0)))]
    pub bytes_per_element: Spanned<f64>,
}

/// A stated time.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { fixed = \"5 us\", per_element = \"0.2 ns\" }"
)]
#[cfg_attr(feature = "schema", schemars(rename = "Stated"))]
pub struct RawStated {
    /// Time whatever the size, such as `"5 us"`. Default: none.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub fixed: Option<Spanned<String>>,
    /// Time for each element, such as `"0.2 ns"`. Default: none.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub per_element: Option<Spanned<String>>,
}

/// What a kernel's work costs on the CPU: one of these.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table such as { stated = { per_element = \"1 ns\" } }")]
#[cfg_attr(feature = "schema", schemars(rename = "CpuSide"))]
pub struct RawCpu {
    /// Times at some numbers of elements: `[[1e6, "2 ms"], [1e7, "21 ms"]]`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Vec<Number>>>"))]
    pub points: Option<Spanned<RawPoints>>,
    /// Work per element, held against the CPU's measured rates.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawRoofline>"))]
    pub roofline: Option<Spanned<RawRoofline>>,
    /// A stated time.
    #[cfg_attr(feature = "schema", schemars(with = "Option<RawStated>"))]
    pub stated: Option<Spanned<RawStated>>,
    /// A program that does the same, with its arguments: `["./blur", "{elements}"]`. `hallway
    /// calibrate --scenario FILE --allow-commands` times it. If its last line is a time such as
    /// `3.1 ms`, that counts; otherwise from its start to its end.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub command: Option<Spanned<Vec<Spanned<String>>>>,
}

/// A file of a kernel: its path, or what it holds.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(untagged, expecting = "a path, or { name = \"blur.cu\", text = \"...\" }")]
#[cfg_attr(feature = "schema", schemars(rename = "KernelFile"))]
pub enum RawFile {
    Path(String),
    Held(RawHeld),
}

/// What a file holds, in a scenario that needs no other file.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "HeldFile"))]
pub struct RawHeld {
    /// What messages call the file.
    pub name: String,
    /// Its text; of a cubin, its bytes in hexadecimal digits.
    pub text: String,
    /// The headers that a source includes, by the names by which it does.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

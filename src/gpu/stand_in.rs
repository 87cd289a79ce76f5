//! What runs in the place of a kernel of which only the time is known: a kernel that takes as long,
//! occupies as much, and reads and writes its memory without changing it.
//!
//! Its clock is the device's global timer, which ticks every 32 ns on an H200. On devices where it
//! ticks every microsecond, short stand-ins come out too long by up to that.

use super::device::Device;
use super::error::GpuResult;
use super::own::OwnCode;
use crate::kernels::{
    Code, CpuSide, Geometry, GpuSide, Image, OwnKernel, Parameter, ReadAndWritten,
};
use crate::units::Span;
use cudarc::driver::sys::CUdevice_attribute as Attribute;

const SOURCE: &str = include_str!("stand_in.cu");

/// Ranges that one launch goes through: the driver takes 4 KiB of parameters.
const MOST_RANGES: usize = 64;

/// Threads of a block that fills a device together with others of its kind.
const FILLING: u32 = 1024;

impl Device {
    /// A stand-in that takes `time` and occupies what `geometry` does: the whole device without
    /// one, or where it has more blocks than fit at once.
    pub(super) fn standing_in(
        &self,
        time: Span,
        geometry: Option<Geometry>,
        memory: &[ReadAndWritten],
    ) -> GpuResult<OwnCode> {
        let mut memory = memory.to_vec();
        memory.sort_by_key(|range| std::cmp::Reverse(range.bytes));
        memory.truncate(MOST_RANGES);
        let words = memory.iter().flat_map(|range| {
            [range.address, range.bytes.get(), u64::from(range.is_written)].map(Parameter::U64)
        });
        let parameters: Vec<Parameter> =
            std::iter::once(Parameter::U64(time.nanos())).chain(words).collect();
        let types = vec!["u64"; parameters.len() - 1].join(", ");
        let code = Code {
            file: "stand_in.cu".to_owned(),
            image: Image::Source { text: SOURCE.to_owned(), headers: Vec::new() },
            entry: format!("stand_in<{types}>"),
        };
        let kernel = OwnKernel {
            name: "stand-in".to_owned(),
            gpu: GpuSide::Code(code.clone()),
            cpu: CpuSide::Unknown,
            rule: String::new(),
            elementwise: None,
        };
        let function = self.own(&kernel, &code)?;
        self.context.within(|| {
            let multiprocessors =
                self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
            let at_once =
                |threads, shared| Ok(multiprocessors * function.resident(threads, shared)?);
            let some = match geometry {
                Some(some) => Some((some.blocks(), at_once(some.threads(), some.shared_bytes)?))
                    .filter(|&(blocks, at_once)| blocks < at_once)
                    .map(|(blocks, _)| (blocks, some.threads(), some.shared_bytes)),
                None => None,
            };
            let (blocks, threads, shared_bytes) = match some {
                Some(some) => some,
                None => (at_once(FILLING, 0)?.max(1), FILLING, 0),
            };
            let geometry = Geometry { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes };
            OwnCode::new(function, geometry, &parameters, [&[], &[]])
        })
    }
}

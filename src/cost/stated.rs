//! Times that a user states: nobody has measured them, so they scatter by the range that was stated
//! for them, or not at all.

use super::antithetic::Antithetic;
use crate::kernels::{CpuSide, GpuSide, OwnCost, OwnKernel};
use crate::program::Program;
use crate::stats::{NINE_OF_TEN, deviate};
use rand::RngExt;

/// For each kernel of a program that is not of the library, how many times as long as stated it
/// takes on the GPU and on the CPU. Empty if none has a range.
pub(crate) type StatedTimes = Vec<[f64; 2]>;

/// Draws how far stated times are off. A kernel of one name is drawn alike in all programs.
pub(super) fn drawn(program: &Program, seed: u64, number: usize) -> StatedTimes {
    let ranges: Vec<[f64; 2]> = program.kernels.iter().map(ranges).collect();
    if ranges.iter().flatten().all(|&range| range == 0.0) {
        return StatedTimes::new();
    }
    let factor = |kernel: &OwnKernel, (side, range): (u64, f64)| {
        let mut random = Antithetic::new(seed.wrapping_add(digest(&kernel.name, side)), number);
        deviate(range / NINE_OF_TEN, || random.random())
    };
    let factors = program.kernels.iter().zip(ranges);
    factors
        .map(|(kernel, [gpu, cpu])| [(1, gpu), (2, cpu)].map(|one| factor(kernel, one)))
        .collect()
}

/// The ranges that were stated of a kernel on the GPU and on the CPU, as shares; 0 if none was.
fn ranges(kernel: &OwnKernel) -> [f64; 2] {
    let range = |cost: &OwnCost| cost.range().unwrap_or(0.0);
    let gpu = if let GpuSide::Cost(cost) = &kernel.gpu { range(cost) } else { 0.0 };
    let cpu = if let CpuSide::Cost(cost) = &kernel.cpu { range(cost) } else { 0.0 };
    [gpu, cpu]
}

/// A number for a name (Fowler, Noll, Vo: FNV-1a).
fn digest(name: &str, side: u64) -> u64 {
    let bytes = name.bytes().chain(side.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

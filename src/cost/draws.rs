//! Machines that the scatter of a profile allows. Times that a user states have been measured by
//! nobody, so they scatter by the range that was stated for them, or not at all.

use super::analysis::Analysis;
use super::antithetic::Antithetic;
use super::compiled::{CompileError, CompiledProgram};
use super::halved::{Prices, StatedTimes};
use crate::kernels::{CpuSide, GpuSide, OwnCost, OwnKernel};
use crate::profile::Profile;
use crate::program::Program;
use crate::stats::{NINE_OF_TEN, deviate};

/// A machine from which the calibration could have come, and the random numbers for a program on
/// it.
pub(crate) struct Draw {
    profile: Profile,
    random: Antithetic,
    /// The seed of all draws, and the number of this one.
    seed: (u64, usize),
}

impl Draw {
    /// The draw of a number. The same seed and number give the same one.
    pub fn new(profile: &Profile, number: usize, seed: u64) -> Self {
        let mut random = Antithetic::new(seed, number);
        let mut beyond = Antithetic::new(seed.wrapping_add(1), number);
        let profile = profile.drawn(&mut || random.uniform(), &mut || beyond.uniform());
        Self { profile, random, seed: (seed.wrapping_add(2), number) }
    }

    /// Compiles a program for this machine.
    ///
    /// # Errors
    /// As for [`CompiledProgram::new`].
    pub fn compile(
        &self,
        program: &Program,
        analysis: &Analysis,
    ) -> Result<CompiledProgram<'_>, CompileError> {
        let (seed, number) = self.seed;
        let stated = stated_times(program, seed, number);
        let prices = Prices { stated, ..Prices::usual(&self.profile) };
        CompiledProgram::priced(program, analysis, &prices, Some(self.random.clone()))
    }
}

/// Draws how far stated times are off. A kernel of one name is drawn alike in all programs.
fn stated_times(program: &Program, seed: u64, number: usize) -> StatedTimes {
    let factor = |name: &str, (side, range): (u64, f64)| {
        let mut random = Antithetic::new(seed.wrapping_add(digest(name, side)), number);
        deviate(range / NINE_OF_TEN, || random.uniform())
    };
    let work = program.work_range.map_or(1.0, |range| factor("work", (0, range)));
    let ranges: Vec<[f64; 2]> = program.kernels.iter().map(ranges).collect();
    if ranges.iter().flatten().all(|&range| range == 0.0) {
        return StatedTimes { work, ..StatedTimes::default() };
    }
    let factors = program.kernels.iter().zip(ranges);
    let kernels = factors
        .map(|(kernel, [gpu, cpu])| [(1, gpu), (2, cpu)].map(|one| factor(&kernel.name, one)))
        .collect();
    StatedTimes { kernels, work }
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

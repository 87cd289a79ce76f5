//! Machines that the scatter of a profile allows. Times that a user states have been measured by
//! nobody, so they scatter by the range that was stated for them, or not at all.

use super::analysis::Analysis;
use super::compiled::{CompileError, CompiledProgram};
use super::halved::{Prices, StatedTimes};
use crate::kernels::{CpuSide, GpuSide, OwnCost, OwnKernel};
use crate::profile::Profile;
use crate::program::Program;
use crate::stats::{NINE_OF_TEN, deviate};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};

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
    let ranges: Vec<[f64; 2]> = program.kernels.iter().map(ranges).collect();
    if ranges.iter().flatten().all(|&range| range == 0.0) {
        return StatedTimes::new();
    }
    let factor = |kernel: &OwnKernel, (side, range): (u64, f64)| {
        let mut random = Antithetic::new(seed.wrapping_add(digest(&kernel.name, side)), number);
        deviate(range / NINE_OF_TEN, || random.uniform())
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

/// A sequence of random numbers of which every odd-numbered one mirrors the one before: where that
/// has `u`, uniform from 0 to 1, it has 1 - `u` (antithetic variates: Hammersley and Morton, "A new
/// Monte Carlo technique", 1956). For a quantity that rises or falls with every number, the median
/// is then as exact as with many more draws. With forty independent draws, it would be off by a
/// fifth of their scatter, for all programs alike.
#[derive(Debug)]
pub(crate) struct Antithetic {
    random: ChaCha8Rng,
    /// The mask that inverts the bits of a mirrored sequence; 0 for the others.
    mirror: u64,
}

impl Antithetic {
    /// The sequence with this number among those of `seed`.
    pub fn new(seed: u64, number: usize) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number as u64 / 2);
        Self { random, mirror: if number.is_multiple_of(2) { 0 } else { u64::MAX } }
    }

    /// The next number: from 0, below 1.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        // A float holds the upper 53 bits of 64.
        ((self.random.next_u64() ^ self.mirror) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The copy goes on where the original stands. (Generators for secrets, of which this is one, leave
/// copying to their users.)
impl Clone for Antithetic {
    fn clone(&self) -> Self {
        let random = ChaCha8Rng::deserialize_state(&self.random.serialize_state());
        Self { random, mirror: self.mirror }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_sequence_mirrors_the_one_before() {
        let numbers = |number| {
            let mut random = Antithetic::new(7, number);
            std::array::from_fn::<f64, 9, _>(|_| random.uniform())
        };
        let pairs = numbers(4).into_iter().zip(numbers(5));
        assert!(pairs.clone().all(|(one, other)| (one + other - 1.0).abs() < 1e-9));
        assert!(pairs.clone().any(|(one, other)| (one - other).abs() > 0.1));
        assert_eq!(numbers(4), numbers(4));
        assert_ne!(numbers(4), numbers(2));
    }
}

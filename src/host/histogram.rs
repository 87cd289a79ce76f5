//! Histograms: how many values fall into each bin.

use super::cut::Cut;
use super::team::Team;
use super::vector::{Loop, MAX_LANES, Vector, on_widest_vectors};
use crate::kernels::{Effort, VALUES_PER_BIN};

impl Team {
    /// Counts values: `output[b]` is the number of values in bin `b` of equal bins
    /// between 0 and 1. Values outside count in the first or the last bin.
    pub(super) fn histogram(&self, cost: Effort, x: &[f32], output: &mut [f32]) {
        let bins = output.len();
        let count = |block: &[f32]| on_widest_vectors(Count { x: block, bins });
        let add = |mut sums: Vec<u64>, counts: Vec<u64>| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sums
        };
        let sums = if self.shares(cost, x.len()) {
            let most = (x.len() / (VALUES_PER_BIN * bins)).max(1);
            let cut = self.cut(cost, x.len());
            let blocks = Cut { parts: cut.parts.min(most), ..cut };
            let mut counts = vec![Vec::new(); blocks.parts];
            let (cut, patience) = (Cut { multiple: 1, ..blocks }, self.patience(cost, x.len()));
            self.pool.each_piece(&mut counts, cut, patience, |part, counts| {
                counts[0] = count(&x[blocks.piece(part, x.len())]);
            });
            counts.into_iter().fold(vec![0; bins], add)
        } else {
            x.chunks(MOST_OF_A_BLOCK).map(count).fold(vec![0; bins], add)
        };
        for (output, sum) in output.iter_mut().zip(sums) {
            *output = sum as f32;
        }
    }
}

/// The largest block whose counts fit a 32-bit counter.
const MOST_OF_A_BLOCK: usize = 1 << 31;

/// Each bin has this many counters, which neighbouring values use in turn. Otherwise
/// equal values in a row would wait for each other's increments.
const WAYS: usize = 4;

/// Counts one block of values into `bins` bins.
#[derive(Clone)]
struct Count<'a> {
    x: &'a [f32],
    bins: usize,
}

impl Count<'_> {
    /// The bin of a value. Clamping as a float compiles without a branch. With a branch,
    /// values that lie beyond both ends at random are mispredicted half the time, which
    /// takes nine times as long as all the rest.
    #[inline(always)]
    fn bin(&self, value: f32) -> u32 {
        // NaN becomes 0. There are few enough bins for a float to represent each exactly.
        let clamped = (value * self.bins as f32).max(0.0).min((self.bins - 1) as f32);
        // A checked conversion takes 0.74 ns a value instead of 0.43.
        // SAFETY: the clamped value is not NaN and lies between 0 and the last bin.
        unsafe { clamped.to_int_unchecked() }
    }
}

impl Loop for Count<'_> {
    type Output = Vec<u64>;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> Vec<u64> {
        let mut counters = vec![[0_u32; WAYS]; self.bins];
        let mut bins = [0; MAX_LANES];
        let mut vectors = self.x.chunks_exact(V::LANES);
        for vector in &mut vectors {
            // The compiler vectorises this loop by itself.
            bins.iter_mut().zip(vector).for_each(|(bin, &value)| *bin = self.bin(value));
            for (lane, &bin) in bins[..V::LANES].iter().enumerate() {
                counters[bin as usize][lane % WAYS] += 1;
            }
        }
        for &value in vectors.remainder() {
            counters[self.bin(value) as usize][0] += 1;
        }
        counters.iter().map(|ways| ways.iter().map(|&count| u64::from(count)).sum()).collect()
    }
}

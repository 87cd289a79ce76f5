//! The map kernels and the sum, for one thread and any [`Vector`].

use super::vector::{Loop, MAX_LANES, Vector};

/// The arithmetic of a map kernel on `UNROLL` vectors of each of its `N` inputs.
///
/// # Safety
/// `apply` may be called only where the CPU has the instruction set of `V`.
pub(super) trait Formula<const N: usize>: Copy + Sync {
    unsafe fn apply<V: Vector, const UNROLL: usize>(self, inputs: [[V; UNROLL]; N]) -> [V; UNROLL];
}

#[derive(Clone, Copy)]
pub(super) struct Scale(pub f32);

impl Formula<1> for Scale {
    #[inline(always)]
    unsafe fn apply<V: Vector, const U: usize>(self, [mut x]: [[V; U]; 1]) -> [V; U] {
        // SAFETY: the caller promises the instruction set.
        unsafe {
            let a = V::splat(self.0);
            for x in &mut x {
                *x = a.mul(*x);
            }
        }
        x
    }
}

#[derive(Clone, Copy)]
pub(super) struct Saxpy(pub f32);

impl Formula<2> for Saxpy {
    #[inline(always)]
    unsafe fn apply<V: Vector, const U: usize>(self, [x, mut y]: [[V; U]; 2]) -> [V; U] {
        // SAFETY: the caller promises the instruction set.
        unsafe {
            let a = V::splat(self.0);
            for (y, x) in y.iter_mut().zip(x) {
                *y = a.mul_add(x, *y);
            }
        }
        y
    }
}

#[derive(Clone, Copy)]
pub(super) struct Polynomial {
    pub degree: u32,
}

impl Formula<1> for Polynomial {
    /// Horner's rule with all coefficients 1/4 but the leading one, which is 1.
    ///
    /// The chain of one element is sequential. The inner loop therefore runs over the
    /// block's elements: `U` independent chains hide the latency of the multiply-add.
    #[inline(always)]
    unsafe fn apply<V: Vector, const U: usize>(self, [x]: [[V; U]; 1]) -> [V; U] {
        // SAFETY: the caller promises the instruction set.
        unsafe {
            let coefficient = V::splat(0.25);
            let mut value = [V::splat(1.0); U];
            for _ in 0..self.degree {
                for (value, x) in value.iter_mut().zip(x) {
                    *value = value.mul_add(x, coefficient);
                }
            }
            value
        }
    }
}

/// The three-point mean. Its inputs are the left neighbour, the element and the right neighbour.
#[derive(Clone, Copy)]
pub(super) struct Stencil;

impl Formula<3> for Stencil {
    #[inline(always)]
    unsafe fn apply<V: Vector, const U: usize>(
        self,
        [mut left, middle, right]: [[V; U]; 3],
    ) -> [V; U] {
        // SAFETY: the caller promises the instruction set.
        unsafe {
            let third = V::splat(1.0 / 3.0);
            for (left, (middle, right)) in left.iter_mut().zip(middle.into_iter().zip(right)) {
                *left = left.add(middle).add(right).mul(third);
            }
        }
        left
    }
}

/// A map kernel with its memory: `output[i] = formula(sources[0][i], ..)`.
///
/// It holds pointers and not slices, because a source may be the output itself.
#[derive(Clone, Copy)]
pub(super) struct Map<F, const N: usize> {
    pub formula: F,
    pub sources: [*const f32; N],
    pub output: *mut f32,
    pub count: usize,
    /// Whether stores bypass the caches.
    pub streaming: bool,
}

// SAFETY: a `Map` is only a description. Whoever runs parts of it on several threads sees
// to it that they do not overlap.
unsafe impl<F: Sync, const N: usize> Sync for Map<F, N> {}

/// Vectors in flight. On today's cores a multiply-add has a latency of four cycles and
/// two start per cycle, so it takes eight independent chains to keep them busy.
pub(super) const UNROLL: usize = 8;

impl<F: Formula<N>, const N: usize> Map<F, N> {
    /// The `count` elements from `start` on.
    ///
    /// # Safety
    /// They must lie inside this map.
    pub unsafe fn part(&self, start: usize, count: usize) -> Self {
        // SAFETY: the caller promises that the elements exist.
        unsafe {
            Self {
                sources: self.sources.map(|source| source.add(start)),
                output: self.output.add(start),
                count,
                ..*self
            }
        }
    }

    /// Computes `U` whole vectors from element `at` on.
    ///
    /// # Safety
    /// The CPU must have the instruction set of `V`. The elements must exist, and be
    /// aligned to a vector if streamed.
    #[inline(always)]
    unsafe fn block<V: Vector, const U: usize>(&self, at: usize, streaming: bool) {
        // SAFETY: the caller promises the instruction set and the elements.
        unsafe {
            let mut inputs = [[V::splat(0.0); U]; N];
            for (input, source) in inputs.iter_mut().zip(self.sources) {
                for (index, vector) in input.iter_mut().enumerate() {
                    *vector = V::load(source.add(at + index * V::LANES));
                }
            }
            let results = self.formula.apply(inputs);
            for (index, vector) in results.into_iter().enumerate() {
                let to = self.output.add(at + index * V::LANES);
                if streaming { vector.stream(to) } else { vector.store(to) }
            }
        }
    }

    /// Computes fewer elements than one vector holds, through a padded copy.
    ///
    /// # Safety
    /// The CPU must have the instruction set of `V`, and the elements must exist.
    #[inline(always)]
    unsafe fn remainder<V: Vector>(&self, at: usize, count: usize) {
        let mut padded = [[0.0; MAX_LANES]; N];
        let mut results = [0.0; MAX_LANES];
        // SAFETY: the caller promises the instruction set and the elements; the copies
        // hold any vector.
        unsafe {
            for (copy, source) in padded.iter_mut().zip(self.sources) {
                source.add(at).copy_to_nonoverlapping(copy.as_mut_ptr(), count);
            }
            let sources = padded.each_ref().map(|copy| copy.as_ptr());
            let output = results.as_mut_ptr();
            Self { sources, output, ..*self }.block::<V, 1>(0, false);
            results.as_ptr().copy_to_nonoverlapping(self.output.add(at), count);
        }
    }
}

impl<F: Formula<N>, const N: usize> Loop for Map<F, N> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let mut at = 0;
        // SAFETY: the caller promises the instruction set. `at` never passes `count`, and
        // streamed blocks start at an aligned element, after `misaligned` ones.
        unsafe {
            if self.streaming {
                let misaligned = self.output.align_offset(V::LANES * size_of::<f32>());
                at = misaligned.min(self.count);
                self.remainder::<V>(0, at);
            }
            while self.count - at >= UNROLL * V::LANES {
                self.block::<V, UNROLL>(at, self.streaming);
                at += UNROLL * V::LANES;
            }
            // A single vector takes as long as eight do together, so the remainder is
            // done in as few steps as possible.
            if self.count - at >= 4 * V::LANES {
                self.block::<V, 4>(at, false);
                at += 4 * V::LANES;
            }
            if self.count - at >= 2 * V::LANES {
                self.block::<V, 2>(at, false);
                at += 2 * V::LANES;
            }
            if self.count - at >= V::LANES {
                self.block::<V, 1>(at, false);
                at += V::LANES;
            }
            self.remainder::<V>(at, self.count - at);
            if self.streaming {
                V::fence();
            }
        }
    }
}

/// Sums each of the blocks of an array.
pub(super) struct BlockSums<'a> {
    pub x: &'a [f32],
    pub block: usize,
    /// One sum for each block, in order. If there are fewer blocks, the rest stays unchanged.
    pub sums: &'a mut [f64],
}

impl Loop for BlockSums<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        for (sum, block) in self.sums.iter_mut().zip(self.x.chunks(self.block)) {
            // SAFETY: the caller promises the instruction set.
            *sum = unsafe { Sum(block).run::<V>() };
        }
    }
}

/// The sum of a short array, in `f32` within each lane and in `f64` across lanes.
///
/// A lane adds at most `len / (8 * LANES)` values, so for short arrays the rounding error
/// stays near the last bit. Longer arrays are cut up first.
#[derive(Clone)]
pub(super) struct Sum<'a>(pub &'a [f32]);

impl Loop for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> f64 {
        let mut blocks = self.0.chunks_exact(UNROLL * V::LANES);
        let mut lanes = [0.0; MAX_LANES];
        let rest;
        // SAFETY: the caller promises the instruction set. Every block holds `UNROLL`
        // vectors, every piece of the remainder one vector, and `lanes` any one vector.
        unsafe {
            let mut sums = [V::splat(0.0); UNROLL];
            for block in &mut blocks {
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(V::load(block.as_ptr().add(index * V::LANES)));
                }
            }
            // Adding the remainder one number at a time would take as long for a hundred
            // of them as two thousand take above.
            let mut vectors = blocks.remainder().chunks_exact(V::LANES);
            for (vector, sum) in (&mut vectors).zip(&mut sums) {
                *sum = sum.add(V::load(vector.as_ptr()));
            }
            rest = vectors.remainder();
            let [a, b, c, d, e, f, g, h] = sums;
            let total = a.add(b).add(c.add(d)).add(e.add(f).add(g.add(h)));
            total.store(lanes.as_mut_ptr());
        }
        // The lanes are added in halves, which vectors can do: one by one they would take
        // half as long as a whole short block.
        let mut wide = [0.0; MAX_LANES];
        for (wide, lane) in wide.iter_mut().zip(lanes) {
            *wide = f64::from(lane);
        }
        const HALF: usize = MAX_LANES / 2;
        const QUARTER: usize = HALF / 2;
        let mut half = [0.0; HALF];
        for lane in 0..HALF {
            half[lane] = wide[lane] + wide[lane + HALF];
        }
        let mut quarter = [0.0; QUARTER];
        for lane in 0..QUARTER {
            quarter[lane] = half[lane] + half[lane + QUARTER];
        }
        let [a, b, c, d] = quarter;
        let sum = (a + c) + (b + d);
        rest.iter().fold(sum, |sum, &value| sum + f64::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::vector::on_all_vectors;

    fn close(value: f32, truth: f64) -> bool {
        (f64::from(value) - truth).abs() <= 1e-5 * truth.abs()
    }

    /// The suite runs only the widest vectors of its machine; this test runs all of them.
    #[test]
    fn every_width_computes_the_same() {
        let x: Vec<f32> = (0..300u16).map(|i| 1.0 + f32::from(i) / 300.0).collect();
        let y: Vec<f32> = x.iter().map(|x| 3.0 - x).collect();
        for count in [0, 1, 5, 16, 31, 128, 299] {
            for streaming in [false, true] {
                let mut output = vec![f32::NAN; 301];
                let sources = [x.as_ptr(), y.as_ptr()];
                let target = output[1..].as_mut_ptr();
                let map = Map { formula: Saxpy(2.0), sources, output: target, count, streaming };
                on_all_vectors(&map, |()| {
                    assert!((0..count).all(|i| close(output[i + 1], f64::from(x[i]) + 3.0)));
                    assert!(output[0].is_nan() && output[count + 1..].iter().all(|v| v.is_nan()));
                    output.fill(f32::NAN);
                });
            }
            let truth: f64 = x[..count].iter().map(|&x| f64::from(x)).sum();
            on_all_vectors(&Sum(&x[..count]), |sum| assert!((sum - truth).abs() <= 1e-6 * truth));
        }
    }
}

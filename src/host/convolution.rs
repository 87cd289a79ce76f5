//! Convolution: weighted sums of neighbours, for one thread and any [`Vector`].

use super::team::Team;
use super::twins::UNROLL;
use super::vector::{Loop, MAX_LANES, Vector, on_widest_vectors};
use crate::kernels::Effort;

impl Team {
    /// Convolves `x` with `weights`, an odd number of them. `output[i]` is centred on
    /// `x[i + lead]`; beyond its ends, `x` continues with its end element.
    pub(super) fn convolve(
        &self,
        cost: Effort,
        (x, weights): (&[f32], &[f32]),
        output: &mut [f32],
        lead: usize,
    ) {
        let (count, radius) = (output.len(), weights.len() / 2);
        assert!(lead + count <= x.len(), "the convolution's input ends before its output");
        assert_eq!(weights.len(), 2 * radius + 1, "the number of weights must be odd");
        if count == 0 {
            return;
        }
        // Where the window reaches beyond an end of `x`, a padded copy of it is made first.
        let head = radius.saturating_sub(lead).min(count);
        let tail = (x.len() - lead).saturating_sub(radius).clamp(head, count);
        for edge in [0..head, tail..count] {
            let window = (edge.start + lead)..(edge.end + lead + 2 * radius);
            let inside = |i: usize| i.saturating_sub(radius).min(x.len() - 1);
            let window: Vec<f32> = window.map(|i| x[inside(i)]).collect();
            let output = &mut output[edge];
            if !output.is_empty() {
                on_widest_vectors(Convolve::new(&window, weights, output, false));
            }
        }
        if head == tail {
            return;
        }
        let window = &x[head + lead - radius..][..tail - head + 2 * radius];
        let streaming = self.outgrows_caches(cost, count);
        let part = |start: usize, output: &mut [f32]| {
            let window = &window[start..][..output.len() + 2 * radius];
            on_widest_vectors(Convolve::new(window, weights, output, streaming));
        };
        let output = &mut output[head..tail];
        if !self.shares(cost, output.len()) {
            return part(0, output);
        }
        let (cut, patience) = (self.cut(cost, output.len()), self.patience(cost, output.len()));
        self.pool.each_piece(output, cut, patience, part);
    }
}

/// Computes `output[i]` as the sum of `weights[t] * window[i + t]` over all `t`.
#[derive(Clone, Copy)]
struct Convolve<'a> {
    window: &'a [f32],
    weights: &'a [f32],
    output: *mut f32,
    count: usize,
    /// Whether stores bypass the caches.
    streaming: bool,
}

impl<'a> Convolve<'a> {
    fn new(window: &'a [f32], weights: &'a [f32], output: &mut [f32], streaming: bool) -> Self {
        let count = output.len();
        assert_eq!(window.len(), count + weights.len() - 1, "the window does not fit the output");
        Self { window, weights, output: output.as_mut_ptr(), count, streaming }
    }

    /// Computes `U` whole vectors from element `at` on.
    ///
    /// # Safety
    /// The CPU must have the instruction set of `V`. The elements must exist, and be
    /// aligned to a vector if streamed.
    #[inline(always)]
    unsafe fn block<V: Vector, const U: usize>(&self, at: usize, streaming: bool) {
        // SAFETY: the caller promises that the elements exist, and the window is longer
        // than the output by all weights but one.
        unsafe {
            let mut sums = [V::splat(0.0); U];
            let from = self.window.as_ptr().add(at);
            for (t, &weight) in self.weights.iter().enumerate() {
                let weight = V::splat(weight);
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(from.add(t + index * V::LANES)).mul_add(weight, *sum);
                }
            }
            for (index, sum) in sums.into_iter().enumerate() {
                let to = self.output.add(at + index * V::LANES);
                if streaming { sum.stream(to) } else { sum.store(to) }
            }
        }
    }

    /// Computes fewer elements than one vector holds, through padded copies.
    ///
    /// # Safety
    /// The CPU must have the instruction set of `V`.
    #[inline(always)]
    unsafe fn few<V: Vector>(&self) {
        let mut window = self.window.to_vec();
        window.resize(V::LANES + self.weights.len() - 1, 0.0);
        let mut results = [0.0; MAX_LANES];
        // SAFETY: the caller promises the instruction set; the copies hold one vector,
        // and the output `count` elements.
        unsafe {
            let padded = Convolve { window: &window, output: results.as_mut_ptr(), ..*self };
            padded.block::<V, 1>(0, false);
            results.as_ptr().copy_to_nonoverlapping(self.output, self.count);
        }
    }
}

impl Loop for Convolve<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let count = self.count;
        // SAFETY: the caller promises the instruction set. `at` never passes `count`, and
        // streamed blocks start at an aligned element, after `misaligned` ones.
        unsafe {
            if count < V::LANES {
                return self.few::<V>();
            }
            let mut at = 0;
            if self.streaming {
                let misaligned = self.output.align_offset(V::LANES * size_of::<f32>());
                self.block::<V, 1>(0, false);
                at = misaligned.min(count);
            }
            while count - at >= UNROLL * V::LANES {
                self.block::<V, UNROLL>(at, self.streaming);
                at += UNROLL * V::LANES;
            }
            while count - at >= V::LANES {
                self.block::<V, 1>(at, false);
                at += V::LANES;
            }
            // The last vector overlaps the one before and stores equal values again.
            self.block::<V, 1>(count - V::LANES, false);
            if self.streaming {
                V::fence();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::vector::on_all_vectors;

    /// The suite runs only the widest vectors of its machine; this test runs all of them.
    #[test]
    fn every_width_computes_the_same() {
        let window: Vec<f32> = (0..400u16).map(|i| f32::from(i % 17) - 8.0).collect();
        let weights: Vec<f32> = (0..5u8).map(|t| f32::from(t) + 0.5).collect();
        for count in [1, 5, 16, 31, 128, 299] {
            let truth = |i: usize| -> f32 { (0..5).map(|t| weights[t] * window[i + t]).sum() };
            for streaming in [false, true] {
                let mut values = vec![f32::NAN; count + 2];
                let output = &mut values[1..=count];
                let work = Convolve::new(&window[..count + 4], &weights, output, streaming);
                on_all_vectors(&work, |()| {
                    assert!((0..count).all(|i| (values[i + 1] - truth(i)).abs() <= 1e-4));
                    assert!(values[0].is_nan() && values[count + 1].is_nan());
                    values.fill(f32::NAN);
                });
            }
        }
    }
}

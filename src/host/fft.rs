//! Fourier transforms of many signals.

use super::cut::Cut;
use super::team::Team;
use crate::kernels::Effort;
use rustfft::num_complex::Complex32;

impl Team {
    /// Transforms signals of `length` complex points, each point a real and an imaginary
    /// element. A thread takes whole signals.
    pub(super) fn fft(&self, cost: Effort, x: &[f32], output: &mut [f32], length: usize) {
        assert_eq!(x.len(), output.len(), "input and output differ in length");
        assert_eq!(x.len() % (2 * length), 0, "the last signal is incomplete");
        let plan = self.plans.of(length);
        let transform = |(x, output): (&[f32], &mut [f32])| {
            let mut scratch = vec![Complex32::ZERO; plan.get_immutable_scratch_len()];
            plan.process_immutable_with_scratch(points(x), points_mut(output), &mut scratch);
        };
        if x.is_empty() {
            return;
        }
        if !self.shares(cost, x.len()) {
            return transform((x, output));
        }
        let signals = Cut { multiple: 2 * length, ..self.cut(cost, x.len()) };
        self.pool.each_piece(output, signals, self.patience(cost, x.len()), |first, output| {
            transform((&x[first..][..output.len()], output));
        });
    }
}

/// Views pairs of elements as complex points.
fn points(values: &[f32]) -> &[Complex32] {
    // SAFETY: `Complex32` is `repr(C)`: two `f32`, real part first, with the alignment of
    // `f32`. The length counts whole pairs only.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len() / 2) }
}

fn points_mut(values: &mut [f32]) -> &mut [Complex32] {
    // SAFETY: `Complex32` is `repr(C)`: two `f32`, real part first, with the alignment of
    // `f32`. The length counts whole pairs only, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len() / 2) }
}

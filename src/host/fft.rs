//! Fourier transforms of many signals.

use super::cut::Cut;
use super::team::Team;
use crate::kernels::Effort;
use rustfft::Fft;
use rustfft::num_complex::Complex32;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// rustfft's plans by length; each is made at its first use and then kept.
#[derive(Default)]
pub(super) struct Plans(Mutex<BTreeMap<usize, Arc<dyn Fft<f32>>>>);

impl Plans {
    fn of(&self, length: usize) -> Arc<dyn Fft<f32>> {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.entry(length);
        plan.or_insert_with(|| plan_of(length)).clone()
    }
}

/// How to transform signals of this length, a power of two. For AVX there is a planner of its own;
/// the one that chooses among all would compile the algorithms for every other length, too, which
/// are a twentieth of hallway's machine code.
#[cfg(target_arch = "x86_64")]
fn plan_of(length: usize) -> Arc<dyn Fft<f32>> {
    use rustfft::algorithm::Radix4;
    use rustfft::{FftDirection, FftPlannerAvx};
    match FftPlannerAvx::new() {
        Ok(mut planner) => planner.plan_fft_forward(length),
        Err(()) => Arc::new(Radix4::new(length, FftDirection::Forward)),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn plan_of(length: usize) -> Arc<dyn Fft<f32>> {
    rustfft::FftPlanner::new().plan_fft_forward(length)
}

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
        self.crew.each_piece(output, signals, self.patience(cost, x.len()), |first, output| {
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

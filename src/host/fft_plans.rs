//! How to transform signals of a length, worked out once.

use rustfft::Fft;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// rustfft's plans by length; each is made at its first use and then kept.
#[derive(Default)]
pub(super) struct FftPlans(Mutex<BTreeMap<usize, Arc<dyn Fft<f32>>>>);

impl FftPlans {
    pub fn of(&self, length: usize) -> Arc<dyn Fft<f32>> {
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

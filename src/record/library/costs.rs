//! What the recorder itself costs the program.

use super::format::{Form, put};
use std::sync::atomic::{AtomicU64, Ordering};

/// For each form of call: how often the time of the recorder's callbacks was measured, and the sum
/// of these times in nanoseconds. What CUPTI itself takes to call them is not in it.
#[derive(Default)]
pub struct Costs([[AtomicU64; 2]; Form::ALL.len()]);

impl Costs {
    pub fn add(&self, form: Form, nanos: u64) {
        let [count, sum] = &self.0[form as usize];
        count.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Writes the forms that were measured, each with its two numbers.
    pub fn put(&self, to: &mut Vec<u8>) {
        for (form, numbers) in self.0.iter().enumerate() {
            let [count, sum] = [0, 1].map(|at: usize| numbers[at].load(Ordering::Relaxed));
            if count > 0 {
                put(to, form as u64);
                put(to, count);
                put(to, sum);
            }
        }
    }
}

//! How much work is done.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts work as it is done, on any number of threads. Nothing that is predicted depends on it.
#[derive(Debug, Default)]
pub struct Tally(AtomicU64);

impl Tally {
    pub fn add(&self, work: u64) {
        self.0.fetch_add(work, Ordering::Relaxed);
    }

    pub fn done(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

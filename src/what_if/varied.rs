//! A machine and a workload that could be.

use crate::profile::Profile;
use crate::scenario::Workload;

/// A machine and a workload that could be.
#[derive(Debug, Clone)]
pub struct Varied {
    pub profile: Profile,
    pub workload: Workload,
    /// What the change takes for granted and nobody has measured, in sentences.
    pub assumptions: Vec<String>,
}

impl Varied {
    /// Notes what is taken for granted, once.
    pub(super) fn assume(&mut self, assumption: &str) {
        if !self.assumptions.iter().any(|known| known == assumption) {
            self.assumptions.push(assumption.to_owned());
        }
    }
}

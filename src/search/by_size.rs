//! How long each side takes at different sizes.

use super::break_even::race;
use super::scaling::scaled;
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::simulate::Tally;
use crate::units::Span;
use rayon::prelude::*;

/// The fastest plan of each side at a size. `None`: no plan that can be predicted fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtSize {
    /// Elements of the largest buffer that grows with the workload.
    pub elements: u64,
    pub cpu: Option<Span>,
    pub gpu: Option<Span>,
}

/// Each size is so many times the one before.
const STEP: u64 = 4;

/// The fastest times of a pass from one size to another, on the machine without scatter, with the
/// plans that a break-even tries.
pub fn by_size(workload: &Workload, profile: &Profile, [from, to]: [u64; 2]) -> Vec<AtSize> {
    let sizes = std::iter::successors(Some(from), |size| size.checked_mul(STEP));
    let sizes: Vec<u64> = sizes.take_while(|size| *size < to).chain([to]).collect();
    sizes.into_par_iter().filter_map(|elements| at_size(workload, profile, elements)).collect()
}

fn at_size(workload: &Workload, profile: &Profile, elements: u64) -> Option<AtSize> {
    let [cpu, gpu] = race(&scaled(workload, elements)?, profile, &Tally::default()).times();
    Some(AtSize { elements, cpu, gpu })
}

//! The candidates that depend on a machine's profile, beside those that do not.

use super::candidates::{Candidates, candidates_over};
use super::refine::refine;
use super::scheduled::add_schedules;
use super::shares::add_shares;
use crate::profile::Profile;
use crate::scenario::Workload;

/// The plans for a machine: those of [`candidates_over`], shares of the CPU that fit it, better
/// ones near the best, and tasks scheduled by its prices.
pub fn candidates_for(workload: &Workload, profile: &Profile) -> Candidates {
    let mut found = candidates_over(workload, &profile.gpu_counts());
    add_shares(&mut found, workload, profile);
    refine(workload, profile, &mut found);
    add_schedules(&mut found, workload, profile);
    found
}

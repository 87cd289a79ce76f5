//! A time that no schedule of a workload's tasks goes below on a machine.

use super::super::halving::halved;
use super::path::Paths;
use super::work::Work;
use crate::profile::Profile;
use crate::scenario::Workload;
use crate::units::Span;

/// Halvings between a time that is too short and one that may do: to a thousandth.
const STEPS: usize = 10;

/// A time below which no schedule of the workload's tasks can end on this machine, whoever does
/// them, in whatever order and pieces, and however their data come and go. `None` if the profile
/// does not know what one of the tasks takes on either side, or how long data takes to a GPU that
/// may need them, or there is no task.
///
/// It is the larger of two bounds:
///
/// - *Path.* A task begins after those that it waits for. On a GPU, what lives on the host has to
///   arrive first, and results have to leave; on the CPU, likewise what lives on the device. For
///   each task and side, the least time in front of it and behind it assumes for each other task
///   the side that makes that time least. So for every schedule, the path through a task is no
///   shorter than the shorter of its two sides' (by induction along the path). Tasks that are cut
///   add nothing to paths, since their pieces overlap, and neither do their copies. Where kernels
///   can use the host's memory across the link, nothing has to arrive before a task begins, but all
///   that it reads there has crossed when it ends, and what it writes crosses after it has begun.
/// - *Load.* Each processor does one thing at a time, and so does each link in each direction:
///   a schedule is no shorter than the load of any. Loads are those of a linear program, of which
///   every schedule is a solution: the share of each task on GPUs, and how much of each buffer
///   crosses because of that. Kernels that run side by side share a GPU: each counts for the part
///   of the multiprocessors that it needs, for as long as it needs it by itself.
///
/// What a task takes is its price by itself, with its data at hand, and nothing for calls, waits,
/// hand-overs and what others take from it. Of a task that can be cut, it is the least for each
/// element over pieces from the whole to a 64th.
pub fn task_bound(workload: &Workload, profile: &Profile) -> Option<Span> {
    let work = Work::new(workload, profile)?;
    let paths = Paths::new(&work);
    let least = paths.longest().max(work.least_load(&paths, f64::INFINITY));
    if !least.is_finite() {
        return None;
    }
    let is_too_short = |time: f64| work.least_load(&paths, time) > time;
    let (mut short, mut enough) = (least, least);
    while is_too_short(enough) {
        (short, enough) = (enough, enough * 1.25 + 1.0);
    }
    let mut steps = 0..STEPS;
    let middle = |short: f64, enough: f64| steps.next().map(|_| f64::midpoint(short, enough));
    let (short, _) = halved((short, enough), middle, |time| Some(is_too_short(time)))?;
    // Rounds down to whole nanoseconds, since a lower bound may not round up.
    Some(Span::from_nanos(short as u64))
}

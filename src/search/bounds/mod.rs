//! Times that no schedule goes below, from what single tasks and copies take at least.
//!
//! Invariant: a bound is never above the time of what it bounds. Prices are taken not to fall with
//! the size, and what goes on beside a task or a copy is left out.

mod order;
mod relaxation;
mod work;

use crate::profile::Profile;
use crate::scenario::Workload;
use crate::units::Span;
use relaxation::Relaxation;
use work::Work;

/// With more tasks, solving the program takes too long.
const MOST_NODES: usize = 400;

/// A time below which no schedule of the workload's tasks can end on this machine, whoever does
/// them, in whatever order and pieces, and however their data come and go. `None` if the profile
/// does not know what one of the tasks takes on either side, or how long data takes to a GPU that
/// may need them, or there is no task.
///
/// It is the optimum of a linear program of which every schedule is a solution. Its variables are
/// the share of each task that GPUs do, how much of each buffer crosses a link because of that,
/// when the first piece of each task starts, when its last piece ends, and the end of all:
///
/// - *Whole tasks.* If there is one batch, a task that cannot be cut has a share of 0 or 1.
/// - *Load.* Each processor does one thing at a time, and so does each link in each direction:
///   a schedule is no shorter than the load of any. Kernels that run side by side share a GPU:
///   each counts for the part of the multiprocessors that it needs, for as long as it needs it by
///   itself.
/// - *Order.* Where one of two tasks cannot be cut, or reads whole what the other writes, it starts
///   after the end of the other. All that tasks before it do, and all data that came for them, is a
///   load that a processor or link has done by then. Likewise all that waits for its end is still
///   to be done. On a GPU, what a task reads has to arrive
///   first, and results leave when it has ended. Data may cross while it runs if kernels can use
///   the host's memory across the link, and the scenario asks for plans in which they do,
///   `zero-copy` or `managed`, or has programs of its own.
///
/// What a task takes is its price by itself, with its data at hand, and nothing for calls, waits,
/// hand-overs and what others take from it. A task that can be cut takes the least for each
/// element over pieces from the whole to a 64th.
///
/// The search for shares of 0 and 1 ends after a fixed number of steps: what it has proved by then
/// is a bound. For many tasks, the program leaves out their order and that they are whole, and for
/// very many, the bound is their load, shared evenly. It is at least the longest way through them.
pub fn task_bound(workload: &Workload, profile: &Profile) -> Option<Span> {
    let work = Work::new(workload, profile)?;
    let simple = work.even_load().max(work.longest_way());
    let solved = (work.nodes.len() <= MOST_NODES).then(|| Relaxation::new(&work).solve());
    // Rounds down to whole nanoseconds, since a lower bound may not round up.
    Some(Span::from_nanos(solved.flatten().map_or(simple, |solved| solved.max(simple)) as u64))
}

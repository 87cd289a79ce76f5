//! On machines where nothing gets into the way, schedules are near the optimum, and never below the
//! bound that is said of a workload's tasks.

mod by_task;
mod exact;
mod free_machine;
mod random_graphs;
mod standard_graphs;

//! Tasks and a profile to a program: task graphs scheduled over both processors, streams, copies
//! and memory.
//!
//! A graph (`graph`) has a node for every task on every chunk. Prices (`prices`) come from the
//! profile. A list scheduler (`list`) finds an order and a processor for each node, and tries other
//! ranks (`relist`); small changes (`improve`) make it better, with the simulator as the judge.
//! Each schedule becomes a program (`decoder`, `moves`): data gets places in one allocation of each
//! device (`memory`), and events order what streams do not (`issue`).
//!
//! Invariant: the same workload and profile give the same program.

mod calendar;
mod decoder;
mod graph;
mod improve;
mod issue;
mod list;
mod memory;
mod moves;
mod parts_of_buffer;
mod plans;
mod prices;
mod random;
mod ranks;
mod relist;
mod starts;

pub(crate) use graph::TaskGraph;
pub use plans::{Choice, Scheduled, schedule};
pub use prices::Processor;
pub(crate) use prices::{Alone, alone, copy_alone};
pub use random::random_schedule;

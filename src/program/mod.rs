//! A program: the ordered host API calls of one way to do some work, each naming its stream, its
//! memory and its byte ranges.
//!
//! Invariant: a [`Program`] is a plain value that says nothing of how it came about beyond a label.
//! The simulator and the executor read the same one, so a prediction and a run are of the same
//! calls.

mod accesses;
mod call;
mod capacity;
mod constructors;
mod contradictions;
mod dangling;
mod dependences;
mod graph;
mod hazards;
mod host_memory;
mod kernels;
mod lifetimes;
mod missing_orders;
mod operands;
mod order;
mod problem;
mod process;
mod results;
pub mod spelled;
mod step;
mod threads;
mod value;

pub use accesses::{Access, AccessKind, User};
pub use call::Call;
pub use capacity::{DoesNotFit, HostFootprint, Whose, check_fits};
pub use dangling::MOST_STREAMS;
pub use dependences::dependences;
pub use graph::{Before, Behind, Graph, Lanes, Upload, captured};
pub use hazards::{Hazard, check_hazards, ordered_reads};
pub use missing_orders::{MissingOrder, MissingOrders, missing_orders};
pub use operands::{
    Allocation, AllocationId, Awaited, BufferId, CopyBy, EventId, MemoryChange, Place, Route, Rows,
    Sides, Slice, StreamKind, StreamTraits, ThreadId, Threads, Touched,
};
pub use order::{Clock, Order, Passed};
pub use problem::{Part, Problem};
pub use process::{Process, ProcessState, StateReason};
pub use results::Results;
pub use step::{LibraryStep, OwnStep, ProductShape, Step, signature};
pub use threads::{MOST_THREADS, Shared};
pub use value::Program;

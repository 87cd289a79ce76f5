//! From a workload to programs, without a look at any machine: the families of plans.
//!
//! A family's own file holds all that is known of it: see `definition.rs`. Its name stands in
//! [`FamilyName`](crate::scenario::FamilyName), and the list of families is here.
//!
//! Invariant: [`build`] makes only programs that pass [`crate::program::check_hazards`] and fit the
//! workload's limits. What none can be made for is refused with the reason.

mod ashore;
mod buffered;
mod build;
mod builder;
mod by_chunk;
mod by_engine;
mod by_task;
mod chunk;
mod cpu;
mod crossing;
mod dealt;
mod definition;
mod hybrid;
mod managed;
mod multi_gpu;
mod on_cpu;
mod packed;
mod partials;
mod ranges;
mod resident;
mod round_trip;
mod shared;
mod staged;
mod steps;
mod strategy;
mod zero_copy;

pub use buffered::Buffered;
pub use build::{Refusal, build};
pub use by_chunk::{ByChunk, Issue};
pub use by_engine::ByEngine;
pub use by_task::ByTask;
pub use cpu::Cpu;
pub use dealt::Spread;
pub use definition::{AsGraph, Division, Traits, Tries};
pub use hybrid::Hybrid;
pub use managed::Managed;
pub use multi_gpu::{Each, MultiGpu};
pub use packed::Packed;
pub use resident::Resident;
pub use round_trip::RoundTrip;
pub use staged::Staged;
pub use strategy::Strategy;
pub use zero_copy::{Mapped, ZeroCopy};

pub(crate) use ashore::Ashore;
pub(crate) use build::{accepted, check_memory_kind, draft};
pub(crate) use builder::{Builder, Location, TaskMemory, own_kernels, unpinned};
pub(crate) use chunk::{Chunk, Part, parts};
pub(crate) use crossing::Crossing;

use crate::scenario::Workload;
use definition::{Definition, families};
use std::ops::Deref;

// Plans that are equally fast are ranked in the order of their families here.
families! {
    /// Every task on the CPU, all threads.
    Cpu,
    /// Copies in and out around every task, each waited for: naive code.
    RoundTrip,
    /// Inputs in once, outputs out once, one stream.
    Resident,
    /// A chunk's copies and kernels in one stream, chunks dealt over streams.
    ByChunk,
    /// One stream per engine, joined by events; memory for every chunk.
    ByEngine,
    /// By engine with a ring of device buffers: bounded device memory.
    Buffered,
    /// Chunks dealt over several GPUs.
    MultiGpu,
    /// Pageable data through rings of pinned buffers.
    Staged,
    /// Small arrays in one transfer.
    Packed,
    /// A share of the chunks on the CPU.
    Hybrid,
    /// Kernels use the host's memory across the link.
    ZeroCopy,
    /// Managed memory.
    Managed,
    /// Tasks scheduled one by one, by their prices.
    ByTask,
}

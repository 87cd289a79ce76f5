//! The CPU side of the kernel library: a multi-threaded CPU twin of every kernel, and the host
//! memory that they work on.
//!
//! "The GPU wins" means something only against CPU code that someone would ship. So twins use all
//! threads, the widest vectors that the CPU has, and non-temporal stores where those pay; small
//! inputs stay on the calling thread. Invariant: nothing here knows of a GPU, a plan or a clock.

mod affinity;
mod black_scholes;
mod convolution;
mod cpu;
mod cut;
mod fft;
mod fft_plans;
mod fork_join;
mod histogram;
mod matmul;
mod page_policy;
mod pages;
mod place;
mod team;
mod transpose;
mod twins;
mod vector;

pub use affinity::OneCpu;
pub use cpu::{available_memory, count_numa_nodes, cpu_model, hardware_threads, usable_memory};
pub use page_policy::page_policy;
pub use pages::PageMemory;
pub use place::{governor, locked_limit, nodes_of_process, numbers};
pub use team::{Operand, Team};

use crate::units::Bytes;

/// What the operating system would not give us.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("cannot start {threads} threads; use fewer with --threads")]
    Threads { threads: usize, source: std::io::Error },
    #[error("cannot map {bytes} of host memory")]
    Memory { bytes: Bytes, source: std::io::Error },
}

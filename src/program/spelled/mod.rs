//! Programs that a person spells out, call by call.
//!
//! Invariant: what comes out of here names only what is there, contradicts nothing and has no race.
//! Whatever was wrong came back as a [`Fault`](crate::files::Fault) with its place.

mod call;
mod code;
mod copies;
mod cost;
mod elementwise;
mod expand;
mod expression;
mod kernels;
mod memory;
mod own;
mod raw;
mod raw_kernel;
mod rules;
mod scope;
mod threads;
mod values;
mod write;
mod write_kernels;

pub use expand::expand;
pub use own::{DeclaredKernel, Launched};
pub use raw::RawProgram;
pub use raw_kernel::RawKernel;
pub use scope::NamedBuffer;
pub use write::{Names, write};
pub use write_kernels::write_kernels;

//! Programs that a person spells out, call by call.
//!
//! Invariant: what comes out of here names only what is there, contradicts nothing and has no race.
//! Whatever was wrong came back as a [`Fault`](crate::files::Fault) with its place.

mod call;
mod code;
mod cost;
mod expand;
mod expansion;
mod expression;
mod kernels;
mod keys;
mod memory;
mod names;
mod own;
mod raw_kernel;
mod scope;
mod threads;
mod values;
mod write;

pub use expand::{RawProgram, expand};
pub use names::Names;
pub use own::{DeclaredKernel, Launched};
pub use raw_kernel::{RawCpu, RawKernel};
pub use scope::NamedBuffer;
pub use write::{write, write_kernels};

//! Programs that a person spells out, call by call.
//!
//! Invariant: what comes out of here names only what is there, contradicts nothing and has no race.
//! Whatever was wrong came back as a [`Fault`](crate::files::Fault) with its place.

mod call;
mod copies;
mod expand;
mod expression;
mod memory;
mod raw;
mod scope;
mod write;

pub use expand::expand;
pub use raw::RawProgram;
pub use scope::NamedBuffer;
pub use write::{Names, write};

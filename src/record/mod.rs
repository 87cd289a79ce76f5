//! The recorder of programs that use CUDA: a library that is loaded into them, and the format of
//! what it writes.
//!
//! Invariant: the library needs nothing but `std`, so that it can be compiled by itself. It knows
//! no other room; readers of its files know its format.

#[path = "library/format.rs"]
pub mod format;

#[cfg(test)]
mod library;

/// The library, as `CUDA_INJECTION64_PATH` may name a file of it.
#[cfg(feature = "cli")]
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder.so"));

//! hallway
pub mod host;
pub mod kernels;
pub mod scenario;
pub mod stats;
pub mod units;

//! hallway
pub mod calibrate;
pub mod compare;
pub mod execute;
pub mod gpu;
pub mod host;
pub mod kernels;
pub mod plan;
pub mod profile;
pub mod runs;
pub mod samples;
pub mod scenario;
pub mod search;
pub mod simulate;
pub mod stats;
pub mod timeline;
pub mod units;

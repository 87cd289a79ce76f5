//! Copies from host memory to host memory, which the CPU makes.

use super::caches::MEMORY_FOOTPRINT;
use crate::units::Bytes;

/// The footprint of copies that no cache holds: both sides go round all of their memory.
pub const FAR: Bytes = Bytes::new(2 * MEMORY_FOOTPRINT.get());

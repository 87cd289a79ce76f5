//! Paths of data other than plain copies.

use super::Curve;
use crate::samples::TransferPath;
use serde::{Deserialize, Serialize};

/// A way for data: nanoseconds over bytes, back to back with nothing beside it. For managed memory
/// that moves, this is host time including the call and the synchronisation after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferModel {
    pub path: TransferPath,
    pub time: Curve,
}

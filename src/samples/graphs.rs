//! Graphs: their calls, and what their measurements are made of.

use super::chains::LONG_COPY;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A host call on a CUDA graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphCall {
    /// A whole capture, including the captured calls.
    Capture,
    /// Making a captured graph ready to launch.
    Instantiate,
    Launch,
}

impl GraphCall {
    pub const ALL: [Self; 3] = [Self::Capture, Self::Instantiate, Self::Launch];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capturing",
            Self::Instantiate => "instantiating",
            Self::Launch => "launching",
        }
    }
}

/// Bytes of the copy in the second node of a graph: more than the launch itself carries.
pub const SECOND_NODE: Bytes = Bytes::kib(64);

/// Rows of kernels in a graph, whether they wait for copies and whether copies wait for them.
pub const ROWS: [(u64, bool, bool); 5] =
    [(1, false, false), (2, false, false), (1, true, false), (2, true, false), (1, false, true)];

/// Size of the copies that an engine takes from several branches of a graph in turn, and the number
/// of branches. Copies are short, so that the pauses between them show, and branches are enough to
/// keep the engine busy.
pub const ROTATED_IN_GRAPH: (Bytes, usize) = (LONG_COPY, 4);

pub(super) const fn branches(in_graph: bool) -> &'static str {
    if in_graph { "branches of a graph" } else { "streams" }
}

pub(super) fn graph_rows(
    f: &mut fmt::Formatter<'_>,
    kernels: u64,
    waits: bool,
    awaited: bool,
) -> fmt::Result {
    let waits = if waits { ", waiting for H2D copies" } else { "" };
    let awaited = if awaited { ", with D2H copies waiting for them" } else { "" };
    write!(f, "rows of {kernels} kernels in a graph{waits}{awaited}")
}

//! Graphs: their calls, and what their measurements are made of.

use super::chains::LONG_COPY;
use super::named::named;
use crate::units::Bytes;

named! {
    /// A host call on a CUDA graph.
    pub enum GraphCall {
        /// A whole capture, including the captured calls.
        Capture = "capture", "capturing";
        /// Making a captured graph ready to launch.
        Instantiate = "instantiate", "instantiating";
        Launch = "launch", "launching";
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

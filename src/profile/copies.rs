//! Copies of pinned memory.

use super::prices::priced;
use super::unknown::{Known, Unknown, of_bytes};
use super::{Curve, Profile};
use crate::machine::Direction;
use crate::units::{Bandwidth, Bytes, Span};
use serde::{Deserialize, Serialize};

/// Copies between device and pinned memory: engine time over bytes, back to back, with nothing in
/// the other direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyModel {
    pub direction: Direction,
    pub time: Curve,
}

priced! {
    CopyModel { Usual: time; }
    besides direction
}

impl Profile {
    /// Engine time of a copy of pinned memory while the other direction is idle.
    ///
    /// # Errors
    /// If copies of such a size were not calibrated.
    pub fn copy(&self, direction: Direction, bytes: Bytes) -> Known<Span> {
        let what = format!("{direction} copies of pinned memory");
        let found = self.copies.iter().find(|copy| copy.direction == direction);
        let model = found.ok_or_else(|| Unknown::new(what.clone()))?;
        Ok(Span::from_nanos_f64(of_bytes(&model.time, bytes, &what)?.max(0.0)))
    }

    /// How fast large copies of pinned memory go while the other direction is idle.
    pub fn link_rate(&self, direction: Direction) -> Option<Bandwidth> {
        let link = &self.link;
        [link.down_bytes_per_second, link.up_bytes_per_second][direction as usize]
    }

    /// Nanoseconds that a copy engine idles when it switches between `streams` streams that keep it
    /// busy, or between branches of a graph. Where branches were not measured, they count as
    /// streams.
    ///
    /// # Errors
    /// If there are several and neither was measured.
    pub fn switch(&self, direction: Direction, streams: usize, in_graph: bool) -> Known<f64> {
        if streams < 2 {
            return Ok(0.0);
        }
        let (link, graph) = (&self.link, &self.graph);
        let between_streams = [&link.down_switch, &link.up_switch][direction as usize];
        let in_graphs = [&graph.down_switch, &graph.up_switch][direction as usize];
        let curve = in_graphs.as_ref().filter(|_| in_graph).or(between_streams.as_ref());
        let what =
            || Unknown::new(format!("the slowdown of {direction} copies in several streams"));
        Ok(curve.ok_or_else(what)?.at(streams as f64).max(0.0))
    }
}

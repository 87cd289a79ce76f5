//! Copies as flows on the links that they share.

use crate::cost::{CallCost, Work};
use crate::units::Span;

/// A copy under way as a flow on its links.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopyFlow {
    /// The longest delay that the copy gets if the other direction is busy when it starts, in
    /// nanoseconds at the copy's speed beside that direction.
    pub delay: f64,
    /// The part of `delay` that the copy was given.
    pub delayed: f64,
    /// Nanoseconds that the copy takes longer, at full speed, if kernels run while it is under way;
    /// 0 once it was given them. They are not added to the delay: the larger of both counts. (Rows
    /// of 36 KiB to an H100 took 3.2 us a copy, 4.2 beside as many to the host, 4.0 to 4.3 beside
    /// kernels and 4.5 beside both.)
    pub beside_kernels: f64,
    /// Nanoseconds for which the copy's data is on the link.
    pub data: f64,
    /// Nanoseconds that the copy still takes after the last of its data.
    pub fixed: f64,
    /// Whether the copy is a node of a graph. The engine then has the commands behind it in hand as
    /// well.
    pub in_graph: bool,
}

impl CopyFlow {
    /// A copy that an engine starts.
    pub fn of(cost: &CallCost) -> Self {
        let (delay, beside_kernels, slowdown, [data, fixed]) = match cost.work {
            Work::Copy { delay, beside_kernels, slowdown, alone, fixed, .. } => {
                let parts = [alone.saturating_sub(fixed), fixed].map(Span::nanos_f64);
                (delay, beside_kernels, slowdown, parts)
            }
            _ => (0.0, 0.0, 1.0, [0.0; 2]),
        };
        let (delay, delayed, in_graph) = (delay / slowdown, 0.0, cost.in_graph);
        Self { delay, delayed, beside_kernels, data, fixed, in_graph }
    }
}

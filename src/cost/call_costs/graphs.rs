//! What graphs cost: their launches, and each of their nodes.

use super::CallCosts;
use crate::cost::caches::Locality;
use crate::cost::work::{CallCost, Work};
use crate::profile::{GraphCall, Known, OperationKind, TimedCall, Unknown};
use crate::program::{Before, Behind, Call, CopyBy, Graph, Route};
use crate::units::Span;

impl CallCosts<'_> {
    /// The cost of a call that launches a graph.
    pub(super) fn graph(&self, graph: &Graph) -> Known<CallCost> {
        let launch = |nodes| self.profile.graph_call(GraphCall::Launch, nodes);
        let calls = self.program.body[graph.calls.clone()].iter().zip(&graph.before);
        let with_data = calls.map(|(call, before)| self.with_launch(call, before.behind));
        let longer = with_data.flatten().map(|(longer, _)| longer).sum();
        Ok(CallCost { latency: launch(0)?, ..CallCost::on_host(launch(graph.parts())? + longer) })
    }

    /// Two times of a node whose data travels along with its graph's launch, as small copies that
    /// depend on nothing do: how much longer the launch takes, and from its return to the end of
    /// the copy.
    pub(super) fn with_launch(&self, call: &Call, behind: Behind) -> Option<(Span, Span)> {
        let (returns, duration) = self.along(call).filter(|_| behind == Behind::Nothing)?;
        let usual = self.profile.call(TimedCall::CopyIn).ok()?;
        Some((returns.saturating_sub(usual), duration))
    }

    /// The cost of a node: to the host, it costs only its part of the graph's launch.
    pub(super) fn node(&self, call: &Call, locality: &Locality, before: Before) -> Known<CallCost> {
        let profile = self.profile;
        let joined = before.behind == Behind::Kernel;
        let gap = || {
            let gap = if joined { profile.node_gap() } else { profile.kernel_gap() }?;
            Ok(gap + profile.branch_gap(before.has_waited, before.is_awaited))
        };
        let with_data = self.with_launch(call, before.behind);
        let (latency, work) = match (call, with_data) {
            (_, Some((_, duration))) => (Span::ZERO, Work::Inline { duration }),
            (Call::Copy { by, from, rows, .. }, None) => {
                let (CopyBy::Stream(stream, Route::Crossing(way)), None) = (*by, rows) else {
                    let what = "copies within a GPU, or of rows, in a graph";
                    return Err(Unknown::refused(what));
                };
                let (kind, device) = (OperationKind::of_copy(way), self.program.device_of(stream));
                (profile.node_start(kind)?, self.transfer((way, device), from.length)?)
            }
            (Call::Launch { step, .. }, None) => {
                let work = self.kernel_work(step, locality, gap()?)?;
                (profile.node_start(OperationKind::Kernel)?, work)
            }
            (Call::Clear { .. }, None) => {
                (profile.node_start(OperationKind::Kernel)?, self.clearing(gap()?))
            }
            (Call::Record { .. }, None) => (Span::ZERO, Work::Record),
            (Call::Wait { .. }, None) => (Span::ZERO, Work::Wait),
            _ => return Err(Unknown::refused("graphs of calls that cannot be captured")),
        };
        let part = match work {
            Work::Record | Work::Wait => Span::ZERO,
            _ if joined => Span::ZERO,
            _ => {
                let part = profile.graph_call(GraphCall::Launch, 1)?
                    - profile.graph_call(GraphCall::Launch, 0)?;
                part + with_data.map_or(Span::ZERO, |(longer, _)| longer)
            }
        };
        Ok(CallCost { latency, work, in_graph: true, ..CallCost::on_host(part) })
    }
}

//! What graphs cost: their launches, and each of their nodes.

use super::CallCosts;
use crate::cost::caches::Locality;
use crate::cost::work::{CallCost, Work};
use crate::profile::{Known, OperationKind, TimedCall, Unknown};
use crate::program::{Before, Behind, Call, CopyBy, Graph, Route, Upload};
use crate::units::Span;

impl CallCosts<'_> {
    /// The cost of a call that launches a graph.
    pub(super) fn graph(&self, graph: &Graph) -> Known<CallCost> {
        let latency = self.profile.launch_without_nodes()?;
        let calls = self.program.body[graph.calls.clone()].iter().zip(&graph.before);
        let parts: Known<Span> = calls.map(|(call, before)| self.launch_part(call, *before)).sum();
        Ok(CallCost { latency, ..CallCost::on_host(latency + parts?) })
    }

    /// Two times of a node whose data travels along with its graph's launch, as small copies do:
    /// how much longer the launch takes, and from its return to the end of the copy.
    pub(super) fn with_launch(&self, call: &Call, behind: Behind) -> Option<(Span, Span)> {
        let (returns, duration) = self.along(call)?;
        let (.., to) = call.crossing()?;
        let upload = Upload { bytes: to.length, is_root: behind == Behind::Nothing };
        if !self.goes_along(upload) {
            return None;
        }
        let usual = self.profile.call(TimedCall::CopyIn).ok()?;
        Some((returns.saturating_sub(usual), duration))
    }

    /// Whether a copy's data travels along with its graph's launch. It then comes from where
    /// kernels are launched, and the device gets a kernel behind it together with it.
    fn goes_along(&self, upload: Upload) -> bool {
        let Some(model) = &self.profile.inline else { return false };
        let most =
            if upload.is_root { Some(model.most_bytes) } else { model.most_bytes_behind_nodes };
        most.is_some_and(|most| upload.bytes <= most)
    }

    /// A node's part of the host's launch.
    fn launch_part(&self, call: &Call, before: Before) -> Known<Span> {
        let kind = match call {
            Call::Record { .. } | Call::Wait { .. } => return Ok(Span::ZERO),
            _ if before.behind == Behind::Kernel => return Ok(Span::ZERO),
            Call::Launch { .. } | Call::Clear { .. } => OperationKind::Kernel,
            _ => OperationKind::CopyIn,
        };
        let part = self.profile.launch_part(kind)?;
        let with_data = self.with_launch(call, before.behind);
        Ok(part + with_data.map_or(Span::ZERO, |(longer, _)| longer))
    }

    /// The cost of a node: to the host, it costs only its part of the graph's launch.
    pub(super) fn node(&self, call: &Call, locality: &Locality, before: Before) -> Known<CallCost> {
        let profile = self.profile;
        let joined = before.behind == Behind::Kernel;
        let joins_upload = before.upload.is_some_and(|upload| self.goes_along(upload));
        let gap = || {
            let joins = joined || joins_upload;
            let gap = if joins { profile.node_gap() } else { profile.kernel_gap() }?;
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
        let part = self.launch_part(call, before)?;
        Ok(CallCost { latency, work, in_graph: true, ..CallCost::on_host(part) })
    }
}

//! How copies slow each other in opposite directions, and how kernels slow them.

use super::{Copies, CopyEngine, running};
use crate::cost::{CallCost, CompiledProgram, ENGINES, EntryId, Work, weight};
use crate::simulate::links::{Flow, FlowId, Links};
use crate::units::{Instant, Span};

/// A copy under way as a flow on its links.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopyFlow {
    pub id: FlowId,
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

/// Adds the copy that an engine has just started to the links, as a flow.
pub(super) fn start_flow(
    links: &mut Links,
    compiled: &CompiledProgram<'_>,
    (entry, device): (EntryId, usize),
) -> CopyFlow {
    let CallCost { work, in_graph, .. } = compiled.body.cost_in(entry);
    let (delay, beside_kernels, slowdown, [data, fixed]) = match *work {
        Work::Copy { delay, beside_kernels, slowdown, alone, fixed, .. } => {
            let parts = [alone.saturating_sub(fixed), fixed].map(Span::nanos_f64);
            (delay, beside_kernels, slowdown, parts)
        }
        _ => (0.0, 0.0, 1.0, [0.0; 2]),
    };
    let uses = compiled.links.uses(device, work);
    let id = links.add(Flow { weight: weight(slowdown), cap: 1.0, uses: &uses });
    let (delay, delayed, in_graph) = (delay / slowdown, 0.0, *in_graph);
    CopyFlow { id, delay, delayed, beside_kernels, data, fixed, in_graph }
}

/// Delays copies that have just started and find the other direction busy. `before` says which
/// engines were busy before these copies started.
///
/// A copy waits for data that is ahead of what it asks for, so it waits no longer than there is
/// such data. On an H200, a copy to the host that was called for in the middle of one of 128 KiB to
/// the device read its first word 2.3, 1.5 and 0.7 us late with as much of the other's data to
/// come, and in time after the last of it. (Both directions are taken to be slowed alike.)
///
/// It is different where both engines go from copy to copy without a pause, or have the commands of
/// a graph to go through. They wait for each other whatever the copies carry, as they did when the
/// delay was measured: rows of 4 bytes to the host and of 28 KiB to the device took 1.5 and 3.0 us
/// a copy alone, and 3.5 us each beside each other.
pub(super) fn delay_beside_each_other(
    engines: &mut [CopyEngine; ENGINES],
    before: [bool; ENGINES],
) {
    let [down, up, _] = engines;
    if !(down.is_busy() && up.is_busy()) {
        return;
    }
    let are_in_rows = down.is_back_to_back() && up.is_back_to_back();
    let data = [up.data_left(), down.data_left()];
    for ((engine, before), others_data) in [down, up].into_iter().zip(before).zip(data) {
        if let (Some(flow), false) = (&mut engine.flow, before) {
            let delay = if are_in_rows { flow.delay } else { flow.delay.min(others_data) };
            engine.left += delay;
            flow.delayed = delay;
        }
    }
}

impl Copies {
    /// A kernel of a device runs from now on, beside the copies under way.
    pub fn begin_kernel(&mut self, device: usize, now: Instant) {
        self.kernels[device] += 1;
        for engine in self.engines[device].iter_mut().filter(|engine| engine.is_busy()) {
            (engine.left, engine.since) = (engine.left_at(now), now);
            engine.delay_beside_kernels();
            engine.predict_end();
        }
        self.next =
            running(&mut self.engines).map(|engine| engine.end).min().unwrap_or(Instant::NEVER);
    }

    /// A kernel of a device has ended.
    pub fn end_kernel(&mut self, device: usize) {
        self.kernels[device] -= 1;
    }
}

impl CopyEngine {
    /// Lengthens the copy under way because kernels run beside it. It happens once for each copy
    /// and does not depend on its speed, and the extra time carries no data.
    pub fn delay_beside_kernels(&mut self) {
        let Some(flow) = &mut self.flow else { return };
        let longer = std::mem::take(&mut flow.beside_kernels) * self.speed;
        let longer = (longer - flow.delayed).max(0.0);
        flow.fixed += longer;
        self.left += longer;
    }
}

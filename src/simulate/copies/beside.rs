//! How copies slow each other in opposite directions, and how kernels slow them.

use super::engine::CopyEngine;
use crate::cost::ENGINES;

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

impl CopyEngine {
    /// Lengthens the copy under way because kernels run beside it. It happens once for each copy
    /// and does not depend on its speed, and the extra time carries no data.
    #[inline]
    pub fn delay_beside_kernels(&mut self) {
        let Some(flow) = &mut self.flow else { return };
        let longer = std::mem::take(&mut flow.beside_kernels) * self.speed;
        let longer = (longer - flow.delayed).max(0.0);
        flow.fixed += longer;
        self.left += longer;
    }
}

//! The rule of thumb of a textbook, to hold predictions against.

use crate::program::{Program, Route, Sides};
use crate::timeline::{Lane, Timeline};
use crate::units::Span;

/// Bytes per second that a textbook takes for copies between host and device: what an x16 link of
/// PCIe 3 carries in practice, of 16 GB/s on paper.
const TEXTBOOK_LINK: f64 = 12e9;

/// The baseline of a textbook: what the kernels take, and what all copied bytes would take at the
/// bandwidth of a link. Where the CPU computes, there is no such rule: its own time counts.
pub fn textbook(program: &Program, timeline: &Timeline) -> Span {
    if program.computes_on_cpu() {
        return timeline.makespan;
    }
    let kernels = timeline.lane(Lane::Kernels).map(|kernel| kernel.end.since(kernel.start));
    let bytes: u64 = program
        .body
        .iter()
        .filter(|call| call.route().is_some_and(|(_, route)| route != Route::OnDevice))
        .filter_map(|call| {
            let Sides { from, rows, .. } = call.sides();
            let from = from?;
            Some(rows.map_or(from.length.get(), |rows| rows.count(from) * rows.row.get()))
        })
        .sum();
    let copies = Span::from_nanos_f64(bytes as f64 / TEXTBOOK_LINK * 1e9);
    kernels.fold(copies, |sum, kernel| sum + kernel)
}

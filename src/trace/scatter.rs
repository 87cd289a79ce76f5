//! How much a loop's passes differ in the host's own time.

use super::{Pass, Trace};
use crate::stats::{median, quantile};
use crate::units::Span;

/// The fewest passes that say how much they differ.
const FEWEST: usize = 5;
/// The share of passes that the answer is for.
const IN_RANGE: f64 = 0.9;
/// The smallest share that is worth mentioning, and the largest: with all of a time, it might be
/// zero.
const LEAST: f64 = 0.005;
const MOST: f64 = 0.9;

impl Trace {
    /// By which share the host's time between the calls of a pass differs from the middle one at
    /// most, in nine passes of ten. What the recorder took is left out as far as it is known; how
    /// much the rest of it varies is in here.
    pub fn host_scatter(&self, pass: &Pass) -> Option<f64> {
        let of = |turn: &[usize; 2]| self.between_calls(pass.thread, *turn).nanos_f64();
        let times: Vec<f64> = pass.turns.iter().map(of).collect();
        let middle = median(&times).filter(|middle| *middle > 0.0 && times.len() >= FEWEST)?;
        let off: Vec<f64> = times.iter().map(|time| (time / middle - 1.0).abs()).collect();
        quantile(&off, IN_RANGE).map(|off| off.min(MOST)).filter(|off| *off >= LEAST)
    }

    /// The time of a thread between its calls in a pass.
    fn between_calls(&self, thread: usize, [from, to]: [usize; 2]) -> Span {
        let own = self.calls[from..to].iter().filter(|call| call.thread == thread);
        let (mut between, mut last) = (Span::ZERO, None);
        for call in own {
            if let Some(last) = last {
                let gap = call.begin.max(last).since(last);
                between += gap.saturating_sub(call.recorder);
            }
            last = Some(call.end.max(last.unwrap_or(call.end)));
        }
        between
    }
}

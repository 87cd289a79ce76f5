//! How much times scatter from one pass of a loop to the next.

use super::{Pass, Trace};
use crate::stats::{median, quantile};
use crate::units::Span;

/// Fewer times do not say how much they scatter.
const FEWEST: usize = 5;
/// The share of the times that a range contains.
const IN_RANGE: f64 = 0.9;
/// The smallest share that is worth mentioning, and the largest: with all of a time, it might be
/// zero.
const LEAST: f64 = 0.005;
const MOST: f64 = 0.9;

/// By which share of `middle` these times differ from it at most, in nine cases of ten.
pub(super) fn scatter(times: &[f64], middle: f64) -> Option<f64> {
    if times.len() < FEWEST || middle <= 0.0 {
        return None;
    }
    let off: Vec<f64> = times.iter().map(|time| (time / middle - 1.0).abs()).collect();
    quantile(&off, IN_RANGE).map(|off| off.min(MOST)).filter(|off| *off >= LEAST)
}

impl Trace {
    /// By which share the host's own time in a pass differs from the middle one at most, in nine
    /// passes of ten. What the recorder took is left out as far as it is known; how much the rest
    /// of it varies is in here.
    pub fn host_scatter(&self, pass: &Pass) -> Option<f64> {
        // The trace does not say how long the host works behind its last call.
        let turns = pass.turns.iter().filter(|turn| turn[1] < self.calls.len());
        let of = |turn: &[usize; 2]| self.between_calls(pass.thread, *turn).nanos_f64();
        let times: Vec<f64> = turns.map(of).collect();
        scatter(&times, median(&times)?)
    }

    /// The time of a thread between its calls in a pass, and from the last one to the next pass.
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
        let next = self.begin_of(to);
        between + last.map_or(Span::ZERO, |last| next.max(last).since(last))
    }
}

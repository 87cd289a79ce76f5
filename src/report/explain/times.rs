//! Where the time of a pass goes, in words and call by call.

use crate::program::Program;
use crate::report::why::{CallTimes, HeldUpBy, HoldUp, StreamTimes, TimeShares, Why, call_times};
use crate::report::words::{if_known, joined, or_dash, percent};
use crate::timeline::Timeline;
use crate::units::Span;

/// How the time of a pass divides, and what held each stream up.
pub(super) fn where_it_goes(program: &Program, timeline: &Timeline) -> Vec<String> {
    let Why { pass_ns, times, streams } = Why::of(program, timeline);
    let mut sentences = vec![divided(pass_ns, &times)];
    sentences.extend(streams.iter().map(stream));
    sentences
}

fn divided(pass: Span, times: &TimeShares) -> String {
    let TimeShares { compute_ns, calls_ns, h2d_ns, kernels_ns, d2h_ns, p2p_ns, waits_ns } = *times;
    let parts = [
        ("the CPU's work", compute_ns),
        ("the host's calls", calls_ns),
        ("copies to the GPU", h2d_ns),
        ("kernels", kernels_ns),
        ("copies to the host", d2h_ns),
        ("copies between GPUs", p2p_ns),
        ("waits", waits_ns),
    ];
    let there = parts.into_iter().filter(|(_, time)| *time > Span::ZERO);
    let parts = there.map(|(what, time)| {
        let share = time.nanos_f64() / pass.nanos_f64().max(1.0);
        format!("{what} {time} ({})", percent(share))
    });
    let parts = joined(parts, ", ");
    format!("A run takes {pass}, without scatter. Along its critical path: {parts}.")
}

fn stream(StreamTimes { stream, busy_ns, held_up }: &StreamTimes) -> String {
    let why = match held_up.as_slice() {
        [] => ", and nothing holds it up".to_owned(),
        held_up => format!(". {}", joined(held_up.iter().map(hold_up), ". ")),
    };
    format!("Stream `{stream}` is busy for {busy_ns}{why}.")
}

fn hold_up(HoldUp { by, ns, longest_ns, from_ns, call, awaited }: &HoldUp) -> String {
    let longest =
        if longest_ns < ns { format!(" in all, for {longest_ns} at most") } else { String::new() };
    let awaited = |what: &str| if_known(*awaited, |other| format!(", {what} {other}"));
    let (who, while_it) = match by {
        HeldUpBy::Host => ("The host holds", awaited("while the host makes call")),
        HeldUpBy::OtherStream => ("Another stream holds", awaited("which waits for call")),
        HeldUpBy::Engine => ("A busy engine holds", awaited("while the engine runs call")),
        HeldUpBy::HandOver => ("Hand-overs hold", String::new()),
    };
    format!("{who} it up for {ns}{longest} (from {from_ns}, before call {call}{while_it})")
}

/// The columns of a listing with times.
pub(super) struct TimeColumns {
    cells: Vec<[String; 4]>,
    widths: [usize; 4],
}

const HEADS: [&str; 4] = ["begins", "returns", "starts", "done"];

impl TimeColumns {
    pub fn new(program: &Program, timeline: &Timeline) -> Self {
        let cells = call_times(program, timeline).into_iter();
        let cells = cells.map(|CallTimes { begins_ns, returns_ns, starts_ns, done_ns }| {
            [begins_ns, returns_ns, starts_ns, done_ns].map(or_dash)
        });
        let cells: Vec<[String; 4]> = cells.collect();
        let width = |at: usize| {
            let cells = cells.iter().map(|row| row[at].len());
            cells.chain([HEADS[at].len()]).max().unwrap_or_default()
        };
        let widths = [0, 1, 2, 3].map(width);
        Self { cells, widths }
    }

    /// The heads, behind numbers of so many digits.
    pub fn head(&self, digits: usize) -> String {
        format!("{:digits$}{}\n", "", self.line(&HEADS.map(str::to_owned)))
    }

    pub fn row(&self, call: usize) -> String {
        self.line(&self.cells[call])
    }

    fn line(&self, cells: &[String; 4]) -> String {
        let cells = cells.iter().zip(self.widths).map(|(cell, width)| format!("  {cell:>width$}"));
        cells.collect()
    }
}

/// What the columns mean.
pub(super) const LEGEND: &str = "\
Predicted, without scatter, from the start of the pass: the host enters a call when it begins and\n\
goes on when it returns; the device works on it from its start until it is done.\n\n";

//! An answer in a word, and in one row of a table.

use super::words::{bound_by, range};
use crate::findings::{Answer, InBrief};
use crate::units::Span;

/// For a cell of a table.
pub(super) const fn in_a_word(answer: Answer) -> &'static str {
    match answer {
        Answer::Gpu => "GPU",
        Answer::Cpu => "CPU",
        Answer::Both => "both",
        Answer::Plan => "one side",
        Answer::Tie => "tie",
        Answer::NothingToCompare => "-",
    }
}

/// For a sentence.
pub(super) const fn said(answer: Answer) -> &'static str {
    match answer {
        Answer::Gpu => "the GPU",
        Answer::Cpu => "the CPU",
        Answer::Both => "both together",
        Answer::Plan => "a plan, all on one side",
        Answer::Tie => "a tie",
        Answer::NothingToCompare => "nothing to compare",
    }
}

/// A time, or that it is not known.
pub(super) fn in_cell(time: Option<Span>) -> String {
    time.map_or_else(|| "-".to_owned(), |one| one.to_string())
}

/// Verdict, winner, time, range and what limits it, for a row of a table.
pub(super) fn cells(of: &InBrief) -> [String; 5] {
    let range = of.low_ns.zip(of.high_ns).map(|(low, high)| range(low, high));
    [
        match of.answer == of.run_answer {
            true => in_a_word(of.answer).to_owned(),
            false => {
                let [program, pass] = [of.answer, of.run_answer].map(in_a_word);
                format!("{program}; a run: {pass}")
            }
        },
        of.winner.clone().unwrap_or_else(|| "-".to_owned()),
        in_cell(of.predicted_ns),
        range.unwrap_or_else(|| "-".to_owned()),
        bound_by(of.bottleneck),
    ]
}

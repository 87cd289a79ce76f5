//! An answer in a word, and in one row of a table.

use super::words::range;
use crate::findings::{Answer, InBrief};
use std::fmt::Display;

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

/// What stands in a cell, or that it is not known.
pub(super) fn or_dash(known: Option<impl Display>) -> String {
    known.map_or_else(|| "-".to_owned(), |one| one.to_string())
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
        or_dash(of.winner.as_ref()),
        or_dash(of.predicted_ns),
        or_dash(range),
        or_dash(of.bottleneck),
    ]
}

//! How figures are put into words.

use crate::findings::{Answer, InBrief};
use crate::search::{Ranked, Setting, Wins};
use crate::units::Span;
use std::fmt::Display;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `5.71 to 6.11 ms`, with both units where they differ.
pub(super) fn range(low: Span, high: Span) -> String {
    between(&low.to_string(), &high.to_string())
}

/// `1.15 to 1.41 M`: the unit is said once where both share it.
pub(super) fn between(low: &str, high: &str) -> String {
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// `5.92 ms (5.71 to 6.11)`: the unit is said once where all three share it.
pub(super) fn with_range(middle: Span, low: Span, high: Span) -> String {
    let (middle, range) = (middle.to_string(), range(low, high));
    let unit = middle.split_once(' ').map_or("", |(_, unit)| unit);
    let words: Vec<&str> = range.split(' ').collect();
    match words[..] {
        [low, "to", high, same] if same == unit => format!("{middle} ({low} to {high})"),
        _ => format!("{middle} ({range})"),
    }
}

/// What is predicted for a run of a plan: `5.92 ms (5.71 to 6.11)`.
pub(super) fn predicted(ranked: &Ranked) -> String {
    let (low, high) = ranked.forecast.interval();
    with_range(ranked.makespan(), low, high)
}

/// A share as a whole percentage: `97%`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A small share with its first decimal: `1.2%`.
pub(super) fn fine_percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A share with its sign: `+1.2%`.
pub(super) fn signed_percent(share: f64) -> String {
    format!("{:+.1}%", 100.0 * share)
}

/// Two significant digits, more near one: `1.04`, `3.4`, `25`.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        ..1.0995 => format!("{ratio:.2}"),
        ..9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// `1.6 times as long`, or `12% longer` for less than half.
pub(super) fn longer(ratio: f64) -> String {
    match ratio {
        ..1.0995 => format!("{} longer", fine_percent(ratio - 1.0)),
        ..1.495 => format!("{} longer", percent(ratio - 1.0)),
        _ => format!("{} times as long", times(ratio)),
    }
}

/// About two significant digits: `256`, `12 k`, `1.3 M`.
pub(super) fn count(count: u64) -> String {
    let (value, unit) = scaled(count as f64);
    let decimals = usize::from(value < 9.95 && !unit.is_empty());
    format!("{value:.decimals$}{unit}")
}

/// Three significant digits: `256`, `0.25`, `12.1 k`, `1.27 M`.
pub(super) fn fine_count(value: f64) -> String {
    let (value, unit) = scaled(value);
    let digits: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    format!("{digits}{unit}")
}

/// A number in thousands, millions or more, and the unit to write behind it.
fn scaled(value: f64) -> (f64, &'static str) {
    let scales = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    // Rounded to three digits, 999,500 is 1 M.
    let found = scales.into_iter().find(|&(scale, _)| value.abs() >= scale * 0.9995);
    found.map_or((value, ""), |(scale, unit)| (value / scale, unit))
}

/// `once`, `twice`, `3 times`.
pub(super) fn often(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{number} times"),
    }
}

/// `1 run`, `2 runs`, `3 passes`, `4 copies`.
pub(super) fn plural(number: u64, noun: &str) -> String {
    if let (true, Some(stem)) = (number != 1, noun.strip_suffix('y')) {
        return format!("{number} {stem}ies");
    }
    let ending = match (number, noun.ends_with('s') || noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{ending}")
}

/// Names in backquotes.
pub(super) fn quoted(names: impl IntoIterator<Item: Display>) -> Vec<String> {
    names.into_iter().map(|name| format!("`{name}`")).collect()
}

/// Words or figures one after another, with something between them.
pub(super) fn joined(items: impl IntoIterator<Item: Display>, between: &str) -> String {
    items.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(between)
}

/// How many columns of a terminal a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Breaks a line between words into lines of at most so many columns; a word that is longer
/// than a line is broken too. There is always a line, if an empty one.
pub(super) fn wrapped(line: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut reached = 0;
    for (at, word) in line.split(' ').enumerate() {
        let gap = usize::from(at > 0);
        if reached + gap + columns(word) <= most || (at > 0 && word.is_empty()) {
            lines.last_mut().expect("there is one").push_str(&" "[..gap]);
            reached += gap;
        } else if reached > 0 {
            lines.push(String::new());
            reached = 0;
        }
        for letter in word.chars() {
            let wide = letter.width().unwrap_or(0);
            if reached > 0 && reached + wide > most {
                lines.push(String::new());
                reached = 0;
            }
            lines.last_mut().expect("there is one").push(letter);
            reached += wide;
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Breaks the lines of a text that are longer than the width, if one is asked for. What follows
/// a label, such as `Profile  `, or a bullet, stays to the right of it.
pub fn folded(text: &str, width: Option<usize>) -> String {
    let Some(most) = width else { return text.to_owned() };
    let fold = |line: &str| -> String {
        if columns(line) <= most {
            return format!("{line}\n");
        }
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let label = bare.find("  ").filter(|&end| end < LONGEST_LABEL);
        let hang = match label {
            Some(end) => line.len() - bare[end..].trim_start().len(),
            None if bare.starts_with(BULLET) => indent + BULLET.len(),
            None => indent,
        };
        let (head, rest) = line.split_at(hang);
        let pieces = wrapped(rest, most.saturating_sub(columns(head)).max(1));
        let blank = " ".repeat(columns(head));
        let heads = std::iter::once(head).chain(std::iter::repeat(blank.as_str()));
        heads.zip(pieces).map(|(head, piece)| format!("{head}{piece}\n")).collect()
    };
    text.lines().map(fold).collect()
}

pub(super) const BULLET: &str = "- ";

/// Bytes of a label at the start of a line; two spaces further right are no label's end.
const LONGEST_LABEL: usize = 12;

/// The UTC date of a time in seconds since 1970, as `2026-11-20`.
///
/// Howard Hinnant, "chrono-compatible low-level date algorithms" (2013),
/// `civil_from_days`: eras of 400 years that begin on 1 March.
pub fn date(unix_time: u64) -> String {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_IN_ERA: u64 = 146_097;
    let days = unix_time / 86_400 + DAYS_TO_1970;
    let (era, day) = (days / DAYS_IN_ERA, days % DAYS_IN_ERA);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

/// A scenario's name, underlined, and its question.
pub(super) fn heading(scenario: &str, question: &str, width: Option<usize>) -> String {
    let line = "─".repeat(columns(scenario).min(width.unwrap_or(usize::MAX)));
    let end = if question.is_empty() { "" } else { "\n" };
    format!("{scenario}\n{line}\n{question}{end}")
}

/// Where the GPU wins, in words: `about 1.27 M (1.15 to 1.41 M) and more`. `None`: everywhere.
pub(super) fn stretch(wins: &Wins, say: &dyn Fn(f64) -> String) -> Option<String> {
    let end = |at: Setting, range: Option<[Option<Setting>; 2]>| {
        let at = say(at.0);
        let range = range.map(|ends| ends.map(|end| end.map(|end| say(end.0))));
        match range {
            None | Some([None, None]) => at,
            Some([Some(low), Some(high)]) if low == at && high == at => at,
            Some([Some(low), Some(high)]) => format!("{at} ({})", between(&low, &high)),
            Some([Some(low), None]) => format!("{at} (at least {low})"),
            Some([None, Some(high)]) => format!("{at} (at most {high})"),
        }
    };
    let from = wins.from.map(|from| end(from, wins.from_range));
    let until = wins.until.map(|until| end(until, wins.until_range));
    match (from, until) {
        (None, None) => None,
        (Some(from), None) => Some(format!("above {from}")),
        (None, Some(until)) => Some(format!("below {until}")),
        (Some(from), Some(until)) => Some(format!("from {from} to {until}")),
    }
}

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
        Answer::Plan => "plans on one side only",
        Answer::Tie => "a tie",
        Answer::NothingToCompare => "nothing to compare",
    }
}

/// What stands in a cell, or that it is not known.
pub(super) fn or_dash(known: Option<impl Display>) -> String {
    known.map_or_else(|| "-".to_owned(), |one| one.to_string())
}

/// A time or a share, or that it is not known, in a word.
pub(super) fn or_unknown(known: Option<impl Display>) -> String {
    known.map_or_else(|| "unknown".to_owned(), |one| one.to_string())
}

/// Words that are there if something is known, and nothing else.
pub(super) fn if_known<T>(known: Option<T>, words: impl FnOnce(T) -> String) -> String {
    known.map_or_else(String::new, words)
}

/// Verdict, winner, time, range and what limits it, for a row of a table.
pub(super) fn cells(of: &InBrief) -> [String; 5] {
    let range = of.low_ns.zip(of.high_ns).map(|(low, high)| range(low, high));
    [
        match [of.answer, of.run_answer].map(in_a_word) {
            [program, run] if program == run => program.to_owned(),
            [program, run] => format!("{program}; one run: {run}"),
        },
        or_dash(of.winner.as_ref()),
        or_dash(of.predicted_ns),
        or_dash(range),
        or_dash(of.bottleneck),
    ]
}

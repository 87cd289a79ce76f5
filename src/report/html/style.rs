//! What all parts of the page share: names in sentences, answers, tables to fold out.

use crate::findings::Answer;
use crate::report::table::{Column, Table};
use maud::{Markup, html};

/// A sentence; what stands in backquotes is set as code.
pub(super) fn rich(text: &str) -> Markup {
    html! {
        @for (number, piece) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (piece) } } @else { (tied(piece)) }
        }
    }
}

/// Text in which no line ends between a number and its unit.
fn tied(text: &str) -> String {
    const UNITS: [&str; 14] =
        ["ns", "us", "ms", "s", "min", "h", "k", "M", "B", "KiB", "MiB", "GiB", "GB/s", "times"];
    let mut tied = String::new();
    for (at, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')', '?']);
        let is_unit = UNITS.contains(&unit) && tied.ends_with(|last: char| last.is_ascii_digit());
        if at > 0 {
            tied.push(if is_unit { '\u{a0}' } else { ' ' });
        }
        tied += word;
    }
    tied
}

/// The answer, short enough for a table.
pub(super) fn chip(answer: Answer) -> Markup {
    let (kind, text) = match answer {
        Answer::Gpu => ("gpu", "GPU"),
        Answer::Cpu => ("cpu", "CPU"),
        Answer::Both => ("both", "CPU and GPU"),
        Answer::Tie => ("tie", "tie"),
        Answer::Plan => ("tie", "one side only"),
        Answer::NothingToCompare => ("tie", "one plan"),
    };
    html! { span class={ "chip " (kind) } { (text) } }
}

/// A table that may be wider than the window: a script says so where it is.
pub(super) fn scrolled(table: &Markup) -> Markup {
    html! { div.scroll { (table) } }
}

/// A table that is shown when somebody asks for it.
pub(super) fn folded_table<R>(summary: &str, table: &Table<'_, R>) -> Markup {
    let class = |column: &Column| if column.is_words { "name" } else { "number" };
    html! {
        details {
            summary { (summary) }
            (scrolled(&html! { table {
                thead { tr {
                    @for column in &table.columns {
                        th class=(class(column)) { (column.title) }
                    }
                } }
                tbody { @for row in &table.rows {
                    tr { @for (column, cell) in table.columns.iter().zip(row) {
                        td class=(class(column)) { (cell) }
                    } }
                } }
            } }))
        }
    }
}

/// A share of a length in CSS: `12.34%`.
pub(super) fn share(part: f64) -> String {
    format!("{:.2}%", 100.0 * part.clamp(0.0, 1.0))
}

//! What all parts of the page share: names in sentences, answers, tables to fold out.

use crate::findings::Answer;
use maud::{Markup, html};

/// A sentence; what stands in backquotes is set as code.
pub(super) fn rich(text: &str) -> Markup {
    html! {
        @for (number, piece) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
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

/// Rows that are shown when somebody asks for them. Columns from `numbers` on are aligned right, as
/// is that of places, `#`.
pub(super) fn folded_table(
    summary: &str,
    header: &[&str],
    rows: &[Vec<String>],
    numbers: usize,
) -> Markup {
    let is_number = |column: usize| column >= numbers || header[column] == "#";
    let class = |column: usize| if is_number(column) { "number" } else { "name" };
    html! {
        details {
            summary { (summary) }
            (scrolled(&html! { table {
                thead { tr {
                    @for (at, title) in header.iter().enumerate() {
                        th class=(class(at)) { (title) }
                    }
                } }
                tbody { @for row in rows {
                    tr { @for (at, cell) in row.iter().enumerate() {
                        td class=(class(at)) { (cell) }
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

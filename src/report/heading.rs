//! What a report about a scenario begins with.

use super::words::columns;

/// A scenario's name, underlined, and its question.
pub(super) fn heading(scenario: &str, question: &str, width: Option<usize>) -> String {
    let line = "─".repeat(columns(scenario).min(width.unwrap_or(usize::MAX)));
    let question = if question.is_empty() { String::new() } else { format!("{question}\n") };
    format!("{scenario}\n{line}\n{question}")
}

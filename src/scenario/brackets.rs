//! Which tables of a scenario stand in one pair of brackets, and which in two. TOML and serde
//! would complain of a mix-up in words that do not say what to write.

use crate::files::Fault;
use std::ops::Range;

/// Every table, and whether there may be several.
const TABLES: [(&str, bool); 5] =
    [("buffer", true), ("task", true), ("limits", false), ("plans", false), ("process", false)];

/// What to write for a table.
pub(super) fn fix(key: &str, repeated: bool) -> String {
    if repeated {
        format!("write `[[{key}]]` above each {key}")
    } else {
        format!("write a single `[{key}]`")
    }
}

/// Looks for the reason why a file is not TOML: the same table in one pair of brackets and in two,
/// or a single table twice.
pub(super) fn mixed_up(text: &str) -> Option<Fault> {
    let headings = headings(text);
    TABLES.into_iter().find_map(|(key, repeated)| {
        let of = |brackets: usize| {
            let of_key = headings.iter().filter(move |one| one.key == key);
            of_key.filter(move |one| one.brackets == brackets)
        };
        let wrong = |heading: &Heading<'_>, message: String| {
            let label = "these brackets";
            Fault::new(message, heading.span.clone(), label, fix(key, repeated))
        };
        if repeated {
            let single = of(1).next()?;
            return Some(wrong(single, format!("`[{key}]` must be a list of tables")));
        }
        if let Some(double) = of(2).next() {
            return Some(wrong(double, format!("`[[{key}]]` must be a single table")));
        }
        let (first, again) = (of(1).next()?, of(1).nth(1)?);
        Some(
            Fault::new(
                format!("`[{key}]` appears twice"),
                again.span.clone(),
                "second table",
                format!("put all of its keys below one `[{key}]`"),
            )
            .and(first.span.clone(), "first table"),
        )
    })
}

/// A line that begins a table.
struct Heading<'t> {
    key: &'t str,
    brackets: usize,
    span: Range<usize>,
}

fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let heading = line.split('#').next().unwrap_or_default();
        let indent = heading.len() - heading.trim_start().len();
        let heading = heading.trim();
        let brackets = heading.len() - heading.trim_start_matches('[').len();
        let key = heading.trim_start_matches('[').strip_suffix(&"]".repeat(brackets));
        if let Some(key) = key.filter(|_| brackets > 0) {
            let at = start + indent;
            found.push(Heading { key: key.trim(), brackets, span: at..at + heading.len() });
        }
        start += line.len();
    }
    found
}

//! What the words on the page mean.

use super::style::rich;
use maud::{Markup, html};

/// The glossary of the documentation: a table with a word and its meaning in each row.
const GLOSSARY: &str = include_str!("../../../docs/glossary.md");

/// Terms of the glossary that the page uses.
const USED: &str = "batch, limited by, break-even, call, chunk, copy engine, critical path, \
                    D2H, draw, event, family, graph, H2D, hand-over, host thread, kernel, \
                    launch, pageable memory, run, pinned memory, plan, range, set-up, stream, \
                    tie, trial";

pub(super) fn section() -> Markup {
    let meanings = GLOSSARY.lines().filter_map(|line| {
        let (word, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        USED.split(", ").any(|used| used == word).then_some((word, meaning))
    });
    html! {
        section.scenario id="words" aria-labelledby="words-name" {
            h2 id="words-name" { "What the words mean" }
            dl.words {
                @for (word, meaning) in meanings {
                    // Emphasis is told by words alone.
                    div { dt { (word) } dd { (rich(&meaning.replace('*', ""))) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_has_every_word() {
        for word in USED.split(", ") {
            assert!(GLOSSARY.contains(&format!("\n| {word} | ")), "no `{word}`");
        }
    }
}

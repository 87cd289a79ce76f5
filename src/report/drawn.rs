//! A failure for people: what is wrong, the lines of the file with a marker under each place, and
//! the fix.
//!
//! It looks like a compiler's message. Nothing is wrapped, so that it can be searched and copied;
//! of a very long line, only the surroundings of the place are shown.

use miette::{Diagnostic, LabeledSpan};
use std::fmt::{self, Display, Formatter};
use unicode_width::UnicodeWidthChar;

/// A failure, ready to be displayed.
pub struct Drawn<'e> {
    error: &'e dyn Diagnostic,
    is_coloured: bool,
    /// What is done to words before they are shown. What is shown of a file is harmless already.
    clean: fn(&str) -> String,
}

impl<'e> Drawn<'e> {
    /// With the codes that give colours to a terminal, or without. `clean` makes words do nothing
    /// to a terminal, whatever names and words of files are in them.
    pub fn new(error: &'e dyn Diagnostic, is_coloured: bool, clean: fn(&str) -> String) -> Self {
        Self { error, is_coloured, clean }
    }

    /// Text between the codes of a terminal that make it bold and coloured.
    fn paint(&self, colour: &str, text: &str) -> String {
        if self.is_coloured { format!("\x1b[1;{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn excerpts(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (Some(source), Some(labels)) = (self.error.source_code(), self.error.labels()) else {
            return Ok(());
        };
        // A span of no bytes with all lines after it: the whole text.
        let Ok(whole) = source.read_span(&(0, 0).into(), 0, usize::MAX) else { return Ok(()) };
        let Ok(text) = std::str::from_utf8(whole.data()) else { return Ok(()) };
        let mut marks: Vec<Mark> =
            labels.enumerate().map(|(index, label)| Mark::new(text, &label, index == 0)).collect();
        marks.sort_by_key(|mark| (mark.line, mark.column));
        let digits = marks.last().map_or(0, |mark| mark.line.to_string().len());
        let (margin, bar) = (" ".repeat(digits), self.paint(BLUE, "|"));
        writeln!(f, "{margin} {bar}")?;
        let mut last = None;
        for mark in &marks {
            if last.is_some_and(|last: &Mark| last.line + 1 < mark.line) {
                writeln!(f, "{}", self.paint(BLUE, "..."))?;
            }
            let is_shown = |last: &Mark| (last.line, &last.text) == (mark.line, &mark.text);
            if !last.is_some_and(is_shown) {
                let number = self.paint(BLUE, &format!("{:>digits$}", mark.line));
                writeln!(f, "{number} {bar} {}", mark.text)?;
            }
            let sign = if mark.is_first { self.paint(RED, &mark.sign()) } else { mark.sign() };
            writeln!(f, "{margin} {bar} {}{sign} {}", mark.indent(), mark.label)?;
            last = Some(mark);
        }
        Ok(())
    }
}

const RED: &str = "31";
const BLUE: &str = "34";
const CYAN: &str = "36";

impl Display for Drawn<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let error = (self.clean)(&self.error.to_string());
        writeln!(f, "{}: {error}", self.paint(RED, "error"))?;
        self.excerpts(f)?;
        if let Some(help) = self.error.help() {
            let help = (self.clean)(&help.to_string()).replace('\n', "\n        ");
            writeln!(f, "  {}: {help}", self.paint(CYAN, "help"))?;
        }
        Ok(())
    }
}

/// A line of more characters is cut.
const LONGEST_LINE: usize = 160;
/// Characters of a cut line that are shown: before the place, and in all.
const SHOWN_BEFORE: usize = 40;
const SHOWN: usize = 120;
const CUT: &str = "...";

/// A place in a line, with what to say about it.
struct Mark {
    /// Counted from one.
    line: usize,
    /// The line, or what is left of it around the place.
    text: String,
    /// In bytes of the text, from zero.
    column: usize,
    bytes: usize,
    label: String,
    /// Whether it is where the mistake is, and not what that disagrees with.
    is_first: bool,
}

impl Mark {
    fn new(text: &str, label: &LabeledSpan, is_first: bool) -> Self {
        let boundary = |index: usize| {
            (0..=index.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
        };
        let at = boundary(label.offset());
        let end = boundary(label.offset() + label.len()).max(at);
        let start = text[..at].rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
        let line = text[start..].split(['\n', '\r']).next().unwrap_or_default();
        let before = &text[..start];
        let breaks = before.matches(['\n', '\r']).count() - before.matches("\r\n").count();
        let whole = Self {
            line: breaks + 1,
            text: line.to_owned(),
            column: at - start,
            bytes: end.min(start + line.len()) - at,
            label: label.label().unwrap_or_default().to_owned(),
            is_first,
        };
        if line.chars().count() > LONGEST_LINE { whole.cut() } else { whole }
    }

    fn cut(self) -> Self {
        let (before, behind) = self.text.split_at(self.column);
        let from = before.char_indices().rev().nth(SHOWN_BEFORE - 1).map_or(0, |(at, _)| at);
        let rest = SHOWN - before[from..].chars().count();
        let to = behind.char_indices().nth(rest).map_or(behind.len(), |(at, _)| at);
        let ahead = if from > 0 { CUT } else { "" };
        let tail = if to < behind.len() { CUT } else { "" };
        Self {
            text: format!("{ahead}{}{}{tail}", &before[from..], &behind[..to]),
            column: ahead.len() + self.column - from,
            bytes: self.bytes.min(to),
            ..self
        }
    }

    /// What is as wide as the line up to the place.
    fn indent(&self) -> String {
        let blank = |c: char| if c == '\t' { "\t".to_owned() } else { " ".repeat(width(c)) };
        self.text[..self.column].chars().map(blank).collect()
    }

    fn sign(&self) -> String {
        let place = &self.text[self.column..][..self.bytes];
        let sign = if self.is_first { "^" } else { "-" };
        sign.repeat(place.chars().map(width).sum::<usize>().max(1))
    }
}

fn width(character: char) -> usize {
    character.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use miette::{MietteDiagnostic, NamedSource, Report};

    fn drawn(text: &str, labels: &[(&str, &str)]) -> String {
        let place = |(part, label): &(&str, &str)| {
            let at = text.rfind(part).expect("the part is in the text");
            LabeledSpan::new(Some((*label).to_owned()), at, part.len())
        };
        let diagnostic = MietteDiagnostic::new("it is wrong")
            .with_help("do this\nor that")
            .with_labels(labels.iter().map(place));
        let report =
            Report::new(diagnostic).with_source_code(NamedSource::new("a", text.to_owned()));
        Drawn::new(report.as_ref(), false, str::to_owned).to_string()
    }

    #[test]
    fn markers_stand_under_their_places_in_the_order_of_the_file() {
        let text = "a = 1\n\n日本 = 2\r\n\tb = \"é\" # c\n";
        let shown = drawn(text, &[("\"é\"", "here"), ("a", "not as there"), ("= 2", "nor there")]);
        let expected = "\
error: it is wrong
  |
1 | a = 1
  | - not as there
...
3 | 日本 = 2
  |      --- nor there
4 | \tb = \"é\" # c
  | \t    ^^^ here
  help: do this
        or that
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn of_a_long_line_the_surroundings_of_each_place_are_shown() {
        let text = format!("x = [{}wrong, {}]", "1, ".repeat(40_000), "2, ".repeat(40_000));
        let expected = format!(
            "\
error: it is wrong
  |
1 | {x}...
  | - of this
1 | ...{ones}wrong, {twos}...
  |    {blank}^^^^^ here
  help: do this
        or that
",
            x = &text[..SHOWN],
            ones = &"1, ".repeat(14)[2..],
            twos = &"2, ".repeat(25)[..SHOWN - SHOWN_BEFORE - "wrong, ".len()],
            blank = " ".repeat(SHOWN_BEFORE),
        );
        assert_eq!(drawn(&text, &[("wrong", "here"), ("x", "of this")]), expected);
        // All of it is wrong, and nothing has ends but letters.
        let text = "é".repeat(1_000);
        let shown = drawn(&text, &[(&text, "here")]);
        assert!(shown.contains(&format!("1 | {}...\n", "é".repeat(SHOWN))), "{shown}");
        assert!(shown.contains(&format!("  | {} here\n", "^".repeat(SHOWN))), "{shown}");
    }

    #[test]
    fn a_place_without_bytes_has_a_marker_and_old_line_ends_count() {
        let shown = drawn("x\ry", &[("y", "this")]);
        assert!(shown.contains("2 | y\n  | ^ this\n"), "{shown}");
        let shown = drawn("", &[("", "this")]);
        assert!(shown.contains("1 | \n  | ^ this\n"), "{shown}");
    }
}

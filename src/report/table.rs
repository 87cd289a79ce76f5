//! Tables for terminals and code blocks.
//!
//! A table that is given a width never exceeds it as long as its lasting columns fit. It gives
//! way in this order: columns of [`Keep::IfRoom`] go, lowest number first; then words are
//! folded into several lines; then columns of [`Keep::IfFolded`] go, lowest number first.

use super::words::{columns, wrapped};
use std::collections::BTreeSet;
use std::fmt::Display;

/// When a column is left out of a table that is too wide, in the order in which columns go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Keep {
    /// It goes before any word is folded.
    IfRoom(u8),
    /// It goes only if folding words is not enough.
    IfFolded(u8),
    Always,
}

/// How one column is titled, aligned and given up.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub title: String,
    /// Words are aligned to the left and may be folded; numbers are neither.
    pub is_words: bool,
    keep: Keep,
}

impl Column {
    pub fn words(title: &str) -> Self {
        Self { title: title.to_owned(), is_words: true, keep: Keep::Always }
    }

    pub fn number(title: &str) -> Self {
        Self { is_words: false, ..Self::words(title) }
    }

    /// Left out where there is no room; lower numbers go first.
    pub fn if_room(self, order: u8) -> Self {
        Self { keep: Keep::IfRoom(order), ..self }
    }

    /// Left out where there is no room even with folded words; lower numbers go first.
    pub fn if_folded(self, order: u8) -> Self {
        Self { keep: Keep::IfFolded(order), ..self }
    }
}

/// A table that is put together column by column.
pub(super) struct Table<'r, R> {
    of: Vec<&'r R>,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<String>>,
}

impl<'r, R> Table<'r, R> {
    /// A row for each of these, without columns yet.
    pub fn of(rows: impl IntoIterator<Item = &'r R>) -> Self {
        let of: Vec<&R> = rows.into_iter().collect();
        let rows = vec![Vec::new(); of.len()];
        Self { of, columns: Vec::new(), rows }
    }

    /// Adds a column, with what it says of each row.
    pub fn with<C: Display>(mut self, column: Column, cell: impl Fn(&'r R) -> C) -> Self {
        self.columns.push(column);
        for (row, of) in self.rows.iter_mut().zip(&self.of) {
            row.push(cell(of).to_string());
        }
        self
    }

    /// The table for a terminal or a code block, in at most `width` columns if a number is given:
    /// without borders, its header underlined, so that it reads the same in a terminal, a log and a
    /// code block. Without a width it is as wide as its contents.
    pub fn text(&self, width: Option<usize>) -> String {
        let (shown, widths) = layout(&self.columns, &self.rows, width.unwrap_or(usize::MAX));
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let line = |cells: &[String]| -> String {
            let folded: Vec<Vec<String>> =
                shown.iter().zip(&widths).map(|(&at, &wide)| wrapped(&cells[at], wide)).collect();
            let height = folded.iter().map(Vec::len).max().unwrap_or(0);
            let mut text = String::new();
            for row in 0..height {
                let mut line = String::new();
                for ((&at, &wide), cell) in shown.iter().zip(&widths).zip(&folded) {
                    let piece = cell.get(row).map_or("", String::as_str);
                    let blank = " ".repeat(wide.saturating_sub(columns(piece)));
                    let is_first = line.is_empty() && at == shown[0];
                    line += &" ".repeat(if is_first { 0 } else { GAP });
                    let is_words = self.columns[at].is_words;
                    line += &if is_words { piece.to_owned() + &blank } else { blank + piece };
                }
                // Padding at the end of a line is seen by nobody but diff tools.
                text += line.trim_end();
                text.push('\n');
            }
            text
        };
        let under = "─".repeat(total(&widths));
        let body: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{under}\n{body}", line(&titles))
    }

    /// The table in Markdown, with all its columns.
    pub fn markdown(&self) -> String {
        // A name may hold what Markdown takes for the end of a cell.
        let escaped = |cell: &String| cell.replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let titles = line(self.columns.iter().map(|column| column.title.clone()).collect());
        let side = |column: &Column| if column.is_words { ":--" } else { "--:" }.to_owned();
        let sides = line(self.columns.iter().map(side).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(escaped).collect()));
        titles + &sides + &rows.collect::<String>()
    }
}

/// Between two columns.
const GAP: usize = 2;
/// Words are not folded into columns narrower than this, unless they are all shorter.
const NARROWEST: usize = 16;

/// Which columns are shown, and how wide each of them is.
fn layout(of: &[Column], rows: &[Vec<String>], most: usize) -> (Vec<usize>, Vec<usize>) {
    let cells = |at: usize| rows.iter().map(move |row| &row[at]).chain([&of[at].title]);
    let natural = |at: usize| cells(at).map(|cell| columns(cell)).max().unwrap_or(0);
    let narrowest = |at: usize| {
        let words = cells(at).flat_map(|cell| cell.split(' ')).map(columns).max().unwrap_or(0);
        if of[at].is_words { words.min(NARROWEST) } else { natural(at) }
    };
    let fits = |shown: &[usize], width: &dyn Fn(usize) -> usize| {
        total(&shown.iter().map(|&at| width(at)).collect::<Vec<_>>()) <= most
    };
    let mut shown: Vec<usize> = (0..of.len()).collect();
    for keep in of.iter().map(|column| column.keep).collect::<BTreeSet<Keep>>() {
        let is_kept = match keep {
            Keep::IfRoom(_) => fits(&shown, &natural),
            Keep::IfFolded(_) => fits(&shown, &narrowest),
            Keep::Always => true,
        };
        shown.retain(|&at| is_kept || of[at].keep != keep);
    }
    let mut widths: Vec<usize> = shown.iter().map(|&at| natural(at)).collect();
    while total(&widths) > most {
        // The widest column has the most room to give.
        let foldable = (0..shown.len()).filter(|&at| widths[at] > narrowest(shown[at]));
        let Some(widest) = foldable.max_by_key(|&at| widths[at]) else { break };
        widths[widest] -= 1;
    }
    (shown, widths)
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

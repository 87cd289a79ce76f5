//! Tables for terminals and code blocks.

use comfy_table::{Cell, CellAlignment, Table};

/// A table without borders, its header underlined: it reads the same in a
/// terminal, a log and a README. Columns in `left` hold words, the others numbers.
pub(super) fn table(header: &[&str], left: &[usize], rows: Vec<Vec<String>>) -> String {
    /// In the order of comfy-table's components, only the line under the header.
    const UNDERLINED: &str = "     ──            ";
    let mut table = Table::new();
    table.load_preset(UNDERLINED);
    let alignment = |column: usize| {
        if left.contains(&column) { CellAlignment::Left } else { CellAlignment::Right }
    };
    let aligned = |cells: Vec<String>| -> Vec<Cell> {
        let cells = cells.into_iter().enumerate();
        cells.map(|(at, text)| Cell::new(text).set_alignment(alignment(at))).collect()
    };
    table.set_header(aligned(header.iter().map(|&title| title.to_owned()).collect()));
    table.add_rows(rows.into_iter().map(aligned));
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    // Padding at the end of a line is seen by nobody but diff tools.
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

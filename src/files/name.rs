//! Names that may become part of a file's name.

use super::text::{code_point, invisible};

/// In characters: names appear in tables, plots and file names.
pub const LONGEST_NAME: usize = 64;

/// Why no scenario, buffer or task may have this name, as the end of a sentence that begins with
/// it; `None` if they may.
pub fn name_problem(text: &str) -> Option<String> {
    if let Some(character) = invisible(text) {
        let code = code_point(character);
        return Some(format!("contains the invisible character {code}"));
    }
    if text.is_empty() {
        return Some("is empty".to_owned());
    }
    if text.trim().is_empty() {
        return Some(format!("consists of spaces, {}", code_point(' ')));
    }
    if text.contains(['/', '\\']) || text.starts_with('.') {
        return Some("is a path".to_owned());
    }
    let is_long = text.chars().count() > LONGEST_NAME;
    is_long.then(|| format!("has more than {LONGEST_NAME} characters"))
}

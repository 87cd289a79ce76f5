//! The text of files: how long it may be, where its lines end, what of it can be seen; and names
//! that may become part of a file's name.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file of at most `most` bytes, each of its lines ending with a line feed. The
/// limit keeps a path such as `/dev/zero` from filling all memory.
///
/// # Errors
/// If it cannot be read, is longer, or is not UTF-8.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it is larger than {} MiB, the limit for such files", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(with_line_feeds(&text).into_owned())
}

/// The text with a line feed in place of each carriage return that ends a line by itself. Places
/// stay where they are: both are one byte.
pub fn with_line_feeds(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let is_alone = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    let alone: Vec<usize> = (0..bytes.len()).filter(|&at| is_alone(at)).collect();
    if alone.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = bytes.to_vec();
    alone.into_iter().for_each(|at| bytes[at] = b'\n');
    Cow::Owned(String::from_utf8(bytes).expect("both are characters of one byte"))
}

/// A place in a text, as editors count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Counted from one.
    pub line: usize,
    /// In characters, counted from one.
    pub column: usize,
}

impl Place {
    /// Where the byte at `offset` is; the end of the text if that is further on.
    pub fn at(text: &str, offset: usize) -> Self {
        let end = (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        let before = &text[..end.unwrap_or(0)];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }

    /// Where an error of serde_json is, which counts columns in bytes.
    pub fn of_json(text: &str, error: &serde_json::Error) -> Self {
        let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let start: usize = lines.map(str::len).sum();
        Self::at(text, start + error.column().saturating_sub(1))
    }
}

/// What an error of serde_json says, without the place that it ends with.
pub fn json_problem(error: &serde_json::Error) -> String {
    let shown = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    shown.strip_suffix(&place).unwrap_or(&shown).to_owned()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a file is refused whose end mark is missing.
pub fn ends_early(mark: &str) -> String {
    format!(
        "the file is incomplete; its last line should be `{mark}`. Part of it is missing, or an \
         older version of hallway wrote it"
    )
}

/// The first character that cannot be seen in a name: one that is [`unprintable`], or a blank that
/// is no plain space.
pub fn invisible(text: &str) -> Option<char> {
    // The blank Braille pattern and Hangul fillers are letters to Unicode, and look like spaces.
    let is_blank = |c: char| {
        c.is_whitespace()
            || matches!(c, '\u{2800}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
    };
    text.chars().find(|&c| is_unprintable(c) || (is_blank(c) && c != ' '))
}

/// The first character that is no sign but does something to a terminal or to the text around it,
/// or that XML does not take: a control character, a joiner, a mark of direction and the like.
pub fn unprintable(text: &str) -> Option<char> {
    text.chars().find(|&character| is_unprintable(character))
}

/// How Unicode names a character, such as `U+200B`.
pub fn code_point(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

/// Whether a character shows nothing, by Unicode 16: categories Cc, Cf, Zl and Zp,
/// `Default_Ignorable_Code_Point` but Hangul fillers, and code points that are no characters.
fn is_unprintable(character: char) -> bool {
    let is_formatting = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}'
        | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    let is_none = matches!(u32::from(character) & 0xffff, 0xfffe | 0xffff)
        || ('\u{fdd0}'..='\u{fdef}').contains(&character);
    character.is_control() || is_formatting || is_none
}

/// The text with each control character, and each that turns the direction of what follows,
/// replaced by a sign of as many bytes, so that showing it does nothing to a terminal and places
/// stay where they are. Line ends and tabs remain.
pub fn without_controls(text: &str) -> String {
    let turns = |character: char| {
        let marks = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&character);
        let ranges = ['\u{2028}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
        marks || ranges.iter().any(|range| range.contains(&character))
    };
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => character,
        _ if !character.is_control() && !turns(character) => character,
        _ => match character.len_utf8() {
            1 => '?',
            2 => '\u{bf}',
            _ => '\u{fffd}',
        },
    };
    text.chars().map(shown).collect()
}

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

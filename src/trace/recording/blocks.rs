//! A recording as blocks, and a block as numbers.

use super::about::RecordingError;
use crate::record::format::{HEADER, LONGEST_BLOCK, MAGIC, VERSION, block_checksum};

/// A block whose checksum is right.
pub struct Block<'b> {
    pub kind: u8,
    pub payload: Numbers<'b>,
}

/// Splits the beginning off, which says what the file is.
pub fn after_magic(bytes: &[u8]) -> Result<&[u8], RecordingError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(RecordingError::NotARecording)?;
    if let Some(rest) = rest.strip_prefix(VERSION) {
        return Ok(rest);
    }
    let version = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_number = !version.is_empty() && version.iter().all(u8::is_ascii_digit);
    if !is_number || version.len() > 9 {
        return Err(RecordingError::NotARecording);
    }
    // A file that ends within its version is as good as empty.
    if version.len() == rest.len() {
        return Err(RecordingError::NotARecording);
    }
    Err(RecordingError::Version(String::from_utf8_lossy(version).into_owned()))
}

/// The next block, which is split off. `None` if the bytes end before it does.
pub fn next_block<'b>(
    rest: &mut &'b [u8],
    whole: usize,
) -> Result<Option<Block<'b>>, RecordingError> {
    let at = whole - rest.len();
    let Some((header, after)) = rest.split_at_checked(HEADER) else { return Ok(None) };
    let word = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&header[at..at + 4]);
        u32::from_le_bytes(word)
    };
    let (kind, length, checksum) = (header[0], word(1) as usize, word(5));
    if length > LONGEST_BLOCK {
        return Err(RecordingError::Damaged(at));
    }
    let Some((payload, after)) = after.split_at_checked(length) else { return Ok(None) };
    if block_checksum(kind, payload) != checksum {
        return Err(RecordingError::Damaged(at));
    }
    *rest = after;
    Ok(Some(Block { kind, payload: Numbers { rest: payload, at } }))
}

/// The numbers of a block, one after another.
pub struct Numbers<'b> {
    rest: &'b [u8],
    /// Where the block begins in the file.
    at: usize,
}

impl<'b> Numbers<'b> {
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// What to say if a number makes no sense.
    pub const fn malformed(&self) -> RecordingError {
        RecordingError::Malformed(self.at)
    }

    pub fn byte(&mut self) -> Result<u8, RecordingError> {
        let (first, rest) = self.rest.split_first().ok_or(self.malformed())?;
        self.rest = rest;
        Ok(*first)
    }

    pub fn number(&mut self) -> Result<u64, RecordingError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.malformed())
    }

    pub fn small<N: TryFrom<u64>>(&mut self) -> Result<N, RecordingError> {
        let number = self.number()?;
        N::try_from(number).map_err(|_| self.malformed())
    }

    /// A number that was written as a step from this one.
    pub fn step(&mut self, from: u64) -> Result<u64, RecordingError> {
        let folded = self.number()?;
        let step = (folded >> 1) ^ (folded & 1).wrapping_neg();
        Ok(from.wrapping_add(step))
    }

    pub fn text(&mut self) -> Result<String, RecordingError> {
        let length: usize = self.small()?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(self.malformed())?;
        self.rest = rest;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], RecordingError> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(self.malformed())?;
        self.rest = rest;
        Ok(*first)
    }

    pub fn all(self) -> &'b [u8] {
        self.rest
    }
}

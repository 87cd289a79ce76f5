//! Copies of pageable memory.

use crate::machine::Direction;
use crate::units::Bytes;
use std::fmt;

pub(super) fn staged(
    f: &mut fmt::Formatter<'_>,
    (direction, bytes): (Direction, Bytes),
    footprint: Bytes,
    complete: bool,
) -> fmt::Result {
    let end = if complete { "" } else { ", until it returns" };
    let around = if footprint > bytes { format!(" of {footprint}") } else { String::new() };
    write!(f, "{direction} copy of {bytes}{around}, pageable{end}")
}

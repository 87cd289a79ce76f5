//! Finds plain programs, to which most rules do not apply.
//!
//! A plain program has copies and kernels of one device, ordered only by their streams and by
//! events recorded behind operations. No stream holds back another or shares its channel, at most
//! one stream has kernels, no engine polls, no copy slows another, and changing streams is free.
//! Asking about each of these at every operation takes a good part of the engine's time. So the
//! engine is compiled a second time, without these questions (`PLAIN`), for plain programs. It
//! still asks whether hand-overs take time.

use super::program::{CompiledProgram, Sort};

/// Whether a program is plain. Call it when everything else about the program is known.
pub(super) fn is_plain(program: &CompiledProgram<'_>) -> bool {
    let list = &program.entries.list;
    program.devices() == 1
        && program.barrier.is_empty()
        && program.looks.is_none()
        && program.shares.is_empty()
        && program.places.is_empty()
        && program.launching.len() <= 1
        && program.switch.as_flattened().iter().all(|&switch| switch <= 0.0)
        && !program.classes.iter().any(|class| class.may_go_inline)
        && list.iter().all(|entry| !matches!(entry.sort, Sort::Record | Sort::Wait))
}

//! Programs that most rules say nothing about.
//!
//! Copies and kernels of one device, which only stream order and events behind operations
//! tie together: no stream holds back others or shares its channel, kernels of one stream
//! alone may wait, and no engine goes by without looking, slows another or pays for changing
//! streams. To ask about each of these at every operation takes a good part of the engine's
//! time, so the engine is compiled a second time for such programs, without the questions
//! (`PLAIN`). Whether hand-overs take time is still asked.

use super::program::{Program, Sort};

/// Whether a program is plain. To be asked when everything else about it is known.
pub(super) fn is_plain(program: &Program<'_>) -> bool {
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

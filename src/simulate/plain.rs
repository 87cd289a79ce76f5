//! Programs that most rules say nothing about.
//!
//! Copies and kernels of one device that nothing but stream order and events ties
//! together: no barrier, no graph's inline copies, no engine that looks, none that slows
//! another, and as many channels as it takes. The engine is compiled a second time for
//! them, without what they cannot need: to ask at each operation whether there is a
//! barrier takes as long as the operation itself.

use super::program::{Program, Sort};

/// Whether a program is plain.
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

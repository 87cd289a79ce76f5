//! How much room a result has, and whether the user interrupts.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::{IsTerminal, stdout};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terminal_size::{Width, terminal_size_of};

/// Fewer columns than this hold no table.
pub(super) const NARROWEST: u16 = 40;

/// Columns of a text that goes to no terminal.
pub(super) const USUAL_WIDTH: usize = 80;

/// How many columns a result may take: as many as were asked for, or as `COLUMNS` says, or as
/// the terminal has that it goes to. Elsewhere there is no limit: a file has no edge.
pub(super) fn width(asked: Option<u16>, output: Option<&Path>) -> Option<usize> {
    let variable = || std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|&wide| wide > 0);
    let terminal = || {
        let is_terminal = output.is_none() && stdout().is_terminal();
        let (Width(wide), _) = is_terminal.then(|| terminal_size_of(stdout())).flatten()?;
        Some(wide)
    };
    let found = asked.or_else(variable).or_else(terminal);
    found.map(|wide| usize::from(wide.max(NARROWEST)))
}

/// What becomes true when the user interrupts.
pub(super) fn interrupts() -> std::io::Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second signal ends the program at once.
        flag::register_conditional_default(signal, Arc::clone(&is_stopped))?;
        flag::register(signal, Arc::clone(&is_stopped))?;
    }
    Ok(is_stopped)
}

/// Whether to go on.
pub(super) fn unless_stopped(is_stopped: &AtomicBool) -> ControlFlow<()> {
    if is_stopped.load(Ordering::Relaxed) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

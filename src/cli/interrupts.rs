//! Noticing that the user interrupts.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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

//! A bar on standard error for whatever takes longer than a second.

use crate::simulate::Tally;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that takes less than this needs no bar.
const QUIET: Duration = Duration::from_secs(1);
/// Between two looks at how far the work has come.
const TICK: Duration = Duration::from_millis(100);
/// Positions of the bar.
const LENGTH: f64 = 1_000.0;

/// Shows how far a command has come, and how long it will take, from one second on: on a
/// terminal. Elsewhere, and until then, it shows nothing.
pub(super) struct Progress {
    shared: Arc<Shared>,
    /// Draws the bar until the sender is gone; there is none off a terminal.
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

struct Shared {
    bar: ProgressBar,
    tally: Tally,
    stage: Mutex<Stage>,
    begun: Instant,
    stages: usize,
}

/// What is being done. Stages are taken to be equally long.
#[derive(Default)]
struct Stage {
    words: String,
    /// Counted from one; none has begun before.
    number: usize,
    /// What the tally stood at when it began, and how far it is expected to go from there.
    from: u64,
    expected: u64,
}

impl Progress {
    /// Work in so many stages.
    pub fn over_stages(stages: usize) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_length(LENGTH as u64);
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent}%{msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let (tally, stage) = (Tally::default(), Mutex::default());
        let shared = Arc::new(Shared { bar, tally, stage, begun: Instant::now(), stages });
        let drawing = stderr().is_terminal().then(|| {
            let (sender, stop) = channel();
            let shared = Arc::clone(&shared);
            let draw = move || {
                let mut pause = QUIET;
                while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    shared.draw();
                    pause = TICK;
                }
                shared.bar.finish_and_clear();
            };
            (sender, std::thread::spawn(draw))
        });
        Self { shared, drawing }
    }

    /// Begins the next stage, in which the tally is expected to rise by so much.
    pub fn begin(&self, words: &str, expected: u64) {
        let mut stage = self.shared.stage();
        let number = stage.number + 1;
        *stage = Stage { words: words.to_owned(), number, from: self.tally().done(), expected };
    }

    /// Says by how much the tally is expected to rise in this stage, where that was not known
    /// when it began.
    pub fn expect(&self, expected: u64) {
        self.shared.stage().expected = expected;
    }

    /// Where the work that is done is counted.
    pub fn tally(&self) -> &Tally {
        &self.shared.tally
    }

    /// Writes a line to standard error, above the bar if there is one.
    pub fn note(&self, line: &str) {
        self.shared.bar.suspend(|| eprintln!("{line}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.drawing.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let stage = self.stage();
        let done = self.tally.done().saturating_sub(stage.from) as f64;
        // What was expected is an estimate; only the next stage says that this one is over.
        let within = (done / stage.expected.max(1) as f64).min(1.0);
        let share = (stage.number.saturating_sub(1) as f64 + within) / self.stages.max(1) as f64;
        let share = share.min(1.0);
        self.bar.set_prefix(stage.words.clone());
        drop(stage);
        self.bar.set_position((share * LENGTH) as u64);
        self.bar.set_message(left(self.begun.elapsed(), share));
        self.bar.tick();
    }
}

/// How long the rest takes if it goes on as it did; nothing while that is a guess.
fn left(elapsed: Duration, share: f64) -> String {
    if share < 0.01 {
        return String::new();
    }
    let rest = elapsed.mul_f64(1.0 / share - 1.0);
    format!(", {:#} left", HumanDuration(rest.max(Duration::from_secs(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_goes_by_what_is_done() {
        let after = |secs, share| left(Duration::from_secs(secs), share);
        assert_eq!(after(10, 0.5), ", 10s left");
        assert_eq!(after(60, 0.25), ", 3m left");
        assert_eq!(after(60, 0.001), "");
        assert_eq!(after(60, 1.0), ", 1s left");
    }
}

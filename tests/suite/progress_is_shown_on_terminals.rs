//! Whoever waits at a terminal for longer than a second sees how far it is; nobody else does,
//! and an interrupt ends the command at once.

use super::commands::hallway;
use super::predicted::repository;
use super::terminals::{read_along, terminal};
use super::workloads::{ON_HOST, floats, head, task};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Minutes of work with many draws: about as many calls as a plan may have, as iterations and as
/// batches.
const LONG_ONES: [(u64, u64); 2] = [(250, 60), (13, 1_000)];

fn folder(iterations: u64, batches: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.toml");
    let task = task("smooth", "stencil", &["x"], "out", &format!("iterations = {iterations}"));
    let buffers = floats(["x", "out"], 100_000, ON_HOST);
    let text = head("long", &format!("batches = {batches}")) + &buffers + &task;
    std::fs::write(&path, text).expect("written");
    (folder, path)
}

fn evaluate(scenario: &Path, draws: &str) -> Command {
    let mut command = hallway(repository(), ["evaluate"]);
    command.env_remove("NO_COLOR").env("TERM", "xterm").stdout(Stdio::null());
    command.arg(scenario).args(["--draws", draws]);
    // Whoever runs the tests in the background may have interrupts ignored, and children inherit
    // that.
    let heed = || {
        // SAFETY: a handler may be set at any time.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: `signal` may be called between fork and exec.
    unsafe { command.pre_exec(heed) };
    command
}

/// Interrupts a command as Ctrl-C does; how long it took to end, and by which signal.
fn interrupt(child: &mut Child) -> (Duration, Option<i32>) {
    let begun = Instant::now();
    let id = i32::try_from(child.id()).expect("an id");
    // SAFETY: the child has not been waited for, so that its id is still its own.
    assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
    let status = child.wait().expect("it was started");
    (begun.elapsed(), status.signal())
}

/// A busy machine may take its time.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn long_work_shows_a_bar_on_a_terminal() {
    for (iterations, batches) in LONG_ONES {
        shows_a_bar(iterations, batches);
    }
}

fn shows_a_bar(iterations: u64, batches: u64) {
    let (_folder, scenario) = folder(iterations, batches);
    let (master, slave) = terminal(100);
    let begun = Instant::now();
    let mut child = evaluate(&scenario, "10000").stderr(slave).spawn().expect("it was built");
    let seen = read_along(master);
    let mut text = String::new();
    let mut first = None;
    while !(text.contains("long") && text.contains('%')) {
        let rest = PATIENCE.saturating_sub(begun.elapsed());
        let (when, piece) = seen.recv_timeout(rest).unwrap_or_else(|e| panic!("{e}: {text:?}"));
        first.get_or_insert(when);
        text += &piece;
    }
    let quiet = first.expect("something was seen").duration_since(begun);
    assert!(quiet >= Duration::from_millis(900), "shown after {quiet:?} already");
    let (took, signal) = interrupt(&mut child);
    assert_eq!(signal, Some(libc::SIGINT), "it listens to interrupts");
    assert!(took < Duration::from_secs(10), "it took {took:?} to end");
}

#[test]
fn what_is_left_is_shown() {
    // Short enough to come to its end, and long enough to be seen on the way.
    let (_folder, scenario) = folder(250, 20);
    let (master, slave) = terminal(100);
    let begun = Instant::now();
    let mut child = evaluate(&scenario, "80").stderr(slave).spawn().expect("it was built");
    let seen = read_along(master);
    let text: String = seen.iter().map(|(_, piece)| piece).collect();
    let status = child.wait().expect("it was started");
    assert!(status.success(), "{status:?}: {text:?}");
    if begun.elapsed() > Duration::from_millis(1_500) {
        assert!(text.contains(" left"), "{text:?}");
        // The bar is gone at the end: the line that it stood on has been cleared.
        assert!(text.trim_end().ends_with("\u{1b}[2K"), "{text:?}");
    }
}

#[test]
fn off_a_terminal_there_is_no_bar() {
    let (_folder, scenario) = folder(250, 60);
    let mut command = evaluate(&scenario, "10000");
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it was built");
    let seen = read_along(child.stderr.take().expect("it is piped"));
    // On a terminal, a bar would be there after a second.
    std::thread::sleep(Duration::from_secs(2));
    let (_, signal) = interrupt(&mut child);
    assert_eq!(signal, Some(libc::SIGINT), "it had ended before");
    let text: String = seen.iter().map(|(_, piece)| piece).collect();
    assert_eq!(text, "");
}

#[test]
fn short_work_shows_no_bar_even_on_a_terminal() {
    let (master, slave) = terminal(100);
    let begun = Instant::now();
    let scenario = repository().join("scenarios/small-scale.toml");
    let status = evaluate(&scenario, "10").stderr(slave).status().expect("it was built");
    let took = begun.elapsed();
    assert!(status.success());
    let text: String = read_along(master).iter().map(|(_, piece)| piece).collect();
    // On a busy machine even that can take longer than a second.
    assert!(text.is_empty() || took > Duration::from_millis(950), "{took:?}: {text:?}");
}

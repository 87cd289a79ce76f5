//! What comes for the first time in a process: each sample starts a new one, which times itself.
//!
//! Beside a process that has a context, creating another one takes less than half as long on an
//! H200. So the contexts of new processes are timed before the calibrator has its own.

use crate::samples::SetupStep;
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many times come from a new process.
pub(super) const STEPS: usize = SetupStep::IN_NEW_PROCESS.len();
/// What one process times beside the calibrator: all but its context.
const BESIDE: usize = STEPS - 1;

/// Times of contexts that new processes created while this process had none.
const CONTEXTS: usize = 4;

/// How to start a process that calls [`first_times`](super::first_times) with what it finds on its standard input, and
/// prints the answer as a line of JSON.
#[derive(Debug, Clone)]
pub struct NewProcess {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// What makes it time its context alone, rather than all that comes after it.
    pub context_only: OsString,
    /// After this time, something is wrong with it.
    pub patience: Duration,
}

/// New processes to start, and the contexts of those that were started already.
#[derive(Debug, Clone)]
pub struct NewProcesses {
    process: NewProcess,
    contexts: Vec<Span>,
    taken: Cell<usize>,
}

impl NewProcesses {
    /// Starts some processes that time their contexts. This process must not have a context yet.
    /// `None` if one fails: whoever opens the GPU next finds out why.
    pub fn with_contexts_timed(process: NewProcess) -> Option<Self> {
        let context = || {
            let said = process.said(Vec::new(), Some(&process.context_only)).ok()?;
            said.trim().parse().ok().map(Span::from_nanos)
        };
        let contexts = (0..CONTEXTS).map(|_| context()).collect::<Option<_>>()?;
        Some(Self { process, contexts, taken: Cell::new(0) })
    }

    /// The next of the contexts, and all other times from a process that is started now.
    pub(super) fn times(&self, image: Vec<u8>) -> Result<[Span; STEPS], String> {
        let beside = self.process.times(image)?;
        let context = self.contexts[self.taken.get() % self.contexts.len()];
        self.taken.set(self.taken.get() + 1);
        let mut times = [context; STEPS];
        times[1..].copy_from_slice(&beside);
        Ok(times)
    }
}

/// What a new process says of itself: times in nanoseconds, in the order of
/// [`SetupStep::IN_NEW_PROCESS`] without the first, its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstTimes {
    pub nanos: [u64; BESIDE],
}

impl NewProcess {
    /// Starts one, hands it the kernel library and waits for its times.
    fn times(&self, image: Vec<u8>) -> Result<[Span; BESIDE], String> {
        let said = self.said(image, None)?;
        let times: FirstTimes = serde_json::from_str(said.trim())
            .map_err(|error| format!("reported no times ({error})"))?;
        Ok(times.nanos.map(Span::from_nanos))
    }

    /// Starts one, hands it something and waits for what it prints.
    fn said(&self, input: Vec<u8>, option: Option<&OsString>) -> Result<String, String> {
        let name = self.program.display();
        let mut command = Command::new(&self.program);
        // Whoever interrupts the calibration at the terminal means this process, which goes on to
        // the end of the sample.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .args(self.arguments.iter().chain(option))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot be started from {name}: {error}"))?;
        let (pipe, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let handing = std::thread::spawn(move || {
            // A process that is gone already says so at its end.
            pipe.map(|mut pipe| pipe.write_all(&input))
        });
        let (said, complained) = (heard(output), heard(errors));
        let ended = self.wait(&mut child);
        // Once the process is gone, so are the other ends of its pipes.
        let _ = handing.join();
        let [said, complained] = [said, complained].map(|thread| thread.join().unwrap_or_default());
        ended.map_err(|why| match complained.lines().last() {
            Some(last) => format!("{why}: {last}"),
            None => why,
        })?;
        Ok(said)
    }

    /// Waits for its end; ends it when patience does.
    fn wait(&self, child: &mut Child) -> Result<(), String> {
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("failed with {status}")),
                Ok(None) if start.elapsed() < self.patience => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("did not finish within {} s", self.patience.as_secs()));
                }
                Err(error) => {
                    let _ = child.kill();
                    return Err(format!("cannot be waited for: {error}"));
                }
            }
        }
    }
}

/// All that comes through a pipe.
fn heard<R: Read + Send + 'static>(pipe: Option<R>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        // What came before an error is still of use.
        let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(script: &str, patience: Duration) -> NewProcess {
        let arguments = ["-c", script].map(OsString::from).to_vec();
        NewProcess {
            program: PathBuf::from("/bin/sh"),
            arguments,
            context_only: OsString::from("--context"),
            patience,
        }
    }

    /// Far more than a pipe holds, which nobody may have to read.
    fn image() -> Vec<u8> {
        vec![b'x'; 1 << 20]
    }

    #[test]
    fn its_times_are_what_it_prints() {
        let script = "cat >/dev/null; echo '{\"nanos\":[4,3,2,1]}'";
        let times = process(script, Duration::from_secs(20)).times(image());
        assert_eq!(times, Ok([4, 3, 2, 1].map(Span::from_nanos)));
    }

    #[test]
    fn contexts_are_timed_before_and_handed_out_in_turn() {
        let script = "case \"$0\" in --context) echo 7;; *) cat >/dev/null; echo \
                      '{\"nanos\":[4,3,2,1]}';; esac";
        let processes = NewProcesses::with_contexts_timed(process(script, Duration::from_secs(20)));
        let times = processes.expect("contexts").times(image());
        assert_eq!(times, Ok([7, 4, 3, 2, 1].map(Span::from_nanos)));
    }

    #[test]
    fn a_process_that_fails_is_quoted() {
        let script = "echo 'first' >&2; echo 'no GPU to be seen' >&2; exit 3";
        let why = process(script, Duration::from_secs(20)).times(image()).expect_err("failed");
        assert!(why.contains("exit status: 3") && why.contains("no GPU to be seen"), "{why}");
    }

    #[test]
    fn one_that_never_ends_is_ended() {
        let why = process("exec sleep 60", Duration::from_millis(50)).times(image());
        assert_eq!(why, Err("did not finish within 0 s".to_owned()));
    }

    #[test]
    fn one_that_says_nothing_has_no_times() {
        let why = process("cat >/dev/null", Duration::from_secs(20)).times(image());
        assert!(why.expect_err("nothing").starts_with("reported no times"));
    }
}

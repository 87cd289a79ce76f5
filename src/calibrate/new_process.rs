//! What comes for the first time in a process: each sample starts a new one, which times itself.
//!
//! The calibrator has a context while it does so. On a GPU that sleeps while nobody uses it (no
//! persistence mode), waking it up is therefore not in the times.

use crate::samples::SetupStep;
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many times a new process takes.
pub(super) const STEPS: usize = SetupStep::IN_NEW_PROCESS.len();

/// How to start a process that calls [`first_times`](super::first_times) with what it finds on its standard input, and
/// prints the answer as a line of JSON.
#[derive(Debug, Clone)]
pub struct NewProcess {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// After this time, something is wrong with it.
    pub patience: Duration,
}

/// What a new process says of itself: times in nanoseconds, in the order of
/// [`SetupStep::IN_NEW_PROCESS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstTimes {
    pub nanos: [u64; STEPS],
}

impl NewProcess {
    /// Starts one, hands it the kernel library and waits for its times.
    pub(super) fn times(&self, image: Vec<u8>) -> Result<[Span; STEPS], String> {
        let name = self.program.display();
        let mut command = Command::new(&self.program);
        // Whoever interrupts the calibration at the terminal means this process, which goes on to
        // the end of the sample.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot be started from {name}: {error}"))?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let handing = std::thread::spawn(move || {
            // A process that is gone already says so at its end.
            input.map(|mut input| input.write_all(&image))
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
        let times: FirstTimes = serde_json::from_str(said.trim())
            .map_err(|error| format!("reported no times ({error})"))?;
        Ok(times.nanos.map(Span::from_nanos))
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
        NewProcess { program: PathBuf::from("/bin/sh"), arguments, patience }
    }

    /// Far more than a pipe holds, which nobody may have to read.
    fn image() -> Vec<u8> {
        vec![b'x'; 1 << 20]
    }

    #[test]
    fn its_times_are_what_it_prints() {
        let script = "cat >/dev/null; echo '{\"nanos\":[5,4,3,2,1]}'";
        let times = process(script, Duration::from_secs(20)).times(image());
        assert_eq!(times, Ok([5, 4, 3, 2, 1].map(Span::from_nanos)));
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
        assert_eq!(why, Err("did not end within 0 s".to_owned()));
    }

    #[test]
    fn one_that_says_nothing_has_no_times() {
        let why = process("cat >/dev/null", Duration::from_secs(20)).times(image());
        assert!(why.expect_err("nothing").starts_with("gave no times"));
    }
}

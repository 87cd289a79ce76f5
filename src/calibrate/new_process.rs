//! What comes for the first time in a process: new ones are started, and each times itself.
//!
//! They are started before this process uses the GPU: a driver may have less to do for a context
//! while another process has one.

use crate::samples::{Measurement, Quantity, SetupStep, Stop};
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How many times a new process takes.
const STEPS: usize = SetupStep::IN_NEW_PROCESS.len();

/// How to start a process that ends by itself, such as one that calls
/// [`first_times`](super::first_times) with what it finds on its standard input, and prints the
/// answer as a line of JSON.
#[derive(Debug, Clone)]
pub struct NewProcess {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// After this time, something is wrong with it.
    pub patience: Duration,
}

/// What a new process says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstTimes {
    /// Times in nanoseconds, in the order of [`SetupStep::IN_NEW_PROCESS`].
    pub nanos: [u64; STEPS],
    /// The kernel library, as it was compiled: for the next process.
    pub image: String,
}

/// Starts so many new processes, one after the other, and measures what comes for the first time
/// in each. One before them does not count: it compiles the kernel library, and brings it and the
/// driver into the system's caches.
///
/// # Errors
/// If one cannot be started, fails or does not end: what happened, as the end of a sentence.
pub fn first_uses(process: &NewProcess, count: usize) -> Result<Vec<Measurement>, String> {
    let image = process.times("")?.image;
    let times = (0..count).map(|_| process.times(&image)).collect::<Result<Vec<_>, _>>()?;
    let measured = SetupStep::IN_NEW_PROCESS.into_iter().enumerate().map(|(at, step)| {
        let times = times.iter().map(|one| Span::from_nanos(one.nanos[at])).collect();
        Measurement::new(Quantity::Setup { step }, 1, times, Stop::Capped)
    });
    Ok(measured.collect())
}

impl NewProcess {
    /// Starts one, hands it the kernel library and waits for its times.
    ///
    /// # Errors
    /// As [`run`](Self::run), or if it says anything else.
    pub fn times(&self, image: &str) -> Result<FirstTimes, String> {
        let (said, _) = self.run(image)?;
        serde_json::from_str(said.trim()).map_err(|error| format!("reported no times ({error})"))
    }

    /// Starts one, hands it its standard input and waits for its end. Returns what it said, and the
    /// time from its start to its end.
    ///
    /// # Errors
    /// If it cannot be started, fails or does not end: what happened, as the end of a sentence.
    pub fn run(&self, given: &str) -> Result<(String, Duration), String> {
        let name = self.program.display();
        let start = Instant::now();
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot be started from {name}: {error}"))?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let given = given.to_owned();
        let handing = std::thread::spawn(move || {
            // A process that is gone already says so at its end.
            input.map(|mut input| input.write_all(given.as_bytes()))
        });
        let (said, complained) = (heard(output), heard(errors));
        // If it was killed, the threads are left alone: a child of it may still hold the pipes.
        let status = self.wait(&mut child)?;
        let took = start.elapsed();
        // Once the process is gone, so are the other ends of its pipes.
        let _ = handing.join();
        let [said, complained] = [said, complained].map(|thread| thread.join().unwrap_or_default());
        match complained.lines().last() {
            _ if status.success() => Ok((said, took)),
            Some(last) => Err(format!("failed with {status}: {last}")),
            None => Err(format!("failed with {status}")),
        }
    }

    /// Waits for its end; ends it when patience does.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus, String> {
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if start.elapsed() < self.patience => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("did not finish within {} s", self.patience.as_secs()));
                }
                Err(error) => {
                    let _ = child.kill();
                    return Err(format!("could not be waited for: {error}"));
                }
            }
        }
    }
}

/// All that comes through a pipe.
fn heard<R: Read + Send + 'static>(pipe: Option<R>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        // Text that was read before an error may still tell what went wrong.
        let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(script: &str) -> NewProcess {
        let arguments = ["-c", script].map(OsString::from).to_vec();
        let patience = Duration::from_secs(20);
        NewProcess { program: PathBuf::from("/bin/sh"), arguments, patience }
    }

    /// The first process compiles the library, and the others get it.
    #[test]
    fn all_processes_but_the_first_count() {
        let script = "if [ \"$(cat)\" = ptx ]; then n=7; else n=9; fi; \
                      echo \"{\\\"nanos\\\":[$n,4,3,2,1],\\\"image\\\":\\\"ptx\\\"}\"";
        let measured = first_uses(&process(script), 3).expect("it answers");
        let quantity = |step| Quantity::Setup { step };
        let steps = SetupStep::IN_NEW_PROCESS.map(quantity);
        assert_eq!(measured.iter().map(|one| one.quantity.clone()).collect::<Vec<_>>(), steps);
        for (one, nanos) in measured.iter().zip([7, 4, 3, 2, 1]) {
            assert_eq!((&one.times, one.count), (&vec![Span::from_nanos(nanos); 3], 1));
        }
    }

    #[test]
    fn a_process_that_fails_is_quoted() {
        let script = "echo 'first' >&2; echo 'no GPU to be seen' >&2; exit 3";
        let why = first_uses(&process(script), 3).expect_err("failed");
        assert!(why.contains("exit status: 3") && why.contains("no GPU to be seen"), "{why}");
    }

    #[test]
    fn one_that_never_ends_is_ended() {
        let patience = Duration::from_millis(50);
        let endless = NewProcess { patience, ..process("exec sleep 60") };
        // More than a pipe holds, which nobody reads.
        let why = endless.times(&"x".repeat(1 << 20));
        assert_eq!(why, Err("did not finish within 0 s".to_owned()));
    }

    #[test]
    fn one_that_says_nothing_has_no_times() {
        let why = first_uses(&process("cat >/dev/null"), 1).expect_err("nothing");
        assert!(why.starts_with("reported no times"), "{why}");
    }
}

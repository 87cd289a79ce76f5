//! Running a program with the recorder in it.

use crate::cli::Failure;
use crate::files::{digest, write_whole};
use crate::record::LIBRARY;
use crate::report::ProblemKind;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names the library that the driver loads.
const INJECTED: &str = "CUDA_INJECTION64_PATH";
/// Names the library that NVTX loads; profilers also use it to get hold of CUPTI.
const FOR_RANGES: &str = "NVTX_INJECTION64_PATH";

/// How often the program is looked at.
const TICK: Duration = Duration::from_millis(20);

/// A driver that has to wake up a GPU takes ten seconds.
const LONGEST_QUIET: Duration = Duration::from_secs(30);

/// A file of the library.
pub struct Library {
    path: PathBuf,
    /// Removed with it, if there is no folder to keep the library in.
    _folder: Option<TempDir>,
}

impl Library {
    /// Writes the library into the user's cache, unless it is there already.
    pub fn prepare() -> Result<Self, Failure> {
        let name = format!("recorder-{}.so", digest(LIBRARY));
        if let Some(path) = cache().map(|folder| folder.join(&name)) {
            let is_there = std::fs::read(&path).is_ok_and(|found| found == LIBRARY);
            if is_there || write_whole(&path, LIBRARY).is_ok() {
                return Ok(Self { path, _folder: None });
            }
        }
        let written = || -> io::Result<Self> {
            let folder = TempDir::with_prefix("hallway-")?;
            let path = folder.path().join(&name);
            write_whole(&path, LIBRARY)?;
            Ok(Self { path, _folder: Some(folder) })
        };
        written().map_err(|error| Failure::unwritten("the recorder's library", &error))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The folder for what hallway can make again.
fn cache() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(folder.join("hallway"))
}

/// What to run, and how to record it.
pub struct Launch<'l> {
    pub program: &'l OsStr,
    pub arguments: &'l [OsString],
    pub library: &'l Path,
    /// What the names of the processes' files begin with.
    pub prefix: &'l Path,
    pub digests: bool,
    pub seconds: Option<u32>,
    /// What recording adds between two calls, in nanoseconds by form.
    pub costs: &'l BTreeMap<u8, u64>,
    /// Outside of ranges of this name, nothing is recorded.
    pub range: Option<&'l str>,
    pub device_only: bool,
}

/// How a program ended.
pub struct Ended {
    status: ExitStatus,
    pub took: Duration,
}

impl Launch<'_> {
    /// Runs the program to its end. Meanwhile, `tick` is called with the time since its start.
    pub fn run(&self, mut tick: impl FnMut(Duration)) -> Result<Ended, Failure> {
        let cannot = |error: io::Error| {
            let what = format!("cannot run {}: {error}", self.program.display());
            Failure::refused(what, "check the program's name and permissions")
        };
        let [interrupted, terminated] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        // A terminal sends an interrupt to the program, too, which decides what to do.
        let caught = flag::register(SIGINT, Arc::clone(&interrupted))
            .and_then(|_| flag::register(SIGTERM, Arc::clone(&terminated)));
        caught.map_err(Failure::of_machine)?;
        let mut child = self.command().spawn().map_err(cannot)?;
        let started = Instant::now();
        loop {
            let ended = child.try_wait().map_err(|error| {
                Failure::told(ProblemKind::Machine, error, "run the program again")
            })?;
            if let Some(status) = ended {
                return Ok(Ended { status, took: started.elapsed() });
            }
            if terminated.swap(false, Ordering::Relaxed) {
                terminate(&child);
            }
            tick(started.elapsed());
            std::thread::sleep(TICK);
        }
    }

    /// Runs the program without its output. `None` if it fails or takes too long.
    pub fn run_quietly(&self) -> Option<()> {
        let mut command = self.recorded();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let started = Instant::now();
        while started.elapsed() < LONGEST_QUIET {
            if let Some(status) = child.try_wait().ok()? {
                return status.success().then_some(());
            }
            std::thread::sleep(TICK);
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    fn command(&self) -> Command {
        if std::env::var_os(INJECTED).is_some_and(|set| !set.is_empty()) {
            eprintln!("hallway: {INJECTED} is already set; the recorder replaces it");
        }
        if std::env::var_os(FOR_RANGES).is_some_and(|set| !set.is_empty()) {
            eprintln!("hallway: {FOR_RANGES} is already set; the program runs without it");
        }
        self.recorded()
    }

    fn recorded(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        // Without calls, there is nothing to say which range a call was in.
        match self.device_only {
            true => command.env_remove(FOR_RANGES),
            false => command.env(FOR_RANGES, self.library),
        };
        let costs = self.costs.iter().map(|(form, nanos)| format!("{form}={nanos}"));
        command.env("HALLWAY_RECORD_COSTS", costs.collect::<Vec<_>>().join(","));
        command.env(INJECTED, self.library).env("HALLWAY_RECORD_FILE", self.prefix);
        command.env("HALLWAY_RECORD_DIGEST", if self.digests { "1" } else { "0" });
        command.env("HALLWAY_RECORD_DEVICE_ONLY", if self.device_only { "1" } else { "0" });
        let optional = [
            ("HALLWAY_RECORD_SECONDS", self.seconds.map(|seconds| seconds.to_string())),
            ("HALLWAY_RECORD_RANGE", self.range.map(str::to_owned)),
        ];
        for (name, value) in optional {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// Passes on that the program is to end.
fn terminate(child: &Child) {
    // SAFETY: the child has not been waited for, so that its number is still its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
}

impl Ended {
    /// As the shell has it: that of the program, or 128 and the number of the signal that ended it.
    pub fn code(&self) -> u8 {
        let code = self.status.code().or_else(|| Some(128 + self.status.signal()?));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }

    /// Says that the program failed, if it did.
    pub fn say(&self, name: &str) {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => {}
            (_, Some(signal)) => eprintln!("hallway: {name} was killed by signal {signal}"),
            (code, None) => eprintln!("hallway: {name} failed with code {}", code.unwrap_or(1)),
        }
    }
}

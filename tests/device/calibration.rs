//! The calibrator as a user runs it: how long it takes, and what is left when it ends
//! early.

use super::on_a_gpu;
use hallway::calibrate::managed_bytes;
use hallway::gpu::Monitor;
use hallway::profile::Profile;
use hallway::samples::{CalibrationExtent, Samples, TransferPath};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn calibrate(folder: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
    command.arg("calibrate").args(options).current_dir(folder).env("NO_COLOR", "1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(folder: &Path, options: &[&str]) -> (Output, Duration) {
    let start = Instant::now();
    let output = calibrate(folder, options).output().expect("the binary was built");
    (output, start.elapsed())
}

pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Waits until the child has written `lines` more lines, and then sends it a signal.
fn end_after(child: &Child, growing: &Path, lines: usize, signal: i32) {
    let grown = || std::fs::read(growing).unwrap_or_default();
    let count = || grown().iter().filter(|&&byte| byte == b'\n').count();
    let patience = Instant::now() + Duration::from_secs(60);
    while count() < lines && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(count() >= lines, "no {lines} lines in a minute");
    let id = i32::try_from(child.id()).expect("a process id");
    // SAFETY: the child has not been waited for, so the id is still its own.
    assert_eq!(unsafe { libc::kill(id, signal) }, 0);
}

const QUICK: [&str; 5] = ["--quick", "--gpus", "1", "--output", "c"];

#[test]
fn a_quick_calibration_is_quick_and_survives_its_end() {
    on_a_gpu("a_quick_calibration_is_quick_and_survives_its_end", |_| {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (output, time) = run(folder, &QUICK);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(time < Duration::from_secs(15), "it took {time:?}");
        let profile = folder.join("c/profile.toml");
        let fitted = Profile::load(&profile).expect("a profile");
        assert_eq!(fitted.machine.extent, CalibrationExtent::Quick);
        let (samples, growing) =
            (folder.join("c/samples.jsonl"), folder.join("c/samples.partial.jsonl"));
        assert!(!growing.exists());
        let old = || [&profile, &samples].map(|path| std::fs::read(path).expect("there"));
        let before = old();

        // The first run is ended by Ctrl-C. Then it is resumed, and killed.
        let child = calibrate(folder, &QUICK).spawn().expect("started");
        end_after(&child, &growing, 20, libc::SIGINT);
        let output = child.wait_with_output().expect("ended");
        assert_eq!(output.status.code(), Some(130), "{}", said(&output));
        assert!(said(&output).contains("--resume --output c"), "{}", said(&output));
        assert!(old() == before, "the old files have changed");
        let interrupted = Samples::load(&growing).expect("usable").measurements;
        let resume = [&QUICK[..], &["--resume"]].concat();
        let child = calibrate(folder, &resume).spawn().expect("started");
        end_after(&child, &growing, 60, libc::SIGKILL);
        assert_eq!(child.wait_with_output().expect("ended").status.code(), None);
        assert!(old() == before, "the old files have changed");
        let killed = Samples::load(&growing).expect("usable").measurements;
        assert!(killed.len() > interrupted.len());

        // It cannot be resumed with another seed. With its own seed, it runs to the end.
        let (output, _) = run(folder, &[&resume[..], &["--seed", "2"]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let (output, _) = run(folder, &resume);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let all = Samples::load(&samples).expect("whole").measurements;
        // All samples are kept but those of the probe that was under way.
        let kept = killed.len() - 4;
        assert_eq!(all[..kept], killed[..kept]);
        assert!(!growing.exists() && old() != before);
        Ok(())
    });
}

/// Tests the promise of the intervals on the machine itself.
#[test]
fn two_calibrations_in_one_sitting_agree() {
    on_a_gpu("two_calibrations_in_one_sitting_agree", |_| {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a", "b"] {
            let (output, time) = run(folder.path(), &["--gpus", "1", "--output", name]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            assert!(time < Duration::from_secs(90), "it took {time:?}");
            assert!(said(&output).contains("95% intervals: "), "{}", said(&output));
        }
        let mut compare = Command::new(env!("CARGO_BIN_EXE_hallway"));
        compare.args(["compare", "a/profile.toml", "b/profile.toml"]).current_dir(folder.path());
        let output = compare.output().expect("the binary was built");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        Ok(())
    });
}

#[test]
fn a_machine_that_was_just_calibrated_has_hardly_changed() {
    on_a_gpu("a_machine_that_was_just_calibrated_has_hardly_changed", |_| {
        let folder = tempfile::tempdir().expect("a folder");
        let (output, _) = run(folder.path(), &QUICK);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let (output, time) = run(folder.path(), &["--check", "c/profile.toml"]);
        assert!(time < Duration::from_secs(10), "it took {time:?}");
        assert!([Some(0), Some(1)].contains(&output.status.code()), "{}", said(&output));
        let text = said(&output);
        let answers = |answer| text.lines().filter(|line| line.ends_with(answer)).count();
        let (same, changed) = (answers(" same"), answers(" changed"));
        assert_eq!(output.status.code() == Some(1), changed > 0, "{text}");
        // A neighbour on a shared host may come or go meanwhile.
        assert!(same > 0 && 5 * changed < same, "{text}");
        Ok(())
    });
}

#[test]
fn a_calibration_knows_every_path_and_what_the_device_was_like() {
    on_a_gpu("a_calibration_knows_every_path_and_what_the_device_was_like", |device| {
        // Where the device does not migrate managed pages, hallway says so and measures
        // nothing.
        managed_bytes(device)?;
        let folder = tempfile::tempdir().expect("a folder");
        let (output, _) = run(folder.path(), &[&QUICK[..], &["--managed"]].concat());
        let text = said(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        let profile = Profile::load(&folder.path().join("c/profile.toml")).expect("a profile");
        let paths: Vec<TransferPath> = profile.transfers.iter().map(|model| model.path).collect();
        for path in TransferPath::ALL {
            let is_known = paths.contains(&path);
            assert_eq!(is_known, path != TransferPath::MappedBoth, "{path:?}\n{text}");
        }
        // Nothing crosses the link faster than a large copy, and memory is never slower
        // than the link.
        let rate = |path| {
            let model = profile.transfers.iter().find(|model| model.path == path).expect("known");
            1.0 / model.time.slope().expect("two sizes")
        };
        let copy = profile.copies[0].time.slope().expect("many sizes").recip();
        let shown = |path| format!("{path:?} at {} and copies at {copy} B/ns", rate(path));
        for path in [TransferPath::WriteCombined, TransferPath::MappedRead] {
            assert!(rate(path) < 1.2 * copy, "{}", shown(path));
        }
        let on_device = TransferPath::OnDevice;
        assert!(rate(on_device) > 2.0 * copy, "{}", shown(on_device));
        assert_eq!(profile.interference.len(), 2, "{text}");
        assert!(profile.memory.unregister.is_some());
        let watched = Monitor::new(device).is_some();
        assert_eq!(profile.conditions.is_some(), watched, "{text}");
        assert!(profile.machine.nvml.is_some());
        Ok(())
    });
}

//! How many instructions an evaluation takes for each call of a plan: Valgrind counts them, so that
//! other work on the machine does not matter.

use std::path::Path;
use std::process::Command;

/// Instructions for a call of a pipeline in all its draws, in the build that tests use. Whoever
/// makes the engine faster lowers it.
const A_CALL: u64 = 276_000;
/// By how much it may be exceeded: another compiler inlines other functions.
const MORE: f64 = 1.10;

/// Whether there is a Valgrind that knows the instructions of this build.
fn is_there() -> bool {
    let mut valgrind = Command::new("valgrind");
    let valgrind = valgrind.args(["--tool=none", env!("CARGO_BIN_EXE_hallway"), "--version"]);
    valgrind.output().is_ok_and(|out| out.status.success())
}

/// The instructions of an evaluation of so many batches.
fn instructions(batches: u64, folder: &Path) -> u64 {
    let scenario = folder.join("pipeline.toml");
    let text = include_str!("the_engine_stays_fast/pipeline.toml");
    let text = text.replace("batches = 1", &format!("batches = {batches}"));
    std::fs::write(&scenario, text).expect("a file of ours");
    let out = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args([env!("CARGO_BIN_EXE_hallway"), "evaluate"])
        .arg(&scenario)
        .args(["--profile", concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/h200/profile.toml")])
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("Valgrind is there");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{said}");
    let counted = said.lines().find_map(|line| line.split("Collected :").nth(1));
    counted.expect("callgrind says so").trim().parse().expect("a number")
}

#[test]
fn a_call_takes_no_more_instructions_than_it_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let (few, many) = (20, 70);
    if !is_there() {
        eprintln!("skipped: there is no Valgrind here (Debian's package `valgrind`)");
        return;
    }
    let [less, more] = [few, many].map(|batches| instructions(batches, folder.path()));
    // A copy in, a kernel and a copy out, with two events.
    let a_call = (more - less) / ((many - few) * 7);
    let limit = (A_CALL as f64 * MORE) as u64;
    let hint = "what is compiled with CARGO_INCREMENTAL=1 takes more";
    assert!(a_call <= limit, "{a_call} instructions a call, {A_CALL} before; {hint}");
}

//! Where results go is looked at before the work, and what is written is whole whatever happens.

use super::{fit, folder, hallway, refused, repository};
use crate::commands::{self, printed};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

fn evaluation(output: &Path) -> Command {
    let arguments = ["evaluate", "scenarios/small-scale.toml", "--output"];
    let mut command = commands::hallway(repository(), arguments);
    command.arg(output);
    command
}

/// `fit` reads its samples first, and that takes longest: those that are not there are not missed.
#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_work() {
    let folder = folder();
    let there = folder.path().join("file");
    std::fs::write(&there, "something").expect("written");
    let absent = folder.path().join("absent.jsonl");
    for (output, message) in [
        (folder.path().to_owned(), "is a folder"),
        (folder.path().join("x".repeat(300)), "too long"),
        (there.join("profile.toml"), "Not a directory"),
    ] {
        for done in [fit(&absent, &output), evaluation(&output).output().expect("it starts")] {
            let error = refused(&done);
            assert!(error.contains("cannot write") && error.contains(message), "{error}");
        }
    }
    // Before a GPU is looked for, which may not be there.
    let calibrated = hallway(["calibrate".as_ref(), "--output".as_ref(), there.as_os_str()]);
    assert!(refused(&calibrated).contains("cannot write"));
    let pictures = hallway([
        "plot".as_ref(),
        "scenarios/small-scale.toml".as_ref(),
        "--output".as_ref(),
        there.as_os_str(),
    ]);
    assert!(refused(&pictures).contains("cannot write"));
    assert_eq!(std::fs::read_to_string(&there).expect("there"), "something");
}

#[test]
fn a_link_that_leads_nowhere_is_written_through() {
    let folder = folder();
    let [link, middle, target] = ["link", "middle", "new/target"].map(|n| folder.path().join(n));
    symlink("middle", &link).expect("a link");
    symlink("new/target", &middle).expect("a link");
    hallway::files::write_whole(&link, b"result").expect("written");
    assert_eq!(std::fs::read(&target).expect("there"), b"result");
    for link in [&link, &middle] {
        assert!(std::fs::symlink_metadata(link).expect("there").is_symlink(), "it was replaced");
    }
    // One that leads to itself leads nowhere at all.
    let circle = folder.path().join("circle");
    symlink("circle", &circle).expect("a link");
    hallway::files::write_whole(&circle, b"result").expect_err("no end");
    assert!(std::fs::symlink_metadata(&circle).expect("there").is_symlink());
}

/// A process that is killed while it writes leaves what it had; the next one clears that away.
#[test]
fn what_a_kill_left_is_cleared_away() {
    let folder = folder();
    let target = folder.path().join("result.json");
    let shim = shim(folder.path());
    let mut child = evaluation(&target)
        .env("LD_PRELOAD", &shim)
        .env("HALLWAY_TEST_DIE", "1")
        .spawn()
        .expect("it starts");
    assert!(!child.wait().expect("it ends").success(), "it was killed before it renamed");
    let left = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("readable").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with("shim")).collect();
        names.sort();
        names
    };
    let [temporary] = &left(folder.path())[..] else { panic!("{:?}", left(folder.path())) };
    // One that is new may be somebody's who has just begun.
    hallway::files::write_whole(&target, b"one").expect("written");
    assert_eq!(left(folder.path()).len(), 2);
    let old = SystemTime::now() - Duration::from_secs(3_600);
    let file = std::fs::File::options().append(true).open(folder.path().join(temporary));
    let file = file.expect("there");
    file.set_modified(old).expect("dated");
    // Whoever has it locked is at work on it.
    file.lock().expect("locked");
    hallway::files::write_whole(&target, b"two").expect("written");
    assert_eq!(left(folder.path()).len(), 2);
    drop(file);
    let foreign = folder.path().join(".tmpA1B2C3");
    std::fs::write(&foreign, "another program's").expect("written");
    std::fs::File::options()
        .append(true)
        .open(&foreign)
        .and_then(|file| file.set_modified(old))
        .expect("dated");
    hallway::files::write_whole(&target, b"three").expect("written");
    assert_eq!(left(folder.path()), [".tmpA1B2C3", "result.json"]);
    assert_eq!(std::fs::read(&target).expect("there"), b"three");
}

/// A file that is renamed before its contents are on the disk may be empty after a power cut.
#[test]
fn contents_are_on_the_disk_before_the_name_and_the_name_before_the_end() {
    let folder = folder();
    let target = folder.path().join("result.json");
    let log = folder.path().join("shim.log");
    let mut command = evaluation(&target);
    printed(command.env("LD_PRELOAD", shim(folder.path())).env("HALLWAY_TEST_LOG", &log));
    let calls = std::fs::read_to_string(&log).expect("calls");
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls, ["flush a file", "rename", "flush a folder"]);
}

/// A library that notes flushes and renames, or kills the process on its first rename.
fn shim(folder: &Path) -> std::path::PathBuf {
    const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
static void note(const char *line) {
    const char *path = getenv("HALLWAY_TEST_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    if (log) { fprintf(log, "%s\n", line); fclose(log); }
}
int fsync(int fd) {
    struct stat found;
    fstat(fd, &found);
    note(S_ISDIR(found.st_mode) ? "flush a folder" : "flush a file");
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}
int rename(const char *from, const char *to) {
    if (getenv("HALLWAY_TEST_DIE")) raise(SIGKILL);
    note("rename");
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    return real(from, to);
}
"#;
    let [source, library] = ["shim.c", "shim.so"].map(|name| folder.join(name));
    std::fs::write(&source, SOURCE).expect("written");
    // Rust's linker is the C compiler, so there is one.
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(compile.status().expect("a C compiler").success());
    library
}

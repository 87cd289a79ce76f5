//! What a command would write over something that is still wanted, it refuses before it begins;
//! and of a file that it cannot read, it says how to come by one.

use super::*;
use hallway::runs::RunSet;

/// Their runs and pictures would be one.
#[test]
fn two_scenarios_of_one_name_are_refused_with_both_places() {
    let desk = Desk::new(VALID);
    std::fs::write(desk.path("copy.toml"), VALID.replace("worth it", "worth that")).expect("put");
    for command in [&["evaluate"][..], &["verify"], &["verify", "--recorded"], &["plot"]] {
        let files = ["scenario.toml", "copy.toml", "--profile", "profile.toml"];
        let outcome = desk.run(&[command, &files].concat());
        outcome.failed_cleanly(2);
        outcome.says(&[
            "`demo`: scenario.toml and copy.toml",
            "help: change the `name` in one of them",
        ]);
    }
}

#[test]
fn no_result_takes_the_place_of_what_is_read() {
    let desk = Desk::new(VALID);
    let table = "# gpu = G\n# multiprocessors = 4\n# device_memory = 1 GiB\n\
                 call,seconds\nlaunch,5e-6\n";
    std::fs::write(desk.path("lab.csv"), table).expect("written");
    let runs = RunSet::new("demo", machine().machine.unix_time);
    runs.save(&desk.path("runs/demo.json")).expect("written");
    for (link, to) in [("link", "scenario.toml"), ("demo-gantt.svg", "profile.toml")] {
        std::os::unix::fs::symlink(desk.path(to), desk.path(link)).expect("made");
    }
    let files = ["scenario.toml", "--profile", "profile.toml", "--output"];
    for (command, output, input) in [
        (&["evaluate"][..], "scenario.toml", "scenario.toml"),
        (&["evaluate"], "runs/../scenario.toml", "scenario.toml"),
        (&["evaluate"], "link", "scenario.toml"),
        (&["evaluate"], "./profile.toml", "profile.toml"),
        (&["verify"], "scenario.toml", "scenario.toml"),
        (&["verify", "--recorded"], "runs/demo.json", "runs/demo.json"),
        (&["plot"], ".", "profile.toml"),
    ] {
        let outcome = desk.run(&[command, &files, &[output]].concat());
        outcome.failed_cleanly(2);
        let words = format!("{output} would overwrite an input: {input}");
        let words = words.replacen(". ", "./demo-gantt.svg ", usize::from(output == "."));
        outcome.says(&[&words, "help: choose another path for the output"]);
    }
    std::os::unix::fs::symlink(desk.path("lab.csv"), desk.path("lab.toml")).expect("made");
    for output in ["lab.csv", "runs/../lab.csv", "lab.toml"] {
        let outcome = desk.run(&["fit", "lab.csv", "--output", output]);
        outcome.failed_cleanly(2);
        let words = format!("{output} would overwrite an input: lab.csv");
        outcome.says(&[&words, "help"]);
    }
}

/// What was found without being named, named by its folder, or named by a kernel.
#[test]
fn no_result_takes_the_place_of_what_is_read_unseen() {
    let desk = Desk::new(VALID);
    let profile = std::fs::read_to_string(desk.path("profile.toml")).expect("written");
    for folder in ["there", "calibration/newest"] {
        std::fs::create_dir_all(desk.path(folder)).expect("made");
        std::fs::write(desk.path(folder).join("profile.toml"), &profile).expect("written");
    }
    let kernel = "__global__ void k(float *x) { x[threadIdx.x] = 1.0f; }\n";
    std::fs::write(desk.path("k.cu"), format!("#include \"k.h\"\n{kernel}")).expect("written");
    std::fs::write(desk.path("k.h"), "#pragma once\n").expect("written");
    let of_own = VALID.replacen("[[task]]", &format!("{OWN}\n[[task]]"), 1);
    std::fs::write(desk.path("own.toml"), of_own).expect("written");
    let named = ["--profile", "there"];
    let found: [&str; 0] = [];
    for (command, profile, option, output) in [
        ("explain scenario.toml", &named[..], "--program", "there/profile.toml"),
        ("explain scenario.toml", &found, "--program", "calibration/newest/profile.toml"),
        (
            "explain scenario.toml --plan cpu",
            &found,
            "--program",
            "calibration/newest/profile.toml",
        ),
        ("explain own.toml", &named, "--program", "k.cu"),
        ("explain own.toml", &named, "--program", "k.h"),
        ("evaluate own.toml", &named, "--output", "k.cu"),
        ("evaluate own.toml", &named, "--trace", "k.cu"),
        ("evaluate own.toml --sweep runs=1,2", &named, "--output", "k.cu"),
        ("evaluate own.toml --price there=1", &named, "--output", "k.cu"),
        ("report own.toml", &named, "--output", "k.cu"),
        ("verify own.toml", &named, "--output", "k.cu"),
    ] {
        let before = std::fs::read_to_string(desk.path(output)).expect("there");
        let arguments: Vec<&str> = command.split(' ').collect();
        let outcome = desk.run(&[&arguments[..], profile, &[option, output]].concat());
        outcome.failed_cleanly(2);
        outcome.says(&[&format!("{output} would overwrite an input")]);
        assert_eq!(std::fs::read_to_string(desk.path(output)).expect("there"), before);
    }
}

/// A kernel with code in a file, and a program that runs it.
const OWN: &str = r#"[[kernel]]
name = "own"
source = "k.cu"
entry = "k"
writes = ["out"]
parameters = ["out"]
block = [32]
grid = [1]
elements = 32

[[program]]
name = "own"
memory = [{ name = "d", kind = "device", size = "128 B" }]
calls = [{ launch = "own", reads = [], writes = "d" }, { synchronize_device = 0 }]
"#;

/// Not there yet, and spelled in two ways.
#[test]
fn no_result_takes_the_place_of_another() {
    let desk = Desk::new(VALID);
    std::fs::create_dir(desk.path("runs")).expect("made");
    let files = ["verify", "scenario.toml", "--profile", "profile.toml"];
    let outcome = desk.run(&[&files[..], &["--output", "./runs/demo.json"]].concat());
    outcome.failed_cleanly(2);
    outcome.says(&["./runs/demo.json would overwrite another result: runs/demo.json"]);
}

/// Nothing is lost in a terminal or a pipe, even if the scenario comes out of it.
#[test]
fn a_device_may_be_read_and_written() {
    let desk = Desk::new(VALID);
    let files = ["evaluate", "scenario.toml", "--profile", "profile.toml", "--output"];
    let outcome = desk.run(&[&files[..], &["/dev/null"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown);
}

#[test]
fn a_profile_of_no_use_is_refused_with_how_to_get_one() {
    let desk = Desk::new(VALID);
    let good = std::fs::read_to_string(desk.path("profile.toml")).expect("written");
    let anew = "`hallway fit SAMPLES --output FILE`, or with `hallway calibrate`";
    for (text, fix) in [
        (String::new(), anew),
        ("schema_version = 1".to_owned(), anew),
        (good.replacen("schema_version = 1", "schema_version = 2", 1), anew),
        (good.replacen("multiprocessors = ", "multiprocessors = 0 # ", 1), anew),
        ("{\"hallway_samples\":2}".to_owned(), "`hallway fit bad.toml --output FILE`"),
    ] {
        std::fs::write(desk.path("bad.toml"), text).expect("written");
        for command in [&["evaluate"][..], &["verify", "--recorded"], &["plot"]] {
            let arguments = [command, &["scenario.toml", "--profile", "bad.toml"]].concat();
            let outcome = desk.run(&arguments);
            outcome.failed_cleanly(2);
            outcome.says(&["bad.toml", "help: ", fix]);
        }
    }
    std::fs::create_dir(desk.path("empty")).expect("made");
    for lost in ["lost.toml", "empty"] {
        let outcome = desk.run(&["compare", "profile.toml", lost]);
        outcome.failed_cleanly(2);
        outcome.says(&["cannot read", lost, "help: pass the path of a profile"]);
    }
}

#[test]
fn scenarios_and_profiles_are_told_apart() {
    let desk = Desk::new(VALID);
    for (arguments, words) in [
        (
            ["profile.toml", "--profile", "profile.toml"],
            "profile.toml is a profile, not a scenario",
        ),
        (["scenario.toml", "--profile", "scenario.toml"], "scenario.toml is a scenario, not a"),
    ] {
        for command in ["evaluate", "plot"] {
            let outcome = desk.run(&[&[command][..], &arguments].concat());
            outcome.failed_cleanly(2);
            outcome.says(&[words, "help: ", "--profile"]);
        }
    }
}

#[test]
fn runs_of_no_use_are_refused_with_how_to_get_some() {
    let desk = Desk::new(VALID);
    let time = machine().machine.unix_time;
    let runs = |scenario: &str, time: u64| {
        serde_json::to_string(&RunSet::new(scenario, time)).expect("plain data")
    };
    let newer = runs("demo", time).replace("\"hallway_runs\":1", "\"hallway_runs\":2,\"x\":0");
    std::fs::create_dir(desk.path("runs")).expect("made");
    for (text, words) in [
        ("[]".to_owned(), "runs/demo.json:1:2: not a file of runs"),
        (newer, "runs/demo.json has format 2, but this hallway reads format 1"),
        (runs("other", time), "runs/demo.json contains runs of `other`, not of `demo`"),
        (runs("demo", time + 1), "the runs of `demo` were made with another calibration than"),
    ] {
        std::fs::write(desk.path("runs/demo.json"), text).expect("written");
        for command in [&["verify", "--recorded"][..], &["plot"]] {
            let files = ["scenario.toml", "--profile", "profile.toml"];
            let outcome = desk.run(&[command, &files].concat());
            outcome.failed_cleanly(2);
            outcome.says(&[words, "help: ", "`hallway verify`"]);
        }
    }
}

//! What a command would write over something that is still wanted, it refuses before it begins.

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
        outcome.says(&["`demo`: scenario.toml and copy.toml", "help: give one of them another"]);
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
        let words = format!("{output} would take the place of what is read, {input}");
        let words = words.replacen(". ", "./demo-gantt.svg ", usize::from(output == "."));
        outcome.says(&[&words, "help: name another place with --output"]);
    }
    std::os::unix::fs::symlink(desk.path("lab.csv"), desk.path("lab.toml")).expect("made");
    for output in ["lab.csv", "runs/../lab.csv", "lab.toml"] {
        let outcome = desk.run(&["fit", "lab.csv", "--output", output]);
        outcome.failed_cleanly(2);
        let words = format!("{output} would take the place of what is read, lab.csv");
        outcome.says(&[&words, "help"]);
    }
}

/// Not there yet, and spelled in two ways.
#[test]
fn no_result_takes_the_place_of_another() {
    let desk = Desk::new(VALID);
    std::fs::create_dir(desk.path("runs")).expect("made");
    let files = ["verify", "scenario.toml", "--profile", "profile.toml"];
    let outcome = desk.run(&[&files[..], &["--output", "./runs/demo.json"]].concat());
    outcome.failed_cleanly(2);
    outcome.says(&["./runs/demo.json would take the place of another result, runs/demo.json"]);
}

/// Nothing is lost in a terminal or a pipe, even if the scenario comes out of it.
#[test]
fn a_device_may_be_read_and_written() {
    let desk = Desk::new(VALID);
    let files = ["evaluate", "scenario.toml", "--profile", "profile.toml", "--output"];
    let outcome = desk.run(&[&files[..], &["/dev/null"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown);
}

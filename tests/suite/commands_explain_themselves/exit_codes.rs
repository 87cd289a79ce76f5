//! An exit code says whose fault it is: 1 and 3 are met elsewhere, and 130 where there is a GPU.

use super::*;

/// Nearly every command writes to a place that the user chooses.
#[test]
fn a_place_that_nobody_can_write_to_is_bad_input() {
    let desk = Desk::new(VALID);
    let table = "# gpu = G\n# multiprocessors = 4\n# device_memory = 1 GiB\n\
                 call,seconds\nlaunch,5e-6\n";
    std::fs::write(desk.path("lab.csv"), table).expect("written");
    let to = |path| ["scenario.toml", "--profile", "profile.toml", "--output", path];
    for arguments in [
        [&["evaluate"][..], &to("profile.toml/answer")].concat(),
        [&["evaluate"][..], &to(".")].concat(),
        [&["plot"][..], &to("profile.toml")].concat(),
        vec!["fit", "lab.csv", "--output", "profile.toml/lab.toml"],
    ] {
        let outcome = desk.run(&arguments);
        outcome.failed_cleanly(2);
        outcome.says(&["cannot write", "help: choose a writable path with enough space"]);
    }
}

/// Everything was right but the disk.
#[test]
fn a_place_that_is_full_is_the_machines_failure() {
    let desk = Desk::new(VALID);
    let outcome = desk.run(&[&EVALUATE[..], &["--output", "/dev/full"]].concat());
    outcome.failed_cleanly(4);
    outcome.says(&["cannot write /dev/full", "help"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hallway"));
    command.args(EVALUATE).current_dir(desk.0.path()).stdout(full);
    assert_eq!(command.output().expect("it starts").status.code(), Some(4));
}

#[test]
fn the_same_codes_are_in_the_docs_and_in_the_help() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides/use-in-ci.md");
    let guide = std::fs::read_to_string(guide).expect("readable");
    let (_, section) = guide.split_once("## Exit codes").expect("a section");
    let codes = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let codes: Vec<&str> = codes.filter(|code| code.parse::<u8>().is_ok()).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "130"]);
    let help = Desk::new(VALID).run(&["--help"]).stdout;
    let (_, listed) = help.split_once("Exit codes: ").expect("listed");
    let listed = listed.split_whitespace().filter(|word| word.parse::<u8>().is_ok());
    assert_eq!(listed.collect::<Vec<_>>(), codes);
}

/// A script that goes by the exit code alone must not take silence for an answer.
#[test]
fn a_scenario_without_an_answer_is_no_success() {
    let desk = Desk::new(VALID);
    let mut nothing = machine();
    (nothing.twins, nothing.kernels) = (Vec::new(), Vec::new());
    nothing.save(&desk.path("nothing.toml")).expect("written");
    for command in ["evaluate", "plot"] {
        let desk_of = |profile| desk.run(&[command, "scenario.toml", "--profile", profile]);
        let outcome = desk_of("nothing.toml");
        assert_eq!(outcome.code, Some(1), "{}", outcome.shown);
        outcome.says(&["demo: no plan could be predicted"]);
        assert_eq!(desk_of("profile.toml").code, Some(0));
    }
    let json =
        desk.run(&["evaluate", "scenario.toml", "--profile", "nothing.toml", "--format", "json"]);
    assert_eq!(json.code, Some(1), "{}", json.shown);
    serde_json::from_str::<serde_json::Value>(&json.stdout).expect("whole JSON");
}

/// No family has such a name, or the profile knows nothing of the one that has.
#[test]
fn an_unknown_family_is_no_success() {
    let asks_for = |family: &str| {
        let desk = Desk::new(&format!("{VALID}[plans]\nfamilies = [\"{family}\"]"));
        desk.run(&EVALUATE)
    };
    let outcome = asks_for("by-chunks");
    outcome.failed_cleanly(2);
    outcome.says(&["by-chunks", "`by-chunk`", "round-trip", "multi-gpu"]);
    // The profile is of a machine with one GPU.
    let outcome = asks_for("multi-gpu");
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown);
    outcome.says(&["demo: no plan could be predicted"]);
}

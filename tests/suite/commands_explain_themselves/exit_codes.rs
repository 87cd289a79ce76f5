//! An exit code says whose fault it is: 1 and 3 are met elsewhere, and 130 where there is a GPU.

use super::*;

/// Of the first, the last and nearly every command in between, the user chooses where it writes.
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
        outcome.says(&["cannot write", "help: name a place with room that you may write to"]);
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

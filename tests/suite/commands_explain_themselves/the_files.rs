//! What a command would write over something that is still wanted, it refuses before it begins.

use super::*;

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

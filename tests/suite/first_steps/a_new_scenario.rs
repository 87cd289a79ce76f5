//! `hallway init` writes a scenario that runs, and takes nothing from anybody.

use super::*;
use hallway::scenario::{Template, Workload};

const PROFILE: &str = "calibration/h200/profile.toml";

#[test]
fn of_every_kind_is_answered() {
    let profile = repository().join(PROFILE);
    let profile = profile.to_str().expect("a path in UTF-8");
    for template in Template::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let made = ran(folder.path(), ["init", "mine.toml", "--kind", template.name()]);
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
        assert!(stdout(&made).contains("hallway evaluate mine.toml"), "{}", stdout(&made));
        let text = std::fs::read_to_string(folder.path().join("mine.toml")).expect("written");
        let first = text.lines().next().expect("a line");
        assert_eq!(first, "#:schema ./hallway-scenario.schema.json");
        let schema = folder.path().join("hallway-scenario.schema.json");
        let schema = std::fs::read_to_string(schema).expect("written beside it");
        assert_eq!(schema, hallway::scenario::derived_schema());
        assert_eq!(Workload::from_toml("mine.toml", &text).expect("valid").name, "mine");
        let few = ["evaluate", "mine.toml", "--profile", profile, "--draws", "10"];
        let answer = ran(folder.path(), few);
        assert_eq!(answer.status.code(), Some(0), "{}", stderr(&answer));
        let answers =
            ["Use the GPU", "Stay on the CPU", "Share the work", "Either", "Use `", "Open"];
        let text = stdout(&answer);
        let is_answer = |line: &str| answers.iter().any(|answer| line.starts_with(answer));
        assert!(text.lines().any(is_answer), "{text}");
        let explained = ran(folder.path(), ["explain", "mine.toml", "--profile", profile]);
        assert_eq!(explained.status.code(), Some(0), "{}", stderr(&explained));
        let text = stdout(&explained);
        assert!(text.contains("{ launch = "), "no plan on the GPU in {text}");
    }
}

#[test]
fn has_a_name_even_where_its_file_has_none() {
    for (file, name) in [("my \"net\"", "my \"net\""), (".hidden", "kernel")] {
        let text = Template::Kernel.text(file, "schema.json");
        assert_eq!(Workload::from_toml("new.toml", &text).expect("valid").name, name);
    }
}

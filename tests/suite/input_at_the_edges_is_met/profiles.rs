//! Profiles: curves that no machine has, counts that none has, and files that end early.

use super::{committed, file};
use hallway::profile::Profile;

fn error_of(text: &str) -> String {
    let (_folder, path) = file("profile.toml", text);
    Profile::load(&path).map(|_| ()).expect_err("should have been refused").to_string()
}

/// Each beginning of the file that ends where a table does is TOML by itself.
#[test]
fn a_profile_that_ends_early_is_refused() {
    let text = committed("profile.toml");
    let tables: Vec<usize> = text.match_indices("\n[").map(|(at, _)| at + 1).collect();
    assert!(tables.len() > 100);
    for end in tables.into_iter().step_by(20).chain([text.trim_end().len() - 1]) {
        let error = error_of(&text[..end]);
        assert!(error.contains("is incomplete"), "at {end}: {error}");
    }
    let (_folder, path) = file("profile.toml", &text);
    Profile::load(&path).expect("whole");
}

#[test]
fn what_is_saved_is_whole() {
    let (folder, path) = file("profile.toml", committed("profile.toml"));
    let profile = Profile::load(&path).expect("committed");
    let again = folder.path().join("again.toml");
    profile.save(&again).expect("written");
    let text = std::fs::read_to_string(&again).expect("there");
    assert_eq!(Profile::load(&again).expect("whole"), profile);
    assert!(text.trim_end().ends_with("# end of the profile"), "{}", &text[text.len() - 99..]);
}

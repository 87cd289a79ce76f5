//! A file that is not a scenario at all, or not one of this version.

use super::*;

/// A marker beyond column 65535 is too far away for some libraries.
#[test]
fn in_a_line_of_any_length() {
    let text = valid_but("[1, 4]", &format!("[{}-4]", "1, ".repeat(30_000)));
    refuses(&text, "-4", "`chunks` is -4", "from 1 to 1000000");
    let shown = drawn(&read(&text).expect_err("refused"));
    assert!(shown.contains(" 1, -4]\n"), "{shown}");
    assert!(shown.lines().all(|line| line.len() < 200), "{shown}");
    // Nested deeper than any reader goes.
    let text = valid_but("runs = 10", &format!("x = {}", "[".repeat(70_000)));
    let shown = drawn(&read(&text).expect_err("refused"));
    assert!(shown.contains("not valid TOML:") && shown.len() < 1_000, "{shown}");
}

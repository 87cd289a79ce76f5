//! A file that is not a scenario at all, or not one of this version.

use super::*;

#[test]
fn that_is_not_toml() {
    let text = valid_but("name = \"demo\"", "name = \"demo");
    refuses(&text, "\nquestion", "not valid TOML:", "correct the syntax");
    let text = valid_but("runs = 10", "batches = 10");
    refuses(&text, "batches = 10", "duplicate key", "correct the syntax");
}

#[test]
fn of_another_version() {
    let text = valid_but("schema_version = 1", "colour = 3\nschema_version = 2");
    refuses(
        &text,
        "2\n",
        "this version of hallway cannot read `schema_version` 2",
        "set `schema_version = 1`, the only supported version",
    );
    let text = valid_but("schema_version = 1\n", "");
    refuses(&text, "name", "this scenario has no `schema_version`", "add `schema_version = 1`");
}

#[test]
fn with_an_unknown_key() {
    let text = valid_but("batches", "batchs");
    let message = "unknown key `batchs`";
    refuses(&text, "batchs", message, "did you mean `batches`? Choices:");
    let text = valid_but("elements = 1_024 # scratch", "elments = 1_024");
    refuses(&text, "elments", "unknown key `elments` in `buffer`", "did you mean `elements`?");
    let text = valid_but("kernel = \"scale\"", "kernel = \"scale\"\ncolour = 1");
    refuses(&text, "colour", "`colour` in `task`", "choices: `name`, `kernel`, `reads`");
    let text = valid_but("state = \"fresh\"", "stat = \"fresh\"");
    refuses(&text, "stat =", "`stat` in `buffer.host`", "did you mean `state`?");
}

#[test]
fn without_a_key_it_needs() {
    let text = valid_but("writes = [\"out\"]\n", "");
    let at = "[[task]]\nname = \"smooth\"";
    refuses(&text, at, "this `task` has no `writes`", "`writes = ...`");
}

#[test]
fn with_a_wrong_type() {
    let text = valid_but("1_024 # scratch", "\"many\"");
    let message =
        "`buffer.elements`: invalid type: string \"many\", expected a 64-bit whole number";
    refuses(&text, "\"many\"", message, "write a 64-bit whole number here");
    let text = valid_but("[\"cpu\", \"by-engine\"]", "\"cpu\"");
    refuses(&text, "\"cpu\"", "`plans.families`", "write an array");
    let text = valid_but("home = \"scratch\"", "home = 3");
    refuses(&text, "3\n", "`buffer.home`", "a word in quotation marks");
    let text = valid_but("split = { along = \"elements\", halo = 1 }", "split = true");
    refuses(&text, "true", "`task.split`", "along = \"elements\"");
    let text = valid_but("split = { along = \"elements\", halo = 1 }", "split = \"non\"");
    refuses(&text, "\"non\"", "unknown split `non`", "`none`");
    let text =
        valid_but("split = { along = \"elements\", halo = 1 }", "split = { along = \"rows\" }");
    refuses(&text, "\"rows\"", "unknown along `rows`", "`elements`");
    let text = valid_but("runs = 10", "runs = 99999999999999999999");
    refuses(&text, "9999", "`runs`", "a 64-bit whole number");
}

#[test]
fn with_a_word_that_is_not_in_the_list() {
    let text = valid_but("home = \"scratch\"", "home = \"scrach\"");
    refuses(&text, "\"scrach\"", "unknown home `scrach`", "did you mean `scratch`?");
    let text = valid_but("\"pinned\"", "\"pagable\"");
    refuses(&text, "\"pagable\"", "unknown memory `pagable`", "did you mean `pageable`?");
    let text = valid_but("\"reused\"", "\"old\"");
    refuses(&text, "\"old\"", "unknown state `old`", "choices: `reused`, `fresh`");
    let text = VALID.replacen("\"f32\"", "\"f8\"", 1);
    refuses(&text, "\"f8\"", "unknown type `f8`", "`f32`");
    let text = valid_but("along = \"elements\"", "along = \"rows\"");
    refuses(&text, "\"rows\"", "unknown along `rows`", "`elements`");
}

#[test]
fn with_too_few_or_too_many_brackets() {
    let start = VALID.find("[[task]]\nname = \"smooth").expect("there");
    let text = VALID[..start].replace("[[task]]", "[task]");
    let fix = "write `[[task]]` above each task";
    refuses(&text, "[task]", "`task` is not a list of tables", fix);
    let text = valid_but("[limits]", "[[limits]]");
    let message = "`limits` is not a single table";
    refuses(&text, "[[limits]]", message, "write a single `[limits]`");
}

/// A marker beyond column 65535 is too far away for some libraries.
#[test]
fn in_a_line_of_any_length() {
    let text = valid_but("[1, 4]", &format!("[{}-4]", "1, ".repeat(30_000)));
    refuses(&text, "-4", "`chunks` is -4", "1 or more");
    let shown = drawn(&read(&text).expect_err("refused"));
    assert!(shown.contains(" 1, -4]\n"), "{shown}");
    assert!(shown.lines().all(|line| line.len() < 200), "{shown}");
    // Nested deeper than any reader goes.
    let text = valid_but("runs = 10", &format!("x = {}", "[".repeat(70_000)));
    let shown = drawn(&read(&text).expect_err("refused"));
    assert!(shown.contains("not valid TOML:") && shown.len() < 1_000, "{shown}");
}

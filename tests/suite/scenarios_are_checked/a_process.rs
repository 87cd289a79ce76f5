//! A process that nobody can have.

use super::*;

#[test]
fn in_a_state_that_there_is_not() {
    let text = valid_but("state = \"new\"", "state = \"runing\"");
    let fix = "did you mean `running`? Choices: `new`, `running`";
    refuses(&text, "\"runing\"", "unknown state `runing`", fix);
    let text = valid_but("state = \"new\"", "stat = \"new\"");
    refuses(&text, "stat =", "unknown key `stat` in `process`", "did you mean `state`?");
}

#[test]
fn that_runs_and_starts() {
    let text = valid_but("state = \"new\"", "state = \"running\"");
    let fix = "remove `start`, or set `state = \"new\"`";
    refuses(&text, "\"4 s\"", "`[process]` has a `start`, but a running process", fix);
}

#[test]
fn whose_start_is_no_time() {
    for wrong in ["4", "soon", "-4 s", "2000 h", "100000 s"] {
        let text = valid_but("\"4 s\"", &format!("\"{wrong}\""));
        refuses(&text, &format!("\"{wrong}\""), "`start`: ", "such as \"4 s\"");
    }
    let text = valid_but("\"4 s\"", "77");
    refuses(&text, "77", "`process.start`: invalid type: integer", "write a string here");
}

#[test]
fn of_which_there_are_two() {
    let text = valid_but("[process]", "[[process]]");
    let message = "`process` is not a single table";
    refuses(&text, "[[process]]", message, "write a single `[process]`");
    let text = valid_but("[process]", "[process]\n[process]");
    assert!(read(&text).expect_err("twice").to_string().contains("`[process]` appears twice"));
}

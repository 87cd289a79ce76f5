//! A buffer has contents when it is read, and a reason to be there.

use super::*;

#[test]
fn says_how_the_host_holds_it_only_if_it_does() {
    let text = valid_but("home = \"scratch\"", "home = \"device\"\nhost = {}");
    refuses(&text, "{}", "buffer `middle` has the key `host`", "remove `host`");
}

#[test]
fn is_used() {
    let more = "[[buffer]]\nname = \"idle\"\ntype = \"f32\"\nelements = 1\nhome = \"host\"\n";
    let text = valid_but("[limits]", &format!("{more}[limits]"));
    refuses(&text, "\"idle\"", "no task uses buffer `idle`", "remove it");
}

#[test]
fn that_is_scratch_is_written_and_read() {
    let host = "home = \"host\"\nhost = { memory = \"pinned\", state = \"reused\" }";
    let text = valid_but(host, "home = \"scratch\"");
    let message = "task `double` `reads` buffer `x`, a buffer nobody writes";
    let fix = "let another task write `x` first, or set `home = \"host\"`";
    refuses(&text, "\"x\"]", message, fix);
    let host = "home = \"host\"\nhost = { state = \"fresh\" }";
    let text = valid_but(host, "home = \"scratch\"");
    let message = "no task reads the scratch buffer `out`";
    refuses(&text, "\"out\"\ntype", message, "to keep `out`");
}

#[test]
fn that_is_scratch_is_not_updated_in_place() {
    let text = valid_but("reads = [\"middle\"]", "reads = [\"x\"] # not middle");
    let text = text.replace("reads = [\"x\"]\n", "reads = [\"middle\"]\n");
    let message = "task `double` `reads` buffer `middle`, which is empty before this task";
    refuses(&text, "\"middle\"]", message, "set `home = \"host\"`");
}

#[test]
fn that_is_fresh_is_not_an_input() {
    let text = valid_but("state = \"reused\"", "state = \"fresh\"");
    let message = "task `double` `reads` buffer `x`, a buffer nobody writes";
    refuses(&text, "\"x\"]", message, "set `state = \"reused\"`");
    let text = valid_but("kernel = \"stencil\"", "kernel = \"saxpy\"");
    let text = text.replace(", halo = 1", "");
    let text = text.replace("reads = [\"middle\"]", "reads = [\"middle\", \"out\"]");
    let message = "task `smooth` `reads` buffer `out`, which is empty before this task";
    refuses(&text, "\"out\"]", message, "set `state = \"reused\"`");
}

#[test]
fn that_is_fresh_may_be_read_after_it_was_written() {
    let text = valid_but("home = \"scratch\"", "home = \"host\"\nhost = { state = \"fresh\" }");
    assert!(read(&text).is_ok());
}

#[test]
fn has_one_writer() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"scale\"");
    let text = text.replace(", halo = 1", "").replace("[\"out\"]", "[\"middle\"] # again");
    let message = "tasks `double` and `smooth` write the same buffer";
    refuses(&text, "[\"middle\"] # again", message, "a buffer of its own in `writes`");
}

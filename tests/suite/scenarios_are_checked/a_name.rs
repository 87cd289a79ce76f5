//! Names are unique, and what they name is there.

use super::*;

#[test]
fn is_visible_text() {
    let text = valid_but("\"demo\"", "\"  \"");
    refuses(&text, "\"  \"", "`name` consists of spaces, U+0020", "\"image-batches\"");
    let text = valid_but("\"smooth\"", "\"a\\nb\"");
    refuses(&text, "\"a\\nb\"", "contains the invisible character U+000A", "printable characters");
    let long = format!("\"{}\"", "n".repeat(65));
    let text = valid_but("name = \"x\"", &format!("name = {long}"));
    refuses(&text, &long, "`name` has more than 64 characters", "1 to 64");
}

#[test]
fn is_given_once() {
    let text = valid_but("name = \"out\"", "name = \"x\" # again");
    let message = "two buffers have the same `name`, `x`";
    refuses(&text, "\"x\" # again", message, "a distinct name");
    let text = valid_but("name = \"smooth\"", "name = \"double\" # again");
    let message = "two tasks have the same `name`, `double`";
    refuses(&text, "\"double\" # again", message, "a distinct name");
}

#[test]
fn of_a_buffer_is_declared() {
    let text = valid_but("reads = [\"middle\"]", "reads = [\"midle\"]");
    refuses(&text, "\"midle\"", "unknown buffer `midle`", "did you mean `middle`?");
    let text = valid_but("writes = [\"out\"]", "writes = [\"elsewhere\"]");
    refuses(&text, "\"elsewhere\"", "unknown buffer `elsewhere`", "declare it in a `[[buffer]]`");
}

#[test]
fn of_a_kernel_is_in_the_library() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"stensil\"");
    let fix = "did you mean `stencil`? Choices: `scale`, `saxpy`, `polynomial`, `sum`";
    refuses(&text, "\"stensil\"", "unknown kernel `stensil`", fix);
}

#[test]
fn of_an_argument_belongs_to_the_kernel() {
    let text = valid_but("{ a = 2.0 }", "{ b = 2.0 }");
    refuses(&text, "b = 2.0", "unknown argument `b` of kernel `scale`", "did you mean `a`?");
    let text = valid_but("iterations = 4", "arguments = { a = 1 }");
    refuses(&text, "a = 1", "unknown argument `a` of kernel `stencil`", "remove it");
}

#[test]
fn of_a_family_is_known() {
    let text = valid_but("\"by-engine\"", "\"by-engin\"");
    refuses(&text, "\"by-engin\"", "unknown family `by-engin`", "did you mean `by-engine`?");
}

//! A task has the operands that its kernel has.

use super::*;

#[test]
fn is_needed() {
    let start = VALID.find("[[task]]").expect("there");
    refuses(&VALID[..start], "\"demo\"", "has no task", "add a `[[task]]` table");
}

#[test]
fn reads_what_its_kernel_does() {
    let text = valid_but("[\"middle\"]\nwrites", "[\"middle\", \"x\"]\nwrites");
    let message = "`reads` of task `smooth` names 2 buffers";
    refuses(&text, "[\"middle\", \"x\"]", message, "name one buffer in `reads`");
    let text = valid_but("kernel = \"scale\"", "kernel = \"saxpy\"");
    let message = "`reads` of task `double` names one buffer";
    refuses(&text, "[\"x\"]", message, "name 2 buffers in `reads`");
}

#[test]
fn writes_one_buffer() {
    for wrong in ["[ ]", "[\"middle\", \"out\"]"] {
        let text = valid_but("writes = [\"middle\"]", &format!("writes = {wrong}"));
        refuses(&text, wrong, "`writes` of task `double` names ", "name one buffer");
    }
}

#[test]
fn writes_as_many_elements_as_it_reads() {
    let text = valid_but("1024 # output", "1000 # output");
    let message = "reads the 1024 elements of `middle` but writes the 1000 of `out`";
    refuses(&text, "1000", message, "give both the same `elements`");
}

#[test]
fn that_reduces_writes_one_element_once() {
    let sum = valid_but("kernel = \"stencil\"", "kernel = \"sum\"");
    let sum = sum.replace(", halo = 1", "");
    let text = sum.replace("iterations = 4\n", "");
    let message = "kernel `sum` of task `smooth` gives one element, but buffer `out` has 1024";
    refuses(&text, "1024 # output", message, "set `elements = 1` in buffer `out`");
    let text = text.replace("1024 # output", "1");
    assert!(read(&text).is_ok());
    let text = sum.replace("1024 # output", "1");
    let message = "`iterations` of task `smooth` is 4, but kernel `sum` cannot be repeated";
    refuses(&text, "4\nsplit", message, "leave `iterations` out");
}

#[test]
fn works_in_place_only_where_its_kernel_can() {
    let text = valid_but("writes = [\"out\"]", "writes = [\"middle\"]");
    let at = "[\"middle\"]\niterations";
    refuses(&text, at, "reads and `writes` the same buffer", "write to a second buffer");
}

#[test]
fn has_the_halo_of_its_kernel() {
    let text = valid_but("halo = 1", "halo = -2");
    refuses(&text, "-2", "`halo` of task `smooth` is -2", "write `halo = 1`, or leave it out");
}

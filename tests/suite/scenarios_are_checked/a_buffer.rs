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
    let message = "task `double` reads buffer `x`, which no task writes";
    let fix = "have another task write `x` first, or set `home = \"host\"`";
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
    let message = "task `double` reads buffer `middle`, which is still empty at this point";
    refuses(&text, "\"middle\"]", message, "set `home = \"host\"`");
}

#[test]
fn that_is_fresh_is_not_an_input() {
    let text = valid_but("state = \"reused\"", "state = \"fresh\"");
    let message = "task `double` reads buffer `x`, which no task writes";
    refuses(&text, "\"x\"]", message, "set `state = \"reused\"`");
    let text = valid_but("kernel = \"stencil\"", "kernel = \"saxpy\"");
    let text = text.replace(", halo = 1", "");
    let text = text.replace("reads = [\"middle\"]", "reads = [\"middle\", \"out\"]");
    let message = "task `smooth` reads buffer `out`, which is still empty at this point";
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
    refuses(&text, "[\"middle\"] # again", message, "its own buffer in `writes`");
}

/// `needed` of `out`.
fn needing(part: &str) -> String {
    let host = "host = { state = \"fresh\" }";
    valid_but(host, &format!("{host}\nneeded = {part}"))
}

#[test]
fn may_be_needed_in_part() {
    for (part, of_it) in [
        ("{ elements = 100 }", [0, 100, 1]),
        ("{ from = 24, elements = 1000 }", [24, 1000, 1]),
        ("{ share = 0.1 }", [0, 103, 1]),
        ("{ share = 1.0 }", [0, 1024, 1]),
        ("{ from = 8, elements = 16, pitch = 64 }", [8, 16, 16]),
        ("{ share = 0.25, pitch = 64, rows = 3 }", [0, 16, 3]),
        ("{ elements = 64, pitch = 64, rows = 3 }", [0, 192, 1]),
    ] {
        let workload = read(&needing(part)).unwrap_or_else(|error| panic!("{part}: {error}"));
        let needed = workload.buffers[2].needed.expect("it says so");
        assert_eq!([needed.first, needed.row, needed.rows], of_it, "{part}");
    }
}

#[test]
fn is_needed_in_a_part_that_it_has() {
    for (part, at, message, fix) in [
        ("{}", "{}", "needs either `elements` or `share`", "share = 0.1"),
        (
            "{ elements = 4, share = 0.5 }",
            "{ elements",
            "needs either `elements` or `share`",
            "elements = 1000",
        ),
        (
            "{ elements = 1025 }",
            "{ elements",
            "ends at element 1025, but the buffer has 1024",
            "fewer",
        ),
        (
            "{ from = 1024, elements = 1 }",
            "1024, ",
            "begins at element 1024, but the buffer has",
            "write an element from 0 to the last one",
        ),
        (
            "{ from = -1, elements = 1 }",
            "-1",
            "begins at element -1, but the buffer has",
            "write an element from 0 to the last one",
        ),
        ("{ elements = 0 }", "0 }", "`elements` of `needed` is 0", "1 or more"),
        ("{ share = 0.0 }", "0.0 }", "has a `share` of 0", "above 0"),
        ("{ share = 1.5 }", "1.5", "has a `share` of 1.5", "up to 1.0"),
        ("{ elements = 4, rows = 2 }", "2 }", "has `rows` but no `pitch`", "add `pitch`"),
        (
            "{ elements = 9, pitch = 8 }",
            "{ elements",
            "has rows of 9 elements, wider than its pitch of 8",
            "`pitch`",
        ),
        (
            "{ elements = 9, pitch = 99, rows = 12 }",
            "{ elements",
            "has 12 rows, which extend beyond the",
            "fewer `rows`",
        ),
        ("{ elements = 9, pitch = 0 }", "0 }", "`pitch` of `needed` is 0", "1 or more"),
        ("{ rows = 9, pitch = 9 }", "{ rows", "needs either `elements` or `share`", "share = 0.1"),
        (
            "{ from = 9223372036854775807, elements = 1 }",
            "9223372036854775807",
            "begins at element",
            "write an element from 0 to the last one",
        ),
        (
            "{ elements = 9223372036854775807, pitch = 9223372036854775807 }",
            "{ elements",
            "rows, which extend beyond the",
            "fewer",
        ),
    ] {
        refuses(&needing(part), at, message, fix);
    }
    let scratch = "home = \"scratch\"";
    let text = valid_but(scratch, &format!("{scratch}\nneeded = {{ elements = 7 }}"));
    refuses(&text, "{ elements = 7", "has the key `needed`", "remove `needed`");
}

/// What is computed of what does not cross is nothing that may be asked for.
#[test]
fn is_not_needed_less_than_results_of_it() {
    let input = |part: &str| {
        let host = "state = \"reused\" }";
        valid_but(host, &format!("{host}\nneeded = {part}"))
    };
    let part = "{ from = 100, elements = 500 }";
    let message = "is too small: task `smooth` needs more of it to compute what is";
    refuses(&input(part), part, message, "`, or add the elements that it depends on here");
    let with = |of_result: &str| {
        let fresh = "host = { state = \"fresh\" }";
        input(part).replace(fresh, &format!("{fresh}\nneeded = {of_result}"))
    };
    // Four iterations of a stencil take four elements off each end.
    assert!(read(&with("{ from = 104, elements = 492 }")).is_ok());
    refuses(
        &with("{ from = 103, elements = 1 }"),
        part,
        message,
        "`, or add the elements that it depends on here",
    );
    refuses(
        &with("{ from = 500, elements = 97 }"),
        part,
        message,
        "`, or add the elements that it depends on here",
    );
    let summed = with("{ elements = 1 }").replace("kernel = \"stencil\"", "kernel = \"sum\"");
    let summed = summed.replace("iterations = 4\nsplit = { along = \"elements\", halo = 1 }", "");
    let summed = summed.replace("elements = 1024 # output", "elements = 1");
    refuses(
        &summed,
        part,
        "is only a part, but task `smooth` uses the whole buffer",
        "remove `needed`",
    );
    let in_place = input(part).replace("[\"middle\"]\narguments", "[\"x\"]\narguments");
    let in_place = in_place.replace("reads = [\"middle\"]", "reads = [\"x\"]");
    let in_place = in_place.replacen(
        "[[buffer]]\nname = \"middle\"\ntype = \"f32\"\nelements = 1_024 # scratch\n\
         home = \"scratch\"\n",
        "",
        1,
    );
    refuses(
        &in_place,
        part,
        "is ambiguous, because a task updates the buffer in place",
        "another buffer",
    );
}

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
    let message = "`reads` of task `smooth` lists 2 buffers";
    refuses(&text, "[\"middle\", \"x\"]", message, "list one buffer in `reads`");
    let text = valid_but("kernel = \"scale\"", "kernel = \"saxpy\"");
    let message = "`reads` of task `double` lists one buffer";
    refuses(&text, "[\"x\"]", message, "list 2 buffers in `reads`");
}

#[test]
fn writes_one_buffer() {
    for wrong in ["[ ]", "[\"middle\", \"out\"]"] {
        let text = valid_but("writes = [\"middle\"]", &format!("writes = {wrong}"));
        refuses(&text, wrong, "`writes` of task `double` lists", "list one buffer in `writes`");
    }
}

#[test]
fn writes_as_many_elements_as_it_reads() {
    let text = valid_but("1024 # output", "1000 # output");
    let message = "reads the 1024 elements of `middle` but writes the 1000 of `out`";
    refuses(&text, "1000", message, "give both buffers the same `elements`");
}

#[test]
fn that_reduces_writes_one_element_once() {
    let sum = valid_but("kernel = \"stencil\"", "kernel = \"sum\"");
    let sum = sum.replace(", halo = 1", "");
    let text = sum.replace("iterations = 4\n", "");
    let message = "kernel `sum` of task `smooth` produces one element, but buffer `out` has 1024";
    refuses(&text, "1024 # output", message, "set `elements = 1` in buffer `out`");
    let text = text.replace("1024 # output", "1");
    assert!(read(&text).is_ok());
    let text = sum.replace("1024 # output", "1");
    let message = "`iterations` of task `smooth` is 4, but kernel `sum` cannot be repeated";
    refuses(&text, "4\nsplit", message, "remove `iterations`");
}

#[test]
fn that_counts_writes_a_number_for_each_bin() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"histogram\"");
    let text = text.replace(", halo = 1", "").replace("iterations = 4", "arguments = { bins = 8 }");
    let message = "kernel `histogram` of task `smooth` produces 8 elements, but buffer `out` \
                   has 1024";
    refuses(&text, "1024 # output", message, "set `elements = 8` in buffer `out`; or change `bins");
    assert!(read(&text.replace("1024 # output", "8")).is_ok());
    let text = text.replace("bins = 8", "bins = 4097");
    refuses(&text, "4097", "`bins` of task `smooth` is 4097", "a whole number from 1 to 4096");
}

#[test]
fn that_weighs_reads_as_many_weights_as_it_has_taps() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"convolution\"");
    let text = text.replace("[\"middle\"]\nwrites", "[\"middle\", \"x\"]\nwrites");
    let text = text.replace("halo = 1", "halo = 3");
    let text = text.replace("iterations = 4", "arguments = { taps = 7 }");
    let message = "` reads `x` as the `weights` of kernel `convolution`, which needs 7 elements \
                   with";
    refuses(&text, "1024\nhome", message, "set `elements = 7` in buffer `x`, or change `taps = 7`");
    // The scale before it makes as many elements as it reads: it reads others.
    let right = text.replace("reads = [\"x\"]", "reads = [\"out\"]");
    let right = right.replacen("1024", "7", 1);
    assert!(read(&right).is_err_and(|error| error.to_string().contains("cycle")));
    refuses(&text.replace("taps = 7", "taps = 8"), "8 }", "`taps` of task", "an odd number from 1");
}

/// What goes element by element is cut anywhere: nobody has to say so.
#[test]
fn is_cut_by_what_its_kernel_is_unless_it_says() {
    let split = "split = { along = \"elements\", halo = 1 }";
    let is_cut = |text: &str| read(text).expect("valid").tasks[1].splittable;
    let unsaid = valid_but(split, "");
    assert!(is_cut(&unsaid) && !is_cut(&valid_but(split, "split = \"none\"")));
    let by_elements = Kernel::ALL.into_iter().filter(|kernel| kernel.goes_by_elements());
    let names: Vec<&str> = by_elements.map(Kernel::name).collect();
    assert_eq!(names, ["scale", "saxpy", "polynomial", "stencil", "black-scholes"]);
    let rows = unsaid.replace("kernel = \"stencil\"", "kernel = \"transpose\"");
    let rows = rows.replace("iterations = 4", "arguments = { columns = 64 }");
    assert!(!is_cut(&rows), "no part of a transposition depends on a part alone");
    let signals = unsaid.replace("kernel = \"stencil\"", "kernel = \"fft\"");
    let signals = signals.replace("iterations = 4", "arguments = { length = 512 }");
    assert!(!is_cut(&signals), "signals stay whole");
    assert!(is_cut(
        &signals.replace("length = 512 }", "length = 512 }\nsplit = { along = \"elements\" }")
    ));
    let whole = read(&valid_but(split, "split = \"none\"")).expect("valid");
    let why = whole.tasks[1].stays_whole().expect("it does");
    assert_eq!(why, "task `smooth` has `split = \"none\"`");
}

#[test]
fn of_rows_has_whole_ones_and_stays_whole() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"transpose\"");
    let text = text.replace("iterations = 4", "arguments = { columns = 100 }");
    refuses(
        &text,
        "{ along",
        "` has a `split`, but kernel `transpose` cannot be split",
        "remove `split`",
    );
    let text = text.replace("split = { along = \"elements\", halo = 1 }", "");
    let message = "processes 100 at a time";
    refuses(
        &text,
        "1_024",
        message,
        "set `elements` to a multiple of 100, or change `columns = 100`",
    );
    assert!(read(&text.replace("columns = 100", "columns = 64")).is_ok());
}

#[test]
fn that_multiplies_has_a_square_factor() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"matmul\"");
    let text = text.replace("[\"middle\"]\nwrites", "[\"middle\", \"x\"]\nwrites");
    let text =
        text.replace(", halo = 1", "").replace("iterations = 4", "arguments = { inner = 16 }");
    let message = "` reads `x` as the `y` of kernel `matmul`, which needs 256 elements with";
    refuses(
        &text,
        "1024\nhome",
        message,
        "set `elements = 256` in buffer `x`, or change `inner = 16`",
    );
    // 32 times 32 are 1024.
    assert!(read(&text.replace("inner = 16", "inner = 32")).is_ok());
}

#[test]
fn that_transforms_has_signals_of_a_power_of_two() {
    let text = valid_but("kernel = \"stencil\"", "kernel = \"fft\"");
    let text =
        text.replace(", halo = 1", "").replace("iterations = 4", "arguments = { length = 48 }");
    refuses(
        &text,
        "48 }",
        "`length` of task `smooth` is 48",
        "write a power of two from 2 to 65536",
    );
    let message = "processes 2048 at a time";
    refuses(&text.replace("length = 48", "length = 1024"), "1_024", message, "a multiple of 2048");
    assert!(read(&text.replace("length = 48", "length = 512")).is_ok());
}

#[test]
fn works_in_place_only_where_its_kernel_can() {
    let text = valid_but("writes = [\"out\"]", "writes = [\"middle\"]");
    let at = "[\"middle\"]\niterations";
    refuses(&text, at, "reads and `writes` the same buffer", "write to another buffer");
}

#[test]
fn has_the_halo_of_its_kernel() {
    let text = valid_but("halo = 1", "halo = -2");
    refuses(&text, "-2", "`halo` of task `smooth` is -2", "write `halo = 1`, or remove it");
}

#[test]
fn may_be_kept_on_the_cpu_and_nowhere_else() {
    let on = |side: &str| {
        let arguments = "arguments = { a = 2.0 }";
        valid_but(arguments, &format!("{arguments}\non = {side}"))
    };
    let kept: Vec<bool> = read(&on("\"cpu\"")).unwrap().tasks.iter().map(|t| t.on_cpu).collect();
    assert_eq!(kept, [true, false]);
    refuses(&on("\"gpu\""), "\"gpu\"", "`gpu`", "cpu");
    refuses(&on("true"), "true", "task.on", "write");
}

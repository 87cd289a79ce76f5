//! What is right is read, up to the limits of what is.

use super::*;
use hallway::kernels::Arguments;

/// `VALID` with some pieces of it replaced.
fn valid_with(pieces: &[(&str, &str)]) -> String {
    pieces.iter().fold(VALID.clone(), |text, (piece, other)| with(&text, piece, other))
}

#[test]
fn each_kernel_has_the_operands_that_it_needs() {
    const HALO: (&str, &str) = (", halo = 1", "");
    const SPLIT: (&str, &str) = ("split = { along = \"elements\", halo = 1 }", "");
    const TWO: (&str, &str) = ("[\"middle\"]\nwrites", "[\"middle\", \"x\"]\nwrites");
    let kernel = |name: &'static str| ("\"stencil\"", name);
    let arguments = |text: &'static str| ("iterations = 4", text);
    for pieces in [
        vec![kernel("\"sum\""), HALO, arguments(""), ("1024 # out", "1")],
        vec![
            kernel("\"histogram\""),
            HALO,
            arguments("arguments = { bins = 8 }"),
            ("1024 # out", "8"),
        ],
        vec![kernel("\"transpose\""), SPLIT, arguments("arguments = { columns = 64 }")],
        // 32 times 32 are 1024.
        vec![kernel("\"matmul\""), HALO, TWO, arguments("arguments = { inner = 32 }")],
        vec![kernel("\"fft\""), HALO, arguments("arguments = { length = 512 }")],
    ] {
        let text = valid_with(&pieces);
        read(&text).unwrap_or_else(|error| panic!("{}", drawn(&error)));
    }
}

/// Five launches and what is around them, of each of two batches.
#[test]
fn a_plan_has_as_many_calls_as_can_be_gone_through() {
    for (batches, iterations, chunks) in
        [("32768", "4", "1"), ("2", "131068", "1"), ("2", "4", "16384")]
    {
        let pieces = [
            ("batches = 2", format!("batches = {batches}")),
            ("[1, 4]", format!("[1, {chunks}]")),
            ("iterations = 4", format!("iterations = {iterations}")),
        ];
        let pieces = pieces.each_ref().map(|(piece, other)| (*piece, other.as_str()));
        read(&valid_with(&pieces)).expect("262144 calls");
    }
}

#[test]
fn numbers_are_read_as_they_are() {
    let arguments = |pieces: &[(&str, &str)]| -> Arguments {
        let workload = read(&valid_with(pieces)).expect("valid");
        *workload.tasks[0].kernel.library().expect("of the library").1
    };
    let polynomial = [("\"scale\"", "\"polynomial\""), ("a = 2.0", "degree = 65_536")];
    assert_eq!(arguments(&polynomial).extent, 65_536);
    assert_eq!(arguments(&[("a = 2.0", "a = -3")]).a, -3.0, "without a point, too");
}

#[test]
fn a_task_may_be_kept_on_the_cpu() {
    let text = valid_with(&[("arguments = { a = 2.0 }", "arguments = { a = 2.0 }\non = \"cpu\"")]);
    let kept: Vec<bool> = read(&text).expect("valid").tasks.iter().map(|t| t.on_cpu).collect();
    assert_eq!(kept, [true, false]);
}

#[test]
fn fresh_memory_may_be_read_after_it_was_written() {
    let fresh = "home = \"host\"\nhost = { state = \"fresh\" }";
    read(&valid_with(&[("home = \"scratch\"", fresh)])).expect("valid");
}

/// `needed` of `out`.
fn needing(part: &str) -> String {
    let host = "host = { state = \"fresh\" }";
    valid_with(&[(host, &format!("{host}\nneeded = {part}"))])
}

#[test]
fn a_buffer_may_be_needed_in_part() {
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

/// Four iterations of a stencil take four elements off each end.
#[test]
fn an_input_is_needed_as_far_as_results_of_it() {
    let text = needing("{ from = 104, elements = 492 }");
    let host = "state = \"reused\" }";
    let input = format!("{host}\nneeded = {{ from = 100, elements = 500 }}");
    read(&text.replacen(host, &input, 1)).expect("valid");
}

/// What goes element by element is cut anywhere: nobody has to say so.
#[test]
fn a_task_is_cut_by_what_its_kernel_is_unless_it_says() {
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

/// One program of so many calls is read; seven of them would take more memory than there should be.
#[test]
fn programs_have_as_many_calls_together_as_memory_holds() {
    let program = |number: usize| {
        format!(
            r#"
[[program]]
name = "p{number}"
memory = [{{ name = "d", kind = "device", size = "4 KiB" }}]
calls = [{{ repeat = 250_000, calls = [{{ work = "1 us" }}] }}, {{ copy = "x", to = "d" }}]
"#
        )
    };
    let file = |programs: usize| {
        let programs: String = (0..programs).map(program).collect();
        let buffer = "name = \"x\"\ntype = \"f32\"\nelements = 1024\nhome = \"host\"\n";
        format!(
            "schema_version = 1\nname = \"long\"\nquestion = \"?\"\n[[buffer]]\n{buffer}{programs}"
        )
    };
    assert!(read(&file(1)).expect("one").programs[0].body.len() > 250_000);
    let error = drawn(&read(&file(8)).expect_err("2 million calls"));
    assert!(error.contains("more than 1500000 calls in total"), "{error}");
    assert!(error.contains("\"p5\""), "the first one that is too many: {error}");
}

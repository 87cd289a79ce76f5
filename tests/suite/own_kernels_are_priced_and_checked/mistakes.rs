//! Kernels that are wrong: each mistake has its place and its fix.

use super::super::programs_are_spelled_out::mistakes::refuses_in;
use super::{FILE, FILTER, FILTERED, costs, launch, text};
use hallway::scenario::Workload;

/// Asserts that kernels and calls are refused: `marked` is the text at the mistake, and message and
/// help say what is wrong and how to mend it.
#[track_caller]
fn refuses((kernels, calls): (&str, &str), marked: &str, message: &str, help: &str) {
    refuses_in(FILE, &text(kernels, calls), marked, message, help);
}

/// Kernels that no launch could use.
#[test]
fn a_kernel_is_known_in_one_way_and_whole() {
    for (kernel, marked, message, help) in [
        ("", "\"k\"", "kernel `k` has no cost", "add `source`"),
        ("source = \"taps.cu\"", "\"taps.cu\"", "does not say which kernel", "add `entry"),
        ("source = \"taps.cu\"\nentry = \" \"", "\" \"", "`entry` of kernel `k` is empty", "write"),
        ("source = \"no.cu\"\nentry = \"f\"", "\"no.cu\"", "cannot read", "relative to the"),
        ("cubin = \"no.cubin\"\nentry = \"f\"", "\"no.cubin\"", "cannot read", "relative to the"),
        (
            "ptx = \"..\"\nentry = \"f\"",
            "\"..\"",
            "cannot read",
            "give the path of an existing file, relative to the scenario",
        ),
        (
            "source = \"taps.cu\"\nptx = \"triad.ptx\"\nentry = \"f\"",
            "\"triad.ptx\"",
            "both `source` and `ptx`",
            "keep one",
        ),
        (
            "entry = \"f\"\nstated = { fixed = \"1 us\" }",
            "\"f\"",
            "` has no code for this key to apply to",
            "add",
        ),
        (
            "source = \"taps.cu\"\nentry = \"filter\"\ninclude = [\"nowhere\"]",
            "\"nowhere\"",
            "is not a folder",
            "relative to the scenario",
        ),
        (
            "ptx = \"triad.ptx\"\nentry = \"triad\"\ninclude = [\".\"]",
            "\".\"",
            "` is already compiled, but has `include`",
            "remove it",
        ),
        (
            "source = { name = \"k.cu\", text = \"\" }\nentry = \"k\"\ninclude = [\".\"]",
            "\".\"",
            "` has both `include` and the text of its source",
            "put the headers next to the text, in `headers`",
        ),
        (
            "ptx = { name = \"k\", text = \"\", headers = { a = \"\" } }\nentry = \"k\"",
            "{ name",
            "` is already compiled, but has `headers`",
            "remove them",
        ),
        (
            "cubin = { name = \"k\", text = \"7f4\" }\nentry = \"k\"",
            "{ name",
            "` contains something other than hexadecimal digits",
            "write two hexadecimal digits per byte, or give the path of the",
        ),
        ("source = \"taps.cu\"\nentry = \"filter\"\ngrid = [1]", "\"k\"", "has no `block`", "256"),
        ("source = \"taps.cu\"\nentry = \"filter\"\nblock = [32]", "\"k\"", "has no `grid`", "add"),
    ] {
        refuses((&costs(kernel), &launch(10)), marked, message, help);
    }
}

/// Costs that say too much, too little or nonsense.
#[test]
fn a_cost_is_said_once_and_makes_sense() {
    let code = "source = \"taps.cu\"\nentry = \"filter\"\nblock = [32]\ngrid = [1]\n";
    for (kernel, marked, message, help) in [
        ("stated = { fixed = \"1 us\" }\nblock = [32]", "\"k\"", "only one of", "write both"),
        (
            "stated = { fixed = \"1 us\" }\npoints = [[1, \"1 us\"]]",
            "{ fixed",
            "both `points` and `stated`",
            "keep one of them",
        ),
        (
            "stated = { fixed = \"1 us\" }\nparameters = [\"x\"]",
            "\"x\"",
            "` has `parameters` but no code",
            "remove `parameters`",
        ),
        ("stated = { }", "{ }", "the stated time of kernel `k` is zero", "per_element"),
        ("stated = { fixed = \"5\" }", "\"5\"", "is not a time", "120 us"),
        ("points = []", "[]", "` has an empty list of points", "1e6"),
        ("points = [[2, \"1 us\"], [1, \"2 us\"]]", "1", "not in order of size", "sort them"),
        ("points = [[0.5, \"1 us\"]]", "0.5", "` has a point at 0.5 elements", "whole number"),
        ("points = [[5, \"soon\"]]", "\"soon\"", "is not a time", "120 us"),
        (
            "roofline = { flops_per_element = 0, bytes_per_element = 0 }",
            "{ flops",
            "has no work",
            "write the number of operations or bytes per element",
        ),
        (
            "roofline = { flops_per_element = -1, bytes_per_element = 0 }",
            "-1",
            "` cannot have -1 operations or bytes per element",
            "write a finite number of at least 0",
        ),
        (
            "stated = { fixed = \"1 us\" }\ncpu = { }",
            "{ }",
            "`cpu` of kernel `k` is empty",
            "command",
        ),
        ("cpu = { command = [] }", "[]", "the command of kernel `k` is empty", "./blur"),
        (
            "cpu = { command = [\"a\"], stated = { fixed = \"1 us\" } }",
            "[\"a\"]",
            "` has both a CPU cost and a command",
            "keep",
        ),
        ("sauce = \"taps.cu\"", "sauce", "unknown key `sauce`", "`source`"),
        ("stated = { fixed = \"1 us\" }\nblock = []\ngrid = [1]", "[]", "0 dimensions", "three"),
        (
            "stated = { fixed = \"1 us\" }\nblock = [1]\ngrid = [1, 1, 1, 1]",
            "[1, 1",
            "4 dimensions",
            "three",
        ),
        ("stated = { fixed = \"1 us\" }\nreads = [\"a\", \"a\"]", "\"a\"", "`a` twice", "once"),
        (
            &format!("{code}stated = {{ fixed = \"1 us\" }}"),
            "{ fixed",
            "` has both code and a cost",
            "remove the cost",
        ),
    ] {
        refuses((&costs(kernel), &launch(10)), marked, message, help);
    }
}

#[test]
fn a_name_of_the_library_or_of_another_kernel_is_taken() {
    let named =
        |name: &str| format!("[[kernel]]\nname = \"{name}\"\nstated = {{ fixed = \"1 s\" }}\n");
    refuses(
        (&named("saxpy"), ""),
        "\"saxpy\"",
        "the library already has a kernel named `saxpy`",
        "another name",
    );
    let twice = named("k") + &named("k");
    refuses(
        (&twice, ""),
        "\"k\"",
        "two kernels have the same `name`, `k`",
        "give each kernel a distinct name",
    );
    let stated = costs("stated = { fixed = \"1 us\" }");
    let unknown = "{ launch = \"q\", reads = [\"d\"], writes = \"e\" },";
    refuses((&stated, unknown), "\"q\"", "there is no kernel `q`", "use one of k, scale");
}

/// What a launch says, what it says instead, what is marked, and words of the message and the help.
const LAUNCHES: [(&str, &str, &str, &str, &str); 17] = [
    (
        "taps = 9",
        "tabs = 9",
        "tabs",
        "` has no argument `tabs`",
        "remove it, or use it in the kernel's `grid`, `block`, `shared`,",
    ),
    ("taps = 9", "taps = 9.5", "\"4 * taps\"", "`taps` in `4 * taps` is not", "arguments"),
    ("taps = 9, ", "", "\"4 * taps\"", "`taps` in `4 * taps` is not a number", "`elements`"),
    (
        "gain = 2.5",
        "gain = inf",
        "inf",
        "kernel `k` cannot have the argument `",
        "write a finite number",
    ),
    (
        ", elements = 1000",
        "",
        "\"k\"",
        "` does not say how many elements it works on",
        "add `elements",
    ),
    ("elements = 1000", "elements = 0", "0", "kernel `k` cannot work on 0 elements", "from 1 to"),
    ("elements = 1000", "elements = -5", "-5", "` cannot work on -5 elements", "from 1 to"),
    ("taps = 9", "taps = 90000", "\"4 * taps\"", "`shared` of kernel `k` is 360000", "256 KiB"),
    ("taps = 9", "taps = -9", "\"4 * taps\"", "`shared` of kernel `k` is -36", "between 0 and"),
    (
        "\"d[..4000]\", ",
        "",
        "\"k\"",
        "` reads 2 ranges, but the call reads 1",
        "in the kernel's order",
    ),
    (
        "[\"e[..4000]\"]",
        "[\"e\", \"d\"]",
        "\"k\"",
        "` writes 1 ranges, but the call writes 2",
        "in the kernel's order",
    ),
    ("\"e[..4000]\"", "\"x\"", "\"k\"", ", but it is not on GPU 0", "correct the call"),
    (
        "\"d[..4000]\"",
        "\"d[..8 MiB]\"",
        "\"d[..8 MiB]\"",
        "are not a range within `d`, which has",
        "use a non-empty range within the memory",
    ),
    (
        "elements = 1000",
        "elements = 1000, lead = 2",
        "2",
        "`lead` only applies to library kernels",
        "remove it",
    ),
    (
        "elements = 1000",
        "elements = 1000, type = \"f32\"",
        "\"f32\"",
        "`type` only applies to library kernels, not to your own kernel `",
        "remove it",
    ),
    (
        "taps = 9",
        "elements = 9",
        "9",
        "kernel `k` cannot have the argument `",
        "the number of elements is a key of the call",
    ),
    (
        "{ launch",
        "{ clear = \"d\", launch",
        "\"d\"",
        "this call is both a `launch` and a `clear`",
        "two calls",
    ),
];

/// Launches that the rules of `FILTER` do not allow.
#[test]
fn a_launch_fits_its_kernel() {
    for (from, to, marked, message, help) in LAUNCHES {
        let call = FILTERED.replacen(from, to, 1);
        assert_ne!(call, FILTERED, "{from}");
        refuses((FILTER, &call), marked, message, help);
    }
}

/// Rules of `FILTER` that cannot be followed.
#[test]
fn rules_come_to_what_a_device_can_launch() {
    for (from, to, marked, message, help) in [
        (
            "[32, 8]",
            "[32, 64]",
            "[32, 64]",
            "its block has 2048 threads; the limit is 1024",
            "smaller",
        ),
        ("[32, 8]", "[2048]", "2048", "`block` of kernel `k` is 2048", "between 1 and 1024"),
        (
            "[32, 8]",
            "[32, \"taps - 9\"]",
            "\"taps - 9\"",
            "`block` of kernel `k` is 0",
            "between 1 and",
        ),
        (
            "max(taps % 5, 2)",
            "taps - 9",
            "\"taps - 9\"",
            "`grid` of kernel `k` is 0",
            "between 1 and",
        ),
        ("max(taps % 5, 2)", "elements * 99", "\"elements * 99\"", "is 99000", "65535"),
        ("max(taps % 5, 2)", "rows", "\"rows\"", "`rows` in `rows` is not a number", "`taps`"),
        ("max(taps % 5, 2)", "taps / 0", "\"taps / 0\"", "divides by 0", "another"),
        ("max(taps % 5, 2)", "ceil(taps", "\"ceil(taps\"", "is incomplete", "`ceil`"),
        ("max(taps % 5, 2)", "round(taps)", "\"round(taps)\"", "no function `round`", "`ceil`"),
        ("[\"in\", \"weights\", \"out\", {", "[\"on\", {", "\"on\"", "parameter `on`", "`reads`"),
        (
            "{ i32 = \"taps\" }",
            "{ int = \"taps\" }",
            "int",
            "`int` is not a parameter type",
            "i32, u32",
        ),
        ("{ i32 = \"taps\" }", "{ i32 = 3e9 }", "3e9", "does not fit i32", "wider"),
        ("{ i32 = \"taps\" }", "{ u32 = -1 }", "-1", "does not fit u32", "wider"),
        (
            "{ i32 = \"taps\" }",
            "{ i32 = 0.5 }",
            "0.5",
            "0.5 in kernel `k` is not a whole number",
            "whole",
        ),
        ("{ f32 = 0.5 }", "{ f32 = 1e300 }", "1e300", "does not fit f32", "wider"),
        ("{ f32 = 0.5 }", "{ }", "{ }", "a parameter needs a type", ""),
        ("{ f32 = 0.5 }", "{ f32 = 1, i32 = 2 }", "{ f32", "a parameter has one type", ""),
        ("{ f32 = 0.5 }", "7", "7", "expected a name", "write a name"),
    ] {
        let kernel = FILTER.replacen(from, to, 1);
        assert_ne!(kernel, FILTER, "{from}");
        refuses((&kernel, FILTERED), marked, message, help);
    }
}

#[test]
fn a_product_fits_its_matrices() {
    let product = "{ launch = \"matmul\", reads = [\"d[..2400]\", \"d[2400..+3200]\"], \
                   writes = \"e[..4800]\", arguments = { rows = 30, inner = 20, columns = 40 } },";
    Workload::from_toml(FILE, &text("", product)).expect("it fits");
    for (from, to, marked, message, help) in [
        ("rows = 30, ", "", "\"matmul\"", "needs `rows`, `inner` and `columns`", "add"),
        ("rows = 30", "rows = 0", "0", "a product cannot have `rows = 0`", "from 1 to"),
        ("rows = 30", "rows = 1.5", "1.5", "a product cannot have `rows = 1.5`", "from 1 to"),
        ("rows = 30", "rows = 30, depth = 2", "2", "a product cannot have `depth = 2`", "`rows`"),
        ("reads", "type = \"f64\", reads", "\"f64\"", "`f64` is not a type for products", "bf16"),
        ("reads", "type = \"bf16\", reads", "\"matmul\"", "elements of bf16 needs", "correct"),
        (
            "e[..4800]",
            "e[..4804]",
            "\"matmul\"",
            "a matrix of 4804 bytes, but a product of",
            "correct",
        ),
        ("\"d[..2400]\", ", "", "\"matmul\"", "a product with 1 factors and", "correct"),
        (
            "\"e[..4800]\"",
            "\"d[..4800]\"",
            "\"matmul\"",
            "a product whose result overlaps with one of its factors",
            "correct",
        ),
        (
            "reads",
            "elements = 5, reads",
            "5",
            "the ranges already set the number of elements of kernel `",
            "remove it",
        ),
    ] {
        let call = product.replacen(from, to, 1);
        assert_ne!(call, product, "{from}");
        refuses(("", &call), marked, message, help);
    }
    let library = "{ launch = \"scale\", type = \"bf16\", reads = [\"d\"], writes = \"e\" },";
    refuses(("", library), "\"bf16\"", "kernel `scale` only works on f32", "remove it");
    let two = "{ launch = \"scale\", reads = [\"d\"], writes = [\"e\", \"d\"] },";
    refuses(("", two), "[\"e\"", "` writes one range, but the call has 2", "write a single range");
}

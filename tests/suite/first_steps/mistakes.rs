//! Scenarios that are wrong, each in one way.

/// Has every key of the format. Mistakes are made by replacing pieces of it.
pub const VALID: &str = r#"schema_version = 1
name = "demo"
question = "Is it worth it?"
batches = 2
runs = 10

[[buffer]]
name = "x"
type = "f32"
elements = 1024 # x
home = "host"
host = { memory = "pinned", state = "reused" }

[[buffer]]
name = "middle"
type = "f32"
elements = 1024 # middle
home = "scratch"

[[buffer]]
name = "out"
type = "f32"
elements = 1024 # out
home = "host"
host = { state = "fresh" }

[[task]]
name = "double"
kernel = "scale"
reads = ["x"]
writes = ["middle"]
arguments = { a = 2.0 }

[[task]]
name = "smooth"
kernel = "stencil"
reads = ["middle"]
writes = ["out"]
iterations = 4
split = { along = "elements", halo = 1 }

[limits]
device_memory = "8 GiB"
pinned_memory = "2 GiB"
cpu_threads = 16

[plans]
families = ["cpu", "by-engine"]
chunks = [1, 4]
"#;

/// Broken in shape: a piece, what stands there instead, and in which line the mistake is seen.
pub const IN_SHAPE: [(&str, &str, usize); 63] = [
    ("schema_version = 1", "schema_version = 2", 1),
    ("schema_version = 1", "schema_version = \"1\"", 1),
    ("schema_version = 1\n", "", 1),
    ("name = \"demo\"\n", "", 1),
    ("\"demo\"", "\"\"", 2),
    ("\"demo\"", "\"a/b\"", 2),
    ("\"demo\"", "\".hidden\"", 2),
    ("\"demo\"", "7", 2),
    ("\"demo\"", "\"a name that is much longer than a table or a file's name can show it\"", 2),
    ("question = \"Is it worth it?\"\n", "", 1),
    ("\"Is it worth it?\"", "true", 3),
    ("batches = 2", "batches = 0", 4),
    ("batches = 2", "batches = -1", 4),
    ("batches = 2", "batches = 1_000_001", 4),
    ("batches = 2", "batches = 2.5", 4),
    ("batches = 2", "batches = \"two\"", 4),
    ("batches = 2", "batchs = 2", 4),
    ("runs = 10", "runs = 0", 5),
    ("runs = 10", "runs = 1_000_001", 5),
    ("runs = 10", "runs = [10]", 5),
    ("runs = 10", "runs = 10\ncolour = \"red\"", 6),
    ("\"f32\"\nelements = 1024 # x", "\"f8\"\nelements = 1024 # x", 9),
    ("type = \"f32\"\nelements = 1024 # x", "elements = 1024 # x", 7),
    ("1024 # middle", "0", 17),
    ("1024 # middle", "\"many\"", 17),
    ("1024 # middle", "10.5", 17),
    ("elements = 1024 # middle\n", "", 14),
    ("\"scratch\"", "\"scrach\"", 18),
    ("\"scratch\"", "3", 18),
    ("home = \"scratch\"", "home = \"scratch\"\nsize = 4", 19),
    ("memory = \"pinned\"", "memory = \"pagable\"", 12),
    ("state = \"reused\"", "state = \"old\"", 12),
    ("state = \"fresh\"", "stat = \"fresh\"", 25),
    ("{ state = \"fresh\" }", "\"fresh\"", 25),
    ("\"stencil\"", "\"stensil\"", 36),
    ("\"stencil\"", "5", 36),
    ("writes = [\"out\"]\n", "", 34),
    ("writes = [\"out\"]", "writes = []", 38),
    ("writes = [\"out\"]", "writes = [\"out\", \"x\"]", 38),
    ("writes = [\"out\"]", "writes = \"out\"", 38),
    ("reads = [\"x\"]", "reads = [\"x\", \"out\"]", 30),
    ("reads = [\"x\"]", "reads = \"x\"", 30),
    ("reads = [\"x\"]", "reads = [1]", 30),
    ("iterations = 4", "iterations = 0", 39),
    ("iterations = 4", "iterations = \"four\"", 39),
    ("{ a = 2.0 }", "{ b = 2.0 }", 32),
    ("{ a = 2.0 }", "{ a = \"two\" }", 32),
    ("{ a = 2.0 }", "[2.0]", 32),
    ("\"scale\"\n", "\"polynomial\"\n", 32),
    ("{ along = \"elements\", halo = 1 }", "true", 40),
    ("along = \"elements\"", "along = \"rows\"", 40),
    ("along = \"elements\", ", "", 40),
    ("halo = 1", "halo = -1", 40),
    ("\"8 GiB\"", "\"8 Gigs\"", 43),
    ("\"8 GiB\"", "8", 43),
    ("\"2 GiB\"", "\"-2 GiB\"", 44),
    ("cpu_threads = 16", "cpu_threads = 0", 45),
    ("cpu_threads = 16", "threads = 16", 45),
    ("\"by-engine\"", "\"by-engin\"", 48),
    ("[\"cpu\", \"by-engine\"]", "\"cpu\"", 48),
    ("[1, 4]", "[1, 0]", 49),
    ("chunks", "chunk", 49),
    ("[limits]", "[[limits]]", 42),
];

/// Broken in meaning: pieces with what stands there instead, and in which line the mistake is
/// seen. No schema can know it.
pub const IN_MEANING: [(&[(&str, &str)], usize); 44] = [
    (&[("name = \"out\"", "name = \"x\"")], 21),
    (&[("name = \"smooth\"", "name = \"double\"")], 35),
    (&[("reads = [\"middle\"]", "reads = [\"midle\"]")], 37),
    (&[("writes = [\"out\"]", "writes = [\"elsewhere\"]")], 38),
    (&[("\"demo\"", "\"   \"")], 2),
    (&[("name = \"x\"", "name = \"\\u00a0\"")], 8),
    (&[("reads = [\"middle\"]", "reads = [\"x\"]")], 15),
    (
        &[
            ("host = { state = \"fresh\" }\n", ""),
            ("# out\nhome = \"host\"", "\nhome = \"scratch\""),
        ],
        21,
    ),
    (
        &[(
            "home = \"host\"\nhost = { memory = \"pinned\", state = \"reused\" }",
            "home = \"scratch\"",
        )],
        29,
    ),
    (&[("state = \"reused\"", "state = \"fresh\"")], 30),
    (&[("reads = [\"x\"]", "reads = [\"middle\"]"), ("\"scale\"", "\"scale\" # x unused")], 8),
    (&[("\"stencil\"", "\"scale\""), (", halo = 1", ""), ("[\"out\"]", "[\"middle\"]")], 38),
    (&[("writes = [\"out\"]", "writes = [\"middle\"]")], 38),
    (&[("\"scale\"", "\"saxpy\""), ("reads = [\"x\"]", "reads = [\"x\", \"out\"]")], 30),
    (&[("1024 # out", "1000 # out")], 23),
    (&[("1024 # middle", "1000 # middle")], 17),
    (&[("\"stencil\"", "\"sum\""), (", halo = 1", ""), ("iterations = 4\n", "")], 23),
    (&[("\"stencil\"", "\"sum\""), (", halo = 1", ""), ("1024 # out", "1")], 39),
    (&[("\"stencil\"", "\"histogram\""), (", halo = 1", ""), ("iterations = 4\n", "")], 23),
    (&[("\"stencil\"", "\"histogram\""), (", halo = 1", ""), ("1024 # out", "256")], 39),
    (&[("\"stencil\"", "\"convolution\""), ("[\"middle\"]\nw", "[\"middle\", \"x\"]\nw")], 10),
    (&[("\"stencil\"", "\"transpose\""), (", halo = 1", "")], 40),
    (
        &[
            ("\"stencil\"", "\"transpose\""),
            ("split = { along = \"elements\", halo = 1 }", "arguments = { columns = 100 }"),
        ],
        17,
    ),
    (
        &[
            ("\"stencil\"", "\"matmul\""),
            ("split = { along = \"elements\", halo = 1 }", "arguments = { inner = 16 }"),
            ("[\"middle\"]\nw", "[\"middle\", \"x\"]\nw"),
        ],
        10,
    ),
    (&[("\"stencil\"", "\"fft\""), (", halo = 1", "")], 17),
    (&[("halo = 1", "halo = 2")], 40),
    (&[("\"stencil\"", "\"polynomial\"")], 40),
    (&[("home = \"scratch\"", "home = \"scratch\"\nhost = {}")], 19),
    (&[("home = \"scratch\"", "home = \"device\"\nhost = { memory = \"pinned\" }")], 19),
    (&[("a = 2.0", "a = nan")], 32),
    (&[("a = 2.0", "a = inf")], 32),
    (&[("a = 2.0", "a = 1e39")], 32),
    (&[("1024 # out", "4_611_686_018_427_387_904 # out")], 23),
    (
        &[("1024 # x", "1_000_000_000_000_000_000"), ("1024 # middle", "500_000_000_000_000_000")],
        17,
    ),
    (&[("iterations = 4", "iterations = 200_000")], 39),
    (&[("batches = 2", "batches = 200_000")], 4),
    (&[("[1, 4]", "[1, 4, 200_000]")], 49),
    (&[("\"8 GiB\"", "\"0.3 B\"")], 43),
    (&[("\"2 GiB\"", "\"99999999999 TiB\"")], 44),
    (&[("\"2 GiB\"", "\"1.2.3 GiB\"")], 44),
    (&[("\"Is it worth it?\"", "\"Is it worth it?")], 3),
    (&[("runs = 10", "batches = 10")], 5),
    (
        &[
            ("\"stencil\"", "\"saxpy\""),
            ("[\"middle\"]\nw", "[\"middle\", \"out\"]\nw"),
            (", halo = 1", ""),
        ],
        37,
    ),
    (
        &[(
            "[limits]",
            "[[buffer]]\nname = \"idle\"\ntype = \"f32\"\nelements = 1\n\
             home = \"host\"\n\n[limits]",
        )],
        43,
    ),
];

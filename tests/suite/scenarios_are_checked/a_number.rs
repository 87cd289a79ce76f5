//! Numbers have a range, and their products fit into 64 bits.

use super::*;
use hallway::kernels::Arguments;

#[test]
fn of_elements_is_at_least_one() {
    for wrong in ["0", "-4"] {
        let text = valid_but("1024 # output", &format!("{wrong} # output"));
        let message = format!("`elements` of buffer `out` is {wrong}, but must be at least 1");
        refuses(&text, &format!("{wrong} # output"), &message, "1 or more");
    }
}

#[test]
fn of_bytes_fits_into_64_bits() {
    let text = valid_but("1024 # output", "4611686018427387904 # output");
    let message = "with the `elements` of buffer `out`, the batches of all buffers";
    refuses(&text, "4611686018427387904", message, "fewer `elements`");
    // Each buffer would fit: the second no longer does.
    let text = VALID.replace("1024\n", "200000000000000000\n");
    let text = text.replace("1_024", "1000000000000000000");
    refuses(&text, "1000000000000000000", "buffer `middle`", "fewer `batches`");
}

#[test]
fn of_times_is_within_reason() {
    let text = valid_but("batches = 2", "batches = 0");
    refuses(&text, "0\nruns", "`batches` is 0", "1 or more");
    let text = valid_but("runs = 10", "runs = -10");
    refuses(&text, "-10", "`runs` is -10", "1 or more");
    let text = valid_but("runs = 10", "runs = 1000001");
    refuses(&text, "1000001", "`runs` is 1000001, but must be at most", "from 1 to 1000000");
    let text = valid_but("iterations = 4", "iterations = 0");
    refuses(&text, "0\nsplit", "`iterations` of task `smooth` is 0", "1 or more");
    let text = valid_but("[1, 4]", "[1, 0]");
    refuses(&text, "0]", "a number of `chunks` is 0", "1 or more");
    let text = valid_but("cpu_threads = 16", "cpu_threads = 0");
    refuses(&text, "0\n\n[plans]", "`cpu_threads` is 0", "1 or more");
}

/// Five launches and what is around them, of each of two batches.
#[test]
fn of_calls_is_one_that_can_be_gone_through() {
    let with = |batches: &str, iterations: &str, chunks: &str| {
        let text = valid_but("batches = 2", &format!("batches = {batches}"));
        let text = text.replace("[1, 4]", &format!("[1, {chunks}]"));
        text.replace("iterations = 4", &format!("iterations = {iterations}"))
    };
    for (batches, iterations, chunks) in
        [("32768", "4", "1"), ("2", "131068", "1"), ("2", "4", "16384")]
    {
        read(&with(batches, iterations, chunks)).expect("262144 calls");
    }
    for (batches, iterations, chunks, marked, calls) in [
        ("32769", "4", "4", "32769", "262152"),
        ("2", "131069", "4", "131069", "262146"),
        ("2", "4", "16385", "16385", "262160"),
        ("1000000", "1000000", "1000000", "1000000\nruns", "1000004000000"),
    ] {
        let text = with(batches, iterations, chunks);
        let message = format!("a plan would have {calls} calls, too many to simulate");
        refuses(&text, marked, &message, "the limit is 262144 calls");
    }
    let text = with("2", "1000000000", "4");
    refuses(&text, "1000000000", "must be at most 1000000", "from 1 to 1000000");
}

#[test]
fn for_a_kernel_is_one_it_can_use() {
    for (wrong, shown) in [("nan", "NaN"), ("inf", "inf"), ("1e39", "1e39")] {
        let text = valid_but("a = 2.0", &format!("a = {wrong}"));
        let message = format!("`a` of task `double` is {shown}");
        refuses(&text, &format!("{wrong} }}"), &message, "such as 2.0");
    }
    let polynomial = valid_but("kernel = \"scale\"", "kernel = \"polynomial\"");
    for wrong in ["0", "-1", "65537", "2.5", "nan"] {
        let text = polynomial.replace("a = 2.0", &format!("degree = {wrong}"));
        let message = "`degree` of task `double` is ";
        refuses(&text, &format!("{wrong} }}"), message, "a whole number from 1 to 65536");
    }
    let text = polynomial.replace("a = 2.0", "degree = 65_536");
    assert_eq!(arguments(&text).extent, 65_536);
}

#[test]
fn without_a_point_is_a_factor_too() {
    assert_eq!(arguments(&valid_but("a = 2.0", "a = -3")).a, -3.0);
}

/// The arguments of the first task of a valid scenario.
fn arguments(text: &str) -> Arguments {
    let workload = read(text).expect("valid");
    *workload.tasks[0].kernel.library().expect("of the library").1
}

#[test]
fn of_memory_is_an_amount() {
    for wrong in ["\"8 Gigs\"", "\"-8 GiB\"", "\"\""] {
        let text = valid_but("\"8 GiB\"", wrong);
        refuses(
            &text,
            wrong,
            "`device_memory`: ",
            "write a number and a unit: B, KiB, MiB, GiB, TiB, kB, MB, GB or",
        );
    }
    let text = valid_but("\"2 GiB\"", "\"2 bytes\"");
    refuses(&text, "\"2 bytes\"", "`pinned_memory`: `2 bytes` is not an amount", "MiB");
}

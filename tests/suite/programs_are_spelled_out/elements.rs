//! Buffers have elements of any type. Programs copy any range of their bytes; kernels of the
//! library take `f32` alone.

use super::*;
use crate::mistakes::refuses;
use crate::workloads::{buffer, task};
use hallway::execute::{Contents, check_orders, in_plain_order, run_in_random_order};
use hallway::host::Team;
use hallway::program::BufferId;
use hallway::scenario::Workload;

const TYPES: [(&str, u64); 12] = [
    ("u8", 1),
    ("i8", 1),
    ("u16", 2),
    ("i16", 2),
    ("u32", 4),
    ("i32", 4),
    ("u64", 8),
    ("i64", 8),
    ("f16", 2),
    ("bf16", 2),
    ("f32", 4),
    ("f64", 8),
];

/// Two buffers of 1001 elements of a type; the second gets the bytes of the first, its last `turn`
/// first.
fn turned(element_type: &str, size: u64, turn: u64) -> Workload {
    let buffers = ["x", "y"].map(|name| buffer(name, element_type, 1_001, ON_HOST));
    let (bytes, cut) = (1001 * size, 1001 * size - turn);
    let program = format!(
        "[[program]]\nname = \"p\"\n\
         memory = [{{ name = \"d\", kind = \"device\", size = \"{bytes} B\" }}]\ncalls = [\n\
         {{ copy = \"x[..{cut}]\", to = \"d[{turn}..]\", stream = \"s\" }},\n\
         {{ copy = \"x[{cut}..]\", to = \"d[..{turn}]\" }},\n\
         {{ copy = \"d\", to = \"y\" }},\n]\n"
    );
    read(&(head("turned", "") + &buffers.concat() + &program))
}

#[test]
fn any_bytes_of_any_type_are_copied() {
    let team = Team::new(1).expect("one thread");
    for (element_type, size) in TYPES {
        // Parts of two floating-point numbers may be none.
        let turn = if element_type.contains('f') { size } else { 3 };
        let workload = turned(element_type, size, turn);
        let program = &workload.programs[0];
        let before = Contents::all_random(&workload, &team, 5);
        let after = in_plain_order(program, &before, &team);
        let bytes = |contents: &Contents, buffer| {
            let words = contents.of(BufferId(buffer));
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.truncate(1001 * size as usize);
            bytes
        };
        let mut expected = bytes(&before, 0);
        expected.rotate_right(turn as usize);
        assert_eq!(bytes(&after, 1), expected, "{element_type}");
        check_orders(program, &team, 5).expect("no race");
        run_in_random_order(&workload, program, &team, (&before, &after), 5).expect("right");
        // The last element alone is enough to be told: the rest behind it is not looked at.
        let mut wrong = after.of(BufferId(1)).to_vec();
        let last = wrong.len() - 1;
        let at = (1001 * size - 1) % 4;
        wrong[last] = f32::from_bits(wrong[last].to_bits() ^ (0xff << (8 * at)));
        let mismatch = after.check(&workload, BufferId(1), &wrong).expect_err("another value");
        assert_eq!(mismatch.element, 1000, "{element_type}");
    }
}

#[test]
fn tasks_take_floats_of_four_bytes() {
    let task = |element_type: &str| {
        let task = task("t", "scale", &["x"], "x", "");
        head("w", "") + &buffer("x", element_type, 8, ON_HOST) + &task
    };
    let message = "task `t` uses `x`, whose elements are not `f32`";
    refuses(&task("bf16"), "\"scale\"", message, "[[program]]");
    refuses(&task("f8"), "\"f8\"", "f8", "`bf16`");
}

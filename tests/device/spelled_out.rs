//! Calls that no family makes do on a device what they say.

use super::{on_a_gpu, random};
use hallway::execute::{Effort, Executor};
use hallway::gpu::{AnyDevice, AnyMemory, AnyStream, RowShape, RowSide};
use hallway::host::Team;
use hallway::scenario::Workload;
use hallway::units::Bytes;

#[test]
fn rows_arrive_side_by_side() {
    on_a_gpu("rows_arrive_side_by_side", |device| {
        const COUNT: usize = 64 * 48;
        let (stream, values) = (device.stream(0)?, random(COUNT, 3));
        let [from, to] =
            [COUNT, 64 * 16].map(|count| device.allocate_pinned(Bytes::of_f32(count as u64)));
        let (from, to) = (from?, to?);
        let there = device.allocate(to.bytes())?;
        let [row, pitch] = [16, 48].map(Bytes::of_f32);
        let shape = RowShape { row, count: 64, pitch: [pitch, row] };
        let second = RowSide::Host(from.as_mut_ptr().wrapping_add(16));
        // SAFETY: all rows lie in memory that lives until the copies have been waited for.
        let found = unsafe {
            from.as_mut_ptr().copy_from_nonoverlapping(values.as_ptr(), COUNT);
            stream.copy_rows(second, RowSide::Device(there.address()), shape)?;
            stream.copy_out(there.address(), to.as_mut_ptr(), to.bytes())?;
            stream.synchronize()?;
            std::slice::from_raw_parts(to.as_mut_ptr(), 64 * 16).to_vec()
        };
        for (at, found) in found.chunks(16).enumerate() {
            assert_eq!(found, &values[48 * at + 16..][..16], "row {at}");
        }
        Ok(())
    });
}

#[test]
fn every_call_computes_what_it_says() {
    const PROGRAM: &str = r#"
schema_version = 1
name = "calls"
question = "?"

[[buffer]]
name = "x"
type = "f32"
elements = 262_144
home = "host"

[[buffer]]
name = "y"
type = "f32"
elements = 262_144
home = "host"
host = { memory = "pinned" }

[[program]]
name = "all"
overhead = "1 us"
memory = [
    { name = "d", kind = "device", size = "1 MiB" },
    { name = "e", kind = "device", size = "1 MiB" },
    { name = "f", kind = "device", size = "1 MiB" },
    { name = "h", kind = "pageable", size = "1 MiB" },
    { name = "p", kind = "pinned", size = "1 MiB" },
]
calls = [
    { allocate = "h" },
    { allocate = "p" },
    { allocate = "d" },
    { copy = "x", to = "h" },
    { copy = "h", to = "p", threads = "all" },
    { pin = "x" },
    { allocate = "e", stream = "s" },
    { copy = "p", to = "d", stream = "s" },
    { copy = "d", to = "e", stream = "s" },
    { launch = "scale", reads = ["e"], writes = "f", arguments = { a = 3.0 }, stream = "s" },
    { copy = "x[4..]", to = "f[4..]", rows = 9, row = "1 KiB", pitch = "4 KiB", stream = "s" },
    { copy = "e", to = "f[8..]", rows = 9, row = "8 B", to_pitch = "1 KiB", stream = "s" },
    { free = "e", stream = "s" },
    { copy = "f", to = "y", stream = "s" },
    { record = "done", stream = "s" },
    { synchronize_event = "done" },
    { synchronize_device = 0 },
    { unpin = "x" },
    { copy = "f", to = "h", rows = 9, row = "4 KiB", pitch = "8 KiB", to_pitch = "8 KiB" },
    { copy = "h[0..4 KiB]", to = "y[4 KiB..8 KiB]" },
    { free = "d" },
    { free = "p" },
    { free = "h" },
]
"#;
    on_a_gpu("every_call_computes_what_it_says", |device| {
        let workload = Workload::from_toml("calls.toml", PROGRAM).expect("valid");
        let team = Team::new(4).expect("four threads");
        let executor = Executor::new(Some(device), &team, &workload, 5);
        let program = &workload.programs[0];
        let run = executor.run(program, Effort::SHORT).expect("it computes what it says");
        assert!(run.worst_error < 1e-6, "{}", run.worst_error);
        executor.trace(program).expect("it ran before");
        Ok(())
    });
}

#[test]
fn shipped_programs_with_such_calls_run() {
    on_a_gpu("shipped_programs_with_such_calls_run", |device| {
        let team = Team::new(4).expect("four threads");
        for name in ["copies-on-one-side", "pin-inside", "taken-each-time"] {
            let path = format!("{}/scenarios/programs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let workload = Workload::load(path.as_ref()).expect("valid");
            let executor = Executor::new(Some(device), &team, &workload, 5);
            for program in &workload.programs {
                let run = executor.run(program, Effort::BRIEF);
                run.unwrap_or_else(|error| panic!("{name}, {}: {error}", program.label));
            }
        }
        Ok(())
    });
}

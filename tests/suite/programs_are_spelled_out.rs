//! A scenario may spell out programs, call by call. They become the calls that stand there, or are
//! refused with the place of the mistake and its fix.

mod elements;
mod memory;
mod shipped;
mod threads;

use super::workloads::{ON_HOST, PINNED, floats, head, read};
use hallway::machine::{DeviceId, Direction, HostMemory, StreamId};
use hallway::program::{
    AllocationId, Call, CopyBy, EventId, Place, Program, Route, Slice, StreamKind,
};
use hallway::units::{Bytes, Span};

/// Two buffers of 16 MiB, and programs over them.
fn scenario(programs: &str) -> String {
    let buffers = floats(["x"], 4_194_304, ON_HOST) + &floats(["y"], 4_194_304, PINNED);
    head("demo", "") + &buffers + programs
}

/// A program of some calls, with two pieces of device memory of 16 MiB.
fn calls(calls: &str) -> String {
    scenario(&format!(
        "[[program]]\nname = \"p\"\nmemory = [\n\
         {{ name = \"d\", kind = \"device\", size = \"16 MiB\" }},\n\
         {{ name = \"e\", kind = \"device\", size = \"16 MiB\" }},\n]\ncalls = [\n{calls}\n]\n"
    ))
}

/// The first program of a scenario. A second one uses all buffers: the first need not.
fn program(text: &str) -> Program {
    let rest = "[[program]]\nname = \"rest\"\n\
                memory = [ { name = \"r\", kind = \"device\", size = \"16 MiB\" } ]\n\
                calls = [ { copy = \"x\", to = \"r\" }, { copy = \"r\", to = \"y\" } ]\n";
    read(&format!("{text}{rest}")).programs.remove(0)
}

fn slice(allocation: usize, from: u64, length: u64) -> Slice {
    let (offset, length) = (Bytes::new(from), Bytes::new(length));
    Slice { allocation: AllocationId(allocation), offset, length }
}

const MIB: u64 = 1 << 20;

#[test]
fn a_copy_without_a_stream_is_waited_for() {
    let program = program(&calls("{ copy = \"x\", to = \"d\" },"));
    let stream = StreamId(0);
    let named = |name: &str| program.allocations.iter().position(|one| one.name == name);
    let (x, d) = (named("x").expect("used"), named("d").expect("declared"));
    assert_eq!(
        program.body,
        [
            Call::copy(
                CopyBy::crossing(stream, Direction::HostToDevice),
                slice(x, 0, 16 * MIB),
                slice(d, 0, 16 * MIB),
            ),
            Call::Synchronize { stream },
        ]
    );
    assert_eq!(program.streams[0].kind, StreamKind::LegacyDefault);
    assert_eq!(program.label, "p");
    // Buffers that no call names are not in the program.
    assert_eq!(named("y"), None);
    // Memory that no call allocates is there from the set-up on.
    let allocated: Vec<AllocationId> = (0..2).map(AllocationId).collect();
    let allocated: Vec<Call> = allocated.into_iter().map(Call::allocate).collect();
    assert_eq!(program.setup, allocated);
}

#[test]
fn repeated_calls_may_use_the_round_in_names_and_ranges() {
    let text = calls(
        "{ repeat = 4, index = \"i\", calls = [\n\
         { wait = \"free{i % 2}\", stream = \"in\" },\n\
         { copy = \"x[i * 4 MiB..+4 MiB]\", to = \"d[i % 2 * 4 MiB..(i % 2 + 1) * 4 MiB]\", \
           stream = \"in\" },\n\
         { record = \"full{i % 2}\", stream = \"in\" },\n\
         { wait = \"full{i % 2}\", stream = \"out\" },\n\
         { copy = \"d[i % 2 * 4 MiB..+4 MiB]\", to = \"y[i * 4 MiB..+4 MiB]\", \
           stream = \"out\" },\n\
         { record = \"free{i % 2}\", stream = \"out\" },\n] },\n\
         { synchronize = \"out\" },",
    );
    // The first round waits for what nobody has recorded.
    let text = text.replace(
        "calls = [\n{ repeat",
        "calls = [\n{ record = \"free0\", stream = \"out\" },\n\
         { record = \"free1\", stream = \"out\" },\n{ repeat",
    );
    let program = program(&text);
    assert_eq!(program.body.len(), 2 + 4 * 6 + 1);
    assert_eq!(program.events, 4);
    let third = &program.body[2 + 2 * 6..][..6];
    let (d, x, y) = (0, 2, 3);
    assert_eq!(third[0], Call::Wait { stream: StreamId(1), event: EventId(0) });
    let in_third = |call: &Call| match call {
        Call::Copy { from, to, .. } => (*from, *to),
        other => panic!("{other:?}"),
    };
    let four = 4 * MIB;
    assert_eq!(in_third(&third[1]), (slice(x, 8 * MIB, four), slice(d, 0, four)));
    assert_eq!(in_third(&third[4]), (slice(d, 0, four), slice(y, 8 * MIB, four)));
    assert_eq!(program.allocations[y].place, Place::Host(HostMemory::Pinned));
    assert!(program.streams.iter().all(|stream| stream.kind == StreamKind::Blocking));
}

#[test]
fn loops_stand_inside_loops() {
    let text = calls(
        "{ repeat = 3, index = \"i\", calls = [ { repeat = 2, index = \"j\", calls = [\n\
         { copy = \"x[(i * 2 + j) * 1 MiB..+1 MiB]\", to = \"d[0..1 MiB]\" },\n] } ] },",
    );
    let program = program(&text);
    let offsets: Vec<u64> = program
        .body
        .iter()
        .filter_map(|call| match call {
            Call::Copy { from, .. } => Some(from.offset.get() / MIB),
            _ => None,
        })
        .collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5]);
    // Loops around nothing are no work, however often they go around.
    let nothing = "{ repeat = 1000000, calls = [] }".to_owned();
    let around = |inner: &str| format!("{{ repeat = 1000000, calls = [ {inner} ] }}");
    let text = calls(&around(&around(&around(&nothing))));
    assert_eq!(self::program(&text).body, []);
}

#[test]
fn kernels_take_their_arguments_and_workspaces() {
    let text = calls(
        "{ copy = \"x\", to = \"d\", stream = \"s\" },\n\
         { launch = \"scale\", reads = [\"d\"], writes = \"e\", arguments = { a = 3.0 }, \
           stream = \"s\" },\n\
         { launch = \"sum\", reads = [\"e\"], writes = \"d[0..4]\", stream = \"s\" },\n\
         { synchronize = \"s\" },\n\
         { compute = \"polynomial\", reads = [\"x\"], writes = \"y\", \
           arguments = { degree = 7 } },",
    );
    let program = program(&text);
    let steps: Vec<_> = program.body.iter().filter_map(|call| call.step()?.library()).collect();
    assert_eq!(steps[0].arguments.a.to_bits(), 3.0_f32.to_bits());
    assert_eq!(steps[0].workspace, None);
    let workspace = steps[1].workspace.expect("a sum combines its blocks");
    let workspace = program.allocation(workspace.allocation);
    assert_eq!(workspace.name, "workspace of stream 0");
    assert_eq!(steps[2].arguments.extent, 7);
    assert!(matches!(program.body[4], Call::Compute { .. }));
}

#[test]
fn the_host_works_for_a_stated_time() {
    for (text, nanos) in [("3.5 ms", 3_500_000), ("20us", 20_000), ("2 s", 2_000_000_000)] {
        let program = program(&calls(&format!("{{ work = \"{text}\" }},")));
        assert_eq!(program.body, [Call::Work { time: Span::from_nanos(nanos) }], "{text}");
    }
}

#[test]
fn what_is_pinned_in_the_set_up_is_pinned_memory() {
    let text = calls("{ copy = \"x\", to = \"d\" },")
        .replace("calls = [", "setup = [ { pin = \"x\" } ]\ncalls = [");
    let program = program(&text);
    let x = program.allocations.iter().position(|one| one.name == "x").expect("used");
    assert_eq!(program.allocations[x].place, Place::Host(HostMemory::Pinned));
    assert!(program.setup.contains(&Call::Pin(AllocationId(x))));
}

#[test]
fn a_framework_works_before_each_call_to_the_driver() {
    let text = calls(
        "{ copy = \"x\", to = \"d\" },\n{ work = \"1 us\" },\n{ copy = \"x\", to = \"y\" },\n\
         { graph = [ { clear = \"d\", stream = \"s\" } ], stream = \"s\" },\n\
         { synchronize = \"s\" },",
    );
    let text = text.replace("name = \"p\"\n", "name = \"p\"\noverhead = \"6 us\"\n");
    let program = program(&text);
    let six = Call::Work { time: Span::from_nanos(6_000) };
    let before: Vec<usize> =
        (0..program.body.len()).filter(|&at| program.body[at] == six).collect();
    // Before the copy, which waits by itself, the launch of the graph, and the synchronisation.
    assert_eq!(before, [0, 5, 8]);
    assert!(matches!(program.body[1..3], [Call::Copy { .. }, Call::Synchronize { .. }]));
    assert!(matches!(program.body[4], Call::Copy { by: CopyBy::Host(_), .. }));
    assert!(matches!(program.body[6..8], [Call::Replay { calls: 1, .. }, Call::Clear { .. }]));
    assert!(program.setup.iter().all(|call| *call != six));
}

#[test]
fn rows_are_copied_as_rows_where_they_lie_apart() {
    let rows = |rest: &str| {
        let call =
            format!("{{ copy = \"x[1 KiB..]\", to = \"d\", rows = 8, row = \"2 KiB\"{rest} }},");
        program(&calls(&call)).body.remove(0)
    };
    let Call::Copy { by, from, to, rows: Some(found) } = rows(", pitch = \"8 KiB\"") else {
        panic!("rows")
    };
    assert!(matches!(by, CopyBy::Stream(_, Route::Crossing(Direction::HostToDevice))));
    assert_eq!((from.offset, from.length), (Bytes::kib(1), Bytes::kib(7 * 8 + 2)));
    assert_eq!((to.offset, to.length), (Bytes::ZERO, Bytes::kib(16)));
    assert_eq!((found.row, found.pitch), (Bytes::kib(2), [8, 2].map(Bytes::kib)));
    assert_eq!(found.count(&from), 8);
    // Without gaps, they are one range.
    let Call::Copy { from, rows: None, .. } = rows("") else { panic!("a range") };
    assert_eq!((from.offset, from.length), (Bytes::kib(1), Bytes::kib(16)));
}

#[test]
fn what_a_pass_takes_is_not_taken_in_the_set_up() {
    let text = calls(
        "{ allocate = \"d\", stream = \"s\" },\n{ copy = \"y\", to = \"d\", stream = \"s\" },\n\
         { free = \"d\", stream = \"s\" },\n{ synchronize_device = 0 },\n\
         { pin = \"x\" },\n{ copy = \"x\", to = \"e\" },\n{ unpin = \"x\" },",
    );
    let program = program(&text);
    let named = |name: &str| program.allocations.iter().position(|one| one.name == name);
    let [d, e, x] = ["d", "e", "x"].map(|name| AllocationId(named(name).expect("used")));
    assert_eq!(program.setup, [Call::allocate(e)]);
    let stream = Some(StreamId(0));
    assert_eq!(program.body[0], Call::Allocate { stream, allocation: d });
    assert_eq!(program.body[2], Call::Free { stream, allocation: d });
    assert_eq!(program.body[3], Call::SynchronizeDevice(DeviceId::FIRST));
    assert_eq!((&program.body[4], program.body.last()), (&Call::Pin(x), Some(&Call::Unpin(x))));
    assert_eq!(program.allocation(x).place, Place::Host(HostMemory::Pinned));
}

#[test]
fn calls_to_another_gpu_are_made_in_its_context() {
    let text = calls(
        "{ copy = \"x\", to = \"d\" },\n{ copy = \"d\", to = \"far\" },\n\
         { copy = \"far\", to = \"y\", stream = \"there\" },\n{ synchronize = \"there\" },",
    );
    let text = text
        .replace(
            "memory = [",
            "memory = [ { name = \"far\", kind = \"device\", size = \"16 MiB\", gpu = 1 },",
        )
        .replace(
            "calls = [",
            "streams = [ { name = \"there\", gpu = 1, kind = \"non-blocking\" } ]\ncalls = [",
        );
    let program = program(&text);
    assert_eq!(program.devices(), 2);
    let uses: Vec<usize> =
        (0..program.body.len()).filter(|&at| matches!(program.body[at], Call::Use(_))).collect();
    assert_eq!(uses, [4, 7]);
    assert_eq!(program.body[7], Call::Use(DeviceId::FIRST));
    let far = &program.body[2];
    assert!(matches!(far, Call::Copy { by: CopyBy::Stream(_, Route::ToPeer), .. }));
}

#[test]
fn a_graph_is_launched_once_a_pass() {
    let text = calls(
        "{ graph = [\n{ copy = \"y\", to = \"d\", stream = \"s\" },\n\
         { launch = \"scale\", reads = [\"d\"], writes = \"e\", stream = \"s\" },\n\
         ], stream = \"s\" },\n{ synchronize = \"s\" },",
    );
    let program = program(&text);
    assert_eq!(program.body[0], Call::Replay { stream: StreamId(0), calls: 2 });
    assert!(program.has_graphs());
}

#[test]
fn tasks_and_programs_stand_side_by_side() {
    let text = calls("{ copy = \"x\", to = \"d\" },\n{ copy = \"d\", to = \"y\" },")
        + &super::workloads::task("t", "scale", &["x"], "y", "");
    let workload = read(&text);
    assert_eq!((workload.tasks.len(), workload.programs.len()), (1, 1));
}

/// The checks take a time in proportion to the calls, and so does the simulator.
#[test]
fn a_program_may_make_a_hundred_thousand_calls() {
    let text = calls(
        "{ repeat = 20_000, index = \"i\", calls = [\n\
         { copy = \"y[(i % 512) * 8 KiB..+16 KiB]\", to = \"d[(i % 512) * 8 KiB..+16 KiB]\", \
         stream = \"in\" },\n{ record = \"e{i}\", stream = \"in\" },\n\
         { wait = \"e{i}\", stream = \"run\" },\n\
         { launch = \"scale\", reads = [\"d[(i % 512) * 8 KiB..+16 KiB]\"], \
         writes = \"e[(i % 512) * 8 KiB..+16 KiB]\", stream = \"run\" },\n\
         { record = \"f{i}\", stream = \"run\" },\n{ wait = \"f{i}\", stream = \"in\" },\n] },\n\
         { synchronize = \"in\" },\n{ synchronize = \"run\" },",
    );
    let program = program(&text);
    assert_eq!(program.body.len(), 120_002);
    let machine = crate::machines::machine();
    let found = hallway::simulate::forecast(&program, &machine, 2, 1).expect("known");
    assert!(found.makespan() > Span::from_millis(20), "{}", found.makespan());
}

/// Two blocks of columns do not meet, however they are ordered; blocks that overlap do.
#[test]
fn rows_that_do_not_overlap_need_no_order() {
    let columns = |second: u64| {
        calls(&format!(
            "{{ copy = \"d\", to = \"e\", rows = 64, row = \"2 KiB\", pitch = \"8 KiB\", \
             to_pitch = \"8 KiB\", stream = \"s\" }}, {{ copy = \"d\", to = \"e[{second} KiB..]\", \
             rows = 64, row = \"2 KiB\", pitch = \"8 KiB\", to_pitch = \"8 KiB\", \
             stream = \"t\" }}, {{ synchronize = \"s\" }}, {{ synchronize = \"t\" }}"
        ))
    };
    for (second, meet) in [(0, true), (1, true), (2, false), (6, false), (7, true), (14, false)] {
        let found = hallway::scenario::Workload::from_toml("test.toml", &columns(second))
            .expect_err("unused buffers");
        let meets = found
            .to_string()
            .contains("two calls use `e` and one of them writes to it, but nothing orders");
        assert_eq!(meets, meet, "{second} KiB: {found}");
    }
}

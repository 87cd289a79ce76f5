//! Plans whose order comes from something other than events. The device must order them
//! as the simulator's rules say.

use super::on_a_gpu;
use hallway::execute::{Effort, Executor};
use hallway::families::{ByChunk, ByEngine, Family, Issue, Resident, Strategy, build};
use hallway::gpu::{AnyDevice, AnyGraph, AnyMemory, AnyStream, Device, GpuError, Recorder};
use hallway::host::Team;
use hallway::kernels::Kernel;
use hallway::machine::HostMemory;
use hallway::program::{Call, Program, StreamKind, check_hazards};
use hallway::scenario::Workload;
use hallway::search::candidates;
use hallway::timeline::{Activity, Lane, Timeline};
use hallway::units::{Bytes, Instant, Span};
use std::path::Path;

/// An array through a kernel. A chunk of it takes far longer than a launch.
fn workload(kernel: Kernel, home: &str, arguments: &str) -> Workload {
    let text = format!(
        "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n\
         [[buffer]]\nname = \"x\"\ntype = \"f32\"\nelements = 16777216\nhome = \"{home}\"\n\
         [[buffer]]\nname = \"y\"\ntype = \"f32\"\nelements = 16777216\nhome = \"{home}\"\n\
         [[task]]\nname = \"t\"\nkernel = \"{}\"\nreads = [\"x\"]\nwrites = [\"y\"]\n{arguments}\
         split = {{ along = \"elements\" }}\n",
        kernel.name()
    );
    Workload::from_toml("w.toml", &text).expect("valid")
}

fn planned(workload: &Workload, family: Family, graph: bool) -> Program {
    let strategy = Strategy { family, memory: HostMemory::Pinned, graph, each_pass: false };
    build(workload, strategy).expect("fits")
}

/// Runs the plan, which checks its outputs, and traces one pass.
fn traced(device: &Device, workload: &Workload, plan: &Program) -> Timeline {
    let team = Team::new(4).expect("four threads");
    let executor = Executor::new(Some(device), &team, workload, 5);
    executor.run(plan, Effort::SHORT).unwrap_or_else(|error| panic!("{}: {error}", plan.label));
    executor.trace(plan).expect("it ran before").timeline
}

/// What the device did in one lane, in the order of its calls.
fn done(timeline: &Timeline, lane: Lane) -> Vec<&Activity> {
    let mut done: Vec<&Activity> = timeline.lane(lane).collect();
    done.sort_by_key(|activity| activity.call);
    done
}

/// The copies in, the kernels and the copies out.
fn on_engines(timeline: &Timeline) -> [Vec<&Activity>; 3] {
    [Lane::CopyIn, Lane::Kernels, Lane::CopyOut].map(|lane| done(timeline, lane))
}

/// The resolution of timing events (CUDA Driver API, `cuEventElapsedTime`).
const RESOLUTION: Span = Span::from_micros(1);

fn comes_before(one: &Activity, other: &Activity) {
    assert!(one.end <= other.start + RESOLUTION, "{one:?} is not before {other:?}");
}

#[test]
fn the_legacy_default_stream_orders_blocking_streams() {
    on_a_gpu("the_legacy_default_stream_orders_blocking_streams", |device| {
        let workload = workload(Kernel::Scale, "host", "");
        let mut plan = planned(&workload, Family::ByEngine(ByEngine { chunks: 4 }), false);
        // Instead of events, the kernels use the stream that all others wait for.
        plan.body.retain(|call| !matches!(call, Call::Wait { .. } | Call::Record { .. }));
        let kinds = [StreamKind::Blocking, StreamKind::LegacyDefault, StreamKind::Blocking];
        for (stream, kind) in plan.streams.iter_mut().zip(kinds) {
            stream.kind = kind;
        }
        check_hazards(&plan).expect("every kernel is a barrier");
        let timeline = traced(device, &workload, &plan);
        let [copies_in, kernels, copies_out] = on_engines(&timeline);
        for chunk in 0..4 {
            comes_before(copies_in[chunk], kernels[chunk]);
            comes_before(kernels[chunk], copies_out[chunk]);
            // Nothing that is issued behind a kernel overtakes it.
            if chunk < 3 {
                comes_before(kernels[chunk], copies_in[chunk + 1]);
                comes_before(copies_out[chunk], kernels[chunk + 1]);
            }
        }
        Ok(())
    });
}

#[test]
fn blocks_of_a_higher_priority_go_before_those_that_wait() {
    on_a_gpu("blocks_of_a_higher_priority_go_before_those_that_wait", |device| {
        let workload = workload(Kernel::Polynomial, "device", "arguments = { degree = 1024 }\n");
        let family = Family::ByChunk(ByChunk { chunks: 3, streams: 3, issue: Issue::DepthFirst });
        let mut plan = planned(&workload, family, false);
        let ends = |plan: &Program| -> Vec<Instant> {
            let timeline = traced(device, &workload, plan);
            done(&timeline, Lane::Kernels).iter().map(|kernel| kernel.end).collect()
        };
        // With equal priorities, kernels are dispatched in the order of their launches.
        let alike = ends(&plan);
        assert!(alike[0] < alike[2], "{alike:?}");
        // The driver clamps priorities that the device does not have.
        plan.streams[2].priority = -100;
        let urgent = ends(&plan);
        assert!(urgent[2] < urgent[0] && urgent[2] < urgent[1], "{urgent:?}");
        Ok(())
    });
}

#[test]
fn nodes_of_a_graph_wait_for_what_they_depend_on_and_for_nothing_else() {
    on_a_gpu("nodes_of_a_graph_wait_for_what_they_depend_on_and_for_nothing_else", |device| {
        let workload = workload(Kernel::Scale, "host", "");
        let plan = planned(&workload, Family::ByEngine(ByEngine { chunks: 4 }), true);
        let timeline = traced(device, &workload, &plan);
        let [copies_in, kernels, copies_out] = on_engines(&timeline);
        for chunk in 0..4 {
            comes_before(copies_in[chunk], kernels[chunk]);
            comes_before(kernels[chunk], copies_out[chunk]);
        }
        // Copies in both directions run at once.
        let (out, last) = (copies_out[0], copies_in[3]);
        assert!(out.start < last.end, "{out:?} waits for {last:?}");
        // The host makes two calls; the second one waits for the whole graph.
        let host = done(&timeline, Lane::Host);
        assert_eq!(host.len(), 2, "{host:?}");
        let ends = [&copies_in, &kernels, &copies_out].map(|lane| lane[3].end);
        // A round trip aligns the clocks of host and device, which is not exact.
        let leeway = Span::from_micros(50);
        assert!(ends.iter().all(|&end| end <= host[1].end + leeway), "{ends:?} {host:?}");
        Ok(())
    });
}

#[test]
fn a_capture_that_is_not_joined_is_an_error_and_leaves_nothing_behind() {
    on_a_gpu("a_capture_that_is_not_joined_is_an_error_and_leaves_nothing_behind", |device| {
        let bytes = Bytes::mib(1);
        let memory = device.allocate(bytes)?;
        let (origin, other) = (device.stream(0)?, device.stream(0)?);
        let (fork, join) = (device.ordering_event()?, device.ordering_event()?);
        let clear = |joined: bool| {
            origin.capture(|| {
                origin.record(&fork)?;
                other.wait(&fork)?;
                // SAFETY: the memory outlives the graph, which is waited for.
                unsafe { other.clear(memory.address(), bytes)? };
                if joined {
                    other.record(&join)?;
                    origin.wait(&join)?;
                }
                Ok::<_, GpuError>(())
            })
        };
        let error = clear(false).err().expect("a stream was not joined").to_string();
        assert!(error.contains("cuStreamEndCapture"), "{error}");
        let graph = clear(true)?.instantiate()?;
        // SAFETY: the memory outlives the copy, which is waited for.
        unsafe { origin.replay(&graph)? };
        origin.synchronize()?;
        let values = super::download(&origin, &memory, bytes.as_usize() / 4)?;
        assert!(values.iter().all(|&value| value == 0.0), "the graph has not run");
        Ok(())
    });
}

/// Programs with each kind of memory come to what their own calls do one after the other.
#[test]
fn programs_use_each_kind_of_memory() {
    on_a_gpu("programs_use_each_kind_of_memory", |device| {
        let buffer = |name: &str, host: &str| {
            format!(
                "[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\nelements = 1048576\n\
                 home = \"host\"\n{host}\n"
            )
        };
        let program = |name: &str, kind: &str, calls: &str| {
            format!(
                "[[program]]\nname = \"{name}\"\nmemory = [\n\
                 {{ name = \"d\", kind = \"device\", size = \"4 MiB\" }},\n\
                 {{ name = \"m\", kind = \"{kind}\", size = \"4 MiB\" }},\n]\n{calls}\n"
            )
        };
        let there = "calls = [\n{ compute = \"scale\", reads = [\"x\"], writes = \"m\" },\n\
                     { copy = \"m\", to = \"d\" },\n{ copy = \"d\", to = \"y\" },\n]";
        let in_place = "calls = [\n{ compute = \"scale\", reads = [\"x\"], writes = \"m\" },\n\
                        { launch = \"saxpy\", reads = [\"m\", \"p\"], writes = \"y\", \
                        stream = \"s\" },\n{ synchronize = \"s\" },\n]\n\
                        setup = [{ pin = \"y\" }]";
        let moved = "calls = [\n{ compute = \"scale\", reads = [\"x\"], writes = \"m\" },\n\
                     { prefetch = \"m[1 MiB..2 MiB]\", to = \"gpu\", stream = \"s\" },\n\
                     { launch = \"scale\", reads = [\"m\"], writes = \"d\", stream = \"s\" },\n\
                     { prefetch = \"m\", to = \"host\", stream = \"s\" },\n\
                     { synchronize = \"s\" },\n{ copy = \"d\", to = \"y\" },\n]";
        let renewed = "calls = [\n{ renew = \"y\" },\n{ copy = \"x\", to = \"d\" },\n\
                       { copy = \"d\", to = \"y\" },\n{ copy = \"p\", to = \"d\" },\n]";
        let text = [
            "schema_version = 1\nname = \"kinds\"\nquestion = \"?\"\n".to_owned(),
            buffer("x", ""),
            buffer("p", "host = { memory = \"pinned\" }"),
            buffer("y", ""),
            program("write-combined", "write-combined", there),
            program("in place", "write-combined", in_place),
            program("pinned in place", "pinned", in_place),
            program("renewed", "pageable", renewed),
            match hallway::gpu::ManagedMemory::check(device) {
                Ok(()) => program("managed", "managed", moved),
                Err(_) => String::new(),
            },
        ];
        let workload = Workload::from_toml("kinds.toml", &text.concat()).expect("valid");
        let team = Team::new(4).expect("four threads");
        let executor = Executor::new(Some(device), &team, &workload, 5);
        for program in &workload.programs {
            let run = executor.run(program, Effort::SHORT);
            let run = run.unwrap_or_else(|error| panic!("{}: {error}", program.label));
            assert!(run.worst_error < 1e-6, "{}: {}", program.label, run.worst_error);
        }
        Ok(())
    });
}

/// Between two timing events, a kernel of a microsecond takes several.
#[test]
fn records_tell_how_long_a_small_kernel_runs() {
    on_a_gpu("records_tell_how_long_a_small_kernel_runs", |device| {
        if Recorder::find().is_none() {
            return Ok(());
        }
        let text = "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n\
             [[buffer]]\nname = \"x\"\ntype = \"f32\"\nelements = 1024\nhome = \"host\"\n\
             [[buffer]]\nname = \"y\"\ntype = \"f32\"\nelements = 1024\nhome = \"host\"\n\
             [[task]]\nname = \"t\"\nkernel = \"scale\"\nreads = [\"x\"]\nwrites = [\"y\"]\n";
        let workload = Workload::from_toml("w.toml", text).expect("valid");
        for graph in [false, true] {
            let plan = planned(&workload, Family::Resident(Resident), graph);
            let timeline = traced(device, &workload, &plan);
            let [ins, kernels, outs] = on_engines(&timeline);
            let ([copy_in], [kernel], [copy_out]) = (&ins[..], &kernels[..], &outs[..]) else {
                panic!("{timeline:?}")
            };
            comes_before(copy_in, kernel);
            comes_before(kernel, copy_out);
            let lasts = kernel.end.since(kernel.start);
            assert!(lasts < Span::from_micros(3), "{}: it takes {lasts}", plan.label);
            for activity in [copy_in, kernel, copy_out] {
                let in_graph = plan.graphs().find(|graph| graph.calls.contains(&activity.call));
                let made = in_graph.map_or(activity.call, |graph| graph.launch);
                let call = timeline.lane(Lane::Host).find(|call| call.call == made);
                assert!(call.is_some_and(|call| call.start <= activity.start), "{activity:?}");
                assert!(activity.end <= Instant::START + timeline.makespan, "{activity:?}");
            }
        }
        Ok(())
    });
}

/// Parts that cross, tasks that stay on the CPU, and packed arrays: outputs are compared with the
/// CPU's. The largest arrays have few enough elements for all plans to run within seconds.
#[test]
fn what_a_workload_says_is_done() {
    const NAMES: [&str; 4] =
        ["part-of-a-result", "part-of-an-input", "cpu-shrinks-first", "packed-batches"];
    on_a_gpu("what_a_workload_says_is_done", |device| {
        let team = Team::new(4).expect("four threads");
        for name in NAMES {
            let path = format!("{}/scenarios/memory/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let workload = Workload::load(Path::new(&path)).expect("it is shipped");
            let executor = Executor::new(Some(device), &team, &workload, 5);
            for plan in candidates(&workload).programs() {
                let run = executor.run(&plan, Effort::SHORT);
                run.unwrap_or_else(|error| panic!("{name}, {}: {error}", plan.label));
            }
        }
        Ok(())
    });
}

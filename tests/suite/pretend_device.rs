//! A device of another vendor stands behind the traits of `gpu`: one with known truths and a clock
//! of its own. What is predicted for a machine with these truths is measured on it, and a
//! calibration finds them.
//!
//! The calibration is the crate's own, and so is the fit; the schedule is cut down to what the
//! device has truths for. Not covered: graphs, copies of rows, on the device and between devices,
//! write-combined, mapped and managed memory, pools, other contexts and modules, a device that
//! waits for memory management, polling, and directions or kernels that slow each other, of
//! which the device has none. What the CPU does has no truth
//! here: twins, copies by the host, first touches.

mod calibrated;
mod clock;
mod device;
mod memory;
mod set_up;
mod stream;
mod truths;

use crate::machines::wide_machine;
use crate::workloads::simple;
use calibrated::{calibrated, prices};
use device::PretendDevice;
use hallway::execute::{Effort, ExecuteError, Executor};
use hallway::families::{Buffered, ByChunk, ByEngine, Family, Issue, Resident, Strategy, build};
use hallway::host::Team;
use hallway::kernels::Kernel;
use hallway::machine::HostMemory;
use hallway::simulate::simulate;
use hallway::timeline::Lane;
use hallway::units::Bytes;
use truths::{Rising, Truths};

/// The truths behind `machines.rs`: each number of the profile that the plans here need.
const ROUND_NUMBERS: Truths = Truths {
    memory: Bytes::mib(1 << 10),
    calls: [1_000, 1_500, 2_000],
    starts: [3_000, 5_000, 4_000],
    wake_host: 6_000,
    synchronize: 300,
    record: 100,
    wait: 200,
    lasts: [Rising { fixed: 1_000, per_element: 1.0 }; 3],
    fewest_elements: 2_000,
    hand_overs: [[[0, 0], [0, 0], [300, 700]], [[0, 0]; 3], [[0, 0], [400, 900], [0, 0]]],
    staged: [
        [Rising { fixed: 8_000, per_element: 1.0 }, Rising { fixed: 10_000, per_element: 1.0 }],
        [Rising { fixed: 12_000, per_element: 2.0 }; 2],
    ],
    clear: 2_000,
    stream: 5_000,
    event: 400,
    device_allocate: 10_000,
    device_free: 10_000,
    pinned_allocate: Rising { fixed: 100_000, per_element: 1.0 },
    pinned_free: Rising { fixed: 80_000, per_element: 0.5 },
    register: Rising { fixed: 50_000, per_element: 1.0 },
    unregister: Rising { fixed: 40_000, per_element: 0.5 },
};

/// Truths that a calibration has to find. No clock tells the way to the device from the way back:
/// the fit takes the way back to cost as much as a synchronisation that finds everything done. And
/// it has one hand-over for all engines in a queue. So both are true here.
const TO_BE_FOUND: Truths = Truths {
    memory: Bytes::mib(1 << 10),
    calls: [1_100, 1_400, 2_300],
    starts: [3_100, 4_700, 4_300],
    wake_host: 900,
    synchronize: 900,
    record: 150,
    wait: 250,
    lasts: [
        Rising { fixed: 1_300, per_element: 0.2 },
        Rising { fixed: 1_700, per_element: 0.25 },
        Rising { fixed: 2_100, per_element: 0.1 },
    ],
    fewest_elements: 1,
    hand_overs: [
        [[0, 800], [350, 800], [350, 800]],
        [[350, 800], [0, 800], [350, 800]],
        [[350, 800], [350, 800], [0, 800]],
    ],
    staged: [
        [Rising { fixed: 5_000, per_element: 0.4 }, Rising { fixed: 7_000, per_element: 0.4 }],
        [Rising { fixed: 11_000, per_element: 0.5 }; 2],
    ],
    clear: 1_900,
    stream: 6_000,
    event: 500,
    device_allocate: 40_000,
    device_free: 30_000,
    pinned_allocate: Rising { fixed: 90_000, per_element: 0.7 },
    pinned_free: Rising { fixed: 70_000, per_element: 0.3 },
    register: Rising { fixed: 60_000, per_element: 0.6 },
    unregister: Rising { fixed: 30_000, per_element: 0.2 },
};

fn strategy(family: Family, graph: bool) -> Strategy {
    Strategy { family, memory: HostMemory::Pinned, graph, each_pass: false }
}

/// More than the host needs to issue a chunk.
const CHUNK: u64 = 9_600;

/// Plans whose operations become ready in the order in which they are issued: the device's engines
/// take them in that order. (Breadth-first plans with more chunks than streams are none.)
fn families(chunks: u64) -> [Family; 4] {
    let streams = chunks.min(3) as usize;
    [
        Family::Resident(Resident),
        Family::ByEngine(ByEngine { chunks }),
        Family::Buffered(Buffered { chunks, ring: 2 }),
        Family::ByChunk(ByChunk { chunks, streams, issue: Issue::DepthFirst }),
    ]
}

#[test]
fn a_vendors_device_runs_what_is_predicted_for_its_truths() {
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    for (kernel, chunks) in [(Kernel::Scale, 4), (Kernel::Scale, 9), (Kernel::Polynomial, 6)] {
        let workload = simple(kernel, chunks * CHUNK, "");
        let executor = Executor::new(Some(&device), &team, &workload, 1);
        for family in families(chunks) {
            let program = build(&workload, strategy(family, false)).expect("it can be made");
            let predicted =
                simulate(&program, &wide_machine()).expect("known").makespan.nanos_f64();
            let run = executor.run(&program, Effort::BRIEF).expect("it runs and is right");
            let measured = run.makespan().nanos_f64();
            let plan = &program.label;
            let error = measured / predicted - 1.0;
            assert!(error.abs() < 0.02, "{plan}: predicted {predicted}, measured {measured}");
        }
    }
}

/// A kernel with a stated time has neither code nor data: something takes its time.
#[test]
fn stand_ins_take_the_stated_time() {
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    let text = "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n[[buffer]]\nname = \"x\"\n\
                type = \"f32\"\nelements = 16000\nhome = \"host\"\n\
                host = { memory = \"pinned\" }\n[[kernel]]\nname = \"k\"\n\
                stated = { fixed = \"40 us\", per_element = \"1 ns\" }\n[[program]]\nname = \"p\"\n\
                memory = [{ name = \"d\", kind = \"device\", size = \"64000 B\" }]\n\
                streams = [{ name = \"s\", kind = \"non-blocking\" }]\n\
                calls = [{ copy = \"x\", to = \"d\", stream = \"s\" },\n\
                { launch = \"k\", reads = [\"d\"], writes = [\"d\"], elements = 2000, \
                stream = \"s\" },\n\
                { copy = \"d\", to = \"x\", stream = \"s\" }, { synchronize = \"s\" }]\n";
    let workload = hallway::scenario::Workload::from_toml("w.toml", text).expect("valid");
    let program = &workload.programs[0];
    let executor = Executor::new(Some(&device), &team, &workload, 1);
    let predicted = simulate(program, &wide_machine()).expect("known").makespan.nanos_f64();
    let run = executor.run(program, Effort::BRIEF).expect("it runs");
    let error = run.makespan().nanos_f64() / predicted - 1.0;
    assert!(error.abs() < SHARE, "predicted {predicted}, {:?}", run.makespan());
    assert!(predicted > 42_000.0 + 2.0 * 16_000.0, "{predicted}");
}

/// By how much a price, or a prediction, may be off.
const SHARE: f64 = 0.02;

#[test]
fn a_calibration_finds_the_truths() {
    let profile = calibrated(&TO_BE_FOUND);
    let wrong = |truths: &Truths| -> Vec<String> {
        let prices = prices(&profile, truths).into_iter();
        let wrong = prices.filter(|price| price.error().abs() > SHARE);
        wrong.map(|one| format!("{}: {:?} for {}", one.name, one.fitted, one.truth)).collect()
    };
    // Other truths than the device's are told from them.
    let [copy_in, ..] = TO_BE_FOUND.lasts;
    let faster = [Rising { per_element: 0.19, ..copy_in }, TO_BE_FOUND.lasts[1], copy_in];
    for other in [
        Truths { calls: [1_100, 1_400, 2_400], ..TO_BE_FOUND },
        Truths { starts: [3_200, 4_700, 4_300], ..TO_BE_FOUND },
        Truths { lasts: faster, ..TO_BE_FOUND },
    ] {
        assert!(!wrong(&other).is_empty(), "{:?}", other.calls);
    }
    let wrong = wrong(&TO_BE_FOUND);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The executor's runs on a device with these truths, and the simulator's on what was fitted.
#[test]
fn what_a_calibration_predicts_is_measured() {
    let (device, team) = (PretendDevice::new(&TO_BE_FOUND), Team::new(1).expect("a thread"));
    let profile = calibrated(&TO_BE_FOUND);
    for (kernel, chunks, elements) in
        [(Kernel::Scale, 4, 1 << 17), (Kernel::Polynomial, 3, 1 << 16)]
    {
        let workload = simple(kernel, chunks * elements, "");
        let executor = Executor::new(Some(&device), &team, &workload, 1);
        for family in families(chunks) {
            let program = build(&workload, strategy(family, false)).expect("it can be made");
            let predicted = simulate(&program, &profile).expect("known").makespan.nanos_f64();
            let run = executor.run(&program, Effort::BRIEF).expect("it runs and is right");
            let (measured, plan) = (run.makespan().nanos_f64(), &program.label);
            let error = measured / predicted - 1.0;
            assert!(error.abs() < SHARE, "{plan}: predicted {predicted}, measured {measured}");
        }
    }
}

/// A pass takes equally long each time: the pretend clock goes on only with what is done.
#[test]
fn its_clock_is_its_own() {
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    let workload = simple(Kernel::Scale, 4 * CHUNK, "");
    let executor = Executor::new(Some(&device), &team, &workload, 1);
    let plan = strategy(Family::Resident(Resident), false);
    let run = executor.run(&build(&workload, plan).expect("it can be made"), Effort::BRIEF);
    let run = run.expect("it runs");
    let passes: Vec<_> = run.passes_ns.iter().chain(&run.beside_ns).collect();
    assert!(passes.len() > 2 && passes.iter().all(|pass| *pass == passes[0]), "{passes:?}");
}

#[test]
fn its_events_say_how_long_each_operation_takes() {
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    let elements = 50_000;
    let workload = simple(Kernel::Scale, elements, "");
    let executor = Executor::new(Some(&device), &team, &workload, 1);
    let program = build(&workload, strategy(Family::Resident(Resident), false)).expect("fits");
    let timeline = executor.trace(&program).expect("it runs").timeline;
    for lane in [Lane::CopyIn, Lane::Kernels, Lane::CopyOut] {
        let found = timeline.activities.iter().find(|one| one.lane == lane).expect("one each");
        let error = found.end.since(found.start).nanos_f64() / (1_000 + elements) as f64 - 1.0;
        // An event in front of an operation happens when its stream gets there.
        assert!((0.0..0.12).contains(&error), "{lane:?}: {error}");
    }
}

#[test]
fn what_it_lacks_is_refused_by_name() {
    let (device, team) = (PretendDevice::new(&ROUND_NUMBERS), Team::new(1).expect("a thread"));
    let workload = simple(Kernel::Scale, CHUNK, "");
    let executor = Executor::new(Some(&device), &team, &workload, 1);
    let program = build(&workload, strategy(Family::Resident(Resident), true)).expect("fits");
    let refused = executor.run(&program, Effort::BRIEF).expect_err("it has no graphs");
    assert!(matches!(refused, ExecuteError::Gpu(_)) && refused.to_string().contains("capture"));
}

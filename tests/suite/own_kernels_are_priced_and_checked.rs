//! A scenario may bring kernels of its own: their code, or what they cost. They become launches
//! that stand there, are priced by what is known of them, and are refused where nothing is.

mod in_tasks;
mod library_sizes;
mod measured;
mod of_the_scenario;
mod shipped;
mod verdicts;

use super::machines::machine;
use super::programs_are_plain_values::read_back;
use crate::workloads::{ON_HOST, floats, head};
use hallway::execute::{Effort, ExecuteError, Executor, check_orders};
use hallway::host::Team;
use hallway::kernels::{CpuSide, Geometry, GpuSide, Image, OwnCost, Parameter};
use hallway::profile::{Processor, Profile};
use hallway::program::{Call, CopyBy, OwnStep, Program, check_hazards};
use hallway::scenario::Workload;
use hallway::simulate::simulate;
use hallway::units::{Bytes, Span};

/// Where kernels of a scenario of this name lie.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/kernels/test.toml");

/// Two buffers of 4 MiB, some kernels, and a program of some calls with two pieces of device
/// memory.
fn text(kernels: &str, calls: &str) -> String {
    let memory = ["d", "e"]
        .map(|name| format!("{{ name = \"{name}\", kind = \"device\", size = \"4 MiB\" }}"));
    let program = format!(
        "[[program]]\nname = \"p\"\nmemory = [{}]\ncalls = [\n{{ copy = \"x\", to = \"d\" }},\n\
         {calls}\n{{ copy = \"e\", to = \"y\" }},\n]\n",
        memory.join(", ")
    );
    head("demo", "") + &floats(["x", "y"], 1_048_576, ON_HOST) + kernels + "\n" + &program
}

#[track_caller]
fn workload(kernels: &str, calls: &str) -> Workload {
    let text = text(kernels, calls);
    Workload::from_toml(FILE, &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn program(kernels: &str, calls: &str) -> Program {
    workload(kernels, calls).programs.remove(0)
}

/// A kernel of the cost that stands there, and nothing else.
fn costs(cost: &str) -> String {
    format!("[[kernel]]\nname = \"k\"\n{cost}\n")
}

/// A launch of `k` on so many elements.
fn launch(elements: u64) -> String {
    format!("{{ launch = \"k\", reads = [\"d\"], writes = [\"e\"], elements = {elements} }},")
}

const FILTER: &str = "[[kernel]]\nname = \"k\"\nsource = \"taps.cu\"\nentry = \"filter\"\n\
                      reads = [\"in\", \"weights\"]\nwrites = [\"out\"]\n\
                      parameters = [\"in\", \"weights\", \"out\", { i64 = \"elements\" }, \
                      { i32 = \"taps\" }, { f32 = 0.5 }, { f64 = \"gain\" }]\n\
                      block = [32, 8]\n\
                      grid = [\"ceil(elements / 256)\", \"max(taps % 5, 2)\"]\n\
                      shared = \"4 * taps\"\n";

const FILTERED: &str = "{ launch = \"k\", reads = [\"d[..4000]\", \"d[4000..+36]\"], \
                        writes = [\"e[..4000]\"], elements = 1000, \
                        arguments = { taps = 9, gain = 2.5 } },";

fn own_step(program: &Program) -> &OwnStep {
    program.own_steps().next().expect("it launches its own kernel").0
}

fn makespan(program: &Program, profile: &Profile) -> Span {
    simulate(program, profile).expect("its cost is known").makespan
}

/// Wherever it is put: sources and headers are in it.
#[test]
fn a_written_scenario_needs_no_other_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("in the folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("code/k.cu", "#include <parts/one.h>\n__global__ void filter() { \"\\n\"; }\n");
    write("inc/parts/one.h", "#include \"two.h\"\n");
    write("inc/parts/two.h", "#include <parts/one.h>\n// '''two'''\n");
    let kernel = FILTER.replace("\"taps.cu\"", "\"code/k.cu\"\ninclude = [\"inc\"]");
    let file = folder.path().join("s.toml").display().to_string();
    let workload = Workload::from_toml(&file, &text(&kernel, FILTERED)).expect("valid");
    let program = &workload.programs[0];
    let written = workload.spelled_out(program);
    let read = Workload::from_toml("nowhere/s.toml", &written).expect(&written);
    assert_eq!(read.programs[0].kernels, program.kernels);
    let GpuSide::Code(code) = &program.kernels[0].gpu else { panic!() };
    let Image::Source { headers, .. } = &code.image else { panic!() };
    assert_eq!(headers.len(), 2, "{headers:?}");
    assert_eq!(read.spelled_out(&read.programs[0]), written);
}

#[test]
fn a_launch_has_the_grid_and_the_parameters_that_the_rules_say() {
    let program = program(FILTER, FILTERED);
    let step = own_step(&program);
    assert_eq!(
        step.geometry,
        Some(Geometry { grid: [4, 4, 1], block: [32, 8, 1], shared_bytes: 36 })
    );
    assert_eq!(
        step.parameters,
        [
            Parameter::Reads(0),
            Parameter::Reads(1),
            Parameter::Writes(0),
            Parameter::I64(1000),
            Parameter::I32(9),
            Parameter::F32(0.5),
            Parameter::F64(2.5),
        ]
    );
    assert_eq!((step.elements, step.signature().as_str()), (1000, "gain = 2.5, taps = 9"));
    let GpuSide::Code(code) = &program.kernels[0].gpu else { panic!("{:?}", program.kernels) };
    assert_eq!((code.file.as_str(), code.entry.as_str()), ("taps.cu", "filter"));
    assert!(matches!(&code.image, Image::Source { text, .. } if text.contains("int taps")));
}

#[test]
fn a_program_has_a_text_with_its_kernels_and_an_identity_without_file_names() {
    let program = program(FILTER, FILTERED);
    assert_eq!(read_back(&program).as_ref(), Ok(&program));
    let renamed = |change: fn(&mut hallway::kernels::Code)| {
        let mut other = program.clone();
        let GpuSide::Code(code) = &mut other.kernels[0].gpu else { panic!() };
        change(code);
        other.identity()
    };
    assert_eq!(renamed(|code| code.file = "elsewhere.cu".to_owned()), program.identity());
    assert_ne!(renamed(|code| code.entry = "other".to_owned()), program.identity());
    let changed = |code: &mut hallway::kernels::Code| {
        let Image::Source { text, .. } = &mut code.image else { panic!() };
        text.push('\n');
    };
    assert_ne!(renamed(changed), program.identity());
    check_hazards(&program).expect("the default stream orders all");
}

#[test]
fn a_stated_time_takes_as_long_as_it_says() {
    let machine = machine();
    let of = |fixed: &str, each: &str, elements| {
        let kernel = format!("stated = {{ fixed = \"{fixed}\", per_element = \"{each}\" }}");
        makespan(&program(&costs(&kernel), &launch(elements)), &machine)
    };
    let base = of("50 us", "0 ns", 1_000);
    assert_eq!(of("70 us", "0 ns", 1_000), base + Span::from_micros(20));
    assert_eq!(of("50 us", "0.25 ns", 80_000), base + Span::from_micros(20));
}

#[test]
fn what_takes_more_than_a_day_is_not_predicted() {
    let kernel = costs("stated = { per_element = \"86400 s\" }");
    let error = simulate(&program(&kernel, &launch(1_000)), &machine()).expect_err("too long");
    assert!(error.to_string().contains("kernels that take more than a day"), "{error}");
}

#[test]
fn points_are_interpolated_and_end_where_nothing_follows_from_them() {
    let machine = machine();
    let kernel = costs("points = [[1_000, \"40 us\"], [3e3, \"50 us\"]]");
    let at = |elements| makespan(&program(&kernel, &launch(elements)), &machine);
    assert_eq!(at(2_000) + Span::from_micros(5), at(3_000));
    assert_eq!(at(1_000) + Span::from_micros(5), at(2_000));
    // Most of the time does not depend on the size.
    let error = simulate(&program(&kernel, &launch(1 << 20)), &machine).expect_err("far off");
    let error = error.to_string();
    assert!(error.contains("the GPU time for `k` above 3000 elements"), "{error}");
    assert!(error.contains("the scenario lacks"), "{error}");
}

#[test]
fn a_roofline_is_held_against_what_was_measured() {
    let machine = machine();
    let [bytes, flops] = [
        machine.bytes_per_nano(Processor::Gpu).expect("it streams"),
        machine.flops_per_nano(Processor::Gpu).expect("it computes"),
    ];
    let of = |flops: f64, bytes: f64| {
        let kernel =
            format!("roofline = {{ flops_per_element = {flops}, bytes_per_element = {bytes} }}");
        makespan(&program(&costs(&kernel), &launch(1_000_000)), &machine)
    };
    let time = |work: f64, rate: f64| Span::from_nanos_f64(1e6 * work / rate);
    let base = of(0.0, 8.0);
    let is_near = |one: Span, other: Span| one.nanos().abs_diff(other.nanos()) <= 2;
    assert!(is_near(of(0.0, 16.0) - time(8.0, bytes), base));
    // The larger of the two bounds counts.
    let computes = 3.0 * 8.0 / bytes * flops;
    assert!(is_near(of(computes, 8.0) - time(2.0 * 8.0, bytes), base));
    assert_eq!(of(0.1, 8.0), base);
    let bare = Profile { kernels: Vec::new(), ..machine };
    let kernel = costs("roofline = { flops_per_element = 1, bytes_per_element = 8 }");
    let error = simulate(&program(&kernel, &launch(1_000)), &bare).expect_err("no ceilings");
    let error = error.to_string();
    assert!(error.contains("the arithmetic rate of the GPU"), "{error}");
    assert!(error.contains("the bandwidth of the GPU's memory"), "{error}");
}

#[test]
fn the_cpu_side_is_priced_likewise() {
    let machine = machine();
    let kernel = costs("cpu = { stated = { fixed = \"40 us\", per_element = \"0.5 ns\" } }");
    let both = |elements: u64| {
        format!(
            "{{ compute = \"k\", reads = [\"x\"], writes = [\"x\"], elements = {elements} }},\n\
             {{ launch = \"scale\", reads = [\"d\"], writes = \"e\" }},"
        )
    };
    let at = |elements| makespan(&program(&kernel, &both(elements)), &machine);
    assert_eq!(at(21_000), at(1_000) + Span::from_micros(10));
    let error = simulate(&program(&kernel, &launch(10)), &machine).expect_err("no GPU side");
    assert!(error.to_string().contains("the GPU time for `k`"), "{error}");
}

#[test]
fn kernels_that_fit_beside_each_other_overlap() {
    let machine = machine();
    let [small, large] = [1, 100_000].map(|blocks| {
        let kernel =
            format!("stated = {{ fixed = \"500 us\" }}\nblock = [1024]\ngrid = [{blocks}]");
        let calls = ["d", "e"].map(|memory| {
            format!(
                "{{ launch = \"k\", reads = [], writes = [\"{memory}\"], elements = 1, \
                 stream = \"{memory}\" }}, "
            )
        });
        let waits = "{ synchronize = \"d\" }, { synchronize = \"e\" },";
        makespan(&program(&costs(&kernel), &format!("{}{waits}", calls.concat())), &machine)
    });
    let more = large - small;
    assert!(more > Span::from_micros(400), "{small} side by side, {large} in turn");
}

#[test]
fn a_product_has_any_shape_and_type() {
    let call = "{ launch = \"matmul\", type = \"bf16\", reads = [\"d[..6000]\", \
                \"d[6000..+4000]\"], writes = [\"e[..1200]\"], \
                arguments = { rows = 30, inner = 100, columns = 20 } },";
    let program = program("", call);
    let step = own_step(&program);
    assert_eq!((step.elements, step.product().map(|shape| shape.inner)), (600, Some(100)));
    assert_eq!(program.kernels[0].name, "matmul bf16");
    let error = simulate(&program, &machine()).expect_err("not measured").to_string();
    assert!(error.contains("`matmul bf16` at 600 elements (columns = 20, inner"), "{error}");
    assert!(error.contains("calibrate --scenario"), "{error}");
}

/// Without a twin, what they write depends on all that they read.
#[test]
fn the_data_flow_follows_what_kernels_declare() {
    let kernel = costs("stated = { fixed = \"5 us\" }");
    let program = program(&kernel, &launch(10));
    let team = Team::new(1).expect("a thread");
    check_orders(&program, &team, 1).expect("the default stream orders all");
    // Its input is copied in another stream, and nothing waits for it.
    let mut raced = program.clone();
    let copy = raced.body.iter().position(|call| matches!(call, Call::Copy { .. })).expect("one");
    raced.body.remove(copy + 1);
    raced.streams.push(hallway::program::StreamTraits::default());
    let other = hallway::machine::StreamId(raced.streams.len() - 1);
    if let Call::Copy { by, .. } = &mut raced.body[copy] {
        *by = CopyBy::crossing(other, hallway::machine::Direction::HostToDevice);
    }
    raced.body.push(Call::Synchronize { stream: other });
    assert!(check_hazards(&raced).is_err());
    assert!((0..20).any(|seed| check_orders(&raced, &team, seed).is_err()), "no order shows it");
}

#[test]
fn what_is_only_priced_is_not_run() {
    let roofline = "roofline = { flops_per_element = 2, bytes_per_element = 8 }";
    let kernel = costs(&format!("{roofline}\ncpu = {{ {roofline} }}"));
    let computes = "{ compute = \"k\", reads = [\"x\"], writes = [\"x\"], elements = 1 },\n\
                    { launch = \"scale\", reads = [\"d\"], writes = \"e\" },";
    for (calls, told) in [
        (launch(10), "launches `k`, but the scenario has only its cost, not its code"),
        (computes.to_owned(), "runs `k` on the CPU, but hallway has no CPU code for it"),
    ] {
        let workload = workload(&kernel, &calls);
        let team = Team::new(1).expect("a thread");
        let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
        let error = executor.run(&workload.programs[0], Effort::SHORT).expect_err("it cannot");
        assert!(matches!(error, ExecuteError::OnlyPredicted { .. }), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn a_command_and_costs_stand_in_the_program() {
    let kernel = "[[kernel]]\nname = \"k\"\npoints = [[10, \"1 us\"]]\n\
                  cpu = { command = [\"./k\", \"{elements}\"] }\n";
    let program = program(kernel, &launch(10));
    let of = &program.kernels[0];
    assert_eq!(of.gpu, GpuSide::Cost(OwnCost::Points(vec![(10, Span::from_micros(1))])));
    assert_eq!(of.cpu, CpuSide::Command(vec!["./k".to_owned(), "{elements}".to_owned()]));
    assert_eq!(program.device_bytes(), Bytes::mib(8));
}

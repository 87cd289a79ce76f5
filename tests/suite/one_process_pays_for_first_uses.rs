//! What a first use costs depends on the process alone, so that all plans and programs of a
//! scenario are asked the same.

use super::machines::{machine, time};
use super::workloads::{ON_DEVICE, floats, head, read, simple};
use hallway::cost::{FirstUse, FirstUseOf, first_use, pinning, setup_time, taken};
use hallway::kernels::{Kernel, Library};
use hallway::profile::Profile;
use hallway::program::{Process, ProcessState, StateReason};
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates, rank};
use hallway::units::Span;
use hallway::what_if::{Varied, vary};

/// Two programs that do the same: one in a buffer that is at home on the device, one in memory of
/// its own.
fn two_programs(process: &str) -> Workload {
    const PROGRAMS: &str = r#"
[[kernel]]
name = "k"
stated = { fixed = "1 ms" }
[[program]]
name = "own"
memory = [{ name = "d", kind = "device", size = "4 KiB" }]
calls = [
    { launch = "k", reads = ["d"], writes = "d", elements = 1024, stream = "s" },
    { synchronize = "s" },
]
[[program]]
name = "home"
calls = [
    { launch = "k", reads = ["x"], writes = "x", elements = 1024, stream = "s" },
    { synchronize = "s" },
]
"#;
    read(&(head("first-use", process) + &floats(["x"], 1024, ON_DEVICE) + PROGRAMS))
}

/// One kernel, from the host and back.
fn one_task(process: &str) -> Workload {
    simple(Kernel::Scale, 4096, process)
}

fn ranking(workload: &Workload, profile: &Profile) -> Ranking {
    rank(candidates(workload), profile, 10, 1)
}

/// What the first use of all programs costs, and that it is the same for all.
#[track_caller]
fn of_all(workload: &Workload, profile: &Profile) -> FirstUse {
    let costs = workload.programs.iter().map(|one| first_use(one, &workload.process, profile));
    let costs: Vec<FirstUse> = costs.collect();
    assert!(costs.windows(2).all(|pair| pair[0] == pair[1]), "{costs:?}");
    costs[0].clone()
}

#[test]
fn all_programs_of_a_scenario_are_asked_the_same() {
    let profile = machine();
    let workload = two_programs("");
    let at_home = StateReason::AtHomeOnDevice("x".to_owned());
    assert_eq!(
        (workload.process.state, &workload.process.reason),
        (ProcessState::Running, &at_home)
    );
    assert_eq!(of_all(&workload, &profile), FirstUse::default());
    let workload = two_programs("[process]\nstate = \"new\"");
    assert_eq!(workload.process.reason, StateReason::Stated);
    // A context takes 100 ms, and a module 2.
    let found = of_all(&workload, &profile);
    assert_eq!(found.known, Span::from_millis(102));
    let parts =
        [(FirstUseOf::Gpu, Span::from_millis(100)), (FirstUseOf::Module, Span::from_millis(2))];
    assert_eq!(found.parts, parts);
    // The program of 100 runs is the same, too: they differ in an allocation alone.
    let ranking = ranking(&workload, &profile);
    assert_eq!(ranking.process, workload.process);
    let [one, other] = &ranking.plans[..] else { panic!("two programs") };
    assert_eq!(one.first_use, other.first_use);
}

#[test]
fn a_running_process_has_paid() {
    let profile = machine();
    let new = ranking(&one_task(""), &profile);
    let running = ranking(&one_task("[process]\nstate = \"running\""), &profile);
    assert_eq!((&new.process, running.process.state), (&Process::default(), ProcessState::Running));
    let on_gpu = new.fastest_on_gpu().expect("one");
    assert!(on_gpu.first_use.known > Span::from_millis(100), "{on_gpu:?}");
    // The CPU touches its output for the first time.
    assert!(new.fastest_on_cpu().expect("one").first_use.known > Span::ZERO);
    for (before, after) in new.plans.iter().zip(&running.plans) {
        assert_eq!(after.first_use, FirstUse::default(), "{}", after.plan.name());
        assert_eq!(before.makespan(), after.makespan(), "a pass knows nothing of the process");
        assert_eq!(before.setup, after.setup, "set-up is paid in any process");
    }
}

/// Loading a framework is paid by whoever uses the GPU through it.
#[test]
fn a_start_is_charged_to_all_that_use_the_gpu_and_to_nobody_else() {
    let profile = machine();
    let without = ranking(&one_task(""), &profile);
    let with = ranking(&one_task("[process]\nstart = \"4 s\""), &profile);
    assert!(
        without.plans.iter().any(|one| !one.plan.program.needs_device()),
        "one on the CPU alone"
    );
    for (before, after) in without.plans.iter().zip(&with.plans) {
        let uses_gpu = after.plan.program.needs_device();
        let start = if uses_gpu { Span::from_millis(4_000) } else { Span::ZERO };
        assert_eq!(after.first_use.known, before.first_use.known + start, "{}", after.plan.name());
        let is_named = after.first_use.parts.contains(&(FirstUseOf::Framework, start));
        assert_eq!(is_named, uses_gpu);
    }
    // A process that takes time to start is a new one, wherever its data is.
    let started = two_programs("[process]\nstart = \"4 s\"").process;
    assert_eq!((started.state, started.reason), (ProcessState::New, StateReason::Stated));
}

#[test]
fn streams_and_events_are_part_of_set_up() {
    let profile = machine();
    let workload = two_programs("");
    let home = &workload.programs[1];
    // The scenario names one stream and no event. A stream takes 5 us, an event 400 ns.
    assert_eq!(setup_time(home, &profile), Ok(Span::from_micros(5)));
    let mut program = home.clone();
    program.events = 3;
    assert_eq!(setup_time(&program, &profile), Ok(Span::from_nanos(6_200)));
    // The legacy default stream is there without being created.
    program.streams[0].kind = hallway::program::StreamKind::LegacyDefault;
    assert_eq!(setup_time(&program, &profile), Ok(Span::from_nanos(1_200)));
    let mut unknown = profile;
    unknown.setup.event = None;
    let why = setup_time(&program, &unknown).expect_err("not measured").to_string();
    assert!(why.contains("create an event"), "{why}");
}

/// Prices from new processes, where a profile has them.
fn measured() -> Profile {
    let mut profile = machine();
    profile.setup.new_context = Some(time(240_000_000.0));
    profile.setup.new_module = Some(time(3_000_000.0));
    profile.setup.first_launch = Some(time(150_000.0));
    profile.setup.next_kernel = Some(time(12_000.0));
    profile
}

#[test]
fn prices_of_new_processes_come_before_those_of_the_calibrator() {
    let workload = two_programs("[process]\nstate = \"new\"");
    let found = of_all(&workload, &measured());
    let millis = Span::from_millis;
    let parts = [
        (FirstUseOf::Gpu, millis(240)),
        (FirstUseOf::Module, millis(3)),
        (FirstUseOf::Kernels, Span::from_micros(150)),
    ];
    assert_eq!(found.parts, parts);
}

#[test]
fn each_kernel_and_each_gpu_is_used_for_the_first_time_once() {
    let launches = |kernels: &[(&str, u64)]| -> FirstUse {
        let mut text = head("p", "") + "[[program]]\nname = \"p\"\nmemory = [";
        for gpu in 0..2 {
            text += &format!(
                "{{ name = \"d{gpu}\", kind = \"device\", size = \"64 KiB\", gpu = {gpu} }},"
            );
        }
        text += "]\nstreams = [{ name = \"s0\" }, { name = \"s1\", gpu = 1 }]\ncalls = [\n";
        for (kernel, gpu) in kernels {
            let (second, arguments) = match *kernel {
                "matmul" => {
                    (format!(", \"d{gpu}[16 KiB..32 KiB]\""), ", arguments = { inner = 64 }")
                }
                _ => (String::new(), ""),
            };
            let reads = format!("\"d{gpu}[0..16 KiB]\"{second}");
            text += &format!(
                "{{ launch = \"{kernel}\", reads = [{reads}], writes = \"d{gpu}[32 KiB..48 KiB]\", \
                 stream = \"s{gpu}\"{arguments} }},\n"
            );
        }
        text += "{ synchronize = \"s0\" }, { synchronize = \"s1\" }]\n";
        of_all(&read(&text), &measured())
    };
    let part = |found: &FirstUse, of: FirstUseOf| {
        found.parts.iter().find(|(one, _)| *one == of).map_or(0, |(_, time)| time.nanos())
    };
    let one = launches(&[("scale", 0), ("scale", 0), ("polynomial", 0)]);
    assert_eq!(part(&one, FirstUseOf::Kernels), 150_000 + 12_000);
    // A context on a second GPU is created beside the first one.
    assert_eq!(part(&one, FirstUseOf::Gpu), 240_000_000 + 100_000_000);
    let two = launches(&[("scale", 0), ("scale", 1)]);
    assert_eq!(part(&two, FirstUseOf::Kernels), 2 * 150_000);
    assert!(two.libraries.is_empty());
    // Its kernel is one, too. What cuBLAS takes to start, nobody has measured.
    let product = launches(&[("matmul", 0)]);
    let parts = [FirstUseOf::Module, FirstUseOf::Kernels].map(|of| part(&product, of));
    assert_eq!(parts, [3_000_000, 150_000]);
    assert_eq!(product.libraries, [Library::Cublas]);
}

#[test]
fn what_pinning_costs_includes_unpinning() {
    let profile = machine();
    let workload = one_task("");
    let ranking = ranking(&workload, &profile);
    let pinning_plan = ranking.plans.iter().find(|one| one.pinning.is_some()).expect("one pins");
    let prices = pinning_plan.pinning.clone().expect("it pins");
    let (register, unregister) =
        (prices.register_ns.expect("known"), prices.unregister_ns.expect("known"));
    assert!(register > Span::ZERO && unregister > Span::ZERO, "{prices:?}");
    assert_eq!(prices.costs(), Some(register + unregister));
    // It pays from the pass on in which all of that is saved, and not one before.
    let saved = pinning_plan.unpinned.expect("known").nanos() - pinning_plan.makespan().nanos();
    let from = pinning_plan.pinning_pays_from().expect("it pays");
    let costs = (register + unregister).nanos();
    assert!((from - 1) * saved <= costs && costs < from * saved, "{from} x {saved}, {costs}");
    // A profile without that price has the rest.
    let mut early = profile;
    early.memory.unregister = None;
    let known = pinning(&pinning_plan.plan.program, &early).expect("it pins");
    assert_eq!((known.unregister_ns, known.costs()), (None, Some(register)));
}

#[test]
fn what_memory_of_its_own_costs_includes_giving_it_back() {
    let mut profile = machine();
    let copies = "[[program]]\nname = \"p\"\n\
                  memory = [{ name = \"h\", kind = \"pinned\", size = \"64 KiB\" }, \
                  { name = \"d\", kind = \"device\", size = \"64 KiB\" }]\n\
                  calls = [{ copy = \"h\", to = \"d\" }]\n";
    let workload = read(&(head("p", "") + copies));
    let of = |profile: &Profile| taken(&workload.programs[0], profile).expect("it takes memory");
    assert!(of(&profile).gives_back_ns > Some(Span::ZERO));
    profile.memory.pinned_free = None;
    assert_eq!(of(&profile).gives_back_ns, None);
}

#[test]
fn a_program_written_out_keeps_its_process() {
    for process in [
        "",
        "[process]\nstate = \"new\"",
        "[process]\nstate = \"running\"",
        "[process]\nstart = \"4 s\"",
        "[process]\nstate = \"new\"\nstart = \"1.5 ms\"",
    ] {
        let workload = two_programs(process);
        for program in &workload.programs {
            let again = read(&workload.spelled_out(program)).process;
            assert_eq!(
                (again.state, again.start),
                (workload.process.state, workload.process.start)
            );
        }
        let again = read(&workload.spelled_out(&workload.programs[1])).process;
        assert_eq!(again, workload.process, "{process}");
    }
    // A process that is asked for as running has no start to be written.
    let mut workload = two_programs("[process]\nstart = \"4 s\"");
    workload.process = workload.process.in_state(ProcessState::Running);
    let again = read(&workload.spelled_out(&workload.programs[0])).process;
    assert_eq!((again.state, again.start), (ProcessState::Running, Span::ZERO));
}

#[test]
fn what_if_asks_about_either_process() {
    let profile = machine();
    let varied = |workload: &Workload, text: &str| -> Workload {
        let variation = text.parse().unwrap_or_else(|problem| panic!("{problem}"));
        let Varied { workload, profile: same, assumptions } =
            vary(&profile, workload, &variation).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(same == profile && assumptions.is_empty());
        workload
    };
    let workload = two_programs("[process]\nstart = \"4 s\"");
    let running = varied(&workload, "process=running");
    assert_eq!(of_all(&running, &profile), FirstUse::default());
    // The start is not forgotten.
    assert_eq!(varied(&running, "process=new").process, workload.process);
    let new = varied(&two_programs(""), "process=new");
    assert_eq!(of_all(&new, &profile).known, Span::from_millis(102));
    assert_eq!(varied(&two_programs(""), "process=running"), two_programs(""));
}

//! Kernels that a calibration measured are priced by the profile, which keeps them.

use super::{FILTER, FILTERED, costs, launch, machine, makespan, own_step, program};
use crate::commands::{hallway, printed};
use crate::kept::{recorded, saved};
use crate::predicted::{FITTED, SAMPLES};
use crate::workloads::{ON_HOST, floats, head, task};
use hallway::calibrate::ScenarioJob;
use hallway::fit::{fit, own_models};
use hallway::profile::{Curve, OwnKernelModel, Profile};
use hallway::samples::{Measurement, OwnRun, Quantity, Samples, Stop};
use hallway::scenario::Workload;
use hallway::simulate::simulate;
use hallway::study::{Wanted, with_own_models};
use hallway::units::Span;

fn model(kernel: String, numbers: &str, knots: &[(f64, f64)]) -> OwnKernelModel {
    OwnKernelModel {
        name: "k".to_owned(),
        kernel,
        numbers: numbers.to_owned(),
        registers_per_thread: 40,
        shared_bytes_per_block: 128,
        time: Curve { knots: knots.to_vec(), scatter: 0.0 },
    }
}

#[test]
fn a_launch_takes_what_was_measured_for_its_numbers_and_size() {
    let program = program(FILTER, FILTERED);
    let digest = program.kernels[0].digest();
    let with = |model: OwnKernelModel| Profile { own_kernels: vec![model], ..machine() };
    let numbers = "gain = 2.5, taps = 9";
    let at = |ns| makespan(&program, &with(model(digest.clone(), numbers, &[(1000.0, ns)])));
    assert_eq!(at(80_000.0), at(60_000.0) + Span::from_micros(20));
    let unknown = |model| {
        let error = simulate(&program, &with(model)).expect_err("something else was measured");
        let error = error.to_string();
        assert!(error.contains("`k` at 1000 elements (gain = 2.5, taps = 9)"), "{error}");
        assert!(error.contains("calibrate --scenario"), "{error}");
    };
    unknown(model(digest.clone(), "gain = 2.5, taps = 8", &[(1000.0, 60_000.0)]));
    unknown(model("0123456789abcdef".to_owned(), numbers, &[(1000.0, 60_000.0)]));
    unknown(model(digest, numbers, &[(900.0, 60_000.0)]));
}

/// More registers leave room for fewer blocks.
#[test]
fn registers_that_were_measured_decide_what_fits_beside() {
    let kernel = FILTER.replace("[32, 8]", "[256]").replace("\"max(taps % 5, 2)\"", "1");
    let kernel = kernel.replace("ceil(elements / 256)", "elements");
    let blocks = 2 * machine().machine.multiprocessors;
    let call = |stream: &str, from: &str| {
        FILTERED
            .replace("elements = 1000", &format!("elements = {blocks}, stream = \"{stream}\""))
            .replace("\"e[..4000]\"", from)
    };
    let calls = format!(
        "{}{}{{ synchronize = \"s\" }}, {{ synchronize = \"t\" }},",
        call("s", "\"e[..4000]\""),
        call("t", "\"e[4000..8000]\"")
    );
    let program = program(&kernel, &calls);
    let numbers = own_step(&program).signature();
    let takes = |registers| {
        let model = OwnKernelModel {
            registers_per_thread: registers,
            ..model(program.kernels[0].digest(), &numbers, &[(f64::from(blocks), 900_000.0)])
        };
        makespan(&program, &Profile { own_kernels: vec![model], ..machine() })
    };
    let more = takes(255) - takes(32);
    assert!(more > Span::from_micros(700), "{} and {}", takes(255), takes(32));
}

fn run(elements: u64, name: &str) -> Quantity {
    Quantity::Own(OwnRun::Kernel {
        name: name.to_owned(),
        kernel: "0123456789abcdef".to_owned(),
        numbers: String::new(),
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
        elements,
    })
}

const H200: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/calibration/h200");

#[test]
fn samples_give_a_model_and_leave_all_others_as_they_were() {
    let before = &*SAMPLES;
    let mut samples = before.clone();
    for (elements, each) in [(1_000, 5_000), (2_000, 9_000)] {
        for count in [1, 101] {
            let time = Span::from_nanos(2_000 + each * count);
            let times = vec![time; 5];
            samples.measurements.push(Measurement::new(
                run(elements, "k"),
                count,
                times,
                Stop::Stable,
            ));
        }
    }
    let (kernels, commands) = own_models(&samples);
    assert_eq!(kernels[0].time.knots, [(1_000.0, 5_000.0), (2_000.0, 9_000.0)]);
    assert_eq!((kernels.len(), commands.len()), (1, 0));
    let profile = fit(&samples).expect("there are samples");
    assert_eq!(with_own_models(FITTED.clone(), &samples), profile);
    // Both are written and come back.
    assert_eq!(saved(&profile).own_kernels, profile.own_kernels);
    let added = before.measurements.len()..;
    assert_eq!(recorded(&samples).measurements[added.clone()], samples.measurements[added]);
}

#[test]
fn only_what_samples_lack_is_wanted_and_each_launch_once() {
    let text = super::text(FILTER, &FILTERED.repeat(2));
    let workload = Workload::from_toml(super::FILE, &text).expect("valid");
    let none = Samples::none(machine().machine);
    let wanted = Wanted::new(std::slice::from_ref(&workload), &none, &machine());
    let [ScenarioJob::Own(job)] = &wanted.kernels[..] else { panic!("{:?}", wanted.kernels) };
    assert_eq!((job.elements, job.numbers.as_str()), (1000, "gain = 2.5, taps = 9"));
    assert_eq!(job.memory.len(), 2);
    let mut samples = none;
    let quantity = Quantity::Own(OwnRun::Kernel {
        name: "renamed".to_owned(),
        kernel: job.kernel.digest(),
        numbers: job.numbers.clone(),
        registers_per_thread: 32,
        shared_bytes_per_block: 0,
        elements: 1000,
    });
    samples.measurements.push(Measurement::new(
        quantity,
        1,
        vec![Span::from_micros(1)],
        Stop::Stable,
    ));
    assert!(Wanted::new(&[workload], &samples, &machine()).is_empty());
    // What has only a cost is not measured.
    let text = super::text(&costs("stated = { fixed = \"1 us\" }"), &launch(10));
    let stated = Workload::from_toml("w.toml", &text).expect("valid");
    assert!(Wanted::new(&[stated], &samples, &machine()).is_empty());
}

/// Plans by task are made from prices. What they launch is measured before there are any.
#[test]
fn launches_of_plans_by_task_are_wanted() {
    let buffers = floats(["x", "y"], 1000, ON_HOST);
    let task = task("t", "k", &["x", "x"], "y", "arguments = { taps = 9, gain = 2.5 }");
    let text = head("demo", "[plans]\nfamilies = [\"by-task\"]") + &buffers + FILTER + &task;
    let workload = Workload::from_toml(super::FILE, &text).expect("valid");
    let wanted = Wanted::new(&[workload], &Samples::none(machine().machine), &machine());
    let [ScenarioJob::Own(job)] = &wanted.kernels[..] else { panic!("{:?}", wanted.kernels) };
    assert_eq!((job.elements, job.numbers.as_str()), (1000, "gain = 2.5, taps = 9"));
}

/// A command is the CPU side: it runs only where that is allowed.
#[test]
fn a_command_is_timed_if_the_user_allows_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let scenario = folder.join("w.toml");
    let kernel = "stated = { fixed = \"1 us\" }\n\
                  cpu = { command = [\"sh\", \"-c\", \"touch ran; echo {elements} us\"] }";
    let cpu = "[[program]]\nname = \"cpu\"\ncalls = [{ compute = \"k\", reads = [\"x\"], \
               writes = [\"y\"], elements = 1500 }]\n";
    std::fs::write(&scenario, super::text(&costs(kernel), &launch(10)) + cpu).expect("written");
    let hallway = |arguments: &[&str]| printed(&mut hallway(folder, arguments));
    let calibrate = ["calibrate", "--scenario", "w.toml", "--profile", H200, "--output", "mine"];
    let said = hallway(&calibrate);
    assert!(said.contains("--allow-commands"), "{said}");
    assert!(!folder.join("ran").exists() && !folder.join("mine/profile.toml").exists());
    let said = hallway(&[&calibrate[..], &["--allow-commands"]].concat());
    assert!(said.contains("`k` on the CPU, 1500 elements: 1.50 ms"), "{said}");
    assert!(folder.join("ran").exists());
    let profile = Profile::load(&folder.join("mine/profile.toml")).expect("a profile");
    assert_eq!(profile.own_commands[0].time.knots, [(1500.0, 1_500_000.0)]);
    std::fs::remove_file(folder.join("ran")).expect("gone");
    let said = hallway(&["evaluate", "w.toml", "--profile", "mine"]);
    assert!(said.contains("1.50 ms") && !folder.join("ran").exists(), "{said}");
    let mine = ["calibrate", "--scenario", "w.toml", "--profile", "mine", "--allow-commands"];
    assert!(hallway(&mine).contains("Nothing to measure"));
}

#[test]
fn a_command_that_fails_or_never_ends_is_named() {
    for (command, told) in [
        ("[\"sh\", \"-c\", \"exit 3\"]", "failed with exit status: 3"),
        ("[\"sleep\", \"60\"]", "did not finish within 1 s"),
        ("[\"./no-such-program\"]", "cannot be started from ./no-such-program:"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let scenario = folder.join("w.toml");
        let kernel = format!("cpu = {{ command = {command} }}");
        let calls = "{ compute = \"k\", reads = [\"x\"], writes = [\"x\"], elements = 10 },\n\
                     { launch = \"scale\", reads = [\"d\"], writes = \"e\" },";
        std::fs::write(&scenario, super::text(&costs(&kernel), calls)).expect("written");
        let how = ["calibrate", "--scenario", "w.toml", "--profile", H200, "--output", "mine"];
        let mut command = hallway(folder, how);
        let output = command.args(["--allow-commands", "--timeout", "1"]).output();
        let output = output.expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{errors}");
        let flat = errors.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("the CPU version of `k`, `") && flat.contains(told), "{errors}");
        assert!(!folder.join("mine/profile.toml").exists());
    }
}

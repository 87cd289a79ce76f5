//! What bounds a plan is what it gains from most if it is halved, and a pass says where its time
//! goes.

use super::commands::{hallway, printed};
use super::predicted::{PROFILE, plan_of, repository, scenario, scenarios};
use super::tables_borrow_what_they_lack::machine;
use super::workloads::{ON_DEVICE, floats, head, read, task};
use hallway::cost::Bottleneck;
use hallway::findings::Assessment;
use hallway::machine::StreamId;
use hallway::profile::Profile;
use hallway::report::{Calls, Timed, call_times, explain, hold_ups};
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates_for, rank};
use hallway::simulate::{gains, simulate};
use hallway::timeline::{Activity, Lane, busy};
use hallway::units::Span;
use std::path::Path;

fn ranked(workload: &Workload, profile: &Profile, seed: u64) -> Ranking {
    rank(candidates_for(workload, profile), profile, 20, seed)
}

#[track_caller]
fn is_bound_by(ranking: &Ranking, name: &str, wanted: &[Bottleneck]) {
    let plan = plan_of(ranking, name);
    let bottleneck = plan.bottleneck().expect("it was looked for");
    assert!(wanted.contains(&bottleneck), "`{name}` by {bottleneck}: {:?}", plan.gains);
}

/// A kernel that goes through host memory in place keeps the GPU busy all the time, and waits for
/// the link in both directions.
#[test]
fn kernels_that_use_host_memory_in_place_are_bound_by_the_link() {
    let ranking = ranked(&scenario("programs/mapped-memory"), &PROFILE, 1);
    is_bound_by(&ranking, "in place", &[Bottleneck::Link]);
    is_bound_by(&ranking, "copied", &[Bottleneck::CopyIn, Bottleneck::CopyOut]);
    let in_part = "read in place, result copied";
    is_bound_by(&ranking, in_part, &[Bottleneck::CopyIn, Bottleneck::CopyOut]);
}

/// One copy of all the bytes is several times faster than many small ones, so the link is not what
/// bounds them.
#[test]
fn small_copies_are_bound_by_their_number() {
    let ranking = ranked(&scenario("programs/small-arrays"), &PROFILE, 1);
    is_bound_by(&ranking, "one by one", &[Bottleneck::Copies]);
    is_bound_by(&ranking, "one by one, pinned, on a stream", &[Bottleneck::Copies]);
    is_bound_by(&ranking, "all at once", &[Bottleneck::Staging]);
    is_bound_by(&ranking, "all at once, pinned", &[Bottleneck::CopyIn]);
}

/// Thousands of kernels that do nothing hang on their launches, and in a graph on what the device
/// needs for each; either is a price of calls. A long kernel is bound by itself.
#[test]
fn kernels_of_no_length_are_bound_by_launches() {
    let of = |elements: u64, iterations: u32| {
        let rest = format!("iterations = {iterations}");
        let families = "[plans]\nfamilies = [\"resident\", \"graph\"]";
        let buffers = floats(["x", "y"], elements, ON_DEVICE);
        read(&(head("kernels", families) + &buffers + &task("t", "scale", &["x"], "y", &rest)))
    };
    let short = ranked(&of(256, 2_000), &PROFILE, 1);
    is_bound_by(&short, "resident", &[Bottleneck::Calls]);
    is_bound_by(&short, "graph of resident", &[Bottleneck::Calls]);
    let long = ranked(&of(1 << 26, 20), &PROFILE, 1);
    is_bound_by(&long, "resident", &[Bottleneck::Kernels]);
}

/// No group gains more than half, and all of them together no more than the pass has.
#[test]
fn gains_are_shares_of_the_pass() {
    for file in ["stencil-halo", "reduce-sum", "graphs/diamond", "programs/small-arrays"] {
        let ranking = ranked(&scenario(file), &PROFILE, 1);
        for plan in ranking.plans.iter().take(6) {
            let gains = gains(&plan.plan.program, &PROFILE).expect("known");
            let apart = gains.0.iter().filter(|gain| gain.of != Bottleneck::Link);
            let all: f64 = apart.clone().map(|gain| gain.share).sum();
            assert!(all <= 0.6, "{file}, `{}`: {gains:?}", plan.plan.name());
            assert!(apart.clone().all(|gain| gain.share <= 0.51), "{gains:?}");
            assert!(gains.0.is_sorted_by(|one, other| one.share >= other.share), "{gains:?}");
        }
    }
}

const BEHIND: &str = "schema_version = 1\nname = \"behind\"\nquestion = \"?\"\n\
    [[buffer]]\nname = \"x\"\ntype = \"u8\"\nelements = 4096\nhome = \"device\"\n\
    [[buffer]]\nname = \"y\"\ntype = \"u8\"\nelements = 4096\nhome = \"host\"\n";
const CALLS: &str = "calls = [\n\
    { launch = \"long\", reads = [\"x\"], writes = \"x\", elements = 1, stream = \"s\" },\n\
    { copy = \"x\", to = \"y\", stream = \"s\" }, { synchronize = \"s\" } ]\n";

fn behind(stated: &str) -> Workload {
    read(&format!(
        "{BEHIND}[[kernel]]\nname = \"long\"\nstated = {{ {stated} }}\n\
         [[program]]\nname = \"pageable\"\n{CALLS}\
         [[program]]\nname = \"pinned\"\nsetup = [{{ pin = \"y\" }}]\n{CALLS}"
    ))
}

/// What is stated has no margin of trials: 500 ms are 500 ms, and a small copy comes on top.
#[test]
fn stated_times_have_the_range_that_is_stated() {
    let stated = Span::from_millis(500);
    let ranking = ranked(&behind("fixed = \"500 ms\""), &PROFILE, 1);
    for name in ["pageable", "pinned"] {
        let plan = plan_of(&ranking, name);
        let (low, high) = plan.forecast.interval();
        assert!(low >= stated, "{name}: from {low}");
        assert!(high <= stated + Span::from_micros(100), "{name}: to {high}");
        assert_eq!(plan.plan.program.stated_without_range(), ["long"]);
    }
    // Nobody could tell which of the two is faster.
    let [pageable, pinned] = ["pageable", "pinned"].map(|name| &plan_of(&ranking, name).forecast);
    assert!(pageable.ties_with(pinned));
    let workload = behind("fixed = \"500 ms\", range = \"10%\"");
    let ranking = rank(candidates_for(&workload, &PROFILE), &PROFILE, 100, 1);
    let plan = plan_of(&ranking, "pinned");
    let (low, high) = plan.forecast.interval();
    let [low, high] = [low, high].map(|end| end.nanos_f64() * 1e-6);
    assert!((440.0..460.0).contains(&low) && (540.0..560.0).contains(&high), "{low} to {high}");
    assert!(plan.plan.program.stated_without_range().is_empty());
    // Both programs have the same kernel on the same machines.
    assert!(plan.forecast.ties_with(&plan_of(&ranking, "pageable").forecast));
}

#[test]
fn a_range_that_is_none_is_refused_where_it_is() {
    for range in ["10", "0%", "100%", "-5%", "a%"] {
        let text = format!(
            "{BEHIND}[[kernel]]\nname = \"long\"\nstated = {{ fixed = \"1 ms\", range = \
             \"{range}\" }}\n[[program]]\nname = \"p\"\n{CALLS}"
        );
        let error = Workload::from_toml("test.toml", &text).expect_err(range).to_string();
        assert!(error.contains("is not a range for the time of kernel `long`"), "{error}");
    }
}

/// When the host is free depends on what calls cost, not on which draw was the middle one of a pass
/// that a long kernel decides.
#[test]
fn when_the_host_is_free_does_not_hang_on_the_seed() {
    let borrowed = &machine("01-overlap-four-streams/rtx3090.csv");
    let workload = behind("fixed = \"500 ms\"");
    let free = |seed: u64| {
        let ranking = ranked(&workload, borrowed, seed);
        let assessment = Assessment::new(&workload, 1, &ranking, None);
        let plan = assessment.plans.into_iter().find(|plan| plan.plan == "pinned");
        plan.expect("predicted").host_thread.free_after_ns
    };
    assert_eq!(free(1), free(2));
    assert_eq!(free(1), free(3));
}

/// A program of nothing but launches moves with what launches cost, a long kernel does not.
#[test]
fn borrowed_costs_say_how_far_times_move() {
    let borrowed = &machine("01-overlap-four-streams/rtx3090.csv");
    let text = format!(
        "{BEHIND}[[kernel]]\nname = \"long\"\nstated = {{ fixed = \"500 ms\" }}\n\
         [[kernel]]\nname = \"short\"\nstated = {{ fixed = \"100 ns\" }}\n\
         [[program]]\nname = \"one long\"\nsetup = [{{ pin = \"y\" }}]\n{CALLS}\
         [[program]]\nname = \"short ones\"\ncalls = [ {{ repeat = 500, calls = [ {{ launch = \
         \"short\", reads = [\"x\"], writes = \"x\", elements = 1, stream = \"s\" }} ] }}, \
         {{ synchronize = \"s\" }} ]\n"
    );
    let ranking = ranked(&read(&text), borrowed, 1);
    let of_calls = ranking.borrowed.iter().find(|one| one.costs.name().contains("launches"));
    let of_calls = of_calls.expect("calls are borrowed");
    let wide = |name: &str| {
        let range = of_calls.ranges.iter().find(|plan| plan.plan == name).expect("it is there");
        assert!(range.low_ns <= range.time_ns && range.time_ns <= range.high_ns, "{range:?}");
        (range.high_ns - range.low_ns).nanos_f64() / range.time_ns.nanos_f64()
    };
    assert!(wide("short ones") > 0.5, "{:?}", of_calls.ranges);
    assert!(wide("one long") < 0.001, "{:?}", of_calls.ranges);
    assert!(!of_calls.changes_fastest);
}

/// The parts of a pass add up to it, in every committed program.
#[test]
fn where_the_time_goes_adds_up_to_the_pass() {
    for path in scenarios(&["programs"]) {
        let Ok(workload) = Workload::load(&path) else { continue };
        for program in &workload.programs {
            let Ok(timeline) = simulate(program, &PROFILE) else { continue };
            // What is left of the pass is the waits.
            let done: Span = timeline.critical_path().segments.iter().map(|one| one.time).sum();
            assert!(done <= timeline.makespan, "{path:?}, `{}`", program.label);
            for id in (0..program.streams.len()).map(StreamId) {
                let is_here = |one: &&Activity| {
                    one.lane != Lane::Host && program.body[one.call].stream() == Some(id)
                };
                let mut operations: Vec<&Activity> =
                    timeline.activities.iter().filter(is_here).collect();
                operations.sort_by_key(|one| (one.start, one.call));
                let busy = busy(operations.iter().map(|one| (one.start, one.end)));
                let held_up = hold_ups(program, &timeline, &operations);
                let held: Span = held_up.iter().map(|one| one.total).sum();
                assert!(busy + held <= timeline.makespan, "{path:?}: {id:?}");
            }
            for times in call_times(program, &timeline) {
                let [begins, returns, starts, done] = times;
                let in_order = [begins, starts, done];
                assert!(in_order.into_iter().flatten().is_sorted(), "{path:?}: {times:?}");
                assert!(begins <= returns, "{path:?}: {times:?}");
            }
        }
    }
}

const STAGED_BY_HAND: &str = "schema_version = 1\nname = \"by-hand\"\nquestion = \"?\"\n\
    [[buffer]]\nname = \"x\"\ntype = \"f32\"\nelements = 1_048_576\nhome = \"host\"\n\
    [[program]]\nname = \"staged by hand\"\n\
    memory = [ { name = \"p\", kind = \"pinned\", size = \"4 MiB\" },\n\
    { name = \"d\", kind = \"device\", size = \"4 MiB\" } ]\n\
    calls = [ { copy = \"x\", to = \"p\" }, { work = \"1 ms\" },\n\
    { copy = \"p\", to = \"d\", stream = \"in\" }, { synchronize = \"in\" } ]\n";

/// The host copies and works for over a millisecond before it issues the only copy.
#[test]
fn explanations_name_what_the_scenario_names() {
    let workload = read(STAGED_BY_HAND);
    let plan = candidates_for(&workload, &PROFILE).plans.remove(0);
    let timeline = simulate(&plan.program, &PROFILE).expect("known");
    let text = explain(&workload, &plan, (Calls::Shortened, Timed::Listed(&timeline)), None);
    let (_, held) = text.split_once("The host delays it by ").expect("it does");
    let (held, _) = held.split_once(" (starting at ").expect("it says since when");
    let held: Span = held.parse().expect("a time");
    assert!(held > Span::from_millis(1), "{held:?}");
    for wanted in [
        "{ work = \"1 ms\" }",
        "{ copy = \"p\", to = \"d\", stream = \"in\" }",
        "{ synchronize = \"in\" }",
        "The memory of `p` is pinned: copy engines access it directly",
        "The memory of `x` is copied by the CPU, on the host thread.",
        "Along its critical path: the CPU's work",
        "Stream `in` is busy for",
        "before call 3, while the host makes call 2)",
        "begins",
        "returns",
        "starts",
        "done",
    ] {
        assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
    }
    // Names say nothing of what a program does, and are kept in what it is written as.
    let again = read(&workload.spelled_out(&plan.program));
    assert_eq!(again.programs[0], plan.program);
    let mut numbered = plan.program.clone();
    numbered.stream_names.clear();
    assert_eq!(numbered.identity(), plan.program.identity());
}

/// By way of the command line.
#[test]
fn explain_lists_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("by-hand.toml");
    std::fs::write(&path, STAGED_BY_HAND).expect("writable");
    let explained = |more: &[&str], path: &Path| {
        printed(hallway(repository(), ["explain"]).arg(path).args(more))
    };
    let times = ["--plan", "staged by hand", "--times", "--profile", "calibration/h200"];
    let text = explained(&times, &path);
    let line = text.lines().find(|line| line.contains("{ work")).expect("it is listed");
    assert!(line.matches("ms").count() >= 2, "{line}");
    assert!(text.contains("Where the time goes"), "{text}");
    let without = explained(&times[..2], &path);
    assert!(!without.contains("begins"), "{without}");
}

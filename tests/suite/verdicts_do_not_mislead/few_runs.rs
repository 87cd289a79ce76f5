//! A process that does its work once pays for its context as it pays for copies.

use super::*;
use hallway::findings::{Answer, Verdict};
use hallway::machine::Side;
use hallway::units::Span;

fn verdict(workload: &Workload, runs: u64) -> Verdict {
    Verdict::of(&ranked(workload), runs)
}

/// A GPU that is several times as fast in a pass, and a context of 120 ms.
#[test]
fn one_run_is_not_worth_a_context() {
    let workload = scenario("compute-polynomial");
    let once = assessed(&workload, 1);
    let verdict = &once.verdict;
    assert_eq!((verdict.answer, verdict.run_answer), (Answer::Cpu, Answer::Gpu));
    let program = verdict.program.as_ref().expect("all is known");
    let gpu = program.on(false).expect("it is compared with the GPU");
    let first_use = gpu.first_use_ns.expect("known");
    assert!(first_use > Span::from_millis(100), "{first_use}");
    let text = said::text(&once, &h200());
    let start = "Stay on the CPU for 1 run in a new process: ";
    assert!(said::answer(&text).starts_with(start), "{text}");
    let paid = format!("with `{}` (first use {first_use}, ", gpu.plan);
    assert!(said::the(&text, "Program").contains(&paid), "{text}");
    let often = assessed(&workload, 100_000);
    assert_eq!((often.verdict.answer, often.verdict.from_runs), (Answer::Gpu, None));
    let text = said::text(&often, &h200());
    assert!(said::answer(&text).starts_with("Use the GPU: `"), "{text}");
}

#[test]
fn the_number_of_runs_from_which_the_gpu_wins_is_right() {
    for name in ["compute-polynomial", "stencil-halo", "option-pricing"] {
        let workload = scenario(name);
        let from = verdict(&workload, 1).from_runs.expect("the GPU wins a pass");
        if from < 1_000 {
            let text = said::text(&assessed(&workload, 1), &h200());
            let words = format!(". From {from} runs on, the GPU is faster.");
            assert!(said::answer(&text).ends_with(&words), "{text}");
        }
        // Within the scatter of either side's passes.
        assert_ne!(verdict(&workload, from / 4).answer, Answer::Gpu, "{name}: {from}");
        assert_ne!(verdict(&workload, 4 * from).answer, Answer::Cpu, "{name}: {from}");
    }
}

/// What is fresh in each pass is touched for the first time in each pass, and paid for there.
#[test]
fn fresh_memory_is_not_paid_for_twice() {
    let fresh = "\"host\"\nhost = { state = \"fresh\" }";
    let first_use = |home: &str| {
        let assessment = assessed(&task("scale", ["\"host\"", home], 1 << 20, ""), 1);
        plan(&assessment, "cpu").first_use_ns
    };
    assert_eq!(first_use(fresh), Some(Span::ZERO));
    assert!(first_use("\"host\"") > Some(Span::from_micros(100)));
}

/// A table of measurements may have nothing about contexts.
#[test]
fn first_use_that_is_not_known_is_said_to_be_missing() {
    let mut profile = h200();
    profile.setup.context = None;
    let workload = scenario("stencil-halo");
    let ranking = rank(candidates(&workload), &profile, 40, 1);
    let assessment = Assessment::new(&workload, 1, &ranking, None);
    let gpu = assessment.plans.iter().find(|plan| plan.side != Side::Cpu).expect("one");
    assert!(gpu.first_use_ns.is_none() && gpu.program_ns.is_some());
    let text = said::text(&assessment, &profile);
    let start = "programs are without a part of what a process pays to use the GPU";
    assert!(said::the(&text, "First use").starts_with(start), "{text}");
}

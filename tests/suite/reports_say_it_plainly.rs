//! Reports give the answer first and in plain words, hide nothing, and say the
//! same in a table, in JSON and in a picture.

mod break_even;
mod pictures;
mod scored;
mod set_up;
mod unknowns;

use super::machines::machine;
use super::said;
use super::workloads::simple;
use hallway::compare::{Cell, Score};
use hallway::cost::FirstUse;
use hallway::findings::{Answer, Assessment, Verdict};
use hallway::kernels::Kernel;
use hallway::machine::Side;
use hallway::profile::{Accuracy, Conditions, Handling, Profile};
use hallway::report::{self, Evaluation, Origin, Rows, date, json};
use hallway::samples::{Condition, HostPages};
use hallway::scenario::Workload;
use hallway::search::{BreakEven, Ranked, Ranking, Setting, Wins, candidates, rank};
use hallway::simulate::{Forecast, MainThread};
use hallway::timeline::Timeline;
use hallway::units::{Bytes, Span};

fn scaling() -> Workload {
    simple(Kernel::Scale, 100_000, "")
}

/// A ranking of the first plan on the CPU and the first on the GPU, each with
/// the times in microseconds that its draws gave, the first being its prediction.
fn ranking(cpu: Option<&[u64]>, gpu: Option<&[u64]>) -> Ranking {
    let plans = candidates(&scaling()).plans;
    let ranked = |on_cpu: bool, micros: &[u64]| {
        let plan =
            plans.iter().find(|plan| plan.program.needs_device() != on_cpu).expect("one of each");
        let makespan = Span::from_micros(micros[0]);
        let draws = micros.iter().map(|&micros| Span::from_micros(micros)).collect();
        let timeline = Timeline { activities: Vec::new(), makespan };
        let setup = if on_cpu { Span::ZERO } else { Span::from_millis(50) };
        Ranked {
            plan: plan.clone(),
            forecast: Forecast {
                widening: 1.0,
                timeline,
                draws,
                margin: 0.0,
                stated: Span::ZERO,
                main_thread: MainThread::default(),
                bound: Span::ZERO,
            },
            setup: Ok(setup),
            first_use: FirstUse::default(),
            pinning: None,
            taken: None,
            unpinned: None,
            bound: Span::ZERO,
            gains: None,
        }
    };
    let mut plans: Vec<Ranked> = cpu
        .map(|draws| ranked(true, draws))
        .into_iter()
        .chain(gpu.map(|d| ranked(false, d)))
        .collect();
    plans.sort_by_key(Ranked::makespan);
    Ranking { plans, ..Ranking::default() }
}

const SLOW: &[u64] = &[20_100, 20_200, 20_000, 20_150];
const FAST: &[u64] = &[5_920, 5_710, 6_110, 5_900];

fn evaluation(workload: &Workload, ranking: &Ranking) -> Evaluation {
    let assessment = Assessment::new(workload, 1, ranking, Some(from(1_300_000)));
    said::evaluation(assessment, &machine())
}

/// What is said of so many runs that set-up decides nothing.
fn after_set_up(ranking: &Ranking) -> (Verdict, String) {
    let assessment = Assessment::new(&scaling(), 1_000_000, ranking, None);
    let text = said::text(&assessment, &machine());
    (assessment.verdict, said::answer(&text).to_owned())
}

#[test]
fn a_calibration_says_what_paths_cost_and_what_was_disturbed() {
    let mut profile = machine();
    let text = report::calibration(&profile, None);
    for words in [
        "H2D copy, pinned",
        "D2D copy",
        "kernel reading mapped memory",
        "kernel faulting in managed memory",
        "Next to a memory-bound kernel, D2H copies take 1.1 times as long; the other work takes \
         1.2 times as long.",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    // An element of four bytes each nanosecond.
    let row = |name| text.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
    assert!(row("H2D copy, pinned").ends_with("4.0 GB/s"), "{text}");
    let origin = |profile: &Profile| Origin::new("profile.toml", profile).to_string();
    assert!(!text.contains("NVML") && !origin(&profile).contains("Clocks"), "{text}");
    profile.machine.nvml = Some("not found: nobody looked".to_owned());
    assert!(report::calibration(&profile, None).ends_with("NVML not found: nobody looked.\n"));
    assert!(!report::calibration(&profile, None).contains("First use of new memory, per page of"));
    profile.machine.host_pages = Some(HostPages {
        bytes: Bytes::kib(4),
        huge: Some("madvise".to_owned()),
        defrag: None,
        allocator: "as usual".to_owned(),
    });
    // A page has 1024 elements. The team takes 1 ns for each, and one thread 3.
    let said = "First use of new memory, per page of 4 KiB: one thread 3.07 us, all threads \
                1.02 us (huge pages: madvise).\n";
    assert!(report::calibration(&profile, None).contains(said));
    let state = |sm_mhz, temperature| {
        Some(Condition { sm_mhz: Some(sm_mhz), temperature, ..Condition::default() })
    };
    profile.conditions = Some(Conditions {
        measurements: 200,
        disturbed: 3,
        before: state(1_980, Some(41)),
        after: state(1_965, None),
        reasons: [("software power cap".to_owned(), 3)].into(),
    });
    let text = report::calibration(&profile, None);
    for words in [
        "Before: SM clock 1980 MHz, 41 °C.\nAfter: SM clock 1965 MHz.\n",
        "Disturbed: 3 of 200 measurements (2%):\n  3 by software power cap\n",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    assert!(origin(&profile).ends_with("not as usual in 3 of 200 measurements"));
}

#[test]
fn a_calibration_says_how_far_off_its_profile_is() {
    let mut profile = machine();
    assert!(!report::calibration(&profile, None).contains("Tested on"));
    let (median_error, p95_error, coverage) = (0.0211, 0.0804, 0.917);
    let accuracy = |repeatability| {
        let margins = Vec::new();
        Accuracy { trials: 120, median_error, p95_error, repeatability, coverage, margins }
    };
    let said = "Tested on 120 plans of small random workloads: median error 2.1%, 95th \
                percentile 8.0%; 92% are within their ranges.";
    profile.accuracy = Some(accuracy(None));
    assert!(report::calibration(&profile, None).contains(&format!("{said}\n")));
    profile.accuracy = Some(accuracy(Some(0.0149)));
    let apart = "The two halves of their own runs differ by 1.5%.";
    assert!(report::calibration(&profile, None).contains(&format!("{said} {apart}\n")));
}

/// Everything on the round machine.
fn predicted(workload: &Workload) -> Ranking {
    rank(candidates(workload), &machine(), 10, 1)
}

#[test]
fn the_gpu_wins_by_so_many_times() {
    let (verdict, answer) = after_set_up(&ranking(Some(SLOW), Some(FAST)));
    assert_eq!(verdict.answer, Answer::Gpu);
    assert_eq!(
        answer,
        "Use the GPU: `round-trip, pageable` takes 5.92 ms a run; the CPU takes 20.1 ms, 3.4 times \
         as long."
    );
    let run = verdict.run.expect("both sides have a plan");
    let range = [run.chosen.low_ns, run.chosen.high_ns].map(|end| end.to_string());
    assert_eq!(range, ["5.74 ms", "6.08 ms"]);
}

#[test]
fn the_cpu_wins_by_so_many_times() {
    let (verdict, answer) = after_set_up(&ranking(Some(FAST), Some(SLOW)));
    assert_eq!(verdict.answer, Answer::Cpu);
    assert_eq!(
        answer,
        "Stay on the CPU: it takes 5.92 ms a run; the best plan on the GPU, `round-trip, \
         pageable`, takes 20.1 ms, 3.4 times as long."
    );
}

#[test]
fn what_scatter_leaves_open_is_a_tie() {
    let other: &[u64] = &[5_930, 5_900, 5_950, 5_800];
    for (cpu, gpu) in [(FAST, other), (other, FAST), (FAST, FAST)] {
        let (verdict, answer) = after_set_up(&ranking(Some(cpu), Some(gpu)));
        assert_eq!((verdict.answer, verdict.run_answer), (Answer::Tie, Answer::Tie));
        assert!(answer.starts_with("Either side will do: "), "{answer}");
    }
}

/// Plans that one engine holds up take the same to the nanosecond in many draws.
#[test]
fn a_plan_that_is_as_fast_in_most_draws_is_a_tie() {
    let same = [5_900_u64; 20];
    let faster_in = |count: usize| {
        let mut draws = same;
        draws[..count].fill(5_800);
        draws
    };
    let answer =
        |cpu: &[u64], gpu: &[u64]| Verdict::of(&ranking(Some(cpu), Some(gpu)), 1).run_answer;
    for few in [0, 1, 17] {
        assert_eq!(answer(&same, &faster_in(few)), Answer::Tie, "{few} of 20");
        assert_eq!(answer(&faster_in(few), &same), Answer::Tie, "{few} of 20");
    }
    assert_eq!(answer(&same, &faster_in(18)), Answer::Gpu);
    assert_eq!(answer(&faster_in(18), &same), Answer::Cpu);
}

#[test]
fn one_side_alone_is_no_victory() {
    for (ranking, plan) in
        [(ranking(None, Some(FAST)), "round-trip, pageable"), (ranking(Some(FAST), None), "cpu")]
    {
        let (verdict, answer) = after_set_up(&ranking);
        assert_eq!(verdict.answer, Answer::NothingToCompare);
        assert!(answer.starts_with(&format!("`{plan}` takes 5.92 ms a run, ")), "{answer}");
        assert!(answer.ends_with("; there is nothing to compare it with."), "{answer}");
    }
    let (verdict, answer) = after_set_up(&ranking(None, None));
    assert_eq!((verdict.answer, verdict.run), (Answer::NothingToCompare, None));
    assert_eq!(answer, "No plan can be predicted.");
}

#[test]
fn the_answer_comes_before_the_table() {
    let text = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST))).text(Rows::All);
    let answer = text.find("Stay on the CPU").expect("an answer");
    let table = text.find("limited by").expect("a table");
    assert!(answer < table, "{text}");
    for words in ["Round Numbers 1000", "Round CPU", "calibration/h200/profile.toml", "2001-09-09"]
    {
        assert!(text.contains(words), "no `{words}`: {text}");
    }
}

#[test]
fn kernels_that_no_trial_had_are_named() {
    let mut evaluation = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST)));
    assert!(!evaluation.text(Rows::All).contains("no trial"));
    let kernels = [Kernel::Matmul, Kernel::Fft].into_iter();
    evaluation.scenarios[0] = evaluation.scenarios[0].clone().without_trials_of(kernels);
    let text = evaluation.text(Rows::All);
    let start = "no trial of the calibration contained `matmul` or `fft`: ";
    assert!(said::the(&text, "Trials").starts_with(start), "{text}");
}

fn from(elements: u64) -> BreakEven {
    wins(vec![Wins { from: Some(Setting(elements as f64)), ..EVERYWHERE }])
}

const EVERYWHERE: Wins = Wins { from: None, until: None, from_range: None, until_range: None };

fn wins(gpu_wins: Vec<Wins>) -> BreakEven {
    let tried = [256, 268_435_456];
    BreakEven { gpu_wins, tried, too_large_for_gpu: None, too_large_for_cpu: None }
}

#[test]
fn what_is_left_out_is_said_with_the_reason() {
    // Pinning what is new in every run is refused, and the machine has no twin.
    let fresh = "home = \"host\"\nhost = { state = \"fresh\" }";
    let mut text = String::new();
    for buffer in ["x", "out"] {
        let home = if buffer == "out" { fresh } else { "home = \"host\"" };
        text += &format!(
            "[[buffer]]\nname = \"{buffer}\"\ntype = \"f32\"\nelements = 100_000\n{home}\n"
        );
    }
    let workload = super::workloads::read(&format!(
        "schema_version = 1\nname = \"fresh\"\nquestion = \"?\"\n{text}\
         [[task]]\nname = \"t\"\nkernel = \"scale\"\nreads = [\"x\"]\nwrites = [\"out\"]\n\
         split = {{ along = \"elements\" }}\n"
    ));
    let mut profile = machine();
    profile.twins.clear();
    let text = evaluation(&workload, &rank(candidates(&workload), &profile, 5, 1)).text(Rows::All);
    let has = |label: &str, words: &str| {
        assert!(said::labelled(&text, label).iter().any(|line| line.contains(words)), "{text}");
    };
    has("Ruled out", " more: taking memory");
    has("Not predicted", "`cpu`; `");
    let reason = "taking memory cannot be captured";
    // Once with the number of plans, and once with their names.
    assert_eq!(text.matches(reason).count(), 2, "said once for all: {text}");
}

#[test]
fn notable_plans_are_the_fastest_and_the_best_of_each_kind() {
    let evaluation = evaluation(&scaling(), &predicted(&scaling()));
    let (notable, all) = (evaluation.text(Rows::Notable), evaluation.text(Rows::All));
    assert!(notable.lines().count() < all.lines().count());
    assert!(notable.contains("`--all` shows them"), "{notable}");
    for plan in &evaluation.scenarios[0].plans {
        assert!(all.contains(&plan.plan), "{all}");
        let is_first = plan.rank <= 10;
        assert!(!is_first || notable.contains(&plan.plan), "{notable}");
        assert!(notable.contains(&plan.family), "{notable}");
    }
}

#[test]
fn no_plan_at_all_is_a_report_too() {
    let nothing = ranking(None, None);
    let evaluation = evaluation(&scaling(), &nothing);
    for rows in [Rows::Notable, Rows::All] {
        assert!(evaluation.text(rows).contains("No plan can be predicted"));
    }
    assert_eq!(serde_json::from_str::<Evaluation>(&json(&evaluation)).expect("JSON"), evaluation);
}

#[test]
fn evaluations_survive_json() {
    let evaluation = evaluation(&scaling(), &predicted(&scaling()));
    assert!(!evaluation.scenarios[0].plans.is_empty());
    assert_eq!(serde_json::from_str::<Evaluation>(&json(&evaluation)).expect("JSON"), evaluation);
}

#[test]
fn the_same_again_is_the_same_bytes() {
    let once = || {
        let evaluation = evaluation(&scaling(), &predicted(&scaling()));
        evaluation.text(Rows::All) + &json(&evaluation)
    };
    assert_eq!(once(), once());
}

#[test]
fn dates_are_those_of_the_calendar() {
    // `date --utc --date=@...` of GNU coreutils.
    for (time, text) in [
        (0, "1970-01-01"),
        (951_782_399, "2000-02-28"),
        (951_782_400, "2000-02-29"),
        (951_868_800, "2000-03-01"),
        (1_795_132_800, "2026-11-20"),
        (4_107_542_399, "2100-02-28"),
        (4_107_542_400, "2100-03-01"),
    ] {
        assert_eq!(date(time), text);
    }
    // Nonsense in a file is no reason to panic.
    assert!(!date(u64::MAX).is_empty());
}

fn cell(plan: &str, predicted: u64, measured: u64) -> Cell {
    let [predicted, measured] = [predicted, measured].map(Span::from_micros);
    let (low, high) = (predicted, predicted + Span::from_micros(10));
    Cell {
        plan: plan.to_owned(),
        side: if plan == "cpu" { Side::Cpu } else { Side::Gpu },
        kind: if plan == "cpu" { Handling::Cpu } else { Handling::Pinned },
        predicted,
        low,
        high,
        textbook: predicted,
        one_by_one: predicted * 2,
        busiest: predicted,
        measured,
        spread: Some(0.01),
        passes: 90,
        beside: 0,
    }
}

fn score(cells: Vec<Cell>) -> Score {
    let chosen = (0..cells.len()).min_by_key(|&cell| cells[cell].predicted);
    Score { scenario: "demo".to_owned(), cells, chosen, rerun: None }
}

//! Reports give the answer first and in plain words, hide nothing, and say the
//! same in a table, in JSON and in a picture.

mod break_even;
mod pictures;
mod set_up;
mod unknowns;

use super::machines::machine;
use super::workloads::simple;
use hallway::compare::{Cell, Score};
use hallway::cost::FirstUse;
use hallway::kernels::Kernel;
use hallway::machine::Side;
use hallway::profile::{Accuracy, Conditions, Handling, Profile};
use hallway::report::{
    self, Answer, Assessment, Evaluation, Origin, Rows, Verdict, Verification, date,
};
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
                timeline,
                draws,
                margin: 0.0,
                stated: Span::ZERO,
                main_thread: MainThread::default(),
                bound: Span::ZERO,
            },
            gains: None,
            setup: Ok(setup),
            first_use: FirstUse::default(),
            pinning: None,
            taken: None,
            unpinned: None,
            bound: Span::ZERO,
        }
    };
    let mut plans: Vec<Ranked> = cpu
        .map(|draws| ranked(true, draws))
        .into_iter()
        .chain(gpu.map(|d| ranked(false, d)))
        .collect();
    plans.sort_by_key(Ranked::makespan);
    Ranking { plans, refused: Vec::new(), unknown: Vec::new(), borrowed: Vec::new() }
}

const SLOW: &[u64] = &[20_100, 20_200, 20_000, 20_150];
const FAST: &[u64] = &[5_920, 5_710, 6_110, 5_900];

fn evaluation(workload: &Workload, ranking: &Ranking) -> Evaluation {
    let assessment = Assessment::new(workload, 1, ranking, Some(from(1_300_000)));
    let profile = Origin::new("calibration/h200/profile.toml", &machine());
    Evaluation {
        profile,
        seed: 1,
        draws: 40,
        trials: 0,
        context_ns: None,
        scenarios: vec![assessment],
        gate: None,
    }
}

#[test]
fn a_calibration_says_what_paths_cost_and_what_was_disturbed() {
    let mut profile = machine();
    let text = report::calibration(&profile, None);
    for words in [
        "H2D copy, pinned",
        "D2H copy, registered",
        "D2D copy",
        "kernel reading mapped memory",
        "kernel faulting managed memory in",
        "Beside a memory-bound kernel, D2H copies take 1.1 times as long, and it takes 1.2",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    // An element of four bytes each nanosecond; half of that for registered memory.
    let row = |name| text.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
    assert!(row("H2D copy, pinned").ends_with("4.0 GB/s"), "{text}");
    assert!(row("H2D copy, registered").ends_with("2.0 GB/s"), "{text}");
    let origin = |profile: &Profile| Origin::new("profile.toml", profile).to_string();
    assert!(!text.contains("NVML") && !origin(&profile).contains("Clocks"), "{text}");
    profile.machine.nvml = Some("not found: nobody looked".to_owned());
    assert!(report::calibration(&profile, None).ends_with("NVML not found: nobody looked.\n"));
    assert!(!report::calibration(&profile, None).contains("New memory"));
    profile.machine.host_pages = Some(HostPages {
        bytes: Bytes::kib(4),
        huge: Some("madvise".to_owned()),
        defrag: None,
        allocator: "as usual".to_owned(),
    });
    // A page has 1024 elements. The team takes 1 ns for each, and one thread 3.
    let said = "New memory costs, for each page of 4 KiB: one thread 3.07 us, all threads 1.02 us \
                (huge pages: madvise).\n";
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
        "Before: SM clock 1980 MHz, 41 degrees Celsius.\nAfter: SM clock 1965 MHz.\n",
        "3 of 200 measurements (2%) were disturbed:\n  3 by software power cap\n",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    assert!(origin(&profile).ends_with("other than usual in 3 of 200 measurements"));
}

#[test]
fn a_calibration_says_how_far_off_its_profile_is() {
    let mut profile = machine();
    assert!(!report::calibration(&profile, None).contains("Tried"));
    let (median_error, p95_error, coverage) = (0.0211, 0.0804, 0.917);
    let accuracy = |repeatability| {
        let margins = Vec::new();
        Accuracy { trials: 120, median_error, p95_error, repeatability, coverage, margins }
    };
    let said = "Tried on 120 plans of small random workloads: 2.1% off in the median, 95% by at \
                most 8.0%, and 92% within their 90% ranges.";
    profile.accuracy = Some(accuracy(None));
    assert!(report::calibration(&profile, None).contains(&format!("{said}\n")));
    profile.accuracy = Some(accuracy(Some(0.0149)));
    let apart = "By themselves they differ by 1.5% from one half of their passes to the other.";
    assert!(report::calibration(&profile, None).contains(&format!("{said} {apart}\n")));
}

/// Everything on the round machine.
fn predicted(workload: &Workload) -> Ranking {
    rank(candidates(workload), &machine(), 10, 1)
}

#[test]
fn the_gpu_wins_by_so_many_times() {
    let verdict = Verdict::of(&ranking(Some(SLOW), Some(FAST)));
    assert_eq!(verdict.answer, Answer::Gpu);
    assert_eq!(
        verdict.sentence,
        "GPU wins: `round-trip, pageable` takes 5.92 ms (5.74 to 6.08), 3.4 times as fast as the \
         CPU's 20.1 ms."
    );
}

#[test]
fn the_cpu_wins_by_so_many_times() {
    let verdict = Verdict::of(&ranking(Some(FAST), Some(SLOW)));
    assert_eq!(verdict.answer, Answer::Cpu);
    assert_eq!(
        verdict.sentence,
        "Stay on the CPU: it takes 5.92 ms (5.74 to 6.08), 3.4 times as fast as the best GPU \
         plan, `round-trip, pageable` with 20.1 ms."
    );
}

#[test]
fn what_scatter_leaves_open_is_a_tie() {
    let other: &[u64] = &[5_930, 5_900, 5_950, 5_800];
    for (cpu, gpu) in [(FAST, other), (other, FAST), (FAST, FAST)] {
        let verdict = Verdict::of(&ranking(Some(cpu), Some(gpu)));
        assert_eq!(verdict.answer, Answer::Tie);
        assert!(verdict.sentence.starts_with("A tie: `round-trip, pageable` takes"));
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
    let answer = |cpu: &[u64], gpu: &[u64]| Verdict::of(&ranking(Some(cpu), Some(gpu))).answer;
    for few in [0, 1, 17] {
        assert_eq!(answer(&same, &faster_in(few)), Answer::Tie, "{few} of 20");
        assert_eq!(answer(&faster_in(few), &same), Answer::Tie, "{few} of 20");
    }
    assert_eq!(answer(&same, &faster_in(18)), Answer::Gpu);
    assert_eq!(answer(&faster_in(18), &same), Answer::Cpu);
}

#[test]
fn one_side_alone_is_no_victory() {
    let verdict = Verdict::of(&ranking(None, Some(FAST)));
    assert_eq!(verdict.answer, Answer::NothingToCompare);
    assert!(verdict.sentence.starts_with("No plan on the CPU to compare with"));
    let verdict = Verdict::of(&ranking(Some(FAST), None));
    assert!(verdict.sentence.starts_with("No plan on the GPU to compare with"));
    let verdict = Verdict::of(&ranking(None, None));
    assert!(verdict.sentence.starts_with("No plan could be predicted"));
}

#[test]
fn the_answer_comes_before_the_table() {
    let text = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST))).text(Rows::All);
    let answer = text.find("faster on the GPU").expect("an answer");
    let table = text.find("bound by").expect("a table");
    assert!(answer < table, "{text}");
    for words in ["Round Numbers 1000", "Round CPU", "calibration/h200/profile.toml", "2001-09-09"]
    {
        assert!(text.contains(words), "no `{words}`: {text}");
    }
}

#[test]
fn kernels_that_no_trial_had_are_named() {
    let mut evaluation = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST)));
    assert!(!evaluation.text(Rows::All).contains("No trial"));
    let kernels = [Kernel::Matmul, Kernel::Fft].into_iter();
    evaluation.scenarios[0] = evaluation.scenarios[0].clone().without_trials_of(kernels);
    let text = evaluation.text(Rows::All);
    assert!(text.contains("No trial had `matmul` or `fft` in it"), "{text}");
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
    for words in ["No such plan: `", " more: taking memory", "Not predicted: `cpu`; `"] {
        assert!(text.contains(words), "no `{words}`: {text}");
    }
    let reason = "taking memory cannot be captured";
    assert_eq!(text.matches(reason).count(), 1, "said once for all: {text}");
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
        assert!(evaluation.text(rows).contains("No plan could be predicted"));
    }
    assert_eq!(serde_json::from_str::<Evaluation>(&evaluation.json()).expect("JSON"), evaluation);
}

#[test]
fn evaluations_survive_json() {
    let evaluation = evaluation(&scaling(), &predicted(&scaling()));
    assert!(!evaluation.scenarios[0].plans.is_empty());
    assert_eq!(serde_json::from_str::<Evaluation>(&evaluation.json()).expect("JSON"), evaluation);
}

#[test]
fn the_same_again_is_the_same_bytes() {
    let once = || {
        let evaluation = evaluation(&scaling(), &predicted(&scaling()));
        evaluation.text(Rows::All) + &evaluation.json()
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

fn verification(scores: &[Score]) -> Verification {
    Verification::new(Origin::new("profile.toml", &machine()), scores)
}

#[test]
fn good_predictions_pass() {
    let right = score(vec![cell("cpu", 2_000, 2_010), cell("resident, pinned", 1_000, 1_010)]);
    let verification = verification(&[right.clone(), right]);
    assert!(verification.passed(), "{}", verification.text());
    let text = verification.text();
    for words in ["resident, pinned", "-1.0%", "median error is 0.7% over 4 plans (at most 3.0%)"] {
        assert!(text.contains(words), "no `{words}`: {text}");
    }
    assert!(!text.contains("FAIL"), "{text}");
    let markdown = verification.markdown();
    assert_eq!(markdown.lines().filter(|line| line.starts_with('|')).count(), 5, "{markdown}");
    let back = serde_json::from_str::<Verification>(&verification.json()).expect("JSON");
    assert_eq!(back, verification);
}

#[test]
fn passes_beside_others_are_counted() {
    let alone = cell("cpu", 2_000, 2_010);
    let shared = Cell { beside: 20, ..cell("resident, pinned", 1_000, 1_010) };
    let text = verification(&[score(vec![alone.clone(), shared])]).text();
    assert!(text.contains("20 of 200 passes (10%) do not count: something else"), "{text}");
    assert!(!verification(&[score(vec![alone])]).text().contains("do not count"));
}

#[test]
fn every_limit_is_a_check_of_its_own() {
    let cases = [
        // All within 4%, which is too much for the median alone.
        (vec![cell("cpu", 2_080, 2_000), cell("a", 1_040, 1_000)], "median error is 4.0%"),
        // One outlier in few plans.
        (
            vec![cell("cpu", 4_000, 4_000), cell("a", 1_000, 1_000), cell("b", 3_600, 3_000)],
            "95% quantile of errors is 18.0%",
        ),
        // The order is wrong by little, and the choice is 5% off.
        (
            vec![cell("cpu", 2_000, 2_000), cell("a", 1_000, 1_050), cell("b", 1_001, 1_000)],
            "largest regret is 5.0%, in demo",
        ),
        // The CPU was taken for faster, by next to nothing.
        (vec![cell("cpu", 1_000, 1_001), cell("a", 1_002, 1_000)], "called right in 0 of 1"),
    ];
    for (cells, words) in cases {
        let verification = verification(&[score(cells)]);
        assert!(!verification.passed());
        let failed: Vec<&str> =
            verification.checks.iter().filter(|c| !c.passed).map(|c| c.what.as_str()).collect();
        assert!(failed.iter().any(|what| what.contains(words)), "{failed:?}");
        assert!(verification.text().contains("FAIL"));
    }
}

#[test]
fn runs_that_fit_no_plan_are_a_failure() {
    let verification = verification(&[score(Vec::new())]);
    assert!(!verification.passed());
    assert!(verification.text().contains("no run fits a plan of demo"));
    assert!(!verification.markdown().is_empty());
}

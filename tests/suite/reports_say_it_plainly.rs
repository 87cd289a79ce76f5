//! Reports give the answer first and in plain words, hide nothing, and say the
//! same in a table, in JSON and in a picture.

mod pictures;
mod scored;
mod set_up;
mod unknowns;
mod wording;

use super::machines::machine;
use super::said;
use super::workloads::simple;
use hallway::compare::{Cell, Score, ScoredPlan};
use hallway::cost::FirstUse;
use hallway::findings::{Answer, Assessment, Verdict};
use hallway::kernels::Kernel;
use hallway::machine::Side;
use hallway::profile::{Accuracy, Conditions, Handling};
use hallway::report::{self, Evaluation, Origin, Rows, date};
use hallway::samples::{Condition, HostPages};
use hallway::scenario::Workload;
use hallway::search::{BreakEven, Ranked, Ranking, Setting, Wins, candidates, rank};
use hallway::simulate::{Forecast, MainThread};
use hallway::stats::rounded;
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

const EVERYWHERE: Wins = Wins { from: None, until: None, from_range: None, until_range: None };

fn wins(gpu_wins: Vec<Wins>) -> BreakEven {
    let tried = [256, 268_435_456];
    BreakEven { gpu_wins, tried, coarse: false, too_large_for_gpu: None, too_large_for_cpu: None }
}

fn from(elements: u64) -> BreakEven {
    wins(vec![Wins { from: Some(Setting(elements as f64)), ..EVERYWHERE }])
}

const SLOW: &[u64] = &[20_100, 20_200, 20_000, 20_150];
const FAST: &[u64] = &[5_920, 5_710, 6_110, 5_900];

fn evaluation(workload: &Workload, ranking: &Ranking) -> Evaluation {
    let assessment = Assessment::new(workload, 1, ranking, Some(from(1_300_000)));
    said::evaluation(assessment, &machine())
}

/// Everything on the round machine.
fn predicted(workload: &Workload) -> Ranking {
    rank(candidates(workload), &machine(), 10, 1)
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
fn notable_plans_are_the_fastest_and_the_best_of_each_kind() {
    let evaluation = evaluation(&scaling(), &predicted(&scaling()));
    let (notable, all) =
        (evaluation.text_within(Rows::Notable, None), evaluation.text_within(Rows::All, None));
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
fn evaluations_survive_json() {
    let evaluation = evaluation(&scaling(), &predicted(&scaling()));
    assert!(!evaluation.scenarios[0].plans.is_empty());
    assert_eq!(
        serde_json::from_str::<Evaluation>(&report::json(&evaluation)).expect("JSON"),
        evaluation
    );
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
    let scored = ScoredPlan {
        plan: plan.to_owned(),
        side: if plan == "cpu" { Side::Cpu } else { Side::Gpu },
        predicted_ns: predicted,
        low_ns: predicted,
        high_ns: predicted + Span::from_micros(10),
        measured_ns: measured,
        spread: Some(0.01),
        passes: 90,
        passes_beside: 0,
        error: rounded(predicted.nanos_f64() / measured.nanos_f64() - 1.0),
    };
    Cell {
        scored,
        kind: if plan == "cpu" { Handling::Cpu } else { Handling::Pinned },
        textbook: predicted,
        one_by_one: predicted * 2,
        busiest: predicted,
    }
}

fn score(cells: Vec<Cell>) -> Score {
    let chosen = (0..cells.len()).min_by_key(|&cell| cells[cell].scored.predicted_ns);
    Score { scenario: "demo".to_owned(), cells, chosen, rerun: None }
}

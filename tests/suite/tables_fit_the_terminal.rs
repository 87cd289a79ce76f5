//! Reports keep to the width they are given: no line is longer, columns go in the order that
//! `--help` states, and what decides stays.

use super::commands::{hallway, printed};
use super::predicted::{PROFILE, RANKED, ranked, repository};
use super::said;
use super::terminals::{read_along, terminal};
use super::workloads::simple;
use hallway::compare::{Cell, Score, ScoredPlan};
use hallway::findings::Assessment;
use hallway::kernels::Kernel;
use hallway::profile::Handling;
use hallway::report::{Evaluation, Origin, RangesTried, Rows, Verification, library};
use hallway::scenario::Workload;
use hallway::search::{Ranking, break_even};
use hallway::simulate::Draws;
use std::process::Command;
use std::sync::LazyLock;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [usize; 4] = [60, 80, 100, 140];

fn assessed((workload, ranking): &(Workload, Ranking)) -> Assessment {
    let sizes = break_even(workload, &PROFILE);
    let untried = workload.tasks.iter().take(1).filter_map(|task| task.kernel.library());
    let untried = Some(untried.map(|(kernel, _)| kernel.to_string()).collect());
    Assessment { untried, ..Assessment::new(workload, workload.runs, ranking, sizes) }
}

/// What is said of the committed scenarios. To try other sizes takes long, so the tests share it.
static ASSESSED: LazyLock<Vec<Assessment>> =
    LazyLock::new(|| RANKED.iter().map(assessed).collect());

fn evaluation(scenarios: Vec<Assessment>) -> Evaluation {
    let origin = Origin::new("calibration/h200/profile.toml", &PROFILE);
    let mut found = Evaluation::new((origin, &PROFILE), Draws::new(10, 1), scenarios);
    let (median_error, p95_error, in_range) = (0.02, 0.08, 0.9);
    found.ranges = Some(RangesTried { trials: 120, median_error, p95_error, in_range });
    found
}

fn verification(of: &[(Workload, Ranking)]) -> Verification {
    let score = |(workload, ranking): &(Workload, Ranking)| {
        let cell = |ranked: &hallway::search::Ranked| {
            let (low_ns, high_ns) = ranked.forecast.interval();
            let scored = ScoredPlan {
                plan: ranked.plan.name(),
                side: ranked.plan.side(),
                predicted_ns: ranked.makespan(),
                low_ns,
                high_ns,
                measured_ns: ranked.makespan() * 2,
                spread: Some(0.01),
                passes: 90,
                passes_beside: 9,
                error: -0.5,
            };
            Cell {
                scored,
                kind: Handling::of(&ranked.plan.program),
                textbook: ranked.makespan(),
                one_by_one: ranked.makespan() * 2,
                busiest: ranked.makespan(),
            }
        };
        Score {
            rerun: None,
            scenario: workload.name.clone(),
            cells: ranking.plans.iter().map(cell).collect(),
            chosen: Some(0),
        }
    };
    let scores: Vec<Score> = of.iter().map(score).collect();
    Verification::new(Origin::new("calibration/h200/profile.toml", &PROFILE), &scores)
}

#[track_caller]
fn keeps_to(width: usize, text: &str) {
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns, not {width}: {line}", line.width());
    }
}

/// The words of a text, wherever its lines end.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn no_line_of_an_evaluation_is_longer_than_the_terminal() {
    let evaluation = evaluation(ASSESSED.clone());
    for width in WIDTHS {
        for rows in [Rows::Screen, Rows::Notable, Rows::All] {
            keeps_to(width, &evaluation.text_within(rows, Some(width)));
        }
    }
}

#[test]
fn no_line_of_a_verification_is_longer_than_the_terminal() {
    let verification = verification(&RANKED);
    for width in WIDTHS {
        keeps_to(width, &verification.text_within(Some(width)));
    }
}

#[test]
fn in_80_columns_all_that_decides_is_there() {
    for one in &*ASSESSED {
        let evaluation = evaluation(vec![one.clone()]);
        let text = evaluation.text_within(Rows::All, Some(80));
        let header = text.lines().find(|line| line.contains("vs fastest")).expect("a table");
        for title in ["#", "plan", "one run", "range", "vs fastest", "limited by"] {
            assert!(header.contains(title), "no `{title}`: {header}");
        }
        let joined = words(&text).join(" ");
        let assessment = &evaluation.scenarios[0];
        let wide = evaluation.text_within(Rows::All, None);
        assert!(joined.contains(&words(said::answer(&wide)).join(" ")), "{text}");
        let table: Vec<&str> = text.lines().skip_while(|line| *line != header).skip(2).collect();
        for plan in &assessment.plans {
            let rank = plan.rank.to_string();
            let is_ranked = |line: &&str| {
                let behind = line.trim_start().strip_prefix(&rank);
                // The plan to choose has a mark.
                behind.is_some_and(|rest| rest.trim_start_matches('*').starts_with("  "))
            };
            let block: String = table
                .iter()
                .skip_while(|line| !is_ranked(line))
                .enumerate()
                .take_while(|(at, line)| *at == 0 || line.starts_with("   "))
                .map(|(_, line)| format!("{line} "))
                .collect();
            assert!(!block.is_empty(), "no plan {rank}: {text}");
            for word in plan.plan.split(' ') {
                assert!(block.contains(word), "no `{word}` of `{}`: {block}", plan.plan);
            }
            let limit = plan.bottleneck.map_or_else(|| "-".to_owned(), |one| one.to_string());
            // Times are not folded.
            let time = plan.predicted_ns.to_string();
            for piece in limit.split(' ').chain([time.as_str()]) {
                assert!(block.contains(piece), "no `{piece}`: {block}");
            }
        }
    }
}

/// A reason that has no room on a first screen is left out, not cut off.
#[test]
fn a_first_screen_ends_no_reason_in_the_middle() {
    for one in &*ASSESSED {
        let evaluation = evaluation(vec![one.clone()]);
        let joined = |line: &str| words(line).join(" ");
        let wide =
            evaluation.text_within(Rows::Screen, None) + &evaluation.text_within(Rows::All, None);
        let known: Vec<String> = wide.lines().map(joined).collect();
        for width in (50..=140).step_by(5) {
            let screen = evaluation.text_within(Rows::Screen, Some(width));
            let behind_table = screen.lines().skip_while(|line| !line.starts_with('─'));
            let behind_table = behind_table.skip_while(|line| !line.is_empty()).skip(1);
            let mut reasons: Vec<String> = Vec::new();
            for line in behind_table.take_while(|line| !line.is_empty()) {
                match reasons.last_mut() {
                    Some(last) if line.starts_with(' ') => *last += line,
                    _ => reasons.push(line.to_owned()),
                }
            }
            assert!(!reasons.is_empty(), "no reason: {screen}");
            // With all details, what a program takes is said with what it consists of.
            let told = reasons.iter().filter(|reason| !reason.starts_with("Program"));
            for reason in told {
                assert!(known.contains(&joined(reason)), "`{reason}` is cut off: {screen}");
            }
        }
    }
}

/// As `evaluate --help` states it.
#[test]
fn columns_go_in_the_stated_order() {
    let order: [&[&str]; 6] = [
        &["host", "H2D", "kern", "D2H"],
        &["set-up"],
        &["and 100 runs"],
        &["limited by"],
        &["vs fastest"],
        &["range"],
    ];
    let one = RANKED.iter().zip(&*ASSESSED).find(|((one, _), _)| one.name == "stencil-halo");
    let evaluation = evaluation(vec![one.expect("committed").1.clone()]);
    let mut gone_before = 0;
    for width in (40..=160).rev() {
        let text = evaluation.text_within(Rows::Notable, Some(width));
        let header = text.lines().find(|line| line.contains("one run")).expect("a table");
        let is_there = |titles: &&[&str]| titles.iter().all(|title| header.contains(title));
        let gone = order.iter().take_while(|titles| !is_there(titles)).count();
        assert!(order[gone..].iter().all(is_there), "out of order in {width}: {header}");
        assert!(gone >= gone_before, "{width} columns have one that a wider table had not");
        gone_before = gone;
    }
    assert!(gone_before >= 4, "40 columns hold nearly everything");
}

#[test]
fn without_a_width_nothing_is_left_out_or_folded() {
    let evaluation = evaluation(ASSESSED.clone());
    let text = evaluation.text_within(Rows::All, None);
    for assessment in &evaluation.scenarios {
        let chosen = assessment.verdict.deciding().expect("plans were predicted");
        assert!(text.contains(&chosen.chosen.time_ns.to_string()));
        for plan in &assessment.plans {
            assert!(text.contains(&format!("  {}  ", plan.plan)), "{}", plan.plan);
        }
    }
    assert_eq!(text, evaluation.text_within(Rows::All, Some(10_000)));
    let longest = text.lines().map(UnicodeWidthStr::width).max();
    assert!(longest > Some(140), "nothing here would have to be folded");
}

#[test]
fn long_names_break_no_table() {
    let long = "ein-sehr-langer-name-".repeat(12);
    let wide = "計算".repeat(60);
    for name in [&long, &wide] {
        let mut workload = simple(Kernel::Scale, 100_000, "");
        workload.name.clone_from(name);
        workload.question = format!("{name} {name}?");
        workload.buffers[0].name = name.repeat(3);
        let one = (workload.clone(), ranked(&workload, &PROFILE));
        let evaluation = evaluation(vec![assessed(&one)]);
        let verification = verification(std::slice::from_ref(&one));
        for width in WIDTHS {
            keeps_to(width, &evaluation.text_within(Rows::All, Some(width)));
            keeps_to(width, &verification.text_within(Some(width)));
        }
    }
}

#[test]
fn the_kernels_fit_too() {
    for width in WIDTHS {
        keeps_to(width, &library(Some(width)));
    }
}

fn command() -> Command {
    let arguments = ["evaluate", "scenarios/small-scale.toml", "--draws", "10"];
    let mut command = hallway(repository(), arguments);
    command.env_remove("COLUMNS").env_remove("NO_COLOR");
    command
}

#[test]
fn on_a_terminal_the_table_is_as_wide_as_that() {
    for columns in [60, 100] {
        let (master, slave) = terminal(columns);
        let seen = read_along(master);
        assert!(command().stdout(slave).status().expect("it was built").success());
        let text: String = seen.iter().map(|(_, piece)| piece).collect();
        assert!(text.contains("one run"), "{text}");
        keeps_to(columns.into(), &text.replace('\r', ""));
    }
}

fn evaluate(arguments: &[&str], columns: Option<&str>) -> String {
    let mut command = command();
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    printed(command.args(arguments))
}

#[test]
fn off_a_terminal_tables_have_80_columns_unless_others_are_asked_for() {
    let usual = evaluate(&[], None);
    keeps_to(80, &usual);
    assert_eq!(evaluate(&["--width", "80"], None), usual);
    let wide = evaluate(&["--width", "200"], None);
    assert!(wide.lines().any(|line| line.width() > 100), "{wide}");
    keeps_to(200, &wide);
    assert_eq!(evaluate(&[], Some("200")), wide);
    keeps_to(70, &evaluate(&[], Some("70")));
    // The argument is closer than the variable; one that is no number says nothing.
    keeps_to(60, &evaluate(&["--width", "60"], Some("200")));
    assert_eq!(evaluate(&[], Some("wide")), usual);
    // JSON has no columns.
    let json = ["--format", "json"];
    assert_eq!(evaluate(&json, Some("60")), evaluate(&json, None));
}

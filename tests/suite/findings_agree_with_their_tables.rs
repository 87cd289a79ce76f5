//! Every finding agrees with the table that it comes with. Hundreds of scenarios and programs are
//! drawn and evaluated, and what the JSON form says is worked out again from the rows of `plans`
//! alone: these checks share no code with the findings, nor with what writes them.

mod asked;
mod bounds;
mod certainty;
mod comparisons;
mod prices;
mod reproductions;
mod spelled_out;
mod table;
mod turning;

use super::machines::{machine, time};
use super::predicted::PROFILE;
use super::public_cases::table;
use asked::{Asked, Known, drawn_tasks, shipped};
use hallway::findings::Assessment;
use hallway::profile::{CallCosts, GraphCosts, MemoryCosts, Profile, SetupCosts};
use hallway::report::{self, Evaluation, Origin, Rows};
use hallway::scenario::Workload;
use hallway::search::{
    break_even_counted, candidates_for, contests, deciding_times, rank, shortages, task_bound,
};
use hallway::simulate::{Draws, Tally};
use hallway::units::Bandwidth;
use rayon::prelude::*;
use serde_json::Value;
use spelled_out::{drawn_calls, drawn_programs};
use std::sync::LazyLock;
use table::{Complaints, Part};

/// Simulated draws behind every range: few, which is quick, and enough for nine in ten.
const DRAWS: usize = 10;
const SEED: u64 = 1;

/// How much longer than the fastest plan the simplest may take.
const WITHIN: f64 = 0.03;

/// The machine with straight lines, with what it lacks taken from a real one.
pub(super) static BORROWING: LazyLock<Profile> = LazyLock::new(|| {
    let mut bare = machine();
    bare.calls = CallCosts::default();
    bare.memory = MemoryCosts::default();
    bare.setup = SetupCosts::default();
    bare.graph = GraphCosts::default();
    bare.like(&PROFILE, "calibration/h200")
});

/// What a table of somebody else's measurements makes.
static TABLE: LazyLock<Profile> =
    LazyLock::new(|| table("18-batch-that-pays-for-its-weights/rtx3090-gen3-x8.csv"));

/// The machine with straight lines. A new process's context takes less there than a further one.
static STRAIGHT: LazyLock<Profile> = LazyLock::new(|| {
    let mut straight = machine();
    straight.setup.new_context = Some(time(60_000_000.0));
    straight
});

/// What `hallway evaluate` finds, as it is written with `--format json`. Other sizes are tried if
/// asked for, which takes longest.
fn evaluation(workload: &Workload, profile: &Profile, sizes: bool) -> Evaluation {
    let assessed = |workload: &Workload| {
        let ranking = rank(candidates_for(workload, profile), profile, DRAWS, SEED);
        let tally = Tally::default();
        let sizes = sizes
            .then(|| break_even_counted(workload, profile, Draws::new(DRAWS, SEED), &tally))
            .flatten();
        Assessment::new(workload, workload.runs, &ranking, sizes)
            .simplest(&ranking, WITHIN)
            .bounded(task_bound(workload, profile))
            .short_of(&shortages(workload, &ranking, profile))
            .deciding(&deciding_times(&ranking, profile))
    };
    let scenarios = contests(workload).iter().map(assessed).collect();
    Evaluation::new(
        (Origin::new("profile.toml", profile), profile),
        Draws::new(DRAWS, SEED),
        scenarios,
    )
}

fn json(evaluation: &Evaluation) -> Value {
    serde_json::from_str(&report::json(evaluation)).expect("it is JSON")
}

/// Checks all that is said about a scenario.
fn check(asked: &Asked, profile: &Profile) -> Vec<String> {
    let answer = json(&evaluation(&asked.workload, profile, asked.sizes));
    let mut complaints = Complaints::default();
    table::parts(&answer, asked, &mut complaints);
    for scenario in answer["scenarios"].as_array().into_iter().flatten() {
        let part = Part { answer: &answer, scenario };
        complaints.of(&asked.workload.name, part.name());
        check_part(&part, asked, profile, &mut complaints);
    }
    complaints.found
}

fn check_part(part: &Part<'_>, asked: &Asked, profile: &Profile, complaints: &mut Complaints) {
    let known: &Known = &asked.known;
    table::rows(part, complaints);
    table::memory(part, known, complaints);
    comparisons::check(part, complaints);
    comparisons::choices(part, complaints);
    prices::check(part, known, profile, complaints);
    bounds::check(part, known, profile, complaints);
    turning::at_its_own_size(part, complaints);
    if asked.sizes {
        turning::on_both_sides(part, &asked.workload, profile, complaints);
    }
}

/// Checks many, and shows some of what is wrong.
#[track_caller]
fn check_all(asked: &[(Asked, &Profile)]) {
    let of_each = asked.par_iter().map(|(asked, profile)| check(asked, profile));
    let found: Vec<String> = of_each.collect::<Vec<_>>().concat();
    let shown: Vec<&str> = found.iter().take(30).map(String::as_str).collect();
    assert!(found.is_empty(), "{} contradictions:\n{}", found.len(), shown.join("\n"));
}

const PROFILES: [&LazyLock<Profile>; 4] = [&PROFILE, &STRAIGHT, &BORROWING, &TABLE];

fn over_profiles(all: Vec<Asked>) -> Vec<(Asked, &'static Profile)> {
    let profiles = PROFILES.iter().cycle();
    all.into_iter().zip(profiles).map(|(asked, profile)| (asked, &***profile)).collect()
}

#[test]
fn of_tasks_that_are_drawn() {
    check_all(&over_profiles(drawn_tasks(120)));
}

#[test]
fn of_shipped_scenarios_at_other_sizes() {
    check_all(&over_profiles(shipped(80)));
}

#[test]
fn of_programs_that_are_spelled_out() {
    check_all(&over_profiles(drawn_programs(160)));
}

/// The machine with straight lines knows most of what these calls cost.
#[test]
fn of_programs_that_no_family_makes() {
    let all: Vec<_> = drawn_calls(80).into_iter().map(|one| (one, &*STRAIGHT)).collect();
    check_all(&all);
}

/// Where two passes of a calibration found other rates of the link, every evaluation says so.
#[test]
fn a_link_in_other_use_is_said() {
    let asked = &drawn_programs(1)[0];
    let rate = |rate: Option<Bandwidth>| rate.expect("measured").bytes_per_second();
    for [down, up] in [[0.01, 0.02], [0.25, 0.02], [0.03, 0.5]] {
        let mut profile = PROFILE.clone();
        let (h2d, d2h) =
            (rate(profile.link.down_bytes_per_second), rate(profile.link.up_bytes_per_second));
        let widths = &mut profile.intervals.as_mut().expect("two passes").half_widths;
        widths.insert("link.down_bytes_per_second".to_owned(), vec![down * h2d]);
        widths.insert("link.up_bytes_per_second".to_owned(), vec![up * d2h]);
        let evaluation = evaluation(&asked.workload, &profile, false);
        let said = &json(&evaluation)["unsteady_link"];
        let is_unsteady = down.max(up) > 0.1;
        assert_eq!(said.is_object(), is_unsteady, "{down}, {up}: {said}");
        let text = evaluation.text_within(Rows::Notable, Some(80));
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" ").contains("calibrate again"),
            is_unsteady,
            "{text}"
        );
        if is_unsteady {
            let share = |key: &str| said[key].as_f64().expect("a share");
            assert!((share("h2d") - down).abs() < 1e-6 && (share("d2h") - up).abs() < 1e-6);
        }
    }
}

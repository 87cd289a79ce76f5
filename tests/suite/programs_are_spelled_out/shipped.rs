//! The programs that are shipped are predicted, run as their calls say, and are no race.

use super::*;
use crate::machines::machine;
use crate::predicted::{PROFILE, scenarios};
use hallway::execute::{Contents, Effort, Executor, check_orders, in_plain_order};
use hallway::host::Team;
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates, rank};
use std::path::PathBuf;

fn shipped() -> Vec<PathBuf> {
    let paths = scenarios(&["programs"]);
    assert!(paths.len() >= 7, "{paths:?}");
    paths
}

#[test]
fn each_is_predicted_as_it_stands() {
    for path in shipped() {
        let workload = Workload::load(&path).expect("valid");
        let mut ranking = rank(candidates(&workload), &PROFILE, 20, 1);
        // What a calibration measures only if it is asked to.
        let is_managed =
            |unknown: &hallway::profile::Unknown| unknown.what().contains("`calibrate --managed`");
        let is_known = |ranking: &Ranking| {
            let left_out = ranking.unknown.iter().filter(|(_, unknown)| is_managed(unknown));
            ranking.plans.len() + left_out.count() == workload.programs.len()
        };
        if !is_known(&ranking) {
            // Calls that were not measured yet when this profile was made.
            ranking = rank(candidates(&workload), &machine(), 20, 1);
        }
        let left_out = ranking.unknown.iter().filter(|(_, unknown)| is_managed(unknown)).count();
        let known = workload.programs.len() - left_out;
        assert_eq!(ranking.plans.len(), known, "{path:?}: {:?}", ranking.unknown);
        for ranked in &ranking.plans {
            assert!(workload.spells_out(&ranked.plan.program), "{path:?}");
            let (low, high) = ranked.forecast.interval();
            assert!(low <= ranked.makespan() && ranked.makespan() <= high, "{path:?}");
            assert!(ranked.bound <= ranked.makespan(), "{path:?}");
        }
    }
}

/// The template is what a user begins with: it has to come to the same in any order that its
/// streams allow, and its two programs to the same results.
#[test]
fn the_template_computes_the_same_with_one_stream_and_with_two() {
    let text = hallway::scenario::Template::Program.text("mine", "schema.json");
    // 16 batches of 8 KiB rather than 8 MiB.
    let text = text.replace("33_554_432", "32_768").replace("MiB", "KiB");
    let workload = read(&text);
    let team = Team::new(1).expect("one thread");
    let before = Contents::all_random(&workload, &team, 3);
    let [one, two] = &workload.programs[..] else { panic!("{}", workload.programs.len()) };
    let after = |program: &Program| in_plain_order(program, &before, &team);
    for id in (0..workload.buffers.len()).map(hallway::program::BufferId) {
        assert_eq!(after(one).of(id), after(two).of(id));
    }
    for seed in 0..20 {
        check_orders(one, &team, seed).expect("no race");
        check_orders(two, &team, seed).expect("no race");
    }
}

/// Without a GPU, programs of the CPU alone can be run, and are checked.
#[test]
fn a_program_of_the_cpu_runs_and_is_checked() {
    let text = scenario(
        "[[program]]\nname = \"on the CPU\"\n\
         memory = [ { name = \"m\", kind = \"pageable\", size = \"16 MiB\" } ]\ncalls = [\n\
         { compute = \"polynomial\", reads = [\"x\"], writes = \"m\", \
           arguments = { degree = 3 } },\n\
         { compute = \"scale\", reads = [\"m\"], writes = \"y\", arguments = { a = 3.0 } },\n]\n",
    );
    let text = text.replace("elements = 4194304", "elements = 4096").replace("16 MiB", "16 KiB");
    let workload = read(&text);
    let team = Team::new(2).expect("two threads");
    let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
    let plans = candidates(&workload).programs();
    let run = executor.run(&plans[0], Effort::SHORT).expect("right results");
    assert!(run.worst_error < 1e-6, "{}", run.worst_error);
}

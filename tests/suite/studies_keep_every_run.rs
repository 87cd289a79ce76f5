//! Predict, run and score: plans are predicted before they run, every run is kept as it comes, and
//! parts are together what the whole is.

use super::commands::{hallway, ran};
use super::machines::machine;
use super::predicted::{PROFILE, calibrated, repository, run_of, scenario};
use super::workloads::{ON_HOST, SPLIT, floats, head, read, simple, task};
use hallway::execute::Effort;
use hallway::files::partial;
use hallway::host::Team;
use hallway::kernels::Kernel;
use hallway::profile::{Handling, Profile};
use hallway::runs::{PartialRuns, RunSet};
use hallway::scenario::Workload;
use hallway::search::{candidates, candidates_for};
use hallway::simulate::{Draws, Tally};
use hallway::study::{
    Event, Job, Predicted, Runner, Shard, StudyError, Which, digest, draw, predict, score,
};
use hallway::timeline::Lane;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// A scenario whose only plan computes on the CPU.
fn on_cpu(name: &str, elements: u64) -> String {
    let task = task("t", "scale", &["x"], "out", SPLIT);
    let buffers = floats(["x", "out"], elements, ON_HOST);
    head(name, "[plans]\nfamilies = [\"cpu\"]") + &buffers + &task
}

fn workloads() -> Vec<Workload> {
    (1..=5).map(|number| read(&on_cpu(&format!("part-{number}"), 1_000 * number))).collect()
}

fn predicted(profile: &Profile, seed: u64) -> Vec<Predicted> {
    let predicted = |workload: Workload| {
        let plans = candidates(&workload);
        predict(workload, plans, profile, Draws::new(20, seed), &Tally::default())
    };
    workloads().into_iter().map(predicted).collect()
}

fn jobs<'p>(all: &'p [Predicted], shard: Option<Shard>, folder: &Path) -> Vec<Job<'p>> {
    let (profile, path) = (machine(), |one: &Workload| folder.join(format!("{}.json", one.name)));
    Job::all(all, (&profile, &digest(&profile, all)), Which { shard, ..Which::default() }, path)
}

const ROUNDS: usize = 3;

fn runner(team: &Team) -> Runner<'_> {
    Runner {
        device: None,
        team,
        contents: 1,
        order: 1,
        rounds: ROUNDS,
        reruns: ROUNDS,
        effort: Effort::BRIEF,
        traced: Some(&[]),
    }
}

/// The passes of all plans that there are on the disk.
fn kept(folder: &Path) -> usize {
    let paths = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let passes = |set: &RunSet| set.runs.iter().map(|run| run.passes_ns.len()).sum::<usize>();
    paths.map(|path| passes(&PartialRuns::load(&path).expect("whole").set)).sum()
}

#[test]
fn a_study_that_is_cut_off_goes_on_from_the_last_run() {
    let (team, folder) = (Team::new(1).expect("a team"), tempfile::tempdir().expect("a folder"));
    let (profile, runner) = (machine(), runner(&team));
    let all = predicted(&profile, 1);
    let total = workloads().len() * ROUNDS;
    for cut in [1, 4, 5, 11] {
        let (mut here, mut count) = (jobs(&all, None, folder.path()), 0);
        let there: usize = here.iter_mut().map(|job| job.resume().expect("ours")).sum();
        assert_eq!(runner.left(&here), total - there);
        let stopped = runner.run(&mut here, &mut |event| match event {
            Event::Kept => {
                count += 1;
                if there + count == cut {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
            _ => ControlFlow::Continue(()),
        });
        assert!(matches!(stopped, Err(StudyError::Interrupted)), "{stopped:?}");
        // Nothing was run twice, and nothing is lost.
        assert_eq!(there + count, cut);
        let mut next = jobs(&all, None, folder.path());
        let found: usize = next.iter_mut().map(|job| job.resume().expect("ours")).sum();
        assert_eq!(found, cut);
    }
    // The passes of before are still there.
    let before = kept(folder.path());
    let mut here = jobs(&all, None, folder.path());
    here.iter_mut().for_each(|job| assert!(job.resume().is_ok()));
    let mut after = 0;
    let sets = runner.run(&mut here, &mut |event| {
        after += usize::from(matches!(event, Event::Kept));
        ControlFlow::Continue(())
    });
    let sets = sets.expect("plans on the CPU run anywhere");
    assert_eq!(after, total - 11);
    for set in &sets {
        let path = folder.path().join(format!("{}.json", set.scenario));
        assert_eq!(&RunSet::load(&path).expect("whole"), set);
        assert!(!partial(&path).exists());
        assert!(set.runs[0].setups_ns.len() >= ROUNDS, "a round is missing: {set:?}");
    }
    let passes: usize = sets.iter().flat_map(|set| &set.runs).map(|run| run.passes_ns.len()).sum();
    assert!(passes > before && before > 0);
}

#[test]
fn what_belongs_to_other_predictions_is_not_taken_up() {
    let (team, folder) = (Team::new(1).expect("a team"), tempfile::tempdir().expect("a folder"));
    let profile = machine();
    let all = predicted(&profile, 1);
    let mut here = jobs(&all, None, folder.path());
    let mut begun = 0;
    let stopped = runner(&team).run(&mut here, &mut |event| {
        begun += usize::from(matches!(event, Event::Begins { .. }));
        if begun > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(stopped.is_err());
    let others = predicted(&profile, 2);
    let refused = jobs(&others, None, folder.path()).iter_mut().find_map(|job| job.resume().err());
    let error = refused.expect("a seed changes the ranges").to_string();
    assert!(error.contains(&digest(&profile, &all)), "{error}");
    assert!(error.contains(&digest(&profile, &others)), "{error}");
}

#[test]
fn the_digest_changes_with_all_that_it_stands_for() {
    let profile = machine();
    let all = predicted(&profile, 1);
    let one = digest(&profile, &all);
    assert_eq!(one, digest(&profile, &predicted(&profile, 1)));
    let mut other = machine();
    other.calls.launch.as_mut().expect("known").ns += 1.0;
    assert_ne!(one, digest(&other, &all));
    assert_ne!(one, digest(&profile, &all[1..]));
    assert_ne!(one, digest(&profile, &predicted(&profile, 2)));
}

#[test]
fn shards_have_every_plan_once_and_are_equally_large() {
    let profile = machine();
    let all: Vec<Predicted> = draw(60, 3)
        .into_iter()
        .map(|one| predict(one.workload, one.plans, &profile, Draws::new(10, 1), &Tally::default()))
        .collect();
    let identities = |shard| {
        let jobs = jobs(&all, shard, Path::new("nowhere"));
        let of = |job: &Job<'_>| -> Vec<(String, String)> {
            let name = &job.workload.name;
            job.programs().map(|program| (name.clone(), program.identity())).collect()
        };
        jobs.iter().flat_map(of).collect::<Vec<_>>()
    };
    let whole: BTreeSet<_> = identities(None).into_iter().collect();
    for of in [1, 2, 7] {
        let parts: Vec<_> = (1..=of).map(|k| identities(Shard::new(k, of))).collect();
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), whole.len());
        assert!(sizes.iter().max().expect("one") - sizes.iter().min().expect("one") <= 1);
        assert_eq!(parts.into_iter().flatten().collect::<BTreeSet<_>>(), whole);
    }
    for nonsense in ["0/3", "4/3", "3", "a/b", "1/0", "1/2/3", "-1/2"] {
        assert!(nonsense.parse::<Shard>().is_err(), "{nonsense}");
    }
    assert_eq!("3/16".parse(), Ok(Shard::new(3, 16).expect("a part")));
}

#[test]
fn as_many_plans_are_drawn_as_were_asked_for_and_always_alike() {
    let named = |plans, seed| -> Vec<(String, String)> {
        let of = |one: hallway::study::Drawn| {
            let plans = one.plans.plans.into_iter();
            plans.map(|plan| (one.text.clone(), plan.identity())).collect::<Vec<_>>()
        };
        draw(plans, seed).into_iter().flat_map(of).collect()
    };
    let few = named(40, 7);
    assert_eq!(few.len(), 40);
    assert_eq!(named(40, 7), few);
    assert_eq!(named(100, 7)[..40], few);
    assert_ne!(named(40, 8), few);
    let all = draw(300, 7);
    let plans = || all.iter().flat_map(|one| &one.plans.plans);
    assert_eq!(plans().count(), 300);
    for kind in Handling::ALL {
        let count = plans().filter(|plan| Handling::of(&plan.program) == kind).count();
        assert!(count >= 30, "only {count} of {kind:?}");
    }
    let sizes = all.iter().map(|one| one.workload.buffers[0].elements * one.workload.batches);
    let [least, most] = [sizes.clone().min(), sizes.max()].map(|size| size.expect("some"));
    assert!(least < 1_000 && most > 1_000_000, "{least} to {most} elements");
    for one in draw(2_000, 8).iter().chain(&all) {
        assert_eq!(Workload::from_toml("drawn", &one.text).expect("a scenario"), one.workload);
    }
}

/// A profile of a whole calibration knows what nearly all of the drawn plans cost.
#[test]
fn what_is_drawn_can_be_predicted() {
    let (mut known, mut unknown) = (0, Vec::new());
    for one in draw(300, 9) {
        let all = predict(one.workload, one.plans, &PROFILE, Draws::new(10, 9), &Tally::default());
        known += all.ranking.plans.len();
        let unknowns = all.ranking.unknown.iter().map(|(_, unknown)| unknown.what());
        unknown.extend(unknowns);
    }
    assert!(known >= 285, "only {known} of 300: {unknown:?}");
}

/// Two megabytes each way, in every plan on the GPU of a workload that only scales.
#[test]
fn baselines_are_what_their_rules_say() {
    let profile = machine();
    let workload = simple(Kernel::Scale, 500_000, "");
    let plans = candidates(&workload);
    let Predicted { workload, ranking } =
        predict(workload, plans, &profile, Draws::new(10, 1), &Tally::default());
    let mut runs = RunSet::new(&workload.name, profile.machine.unix_time);
    for ranked in &ranking.plans {
        runs.add(run_of(ranked, ranked.makespan()));
    }
    let cells = score(&workload, &ranking, &runs).cells;
    assert_eq!(cells.len(), ranking.plans.len());
    for (cell, ranked) in cells.iter().zip(&ranking.plans) {
        let predicted = cell.scored.predicted_ns;
        assert!(cell.busiest <= predicted && cell.busiest <= cell.one_by_one, "{cell:?}");
        let kernels = ranked.forecast.timeline.lane(Lane::Kernels);
        let kernels: f64 = kernels.map(|one| one.end.since(one.start).nanos_f64()).sum();
        match cell.kind {
            Handling::Cpu => {
                assert_eq!([cell.textbook, cell.one_by_one, cell.busiest], [predicted; 3]);
            }
            _ => {
                let rule = 4e6 / 12e9 * 1e9 + kernels;
                assert!((cell.textbook.nanos_f64() - rule).abs() <= 1.0, "{cell:?}: {rule}");
            }
        }
    }
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The files of runs that are growing.
fn growing(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| hallway::files::is_partial(path)).collect()
}

#[test]
fn a_verify_that_is_killed_resumes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut profile = machine();
    profile.machine.cpu_threads = 1;
    profile.save(&path("profile.toml")).expect("written");
    let names: Vec<String> = (1..=6).map(|number| format!("part-{number}.toml")).collect();
    for (number, name) in names.iter().enumerate() {
        let text = on_cpu(&format!("part-{}", number + 1), 200_000);
        std::fs::write(path(name), text).expect("written");
    }
    let mut arguments = vec!["verify", "--profile", "profile.toml", "--draws", "10"];
    arguments.extend(names.iter().map(String::as_str));
    let mut first = hallway(folder.path(), &arguments);
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let since = Instant::now();
    while growing(&path("runs")).is_empty() {
        assert!(since.elapsed() < Duration::from_secs(60), "no run was kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    first.kill().expect("it was running");
    first.wait().expect("it is over");
    assert!(!growing(&path("runs")).is_empty(), "it was over before it was killed");
    let resumed = ran(folder.path(), [&arguments[..], &["--resume"]].concat());
    let shown = said(&resumed);
    assert!(shown.contains("Predictions: ") && shown.contains("of 18 runs are done"), "{shown}");
    assert!(!shown.contains("Resuming: 0 of"), "{shown}");
    assert!(growing(&path("runs")).is_empty());
    let scored = ran(folder.path(), [&arguments[..], &["--recorded"]].concat());
    assert_eq!(scored.stdout, resumed.stdout);
}

/// Deals recorded runs to two folders as two shards have them, merges these, and scores the result.
#[test]
fn two_shards_merged_score_as_the_whole() {
    let root = repository();
    let (calibration, folder) = (root.join("calibration/h200"), tempfile::tempdir().expect("one"));
    let names = ["stencil-halo", "small-scale"];
    let profile = calibrated("h200");
    let predicted = |name: &str| {
        let workload = scenario(name);
        let plans = candidates_for(&workload, &profile);
        predict(workload, plans, &profile, Draws::new(10, 1), &Tally::default())
    };
    let all = names.map(predicted);
    let whole = |name: &str| {
        let path = calibration.join(format!("runs/{name}.json"));
        let mut runs = RunSet::load(&path).expect("committed");
        // Shards are dealt what today's search finds.
        let found = all.iter().flat_map(|one| one.programs(&profile)).map(|(_, identity)| identity);
        let found: BTreeSet<String> = found.collect();
        runs.runs.retain(|run| found.contains(&run.identity));
        runs
    };
    for number in [1, 2] {
        let path = |one: &Workload| folder.path().join(format!("{number}/{}.json", one.name));
        let shard = Shard::new(number, 2);
        for job in Job::all(
            &all,
            (&profile, &digest(&profile, &all)),
            Which { shard, ..Which::default() },
            path,
        ) {
            let mine: BTreeSet<String> = job.programs().map(|one| one.identity()).collect();
            let mut set = whole(&job.workload.name);
            set.runs.retain(|run| mine.contains(&run.identity));
            set.reruns.retain(|run| mine.contains(&run.identity));
            set.traces.retain(|trace| mine.contains(&trace.identity));
            assert!(!set.runs.is_empty());
            set.save(&job.path).expect("written");
        }
    }
    std::fs::copy(calibration.join("profile.toml"), folder.path().join("profile.toml"))
        .expect("copied");
    let merge = |folders: &[&str]| {
        ran(folder.path(), [&["merge"], folders, &["--output", "runs"]].concat())
    };
    let twice = merge(&["1", "2", "1"]);
    assert_eq!(twice.status.code(), Some(2), "{}", said(&twice));
    assert!(said(&twice).contains("both contain a run of `"), "{}", said(&twice));
    let merged = merge(&["2", "1"]);
    assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
    let scenarios = names.map(|name| root.join(format!("scenarios/{name}.toml")));
    let score = || {
        let mut arguments = vec!["verify", "--recorded", "--format", "json", "--draws", "10"];
        arguments.extend(["--profile", "profile.toml"]);
        arguments.extend(scenarios.iter().map(|path| path.to_str().expect("UTF-8")));
        ran(folder.path(), arguments)
    };
    let parts = score();
    for name in names {
        let target = folder.path().join(format!("runs/{name}.json"));
        whole(name).save(&target).expect("written");
    }
    assert!(!parts.stdout.is_empty(), "{}", said(&parts));
    assert_eq!(parts.stdout, score().stdout);
}

/// Runs of drawn plans are scored again without a GPU, by kind.
#[test]
fn random_plans_are_scored_from_their_saved_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = machine();
    profile.save(&folder.path().join("profile.toml")).expect("written");
    for one in draw(60, 5) {
        let mut set = RunSet::new(&one.workload.name, profile.machine.unix_time);
        let name = one.workload.name.clone();
        let predicted =
            predict(one.workload, one.plans, &profile, Draws::new(10, 5), &Tally::default());
        for ranked in &predicted.ranking.plans {
            set.add(run_of(ranked, ranked.makespan() * 2));
        }
        set.save(&folder.path().join(format!("runs/random-5/{name}.json"))).expect("written");
    }
    let arguments = "verify --random 60 --seed 5 --recorded --draws 10 --profile profile.toml";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let scored = ran(folder.path(), &arguments);
    let shown = said(&scored);
    assert_eq!(scored.status.code(), Some(0), "{shown}");
    for words in
        ["pageable", "pinned", "graph", "all", "50.0%", "no overlap", "12 GB/s", "regret over"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let more = ran(folder.path(), [&arguments[..], &["some.toml"]].concat());
    assert_eq!(more.status.code(), Some(2));
}

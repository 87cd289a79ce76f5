//! Without a cost for one side there is no verdict, but at which time of it the verdict would turn.

use super::{costs, machine, text};
use crate::said;
use hallway::findings::Assessment;
use hallway::profile::Profile;
use hallway::scenario::Workload;
use hallway::search::{Ranking, candidates, deciding_times, rank};
use hallway::simulate::simulate;
use hallway::units::Span;

/// The GPU's side in one program, and the CPU's in another, with so many runs in a pass.
fn ranked(kernel: &str, runs: usize, machine: &Profile) -> (Workload, Ranking) {
    let launch = "{ launch = \"k\", reads = [\"d\"], writes = [\"e\"], elements = 1000 },";
    let compute = "{ compute = \"k\", reads = [\"x\"], writes = [\"y\"], elements = 1000 },";
    let cpu = format!("[[program]]\nname = \"cpu\"\ncalls = [{}]\n", compute.repeat(runs));
    let text = text(&costs(kernel), launch) + &cpu;
    let workload = Workload::from_toml("w.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let ranking = rank(candidates(&workload), machine, 20, 1);
    (workload, ranking)
}

#[test]
fn the_gpu_wins_if_the_cpu_takes_longer_than_is_told() {
    let machine = machine();
    let (workload, ranking) = ranked("stated = { fixed = \"50 us\" }", 2, &machine);
    assert_eq!((ranking.plans.len(), ranking.unknown.len()), (1, 1));
    let found = deciding_times(&ranking, &machine);
    let [deciding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((deciding.kernel.as_str(), deciding.on_cpu), ("k", true));
    assert_eq!(deciding.other, "p");
    let gpu = ranking.fastest().expect("the GPU's").makespan();
    let at = deciding.other_wins_above_ns.expect("the CPU may win");
    // The CPU does nothing else: both runs together take as long as the GPU.
    let off = at.nanos_f64() - gpu.nanos_f64();
    assert!(off.abs() <= 1e-5 * gpu.nanos_f64() + 4.0, "{at}, not {gpu}");
    let assessment = Assessment::new(&workload, 1, &ranking, None).deciding(&found);
    assert_eq!(assessment.missing_times, found);
    let text = said::text(&assessment, &machine);
    assert_eq!(deciding.rest_ns, Span::ZERO);
    // The CPU does nothing else: it is open for as long as the GPU may take.
    let known = &assessment.verdict.run.as_ref().expect("the GPU's").chosen;
    let (low, high) = (known.low_ns, known.high_ns);
    let told = format!(
        "Open: measure `k` first, with `hallway calibrate --scenario FILE`. If it takes at \
         most {low} a run on the CPU, use the CPU; if it takes {high} or more, use `p`."
    );
    assert!(said::answer(&text).starts_with(&told), "{text}");
    // With a time that is a little less, or a little more, so it is.
    for (each, cpu_wins) in [(at.nanos() / 2 - 500, true), (at.nanos() / 2 + 500, false)] {
        let both = format!(
            "stated = {{ fixed = \"50 us\" }}\ncpu = {{ stated = {{ fixed = \"{each} ns\" }} }}"
        );
        let (_, ranking) = ranked(&both, 2, &machine);
        assert_eq!(ranking.fastest().expect("both").is_cpu(), cpu_wins, "{each}");
    }
}

#[test]
fn the_cpu_wins_whatever_the_gpu_takes_where_copies_take_longer() {
    let machine = machine();
    let quick = "cpu = { stated = { fixed = \"1 us\" } }";
    let (workload, ranking) = ranked(quick, 1, &machine);
    let found = deciding_times(&ranking, &machine);
    assert_eq!(
        found.iter().map(|one| (one.on_cpu, one.other_wins_above_ns)).collect::<Vec<_>>(),
        [(false, None)]
    );
    let assessment = Assessment::new(&workload, 1, &ranking, None).deciding(&found);
    let text = said::text(&assessment, &machine);
    let rest = found[0].rest_ns;
    assert!(rest > ranking.fastest().expect("the CPU's").makespan(), "{rest}");
    let told = format!("; the GPU would take {rest} even if `k` took no time there.");
    let answer = said::answer(&text);
    assert!(answer.starts_with("Stay on the CPU: it takes ") && answer.ends_with(&told), "{text}");
    // A slow CPU leaves the GPU a chance.
    let slow = "cpu = { stated = { fixed = \"50 ms\" } }";
    let (workload, ranking) = ranked(slow, 1, &machine);
    let found = deciding_times(&ranking, &machine);
    let at = found[0].other_wins_above_ns.expect("copies take less");
    let copies = simulate(&workload.programs[0], &machine);
    assert!(copies.is_err() && at < Span::from_millis(50), "{at}");
}

#[test]
fn nothing_turns_where_both_sides_are_known_or_two_times_are_missing() {
    let machine = machine();
    let known = "stated = { fixed = \"5 us\" }\ncpu = { stated = { fixed = \"5 us\" } }";
    assert_eq!(deciding_times(&ranked(known, 1, &machine).1, &machine), []);
    let bare = Profile { latency: hallway::profile::Latencies::default(), ..machine };
    let only_gpu = "cpu = { stated = { fixed = \"5 us\" } }";
    assert_eq!(deciding_times(&ranked(only_gpu, 1, &bare).1, &bare), []);
}

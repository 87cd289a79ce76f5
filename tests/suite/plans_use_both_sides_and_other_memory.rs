//! Plans that share the work with the CPU, stage data themselves, or use memory of the other side:
//! tried where a scenario asks for them, and predicted from what a profile knows.

use super::machines::machine;
use super::predicted::{PROFILE, calibrated, plan_of, repository, scenario, scenarios, searched};
use super::said;
use super::workloads::{ON_HOST, floats, head, read, simple, task};
use hallway::findings::{Answer, AssessedPlan, Assessment};
use hallway::kernels::Kernel;
use hallway::machine::{Direction, HostMemory, Side};
use hallway::profile::Profile;
use hallway::samples::Load;
use hallway::scenario::{FamilyName, Home, PlanMemory, Workload};
use hallway::search::{Ranked, Ranking, candidates, rank, task_bound};
use hallway::units::Bytes;
use std::sync::LazyLock;

/// A machine whose copies by the CPU and managed memory were measured, too.
static BUSY: LazyLock<Profile> = LazyLock::new(|| calibrated("others/busy-h200"));

/// A committed scenario about memory.
fn shipped(name: &str) -> Workload {
    scenario(&format!("memory/{name}"))
}

/// The fastest plan whose name begins so.
fn best<'r>(ranking: &'r Ranking, begin: &str) -> &'r Ranked {
    let found = ranking.plans.iter().find(|one| one.plan.name().starts_with(begin));
    found.unwrap_or_else(|| panic!("no `{begin}`: {:?} {:?}", ranking.refused, ranking.unknown))
}

fn micros(ranked: &Ranked) -> f64 {
    ranked.makespan().nanos_f64() * 1e-3
}

#[test]
fn nobody_who_does_not_ask_gets_them() {
    let asks_nobody = simple(Kernel::Scale, 1 << 20, "");
    let mut graphs = asks_nobody.clone();
    graphs.plans.families = vec![FamilyName::Resident, FamilyName::Graph];
    for workload in [asks_nobody, graphs] {
        for plan in candidates(&workload).plans {
            let name = plan.name();
            let is_new = ["staged", "packed", "hybrid", "zero-copy", "managed"];
            assert!(!is_new.iter().any(|new| name.contains(new)), "{name}");
        }
    }
}

/// Whoever does not ask hears what there is to ask for, if it makes plans.
#[test]
fn a_report_names_the_families_to_ask_for() {
    let named = |workload: &Workload| {
        let assessment = Assessment::new(workload, 1, &searched(workload, &machine()), None);
        assessment.on_request.join(" ")
    };
    let small = simple(Kernel::Scale, 1 << 20, "");
    assert_eq!(named(&small), "staged hybrid zero-copy managed");
    assert_eq!(named(&simple(Kernel::Scale, 1 << 12, "")), "staged packed zero-copy managed");
    let mut pinned = small.clone();
    let home = Home::Host(HostMemory::Pinned);
    pinned.buffers.iter_mut().for_each(|buffer| buffer.home = home);
    assert_eq!(named(&pinned), "hybrid zero-copy");
    let mut asking = small;
    asking.plans.families = vec![FamilyName::Resident];
    assert_eq!(named(&asking), "");
}

#[test]
fn every_scenario_of_memory_gets_what_it_asks_for() {
    let mut asked = [0; 5];
    for path in scenarios(&["memory"]) {
        let workload = Workload::load(&path).expect("a scenario");
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(
            text.starts_with("# ") && text.lines().next().is_some_and(|one| one.ends_with('?'))
        );
        let ranking = searched(&workload, &BUSY);
        assert!(ranking.unknown.is_empty(), "{path:?}: {:?}", ranking.unknown);
        let new = ["staged", "hybrid", "zero-copy", "managed", "packed"];
        for (family, count) in new.into_iter().zip(&mut asked) {
            let is_asked = workload.plans.families.iter().any(|name| name.to_string() == family);
            let is_there = ranking.plans.iter().any(|one| one.plan.name().contains(family));
            assert_eq!(is_asked, is_there, "{path:?}: {family}");
            *count += usize::from(is_asked);
        }
    }
    assert!(asked[0] >= 4 && asked[1] >= 2 && asked[2] >= 4 && asked[3] >= 1, "{asked:?}");
    assert!(asked[4] >= 2, "{asked:?}");
}

/// What a profile has not measured is named, and nothing else changes.
#[test]
fn what_a_profile_lacks_is_named() {
    let lacking = Profile { host_copies: Vec::new(), ..PROFILE.clone() };
    let upload = searched(&shipped("staged-upload"), &lacking);
    let (plan, unknown) = upload.unknown.first().expect("no copies by the CPU were measured");
    assert!(plan.name().starts_with("staged"), "{}", plan.name());
    assert!(unknown.what().contains("copies by"), "{}", unknown.what());
    assert!(upload.plans.iter().any(|one| one.plan.name() == "resident, pageable"));
    let buffers = floats(["x", "y", "out"], 65_536, ON_HOST);
    let task = task("t", "matmul", &["x", "y"], "out", "arguments = { inner = 256 }");
    let text = head("m", "[plans]\nfamilies = [\"zero-copy\"]") + &buffers + &task;
    let product = searched(&read(&text), &PROFILE);
    assert!(product.plans.is_empty(), "a product goes through its factors again and again");
    let what = product.unknown[0].1.what();
    assert!(
        what.contains("on host or managed memory, because the kernel reads some of that memory"),
        "{what}"
    );
}

/// All threads fill a ring faster than the driver's one thread; beyond the link nothing is gained.
#[test]
fn a_ring_of_ones_own_beats_the_drivers_staging() {
    let ranking = searched(&shipped("staged-upload"), &BUSY);
    let [all, one, driver, pinned] = [
        "staged 1 ring 4 of 4 MiB by all",
        "staged 1 ring 4 of 4 MiB by one",
        "resident, pageable",
        "resident, pinned",
    ]
    .map(|plan| micros(best(&ranking, plan)));
    assert!(2.0 * all < driver && driver < 1.5 * one, "{all}, {one}, {driver} us");
    assert!((1.0..1.2).contains(&(all / pinned)), "{all} us, pinned {pinned} us");
}

/// In place, both directions of the link are busy at once.
#[test]
fn reading_and_writing_in_place_is_as_good_as_overlap() {
    let ranking = searched(&shipped("in-place-large"), &PROFILE);
    let [place, copied, overlapped] =
        ["zero-copy, pinned", "resident", "by-engine"].map(|plan| micros(best(&ranking, plan)));
    assert!(place < 0.7 * copied, "{place} us in place, {copied} us copied");
    assert!((0.8..1.25).contains(&(place / overlapped)), "{place} us, overlapped {overlapped} us");
}

/// The share is found at which both sides are done at the same time, and its neighbours are tried.
#[test]
fn the_share_of_the_cpu_comes_from_the_profile() {
    let workload = shipped("both-options");
    let ranking = searched(&workload, &PROFILE);
    let winner = ranking.plans.first().expect("predicted");
    assert!(winner.plan.name().starts_with("hybrid"), "{}", winner.plan.name());
    for pure in ["cpu", "by-engine", "buffered"] {
        assert!(micros(winner) < micros(best(&ranking, pure)), "{pure}");
    }
    let of_family = |all: &Ranking| {
        let names = all.plans.iter().map(|one| one.plan.name());
        names.filter(|name| name.starts_with("hybrid")).collect::<Vec<_>>()
    };
    let few = rank(candidates(&workload), &PROFILE, 10, 1);
    assert!(of_family(&few).len() < of_family(&ranking).len(), "no share was added");
    assert!(micros(winner) < micros(&few.plans[0]), "a share of the profile's is better");
}

/// Without what copies and threads take from each other, both would be done sooner.
#[test]
fn copies_and_threads_that_need_memory_slow_each_other() {
    let alone = |profile: &Profile| {
        let mut alone = profile.clone();
        alone.interference.clear();
        alone
    };
    let beside = PROFILE.beside_cpu(Direction::HostToDevice).expect("measured");
    assert_eq!(beside.load, Load::Cpu);
    let slower = |scenario: &str, plan: &str| {
        let workload = shipped(scenario);
        let together = micros(best(&searched(&workload, &PROFILE), plan));
        together / micros(best(&searched(&workload, &alone(&PROFILE)), plan))
    };
    let (memory, arithmetic) =
        (slower("both-stencil", "hybrid 8 cpu 4"), slower("both-polynomial", "hybrid 8 cpu 4"));
    assert!(memory > 1.1 && memory < beside.load_slowdown.max(2.7), "{memory}");
    assert!((0.999..1.05).contains(&arithmetic), "{arithmetic}");
}

#[test]
fn managed_memory_has_a_limit_and_prefetching_gains() {
    let ranking = searched(&shipped("managed"), &BUSY);
    let [faults, prefetched] =
        ["managed, ", "managed prefetch, "].map(|plan| micros(best(&ranking, plan)));
    assert!(prefetched < faults, "{faults} us with page faults, {prefetched} us without");
    let mut large = simple(Kernel::Scale, 33_554_433, "");
    large.plans.families = vec![FamilyName::Managed];
    let reasons: Vec<String> = candidates(&large).refused.iter().map(ToString::to_string).collect();
    assert!(reasons[0].contains("of managed memory; the limit is 256 MiB"), "{reasons:?}");
}

#[test]
fn plans_hold_data_as_the_scenario_asks() {
    let workload = shipped("kinds-of-memory");
    let ranking = searched(&workload, &BUSY);
    let [pageable, pinned, each, combined] = [
        "resident, pageable",
        "resident, pinned",
        "resident, pinned each pass",
        "resident, write-combined",
    ]
    .map(|name| plan_of(&ranking, name));
    // Pinning each time costs more than the copy, and less than staging.
    assert!(micros(each) > 1.5 * micros(pinned) && micros(each) < micros(pageable));
    assert!((micros(combined) / micros(pinned) - 1.0).abs() < 0.02);
    assert_eq!(combined.plan.program.pinned_bytes(), Bytes::of_f32((1 << 24) + 1));
    assert!(combined.setup.as_ref().expect("known") > pinned.setup.as_ref().expect("known"));
    let assessment = Assessment::new(&workload, 1, &ranking, None);
    let of = |name: &str| -> &AssessedPlan {
        assessment.plans.iter().find(|one| one.plan == name).expect("there")
    };
    let taken = of("resident, write-combined").taken.as_ref().expect("it takes memory");
    let prices = &taken.prices;
    let [costs, gives_back] =
        [prices.costs_ns, prices.gives_back_ns].map(|one| one.expect("known"));
    let costs = (costs + gives_back).nanos();
    let without = taken.without_pass_ns.expect("known");
    let saved = without.nanos() - of("resident, write-combined").predicted_ns.nanos();
    let from = taken.pays_from_runs.expect("it pays");
    assert!(saved * from >= costs && saved * (from - 1) < costs, "{from}");
    assert!(of("resident, pinned each pass").taken.is_none());
    let mut few = simple(Kernel::Scale, 1 << 16, "");
    few.tasks[0].reads = few.tasks[0].writes.clone();
    few.plans.memory = vec![PlanMemory::WriteCombined];
    let refused = candidates(&few).refused;
    assert!(refused.iter().any(|one| one.reason.contains("no pageable buffer is read-only")));
}

#[test]
fn a_kind_that_is_not_there_is_told() {
    let text = std::fs::read_to_string(repository().join("scenarios/memory/kinds-of-memory.toml"));
    let text = text.expect("there").replace("\"pinned-each-pass\"", "\"pinned-each-time\"");
    let error = Workload::from_toml("k.toml", &text).expect_err("no such kind").to_string();
    assert!(error.contains("kind of memory") && error.contains("pinned-each-time"), "{error}");
}

/// On a synthetic machine without quirks, too.
#[test]
fn both_sides_together_beat_either() {
    let mut workload = simple(Kernel::Scale, 1 << 22, "");
    workload.plans.families = vec![FamilyName::Hybrid, FamilyName::Cpu, FamilyName::ByEngine];
    workload.plans.chunks = vec![8];
    let ranking = searched(&workload, &machine());
    let [cpu, gpu, both] = ["cpu", "by-engine", "hybrid"].map(|plan| micros(best(&ranking, plan)));
    assert!(both < cpu.min(gpu), "{cpu}, {gpu}: {both} us");
}

#[test]
fn a_verdict_says_that_both_win() {
    let workload = shipped("both-polynomial");
    let ranking = searched(&workload, &BUSY);
    // So many runs that set-up decides nothing.
    let assessment = Assessment::new(&workload, 1_000_000, &ranking, None);
    let run = assessment.verdict.run.as_ref().expect("both sides have plans");
    assert_eq!((run.answer, run.chosen.side), (Answer::Both, Side::Both));
    let alone = assessment.gpu_alone.as_ref().expect("the GPU can do it, too");
    assert_eq!(alone.chosen.plan, run.chosen.plan);
    let other = alone.other.as_ref().expect("the GPU alone");
    assert!(other.side == Side::Gpu && other.time_ns > run.chosen.time_ns, "{other:?}");
    let text = said::text(&assessment, &BUSY);
    let start = "Share the work between CPU and GPU: `hybrid";
    assert!(said::answer(&text).starts_with(start), "{text}");
    let told = [format!("{} ", other.time_ns), format!("(`{}`)", other.plan)];
    let ways = text.lines().find(|line| line.starts_with("With the GPU: ")).expect("it is said");
    assert!(told.iter().all(|one| ways.contains(one.as_str())), "{text}");
    for (plan, side) in [("hybrid", Side::Both), ("cpu", Side::Cpu), ("by-engine", Side::Gpu)] {
        let found = assessment.plans.iter().find(|one| one.plan.starts_with(plan)).expect(plan);
        assert_eq!(found.side, side, "{plan}");
    }
}

/// A task that is not cut ends after all that it reads has crossed the link, copied or not.
#[test]
fn what_kernels_read_across_the_link_is_in_the_bound() {
    let mut workload = simple(Kernel::Polynomial, 1 << 24, "");
    workload.tasks[0].splittable = false;
    workload.tasks[0].iterations = 200;
    let bound = task_bound(&workload, &BUSY).expect("all is known");
    let read = Bytes::of_f32(1 << 24);
    let (across, _) = BUSY.mapped(read, Bytes::ZERO).expect("measured");
    let copied = BUSY.copy(Direction::HostToDevice, read).expect("measured").nanos_f64();
    assert!(bound.nanos_f64() >= 0.99 * across.min(copied), "{bound}");
}

//! A changed machine answers as physics says it would, and a factor of one changes nothing.

use super::commands::hallway;
use super::machines::machine;
use super::predicted::{PROFILE, calibrated, repository, scenario, searched};
use super::workloads::{ON_DEVICE, floats, head, read, simple, task};
use hallway::findings::InBrief;
use hallway::kernels::Kernel;
use hallway::machine::{Direction, GpuModel, PcieLink};
use hallway::profile::Profile;
use hallway::scenario::Workload;
use hallway::search::lead;
use hallway::units::{Bytes, Span};
use hallway::what_if::{Variation, Varied, turning_factor, vary};
use std::process::Output;
use std::sync::Mutex;

fn change(text: &str) -> Variation {
    text.parse().unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn varied(profile: &Profile, workload: &Workload, text: &str) -> Varied {
    vary(profile, workload, &change(text)).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

/// Machines and workloads that were searched, and what a pass of the fastest plan on the GPU takes.
static SEARCHED: Mutex<Vec<(Profile, Workload, f64)>> = Mutex::new(Vec::new());

/// Time of a pass of the fastest plan on the GPU.
fn on_gpu(profile: &Profile, workload: &Workload, text: &str) -> f64 {
    let Varied { profile, workload, .. } = varied(profile, workload, text);
    let all = || SEARCHED.lock().expect("no test has panicked in it");
    let is_it = |one: &&(Profile, Workload, f64)| (&one.0, &one.1) == (&profile, &workload);
    let known = all().iter().find(is_it).map(|one| one.2);
    known.unwrap_or_else(|| {
        let ranking = searched(&workload, &profile);
        let time = ranking.fastest_on_gpu().expect("there is one").makespan().nanos_f64();
        all().push((profile.clone(), workload.clone(), time));
        time
    })
}

/// How many times as long a pass takes with a change.
fn longer(profile: &Profile, workload: &Workload, text: &str) -> f64 {
    on_gpu(profile, workload, text) / on_gpu(profile, workload, "link=1x")
}

#[track_caller]
fn assert_near(found: f64, wanted: f64, within: f64) {
    assert!((found / wanted - 1.0).abs() <= within, "{found}, not {wanted}");
}

#[test]
fn a_factor_of_one_changes_nothing() {
    let workload = scenario("stencil-halo");
    for text in [
        "link=1x",
        "h2d=1x,d2h=1x",
        "kernels=1x",
        "kernel.stencil=1x",
        "multiprocessors=1x",
        "threads=1x",
        "launch=1x",
        "setup=1x",
        "setup.pin=1x",
        "threads=16",
        "multiprocessors=132",
        "link=gen5x16",
        "gpus=1",
        "process=new",
    ] {
        let Varied { profile, workload: same, assumptions } = varied(&PROFILE, &workload, text);
        assert_eq!(profile, *PROFILE, "{text}");
        assert_eq!(same, workload, "{text}");
        // A factor of one says so itself; of a value, one has to know what it is today.
        let is_value = ["threads=16", "multiprocessors=132", "link=gen5x16"].contains(&text);
        let said = assumptions.iter().filter(|one| one.ends_with("unchanged."));
        assert_eq!(said.count(), usize::from(is_value), "{text}: {assumptions:?}");
        assert_eq!(assumptions.len(), usize::from(is_value), "{text}: {assumptions:?}");
    }
}

#[test]
fn half_a_link_takes_what_copies_bound_twice_as_long() {
    let copies = scenario("stream-saxpy");
    assert_near(longer(&PROFILE, &copies, "link=0.5x"), 2.0, 0.05);
    // A link of half the speed on paper is the same link.
    let by_name = on_gpu(&PROFILE, &copies, "link=gen4x16");
    assert_near(by_name, on_gpu(&PROFILE, &copies, "link=0.5x"), 1e-9);
    assert_near(longer(&PROFILE, &copies, "h2d=0.5x"), 2.0, 0.06);
}

#[test]
fn kernels_in_half_the_time_halve_what_kernels_bound() {
    let buffers = floats(["x", "y"], 1 << 24, ON_DEVICE);
    let task = task("t", "polynomial", &["x"], "y", "arguments = { degree = 4096 }");
    let resident = read(&(head("r", "") + &buffers + &task));
    assert_near(longer(&PROFILE, &resident, "kernels=0.5x"), 0.5, 0.02);
    assert_near(longer(&PROFILE, &resident, "kernel.polynomial=0.5x"), 0.5, 0.02);
    assert_near(longer(&PROFILE, &resident, "multiprocessors=0.5x"), 2.0, 0.02);
    assert_near(longer(&PROFILE, &resident, "link=0.25x"), 1.0, 0.001);
}

/// Copies of a machine whose link is slower, measured and fitted, are those of what-if.
#[test]
fn a_link_is_changed_as_if_the_slower_one_had_been_fitted() {
    let half = varied(&PROFILE, &scenario("stream-saxpy"), "link=0.5x").profile;
    for direction in Direction::BOTH {
        let per_byte = 1e9 / PROFILE.link_rate(direction).expect("known").bytes_per_second();
        for size in [1_u64 << 12, 1 << 16, 1 << 20, 3 << 20, 1 << 26, 1 << 28].map(Bytes::new) {
            let today = PROFILE.copy(direction, size).expect("known").nanos_f64();
            let slower = half.copy(direction, size).expect("known").nanos_f64();
            assert_near(slower, today + per_byte * size.as_f64(), 0.01);
        }
        let rate = half.link_rate(direction).expect("known").bytes_per_second();
        assert_near(rate * per_byte, 0.5e9, 0.01);
    }
    // The invented machine's copies take 1 us and 1 ns an element of four bytes; those of a machine
    // with half the link take 1 us and 2 ns.
    let invented = varied(&machine(), &simple(Kernel::Scale, 4096, ""), "link=0.5x").profile;
    let copy = invented.copy(Direction::HostToDevice, Bytes::new(4_000_000));
    assert_eq!(copy.expect("known"), Span::from_nanos(2_001_000));
}

/// A faster link gains nothing for what the CPU stages; a much slower one bounds it.
#[test]
fn staged_copies_take_as_long_as_the_slower_of_link_and_cpu() {
    let staged = |text: &str| {
        let Varied { profile, .. } = varied(&PROFILE, &scenario("stream-saxpy"), text);
        let size = Bytes::mib(64);
        profile.staging(Direction::HostToDevice, size, None).expect("known").1
    };
    let today = staged("link=1x");
    assert_eq!(staged("link=4x"), today);
    let link = 1e9 / PROFILE.link_rate(Direction::HostToDevice).expect("known").bytes_per_second();
    let alone = link * Bytes::mib(64).as_f64();
    assert!(alone < today / 3.0, "the CPU bounds it by far");
    assert_near(staged("link=0.5x"), today, 0.01);
    assert_near(staged("h2d=0.01x"), 100.0 * alone, 0.01);
}

#[test]
fn memory_that_is_pinned_from_the_start_needs_no_set_up() {
    let workload = scenario("stencil-halo");
    let setup = |text: &str| {
        let Varied { profile, workload, .. } = varied(&PROFILE, &workload, text);
        let ranking = searched(&workload, &profile);
        let best = ranking.best_on_gpu().expect("there is one");
        (best.setup.clone().expect("known"), best.plan.host_memory())
    };
    let (today, _) = setup("link=1x");
    let (pinned, _) = setup("memory=pinned");
    let (free, _) = setup("setup.pin=0");
    assert!(pinned * 2 < today && free * 2 < today, "{today}, {pinned}, {free}");
    let (_, memory) = setup("memory=pageable");
    assert_eq!(memory, hallway::machine::HostMemory::Pageable);
}

#[test]
fn half_of_the_threads_take_between_as_long_and_twice_as_long() {
    let cpu = |text: &str| {
        let Varied { profile, workload, .. } =
            varied(&PROFILE, &scenario("compute-polynomial"), text);
        let ranking = searched(&workload, &profile);
        ranking.fastest_on_cpu().expect("there is one").makespan().nanos_f64()
    };
    let longer = cpu("threads=0.5x") / cpu("threads=1x");
    assert!((1.5..=2.02).contains(&longer), "{longer}");
    assert_near(cpu("threads=8"), cpu("threads=0.5x"), 1e-9);
}

/// Without copies between GPUs, a second one halves what is bound by a link of its own, and by no
/// more than the shared root says where that was measured.
#[test]
fn a_second_gpu_brings_a_link_of_its_own() {
    let copies = scenario("stream-saxpy");
    let two = on_gpu(&PROFILE, &copies, "gpus=2") / on_gpu(&PROFILE, &copies, "link=1x");
    assert!((0.45..0.75).contains(&two), "{two}");
    let known = calibrated("others/two-h200");
    let Varied { profile, assumptions, .. } = varied(&known, &copies, "gpus=2");
    assert_eq!(profile.multi_gpu, known.multi_gpu);
    assert!(assumptions.is_empty());
    // More than were calibrated: those keep what was measured.
    let Varied { profile, .. } = varied(&known, &copies, "gpus=4");
    assert_eq!(profile.gpu_counts(), [2, 3, 4]);
    assert_eq!(profile.multi_gpu.roots[0], known.multi_gpu.roots[0]);
    // Further GPUs have the changed link, in whatever order.
    let both = on_gpu(&PROFILE, &copies, "gpus=2,link=2x");
    assert!(both < 0.75 * on_gpu(&PROFILE, &copies, "link=2x"), "{both}");
    assert_near(both, on_gpu(&PROFILE, &copies, "link=2x,gpus=2"), 1e-9);
    let Varied { profile, .. } = varied(&known, &copies, "gpus=1");
    assert!(profile.gpu_counts().is_empty());
}

/// Just beyond the turning factor the other side is faster, and just before it is not.
#[test]
fn the_turning_factor_turns_the_verdict() {
    let mut turned = 0;
    for (name, text) in [
        ("stream-saxpy", "link=0.5x"),
        ("stencil-halo", "link=0.5x"),
        ("stencil-halo", "kernels=2x"),
        ("stencil-halo", "threads=2x"),
        ("compute-polynomial", "kernels=0.5x"),
        ("compute-polynomial", "multiprocessors=0.5x"),
    ] {
        let workload = scenario(name);
        let Some(Some(found)) = turning_factor(&PROFILE, &workload, &change(text)) else {
            continue;
        };
        let gpu_leads = |factor: f64| {
            let Varied { profile, workload, .. } =
                varied(&PROFILE, &workload, &format!("{}={factor}x", found.knob));
            lead(&workload, &profile).expect("known") > 0.0
        };
        let back = if found.at > 1.0 { 1.0 / 1.02 } else { 1.02 };
        assert_eq!(gpu_leads(found.at), found.to_gpu, "{name}, {text}: {found:?}");
        assert_ne!(gpu_leads(found.at * back), found.to_gpu, "{name}, {text}: {found:?}");
        assert_ne!(gpu_leads(1.0), found.to_gpu, "{name}, {text}: {found:?}");
        turned += 1;
    }
    assert!(turned >= 3, "{turned} turned");
    // A combination has no factor, and neither has a kind of memory.
    let workload = scenario("stencil-halo");
    for text in ["link=0.5x,kernels=0.5x", "memory=pinned", "gpus=2", "process=running"] {
        assert_eq!(turning_factor(&PROFILE, &workload, &change(text)), None, "{text}");
    }
}

#[test]
fn links_are_scaled_by_their_bandwidth_on_paper() {
    let paper = |text: &str| text.parse::<PcieLink>().expect("a link").on_paper();
    assert_near(paper("gen1x16"), 4.0, 1e-9);
    assert_near(paper("gen3x16"), 15.754, 1e-4);
    assert_near(paper("gen5x16"), 63.015, 1e-4);
    assert_near(paper("gen6x16"), 118.0, 1e-9);
    assert_eq!(PcieLink::noted("32.0 GT/s PCIe x16"), "gen5x16".parse().ok());
    for wrong in ["gen0x16", "gen7x16", "gen4x3", "gen4", "x16", "gen4x"] {
        assert!(wrong.parse::<PcieLink>().is_err(), "{wrong}");
    }
    let page = repository().join("docs/concepts/bandwidth-on-paper.md");
    let page = std::fs::read_to_string(page).expect("it is there");
    for name in ["gen3x16", "gen4x8", "gen4x16", "gen5x8", "gen5x16", "gen6x16"] {
        let link: PcieLink = name.parse().expect("a link");
        let [reads, writes] = [true, false].map(|comes| link.with_packets(256.0, comes));
        let (raw, coded) = (link.raw(), link.on_paper());
        let row = format!(
            "| {name} | {raw:.1} GB/s | {coded:.1} GB/s | {reads:.1} GB/s | {writes:.1} GB/s |"
        );
        assert!(page.contains(&row), "no such row: {row}");
    }
    let mut unsaid = PROFILE.clone();
    "not said".clone_into(&mut unsaid.machine.link);
    let problem = vary(&unsaid, &scenario("stream-saxpy"), &change("link=gen4x16"));
    let problem = problem.expect_err("nobody knows");
    assert!(
        problem.contains("does not name the machine's link") && problem.contains("link=0.5x"),
        "{problem}"
    );
}

fn evaluate(arguments: &[&str]) -> Output {
    hallway(repository(), ["evaluate"]).args(arguments).output().expect("it runs")
}

#[test]
fn the_command_shows_what_would_be_beside_what_is() {
    let asked =
        ["scenarios/small-scale.toml", "--draws", "10", "--what-if", "link=2x,kernels=0.5x"];
    let table = evaluate(&asked);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success(), "{text}");
    assert!(text.contains("what if") && text.contains("as it is"), "{text}");
    let json = evaluate(&[&asked[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let scenario = &json["scenarios"][0];
    let one = &scenario["what_if"][0];
    assert_eq!(one["change"], "link=2x,kernels=0.5x");
    assert_eq!(one["turning"], serde_json::Value::Null);
    // What is said in brief of today is what the whole says.
    let today: InBrief = serde_json::from_value(scenario["today"].clone()).expect("in brief");
    assert_eq!(today.winner.as_deref(), scenario["winner"].as_str());
    let fails = evaluate(&["scenarios/small-scale.toml", "--what-if", "kernel.none=2x"]);
    assert_eq!(fails.status.code(), Some(2));
    assert!(fails.stdout.is_empty());
}

/// Microseconds that published logs give for an H2D copy of 16 MiB of pinned memory (the tables in
/// `tests/cases`), and the link that each was measured on.
const PUBLISHED: [(&str, &str, f64); 5] = [
    ("rtx-3090", "gen4x16", 659.93),
    ("a100-sxm", "gen4x16", 678.501),
    ("gtx-1060", "gen3x16", 1401.1),
    ("rtx-3090", "gen3x8", 2753.36),
    ("rtx-5090", "gen5x16", 468.734),
];

#[test]
fn a_gpu_by_its_data_sheet_copies_about_as_fast_as_published() {
    let workload = scenario("stream-saxpy");
    let profile = calibrated("h200");
    for (gpu, link, published) in PUBLISHED {
        let alone = GpuModel::with_key(gpu).expect("it is in the table").link().to_string();
        let text = if alone == link {
            format!("gpu-model={gpu}")
        } else {
            format!("gpu-model={gpu},link={link}")
        };
        let there = varied(&profile, &workload, &text).profile;
        let size = Bytes::new(16 << 20);
        let predicted =
            there.copy(Direction::HostToDevice, size).expect("measured").nanos_f64() / 1e3;
        let off = published / predicted - 1.0;
        let most = if gpu == "rtx-5090" { 0.6 } else { 0.2 };
        assert!(
            (0.0..most).contains(&off),
            "{text}: {predicted} us predicted, {published} published"
        );
    }
}

#[test]
fn another_gpu_changes_what_its_data_sheet_says() {
    let profile = calibrated("h200");
    let workload = simple(Kernel::Scale, 1 << 26, "");
    let same = varied(&profile, &workload, "gpu-model=h200").profile;
    assert_eq!(same, profile);
    // An H100 has the link of an H200 and 70% of its bandwidth.
    let there = varied(&profile, &workload, "gpu-model=h100-sxm").profile;
    assert_eq!(there.link, profile.link);
    let time = |profile: &Profile| {
        let curve = &profile.kernels.iter().find(|one| one.variant.kernel == Kernel::Scale);
        curve.expect("it was measured").time.at(1e9)
    };
    assert_near(time(&there) / time(&profile), 4800.0 / 3352.0, 0.01);
    assert!(there.accuracy.is_none() && there.model_error.is_some());
    let error = change_error("gpu-model=voodoo-2");
    assert!(error.contains("rtx-4060-laptop"), "{error}");
}

fn change_error(text: &str) -> String {
    text.parse::<Variation>().expect_err("there is no such change")
}

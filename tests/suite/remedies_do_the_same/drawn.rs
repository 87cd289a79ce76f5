//! Programs drawn at random: whatever remedies make of them does the same.

use super::{check, read, subject};
use hallway::advise::{Remedy, proved};
use hallway::host::Team;
use hallway::scenario::Workload;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Programs that are drawn. Some have a race and are left out.
const DRAWN: u64 = 2_850;
/// Orders in which each rewriting is run.
const ORDERS: u64 = 2;

const BUFFERS: &str = r#"
    { name = "x", type = "f32", elements = 1024, home = "host" },
    { name = "y", type = "f32", elements = 1024, home = "host", host = { memory = "pinned" } },
    { name = "z", type = "f32", elements = 1024, home = "host" }"#;
const MEMORY: &str = r#"
    { name = "a", kind = "device", size = "4 KiB" },
    { name = "b", kind = "device", size = "4 KiB" },
    { name = "c", kind = "device", size = "4 KiB" },
    { name = "h", kind = "pageable", size = "4 KiB" },
    { name = "t", kind = "device", size = "4 KiB" }"#;

/// Some bytes of a memory: all of them, or one half.
fn part(random: &mut ChaCha8Rng, halves: bool) -> &'static str {
    match random.random_range(0..if halves { 4 } else { 1 }) {
        1 => "[0..2048]",
        2 => "[2048..4096]",
        _ => "[0..4096]",
    }
}

fn one_of<'n>(random: &mut ChaCha8Rng, names: &[&'n str]) -> &'n str {
    names[random.random_range(0..names.len())]
}

/// Draws a program: copies, kernels, waits, and memory that comes and goes. `None` if it has a
/// race.
fn drawn(seed: u64) -> Option<Workload> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (host, device) = (["x", "y", "z", "h"], ["a", "b", "c"]);
    let halves = random.random_bool(0.5);
    let streams: &[&str] = if random.random_bool(0.7) { &["s"] } else { &["s", "t"] };
    let takes = random.random_bool(0.3);
    let waits = random.random_range(0.2..1.0);
    let mut calls = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(calls, "    {{ {text} }},");
    };
    if takes {
        line("allocate = \"t\"");
    }
    // All buffers and streams are used.
    let other = streams[streams.len() - 1];
    line("copy = \"x\", to = \"a\", stream = \"s\"");
    line("copy = \"y\", to = \"b\", stream = \"s\"");
    line(&format!("copy = \"z\", to = \"c\", stream = \"{other}\""));
    for _ in 0..random.random_range(3..14) {
        let stream = one_of(&mut random, streams);
        let part = part(&mut random, halves);
        let (on_host, target) = (one_of(&mut random, &host), one_of(&mut random, &host));
        let from = one_of(&mut random, &device);
        let target_there = one_of(&mut random, &device);
        match random.random_range(0..10) {
            0..4 => {
                line(&format!(
                    "copy = \"{on_host}{part}\", to = \"{from}{part}\", stream = \"{stream}\""
                ));
            }
            4..7 if from != target_there => line(&format!(
                "launch = \"scale\", reads = [\"{from}{part}\"], \
                 writes = \"{target_there}{part}\", stream = \"{stream}\""
            )),
            7 | 8 => {
                line(&format!(
                    "copy = \"{from}{part}\", to = \"{target}{part}\", stream = \"{stream}\""
                ));
            }
            9 if on_host != target => {
                line(&format!("synchronize = \"{stream}\""));
                line(&format!("copy = \"{on_host}{part}\", to = \"{target}{part}\""));
            }
            _ => line("renew = \"h\""),
        }
        if random.random_bool(waits) {
            match random.random_bool(0.5) {
                true => line("synchronize_device = 0"),
                false => line(&format!("synchronize = \"{stream}\"")),
            }
        }
    }
    line("synchronize_device = 0");
    if takes {
        line("free = \"t\"");
    }
    let memory = if takes { MEMORY } else { MEMORY.rsplit_once(",\n").expect("several").0 };
    match read(BUFFERS, memory, "", &calls) {
        Ok(workload) => Some(workload),
        Err(error) if error.contains("nothing orders them") => None,
        Err(error) => panic!("seed {seed}: {error}\n{calls}"),
    }
}

#[test]
fn rewritings_of_drawn_programs_do_the_same() {
    let team = Team::new(1).expect("one thread");
    let mut rewritten: BTreeMap<Remedy, u64> = BTreeMap::new();
    let mut programs = 0;
    for seed in 0..DRAWN {
        let Some(workload) = drawn(seed) else { continue };
        programs += 1;
        for remedy in Remedy::ALL {
            for one in proved(remedy, &subject(&workload)).unwrap_or_default() {
                if let Err(why) = check(&workload, &one, &team, ORDERS) {
                    let (before, after) = (&workload.programs[0].body, &one.program.body);
                    panic!("seed {seed}, {remedy}: {why}\n{before:#?}\n{after:#?}");
                }
                *rewritten.entry(remedy).or_default() += 1;
            }
        }
    }
    println!("{programs} programs; {rewritten:?}");
    assert!(programs >= 2_000, "{programs}");
    let all = [Remedy::Pin, Remedy::DeferWaits, Remedy::KeepMemory, Remedy::DropCopies];
    let more = [Remedy::CopyOnce, Remedy::Narrow, Remedy::Gather, Remedy::InPlace];
    let rest = [Remedy::Prefetch, Remedy::DownloadStream, Remedy::Chunks, Remedy::MoreStreams];
    for remedy in all.into_iter().chain(more).chain(rest) {
        assert!(rewritten.get(&remedy) > Some(&5), "{remedy}: {rewritten:?}");
    }
}

//! What a table of few sizes, or of a machine unlike others, can tell: a synthetic machine is found
//! again within 3%, or refused by name.

use super::predicted::milliseconds;
use super::tables_borrow_what_they_lack::{LIKES, fitted};
use hallway::machine::Direction;
use hallway::profile::Profile;
use hallway::scenario::Workload;
use hallway::search::{candidates_for, rank};
use hallway::units::Bytes;

/// A synthetic machine: a copy takes 2 us and 1 us for every 25 kB. Beside the other direction it
/// takes 2 us longer, and its bytes a tenth; above 4 MiB, traffic of others makes that up to 0.13.
fn alone(bytes: f64) -> f64 {
    2e-6 + bytes / 25e9
}

fn beside_the_other(bytes: f64) -> f64 {
    let met = ((bytes / f64::from(4 << 20)).log2() / 4.0).clamp(0.0, 1.0);
    2e-6 + bytes / 25e9 * (0.1 + 0.03 * met)
}

#[test]
fn contention_from_few_sizes_is_found_or_refused() {
    let (kib, mib) = (1_u64 << 10, 1_u64 << 20);
    for sizes in [
        vec![16 * kib, 256 * kib, mib, 2 * mib, 4 * mib, 64 * mib],
        vec![16 * kib, 256 * kib, mib, 16 * mib, 256 * mib],
        vec![4 * kib, mib, 16 * mib, 256 * mib],
        vec![64 * kib, 8 * mib, 64 * mib],
        vec![4 * mib, 64 * mib, 256 * mib],
        vec![16 * mib, 64 * mib, 256 * mib],
        vec![32 * mib, 64 * mib, 256 * mib],
    ] {
        let mut table = "# gpu = T\n# multiprocessors = 10\n# device_memory = 16 GiB\n\
                         path,memory,bytes,concurrent,seconds\n"
            .to_owned();
        for bytes in [4 * kib, 64 * kib, mib, 16 * mib, 256 * mib] {
            for way in ["H2D", "D2H"] {
                table += &format!("{way},pinned,{bytes},,{:e}\n", alone(bytes as f64));
            }
        }
        for &bytes in &sizes {
            for (way, other) in [("H2D", "D2H"), ("D2H", "H2D")] {
                let seconds = alone(bytes as f64) + beside_the_other(bytes as f64);
                table += &format!("{way},pinned,{bytes},{other},{seconds:e}\n");
            }
        }
        let profile = fitted(&table, &[]);
        let mut refused = 0;
        for bytes in [512 * kib, mib, 2 * mib, 4 * mib, 8 * mib, 32 * mib, 128 * mib] {
            let copy = (Direction::HostToDevice, Bytes::new(bytes));
            match profile.beside_the_other(copy, Bytes::mib(1024)) {
                Ok([fixed, of_bytes]) => {
                    let truth = alone(bytes as f64) + beside_the_other(bytes as f64);
                    let found = alone(bytes as f64) + (fixed + of_bytes) * 1e-9;
                    let error = found / truth - 1.0;
                    assert!(error.abs() < 0.03, "{sizes:?}, {bytes} bytes: {error}");
                }
                Err(unknown) => {
                    refused += 1;
                    let unknown = unknown.to_string();
                    assert!(
                        unknown.contains("with concurrent copies in the other direction"),
                        "{unknown}"
                    );
                }
            }
        }
        assert!(refused <= 5, "{sizes:?}: {refused} sizes refused");
    }
}

/// Copies of 64 MiB take 6.7 ms, or so many times longer while kernels run.
fn slowed(times: f64) -> Profile {
    let copy = f64::from(64 << 20) / 10e9;
    let mut table = "# gpu = T\n# multiprocessors = 10\n# device_memory = 16 GiB\n\
                     path,memory,bytes,concurrent,kernel,elements,seconds\n"
        .to_owned();
    for way in ["H2D", "D2H"] {
        for share in [1, 16, 256] {
            let (bytes, seconds) = ((64 << 20) / share, copy / f64::from(share));
            table += &format!("{way},pinned,{bytes},,,,{seconds:e}\n");
        }
        let (bytes, seconds) = (64 << 20, copy * times);
        table += &format!("{way},pinned,{bytes},kernel,,,{seconds:e}\n");
    }
    table += ",,,,scale,1048576,0.2e-3\n,,,,scale,16777216,3e-3\n,,,H2D,scale,16777216,3.3e-3\n";
    fitted(&table, &*LIKES)
}

/// On a K40 and a V100, copies take longer by 0.5 and 0.21 of the time of kernels beside them.
#[test]
fn kernels_that_slow_copies_are_found_and_simulated() {
    let text = r#"
        schema_version = 1
        name = "beside"
        question = "How long is a copy beside a kernel?"
        [[buffer]]
        name = "x"
        type = "f32"
        elements = 16_777_216
        home = "host"
        host = { memory = "pinned" }
        [[program]]
        name = "copy beside a kernel"
        memory = [
            { name = "state", kind = "device", size = "64 MiB" },
            { name = "next", kind = "device", size = "64 MiB" },
            { name = "copied", kind = "device", size = "64 MiB" },
        ]
        setup = [{ clear = "state" }]
        calls = [
            { launch = "scale", reads = ["state"], writes = "next", stream = "k" },
            { copy = "x", to = "copied", stream = "c" },
            { synchronize = "k" },
            { synchronize = "c" },
        ]
    "#;
    let workload = Workload::from_toml("beside.toml", text).expect("a scenario");
    for share in [0.5, 0.21, 0.0] {
        let profile = slowed(1.0 / (1.0 - share));
        let kept = profile.kernel_slowdown(Direction::HostToDevice);
        assert!((kept * (1.0 - share) - 1.0).abs() < 0.03, "{kept} for {share}");
        let ranking = rank(candidates_for(&workload, &profile), &profile, 1, 1);
        assert!(ranking.plans.len() == 1, "{:?}", ranking.unknown);
        let found = milliseconds(&ranking, "copy beside a kernel");
        let expected = f64::from(64 << 20) / 10e9 * 1e3 + share * 3.0;
        assert!((found / expected - 1.0).abs() < 0.03, "{share}: {found} ms, not {expected}");
    }
}

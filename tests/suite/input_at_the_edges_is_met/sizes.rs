//! Curves of thousands of sizes are fitted in seconds.

use hallway::fit::fit;
use hallway::samples::Samples;
use hallway::stats::segment;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Cubic in the sizes it took over a minute; two seconds as it is released, more as it is tested.
const SECONDS: Duration = Duration::from_secs(8);

#[test]
fn five_thousand_sizes_on_a_line() {
    let mut table = "# gpu = Test\n# multiprocessors = 10\n# device_memory = 1 GiB\n\
                     path,memory,bytes,seconds\n"
        .to_owned();
    for size in 1..=5_000 {
        let _ = writeln!(table, "H2D,pinned,{},{}e-9", 50_000 * size, 2_000 + 1_000 * size);
    }
    let (_folder, path) = super::file("lab.csv", table);
    let start = Instant::now();
    let profile = fit(&Samples::load(&path).expect("a table")).expect("rows");
    assert!(start.elapsed() < SECONDS, "{:?}", start.elapsed());
    let knots: Vec<f64> = profile.copies[0].time.knots.iter().map(|knot| knot.0).collect();
    assert_eq!(knots, [50_000.0, 250_000_000.0]);
}

/// Lines with a bend, and curves that no line follows, are no slower.
#[test]
fn five_thousand_sizes_on_other_curves() {
    type Curve = fn(f64) -> f64;
    let curves: [(Curve, f64); 3] = [
        (|x| if x < 2_500.0 { x } else { 2.0 * x - 2_500.0 }, 0.0),
        (|x| x.powf(1.3), 0.03),
        (|x| x * (1.0 + 0.02 * (x * 0.7).sin()), 0.03),
    ];
    let start = Instant::now();
    for (curve, tolerance) in curves {
        let points: Vec<(f64, f64)> =
            (1..=5_000).map(|x| (f64::from(x), curve(f64::from(x)))).collect();
        let knots = segment(&points, tolerance);
        assert!(knots.len() >= 2 && knots.len() < 20, "{}", knots.len());
    }
    assert!(start.elapsed() < SECONDS, "{:?}", start.elapsed());
}

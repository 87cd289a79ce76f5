//! A prediction's range draws every parameter that can move it. Whoever adds one says how it is
//! drawn, or here why it is not.

use super::predicted::calibrated;
use hallway::profile::Parameter;
use std::collections::BTreeSet;

/// Why parameters are not drawn, and which: how their names begin, without what they are of.
const NOT_DRAWN: [(&str, &[&str]); 6] = [
    ("it is paid once, not in each pass", &["setup."]),
    ("it only says whether GPUs are alike", &["multi_gpu.other."]),
    (
        "it sums up what is drawn by itself",
        &[
            "link.down_bytes_per_second",
            "link.up_bytes_per_second",
            "link.down_shared.at_best_",
            "link.up_shared.at_best_",
            "link.down_shared_kept.at_best_",
            "link.up_shared_kept.at_best_",
        ],
    ),
    ("it is a spread from which each call is drawn", &["calls.launch_spread"]),
    (
        "its scatter is that of what it is added to or multiplied with, which is drawn",
        &[
            "graph.down_switch",
            "graph.up_switch",
            "kernel.from_memory",
            "kernel.just_copied",
            "link.down_beside_kernels",
            "link.down_switch",
            "link.refetches.",
            "link.up_beside_kernels",
            "link.up_switch",
            "polling.",
        ],
    ),
    (
        "it was fitted without a scatter",
        &[
            "caches.",
            "latency.semaphore_polling.arrival_tolerance",
            "latency.semaphore_polling.first_poll",
            "multi_gpu.peer.both_bytes_per_second",
            "multi_gpu.root.up_over_down",
        ],
    ),
];

/// A name without the parts in parentheses, which say what a model is of.
fn plain(name: &str) -> String {
    let mut depth = 0;
    let outside = name.chars().filter(|sign| {
        depth += i32::from(*sign == '(');
        let is_outside = depth == 0;
        depth -= i32::from(*sign == ')');
        is_outside
    });
    outside.collect()
}

fn names<'p>(parameters: impl Iterator<Item = &'p Parameter>) -> BTreeSet<String> {
    parameters.map(|one| plain(&one.name)).collect()
}

#[test]
fn or_says_why_not() {
    let (mut all, mut drawn) = (BTreeSet::new(), BTreeSet::new());
    for name in ["h200", "others/two-h200"] {
        let profile = calibrated(name);
        let before = profile.parameters();
        let after = profile.drawn(&mut || 0.9, &mut || 0.9).parameters();
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
        drawn.extend(names(moved.map(|(before, _)| before)));
        all.extend(names(before.iter()));
    }
    for name in &all {
        let mut listed = NOT_DRAWN.iter().flat_map(|(_, names)| *names);
        let is_listed = listed.any(|begin| name.starts_with(begin));
        let is_drawn = drawn.contains(name);
        assert!(is_drawn != is_listed, "{name}: draw it in `profile`, or list here why not");
    }
    for begin in NOT_DRAWN.iter().flat_map(|(_, names)| *names) {
        assert!(all.iter().any(|name| name.starts_with(begin)), "nothing is called {begin}");
    }
}

//! At which sizes the GPU wins, tried again on both sides of each turn.

use super::table::{Complaints, Part};
use hallway::profile::Profile;
use hallway::scenario::Workload;
use hallway::search::{lead, scaled};
use serde_json::Value;

/// How far from a turn it is tried again, and the lead that near a tie does not count.
const BESIDE: f64 = 0.1;
const NEAR_A_TIE: f64 = 0.05;

/// At the scenario's own size, both say the same.
pub(super) fn at_its_own_size(part: &Part<'_>, complaints: &mut Complaints) {
    let known = &part.scenario["sizes"]["known"];
    if known.is_null() {
        return;
    }
    let elements = known["elements"].as_f64().expect("a size");
    let tried = known["tried"].as_array().expect("two sizes");
    let is_tried = tried[0].as_f64() <= Some(elements) && Some(elements) <= tried[1].as_f64();
    let answer = part.scenario["verdict"]["run_answer"].as_str().expect("a word");
    let wins = is_in_one(known, elements);
    match answer {
        "gpu" | "both" => complaints.expect(wins && is_tried, || {
            format!("`{answer}` at {elements} elements, and no such stretch: {}", known["gpu_wins"])
        }),
        "cpu" => complaints.expect(!wins, || {
            format!("the CPU wins at {elements} elements: {}", known["gpu_wins"])
        }),
        _ => {}
    }
    let large = [("too_large_for_gpu", false), ("too_large_for_cpu", true)];
    for (key, on_cpu) in large {
        let from = known[key].as_f64();
        let has = part.fastest(on_cpu).is_some();
        complaints.expect(!has || from.is_none_or(|from| from > elements), || {
            format!("{key} from {from:?} on, of {elements}, and there is a plan")
        });
    }
}

/// Whether the GPU is said to win at a size.
fn is_in_one(known: &Value, elements: f64) -> bool {
    stretches(known).any(|[from, until]| {
        from.is_none_or(|from| from <= elements) && until.is_none_or(|until| elements <= until)
    })
}

fn stretches(known: &Value) -> impl Iterator<Item = [Option<f64>; 2]> {
    let wins = known["gpu_wins"].as_array().expect("a list").iter();
    wins.map(|one| ["from", "until"].map(|end| one[end].as_f64()))
}

/// The lead changes its sign where the turn is said to be.
pub(super) fn on_both_sides(
    part: &Part<'_>,
    workload: &Workload,
    profile: &Profile,
    complaints: &mut Complaints,
) {
    let known = &part.scenario["sizes"]["known"];
    if known.is_null() {
        return;
    }
    let lead_at = |elements: f64| lead(&scaled(workload, elements.round() as u64)?, profile);
    let tried = known["tried"].as_array().expect("two sizes");
    let [least, most] = [&tried[0], &tried[1]].map(|size| size.as_f64().expect("a size"));
    let is_too_large = |at: f64| {
        let limits = ["too_large_for_gpu", "too_large_for_cpu"].map(|key| known[key].as_f64());
        limits.into_iter().flatten().any(|limit| at >= 0.9 * limit)
    };
    for [from, until] in stretches(known) {
        for (turn, is_start) in [(from, true), (until, false)] {
            let Some(turn) = turn else { continue };
            for (at, gpu_wins) in
                [((1.0 - BESIDE) * turn, !is_start), ((1.0 + BESIDE) * turn, is_start)]
            {
                // Beyond the next turn, or where a side has no room.
                let is_meant = gpu_wins == is_in_one(known, at);
                if !is_meant || at < least || at > most || is_too_large(at) {
                    continue;
                }
                let Some(lead) = lead_at(at) else { continue };
                let agrees = if gpu_wins { lead > -NEAR_A_TIE } else { lead < NEAR_A_TIE };
                complaints
                    .expect(agrees, || format!("a turn at {turn}, and a lead of {lead} at {at}"));
            }
        }
    }
    if stretches(known).next().is_none() {
        let ahead = [least, (least * most).sqrt(), most]
            .into_iter()
            .find(|&at| !is_too_large(at) && lead_at(at).is_some_and(|lead| lead > NEAR_A_TIE));
        complaints.expect(ahead.is_none(), || format!("the GPU wins at {ahead:?} elements"));
    }
}

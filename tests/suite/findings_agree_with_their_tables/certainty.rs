//! How sure answers are, from the ranges of both plans.

use super::table::Complaints;
use serde_json::Value;

/// The grade is that of the probability, and what most of the doubt comes from is the plan with the
/// wider range: these profiles know of no link that was busy.
pub(super) fn certainty(name: &str, value: &Value, complaints: &mut Complaints) {
    let said = &value["certainty"];
    let probability = said["probability"].as_f64().unwrap_or(-1.0);
    let expected = match probability {
        p if !(0.0..=1.0).contains(&p) => "no probability",
        _ if value["answer"] == "tie" => "tie",
        p if p >= 0.95 => "very",
        p if p >= 0.8 => "fairly",
        _ => "not-very",
    };
    complaints.expect(said["grade"] == expected, || {
        format!("{name}: {} sure, with {probability}, and not {expected}", said["grade"])
    });
    let ends = |one: &Value| ["low_ns", "high_ns"].map(|end| one[end].as_u64().unwrap_or(0).max(1));
    let width = |one: &Value| {
        let [low, high] = ends(one);
        high as f64 / low as f64
    };
    let [chosen, other] = ["chosen", "other"].map(|key| &value[key]);
    let doubt = &said["most_doubt"];
    let wider = [chosen, other].into_iter().find(|one| doubt["plan"] == one["plan"]);
    let is_wider = wider.is_some_and(|one| {
        ends(one) == ends(doubt) && width(one) >= width(chosen).max(width(other)) - 1e-9
    });
    complaints.expect(is_wider, || format!("{name}: the doubt is not of the wider range: {doubt}"));
    // Ranges that are far apart leave no doubt, and neither do times that are the same.
    let [[low, high], [other_low, other_high]] = [ends(chosen), ends(other)];
    let far = |low: u64, high: u64| low as f64 > high as f64 * width(chosen) * width(other);
    let is_settled = match (far(other_low, high), far(low, other_high)) {
        (true, _) => probability >= 0.99,
        (_, true) => probability <= 0.01,
        _ => true,
    };
    complaints
        .expect(is_settled, || format!("{name}: {probability}, and the ranges are far apart"));
}

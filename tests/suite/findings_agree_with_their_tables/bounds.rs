//! What bounds a plan, how low its range goes, what nothing goes below, and what hangs on costs of
//! another machine.

use super::asked::Known;
use super::table::{Complaints, Part, Row};
use hallway::profile::Profile;
use serde_json::Value;

/// What gains less than this share of a run does not bound it.
const MUCH: f64 = 0.05;

pub(super) fn check(
    part: &Part<'_>,
    known: &Known,
    profile: &Profile,
    complaints: &mut Complaints,
) {
    for row in part.rows() {
        bottleneck(row, complaints);
        stated(row, known, complaints);
    }
    equals(part, known, complaints);
    least(part, known, profile, complaints);
    missing(part, complaints);
    borrowed(part, complaints);
    let lenders: Vec<&str> = profile.borrowed.iter().map(|lender| lender.from.as_str()).collect();
    complaints
        .expect(part.answer["profile"]["borrowed_from"] == serde_json::json!(lenders), || {
            format!("costs of {lenders:?} are borrowed")
        });
    let has_shares = !part.scenario["verdict"]["borrowed"].as_array().expect("a list").is_empty();
    let has_rows = part.rows().next().is_some();
    complaints.expect(!has_rows || has_shares != lenders.is_empty(), || {
        "what hangs on borrowed costs is not said".to_owned()
    });
}

/// Halving the costs that bound a plan gains most.
fn bottleneck(row: Row<'_>, complaints: &mut Complaints) {
    let gains = row.0["gains"].as_array().expect("a list");
    let share = |gain: &Value| gain["share"].as_f64().expect("a share");
    let falls = gains.windows(2).all(|pair| share(&pair[0]) >= share(&pair[1]));
    complaints.expect(falls, || format!("`{}`: gains are not in order", row.name()));
    // Half of everything is half of a run: no group has more, up to what runs beside it.
    let in_bounds = gains.iter().all(|gain| (0.0..=1.0).contains(&share(gain)));
    complaints.expect(in_bounds, || format!("`{}`: a gain of {gains:?}", row.name()));
    if row.0["bottleneck"].is_null() {
        complaints.expect(gains.is_empty(), || format!("`{}` gains without a bound", row.name()));
        return;
    }
    let first = gains.first().filter(|gain| share(gain) >= MUCH);
    let expected = first.map_or("balanced", |gain| gain["of"].as_str().expect("a name"));
    complaints.expect(row.0["bottleneck"] == expected, || {
        format!("`{}` is bound by {}, and not {expected}", row.name(), row.0["bottleneck"])
    });
}

/// A stated time is never undercut, and what bounds a program is not its busiest lane.
fn stated(row: Row<'_>, known: &Known, complaints: &mut Complaints) {
    let fact = known.facts.iter().find(|fact| fact.program == row.name());
    let Some(fact) = fact.filter(|_| row.is_spelled_out()) else { return };
    let low = row.time("low_ns").expect("known");
    complaints.expect(low >= fact.least_ns, || {
        format!("`{}`: the range begins at {low}, below its kernels' {}", row.name(), fact.least_ns)
    });
    let bound = &row.0["bottleneck"];
    complaints.expect(!fact.never_bound_by.iter().any(|never| bound == never), || {
        format!("`{}` is bound by {bound}, of {}", row.name(), row.0["gains"])
    });
    let without = row.0["stated_without_range"].as_array().map_or(0, Vec::len);
    complaints.expect((without > 0) == fact.is_stated_alone, || {
        format!("`{}`: {without} kernels are stated without a range", row.name())
    });
}

/// Programs that make the same calls tie: no answer ranks them.
fn equals(part: &Part<'_>, known: &Known, complaints: &mut Complaints) {
    for names in &known.equal {
        let rows: Vec<Row<'_>> = names.iter().filter_map(|name| part.row(name)).collect();
        let [one, other] = rows[..] else { continue };
        complaints.expect(one.run() == other.run(), || format!("{names:?} take other times"));
        let verdict = &part.scenario["verdict"];
        for comparison in ["run", "program"] {
            let compared = &verdict[comparison];
            let mut named = [&compared["chosen"]["plan"], &compared["other"]["plan"]];
            named.sort_by_key(|name| name.as_str());
            let is_between = names.iter().all(|name| named.iter().any(|one| *one == name.as_str()));
            complaints.expect(!is_between || compared["answer"] == "tie", || {
                format!("{comparison}: {} between {names:?}, which are equal", compared["answer"])
            });
        }
    }
}

/// No plan goes below the least that tasks take, and neither do bytes that have to cross.
fn least(part: &Part<'_>, known: &Known, profile: &Profile, complaints: &mut Complaints) {
    let least = part.scenario["least_ns"].as_u64();
    for row in part.rows() {
        complaints.expect(least.is_none_or(|least| least <= row.run()), || {
            format!("`{}` takes {}, and nothing less than {least:?}", row.name(), row.run())
        });
    }
    // Kernels on the invented machine read the host's memory faster than its link carries it.
    let Some(rate) = profile.link.down_bytes_per_second else { return };
    if profile.accuracy.is_none() {
        return;
    }
    let crossing = known.bytes_down as f64 / rate.bytes_per_second() * 1e9;
    for (what, time) in
        part.rows().map(|row| (row.name(), row.time("lower_bound_ns"))).chain([("least_ns", least)])
    {
        let Some(time) = time else { continue };
        complaints.expect(time as f64 >= 0.95 * crossing, || {
            format!("{what}: at least {time}, and what has to cross takes {crossing}")
        });
    }
}

/// What a side lacks is said of sides that have no plan.
fn missing(part: &Part<'_>, complaints: &mut Complaints) {
    let list = |key: &str| part.scenario[key].as_array().expect("a list").iter();
    for one in list("no_room") {
        let on_cpu = one["on_cpu"].as_bool().expect("known");
        complaints.expect(part.fastest(on_cpu).is_none(), || format!("there is room for {one}"));
        let [needs, has] = ["needs_bytes", "has_bytes"].map(|key| one[key].as_u64());
        complaints.expect(needs > has, || format!("{needs:?} bytes fit into {has:?}"));
    }
    for one in list("missing_times") {
        let on_cpu = one["on_cpu"].as_bool().expect("known");
        let other = one["other"].as_str().and_then(|name| part.row(name));
        let known = part.rows().find(|row| Some(row.name()) == other.map(Row::name));
        complaints.expect(known.is_some(), || format!("{one} is compared with no row"));
        // A missing time can only decide if the rest leaves room for it.
        let leaves_room = one["rest_ns"].as_u64() < known.map(Row::run);
        complaints.expect(one["other_wins_above_ns"].is_null() != leaves_room, || {
            format!("{one}: leaves room for the missing time: {leaves_room}")
        });
        let lacking = part.fastest(true).is_none() || part.fastest(false).is_none();
        complaints.expect(lacking, || format!("both sides are known without {one}, {on_cpu}"));
    }
}

/// The times of the plans that are compared, with borrowed costs as low and as high as they get.
fn borrowed(part: &Part<'_>, complaints: &mut Complaints) {
    let verdict = &part.scenario["verdict"];
    let from = part.answer["profile"]["borrowed_from"].as_array().expect("a list");
    for cost in verdict["borrowed"].as_array().expect("a list") {
        complaints.expect(from.contains(&cost["from"]), || format!("{} lends", cost["from"]));
        let share = cost["share"].as_f64().expect("a share");
        complaints.expect((0.0..=1.0).contains(&share), || format!("a share of {share}"));
        let ranges = cost["ranges"].as_array().expect("a list");
        let time = |range: &Value, key: &str| range[key].as_u64().expect("known");
        for range in ranges {
            let row = range["plan"].as_str().and_then(|name| part.row(name));
            let run = row.map(Row::run);
            complaints.expect(run == Some(time(range, "time_ns")), || {
                format!("{range} is of no row: {run:?}")
            });
            let contains = time(range, "low_ns") <= time(range, "time_ns")
                && time(range, "time_ns") <= time(range, "high_ns");
            complaints.expect(contains, || format!("{range} does not hold its time"));
            // Costs that are most of a time move it.
            let width = time(range, "high_ns") - time(range, "low_ns");
            let only = ranges.len() == 1 && share > 0.05;
            complaints.expect(!only || width > 0, || format!("{share} of {range} moves nothing"));
        }
        for contender in ["chosen", "other"] {
            let plan = &verdict["run"][contender]["plan"];
            let is_there = plan.is_null() || ranges.iter().any(|range| range["plan"] == *plan);
            // Only the plan to choose is looked at if plans of one side are compared.
            let is_meant = contender == "chosen" || verdict["run"]["answer"] != "plan";
            let is_meant = is_meant && verdict["run"]["answer"] != "tie";
            complaints.expect(!is_meant || is_there, || format!("no range of {plan}"));
        }
        let overlap = ranges.iter().enumerate().any(|(at, one)| {
            let others = ranges.iter().skip(at + 1);
            others.clone().any(|other| {
                time(one, "low_ns") <= time(other, "high_ns")
                    && time(other, "low_ns") <= time(one, "high_ns")
            })
        });
        complaints.expect(cost["changes_fastest"] == false || overlap, || {
            format!("{} change the fastest, and no ranges overlap", cost["costs"])
        });
    }
}

//! What is paid once: first uses, set-up, pinning, and from how many runs on that pays.

use super::asked::Known;
use super::table::{Complaints, Part, Row};
use hallway::profile::Profile;

pub(super) fn check(
    part: &Part<'_>,
    known: &Known,
    profile: &Profile,
    complaints: &mut Complaints,
) {
    first_uses(part, known, complaints);
    streams(part, known, profile, complaints);
    from_runs(part, complaints);
    for row in part.rows() {
        paid_once(part, row, complaints);
    }
    copies_on_the_cpu(part, known, complaints);
}

/// A process has used the GPU before, or it has not: that is the same for all plans.
fn first_uses(part: &Part<'_>, known: &Known, complaints: &mut Complaints) {
    let state = &part.scenario["verdict"]["process"];
    if let Some(is_new) = known.is_new {
        let expected = if is_new { "new" } else { "running" };
        complaints.expect(state == expected, || format!("a {state} process, not a {expected} one"));
    }
    let context = part.answer["context_ns"].as_u64();
    for row in part.on_gpu() {
        let Some(first_use) = row.time("first_use_ns") else { continue };
        match known.is_new {
            Some(true) => {
                let least = context.unwrap_or(0) + known.start_ns;
                complaints.expect(first_use >= least && first_use > 0, || {
                    format!("`{}` pays {first_use} for its first use of the GPU", row.name())
                });
            }
            Some(false) => complaints.expect(first_use == 0, || {
                format!("`{}` pays {first_use} in a process that has paid", row.name())
            }),
            None => {}
        }
    }
    let times: Vec<u64> = part.on_gpu().filter_map(|row| row.time("first_use_ns")).collect();
    let context = context.unwrap_or(1);
    let all_or_none = times.iter().all(|time| *time >= context)
        || times.iter().all(|time| *time < context)
        || part.answer["context_ns"].is_null();
    complaints.expect(all_or_none, || format!("a context is paid for by some: {times:?}"));
    for row in part.rows().filter(|row| row.is_cpu()) {
        let first_use = row.time("first_use_ns").unwrap_or(0);
        complaints.expect(known.is_new != Some(false) || first_use == 0, || {
            format!("`{}` pays {first_use} in a process that has paid", row.name())
        });
    }
}

/// Set-up creates the streams that a plan uses. The default stream, of programs, is there already.
fn streams(part: &Part<'_>, known: &Known, profile: &Profile, complaints: &mut Complaints) {
    let Some(stream) = profile.setup.stream.map(|stream| stream.span().nanos()) else { return };
    let created =
        |row: &Row<'_>| !(row.is_cpu() || known.uses_default_stream && row.is_spelled_out());
    for row in part.rows().filter(created) {
        let streams = row.0["streams"].as_u64().expect("a number");
        let Some(setup) = row.time("setup_ns") else { continue };
        complaints.expect(setup >= stream * streams, || {
            format!("`{}` sets {streams} streams up in {setup}", row.name())
        });
    }
}

/// Whether a side is faster over so many runs, by what rows say.
fn wins(part: &Part<'_>, on_cpu: bool, runs: u64) -> Option<bool> {
    let best = |on_cpu: bool| {
        let rows = part.rows().filter(|row| row.is_cpu() == on_cpu);
        let times = rows.map(|row| Some(u128::from(row.before()?) + time(row, runs)));
        times.collect::<Option<Vec<u128>>>()?.into_iter().min()
    };
    Some(best(on_cpu)? < best(!on_cpu)?)
}

fn time(row: Row<'_>, runs: u64) -> u128 {
    u128::from(row.run()) * u128::from(runs)
}

/// At the number of runs that is named the side that wins a run has caught up, and one before it
/// has not.
fn from_runs(part: &Part<'_>, complaints: &mut Complaints) {
    let verdict = &part.scenario["verdict"];
    let word = verdict["run_answer"].as_str().expect("a word");
    let differ = verdict["answer"] != verdict["run_answer"];
    let on_cpu = word == "cpu";
    let is_of_sides = matches!(word, "cpu" | "gpu" | "both");
    let Some(from) = verdict["from_runs"].as_u64() else {
        if differ && is_of_sides && !verdict["program"].is_null() {
            // A side that is behind at any number of runs never catches up.
            let ever = wins(part, on_cpu, 1 << 40).unwrap_or(false);
            let already = wins(part, on_cpu, part.runs()).unwrap_or(false);
            complaints.expect(already || !ever, || "a number of runs is enough".to_owned());
        }
        return;
    };
    complaints.expect(differ && is_of_sides, || format!("from {from} runs on: nothing turns"));
    complaints.expect(from > part.runs(), || format!("from {from} runs on, of {}", part.runs()));
    complaints.expect(wins(part, on_cpu, from) != Some(false), || {
        format!("at {from} runs, {word} has not won")
    });
    complaints.expect(wins(part, on_cpu, from - 1) != Some(true), || {
        format!("at {} runs, {word} has won already", from - 1)
    });
}

/// How many runs it takes until what is paid once is saved.
fn pays_from(costs: u64, without: Option<u64>, with: u64) -> Option<u64> {
    let saved = without?.checked_sub(with)?;
    Some(costs.checked_div(saved)? + 1)
}

/// The fastest plan on the same side that prepares no memory.
fn without(part: &Part<'_>, row: Row<'_>) -> Option<u64> {
    let is_plain = |other: &Row<'_>| {
        let prepares = [&other.0["pinning"], &other.0["taken"]].iter().any(|one| !one.is_null());
        other.is_cpu() == row.is_cpu() && !prepares && !other.pins()
    };
    part.rows().filter(is_plain).map(Row::run).min()
}

/// What memory costs once is part of the set-up, and pays once runs have saved as much. What a plan
/// takes of its own comes on top of what it pins.
fn paid_once(part: &Part<'_>, row: Row<'_>, complaints: &mut Complaints) {
    let name = row.name();
    let price = |table: &str, key: &str| row.0[table][key].as_u64();
    let all = |table: &str, [takes, gives_back]: [&str; 2]| match row.0[table].is_null() {
        true => Some(0),
        false => Some(price(table, takes)? + price(table, gives_back).unwrap_or(0)),
    };
    let pins = all("pinning", ["register_ns", "unregister_ns"]);
    let takes = all("taken", ["costs_ns", "gives_back_ns"]);
    let both = takes.zip(pins).map(|(takes, pins)| takes + pins);
    for (table, first, pass, costs) in [
        ("pinning", "register_ns", "unpinned_pass_ns", pins),
        ("taken", "costs_ns", "without_pass_ns", both),
    ] {
        let prices = &row.0[table];
        if prices.is_null() {
            continue;
        }
        if let (Some(setup), Some(first)) = (row.time("setup_ns"), price(table, first)) {
            complaints.expect(setup >= first, || {
                format!("`{name}` is set up in {setup}, of which {first} is `{table}`")
            });
        }
        let unprepared = price(table, pass);
        if !row.is_spelled_out() {
            let expected = without(part, row);
            complaints.expect(unprepared == expected, || {
                format!("`{name}`: {unprepared:?} without `{table}`, and not {expected:?}")
            });
        }
        let expected = costs.and_then(|costs| pays_from(costs, unprepared, row.run()));
        complaints.expect(prices["pays_from_runs"].as_u64() == expected, || {
            format!("`{name}`: `{table}` pays from {}, not {expected:?}", prices["pays_from_runs"])
        });
    }
    complaints.expect(row.0["pinned_bytes"].as_u64() >= price("pinning", "bytes"), || {
        format!("`{name}` pins more than it has pinned")
    });
}

/// Copies are part of the CPU's time only where data is at home on the device, and only of a plan
/// for tasks.
fn copies_on_the_cpu(part: &Part<'_>, known: &Known, complaints: &mut Complaints) {
    let Some(copies) = part.scenario["cpu_copies_ns"].as_u64() else { return };
    let cpu = part.of_a_run().find(|row| row.is_cpu());
    let is_plan = cpu.is_some_and(|row| !row.is_spelled_out() && copies <= row.run());
    complaints.expect(is_plan, || format!("{copies} of a run are copies, of no plan on the CPU"));
    complaints.expect(known.is_home_on_device, || {
        format!("{copies} of a run are copies to where no data is at home")
    });
}

//! The rows of a table, read from JSON, and what must be true of each.

use super::asked::{Asked, Known};
use serde_json::Value;

/// What is wrong, each with the scenario that it is about.
#[derive(Default)]
pub(super) struct Complaints {
    pub found: Vec<String>,
    about: String,
}

impl Complaints {
    /// What follows is about this part of a scenario.
    pub fn of(&mut self, scenario: &str, part: &str) {
        self.about = format!("{scenario} / {part}");
    }

    /// Notes what does not hold.
    pub fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.found.push(format!("{}: {}", self.about, what()));
        }
    }
}

/// A plan of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'j>(pub &'j Value);

impl<'j> Row<'j> {
    pub fn name(self) -> &'j str {
        self.0["plan"].as_str().expect("a name")
    }

    /// A time, if it is known.
    pub fn time(self, key: &str) -> Option<u64> {
        self.0[key].as_u64()
    }

    pub fn run(self) -> u64 {
        self.time("predicted_ns").expect("every row has one")
    }

    pub fn side(self) -> &'j str {
        self.0["side"].as_str().expect("a side")
    }

    pub fn is_cpu(self) -> bool {
        self.side() == "cpu"
    }

    pub fn pins(self) -> bool {
        self.0["pins"].as_bool().expect("known of each")
    }

    pub fn is_spelled_out(self) -> bool {
        self.0["family"] == "spelled-out"
    }

    /// What comes before the first run.
    pub fn before(self) -> Option<u64> {
        let first_use = self.time("first_use_ns")?;
        Some(first_use + self.time("setup_ns")?)
    }
}

/// One scenario, or a part of one, with the answer that it is in.
pub(super) struct Part<'j> {
    pub answer: &'j Value,
    pub scenario: &'j Value,
}

impl<'j> Part<'j> {
    pub fn name(&self) -> &'j str {
        self.scenario["part"].as_str().unwrap_or("all")
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'j>> + use<'j> {
        self.scenario["plans"].as_array().expect("a list").iter().map(Row)
    }

    pub fn row(&self, name: &str) -> Option<Row<'j>> {
        self.rows().find(|row| row.name() == name)
    }

    pub fn runs(&self) -> u64 {
        self.scenario["runs"].as_u64().expect("a number")
    }

    /// The plans that leave nothing to the CPU alone.
    pub fn on_gpu(&self) -> impl Iterator<Item = Row<'j>> + use<'j> {
        self.rows().filter(|row| !row.is_cpu())
    }

    /// The plans that are compared for a run: the one to choose and the other.
    pub fn of_a_run(&self) -> impl Iterator<Item = Row<'j>> {
        let run = &self.scenario["verdict"]["run"];
        let named = [&run["chosen"], &run["other"]].into_iter();
        named.filter_map(|one| self.row(one["plan"].as_str()?))
    }

    /// The fastest plan of a side.
    pub fn fastest(&self, on_cpu: bool) -> Option<Row<'j>> {
        self.rows().filter(|row| row.is_cpu() == on_cpu).min_by_key(|row| row.run())
    }
}

/// Programs that leave the same results are in one part, and others are not.
pub(super) fn parts(answer: &Value, asked: &Asked, complaints: &mut Complaints) {
    complaints.of(&asked.workload.name, "parts");
    let Some(groups) = &asked.known.groups else { return };
    let found: Vec<Vec<&str>> = answer["scenarios"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|scenario| {
            let lists = ["plans", "unknown", "refused"].into_iter();
            let rows = lists.flat_map(|list| scenario[list].as_array().into_iter().flatten());
            let mut names: Vec<&str> = rows.filter_map(|row| row["plan"].as_str()).collect();
            names.sort_unstable();
            names
        })
        .collect();
    for group in groups {
        let mut names: Vec<&str> = group.iter().map(String::as_str).collect();
        names.sort_unstable();
        complaints.expect(found.contains(&names), || format!("{names:?} are no part of {found:?}"));
    }
    complaints.expect(found.len() == groups.len(), || format!("{found:?}, and not {groups:?}"));
}

/// Each row agrees with itself, and with the first.
pub(super) fn rows(part: &Part<'_>, complaints: &mut Complaints) {
    let mut names: Vec<&str> = part.rows().map(Row::name).collect();
    names.sort_unstable();
    let shared = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    complaints.expect(shared.is_none(), || format!("two plans are called {shared:?}"));
    let first = part.rows().next();
    let mut last = 0;
    for (at, row) in part.rows().enumerate() {
        let (name, run) = (row.name(), row.run());
        complaints.expect(row.0["rank"] == at + 1, || format!("`{name}` has another rank"));
        complaints.expect(last <= run, || format!("`{name}` is faster than the one before"));
        last = run;
        let [low, high] = ["low_ns", "high_ns"].map(|end| row.time(end).expect("known"));
        let in_range = low <= run && run <= high;
        complaints.expect(in_range, || format!("`{name}`: {run} is not in {low} to {high}"));
        let least = first.map_or(1, Row::run).max(1);
        let relative = row.0["relative"].as_f64().expect("a factor");
        let expected = run.max(if least == 1 { 0 } else { run }) as f64 / least as f64;
        complaints.expect((relative - expected).abs() <= 1e-6 * expected.max(1.0), || {
            format!("`{name}` takes {expected} times as long, not {relative}")
        });
        let bound = row.time("lower_bound_ns").expect("known");
        complaints.expect(bound <= run, || format!("`{name}`: {run} is below {bound}"));
        shares(row, complaints);
    }
}

fn shares(row: Row<'_>, complaints: &mut Complaints) {
    let of = |group: &str| {
        let all = row.0[group].as_object().expect("a table").values();
        all.filter_map(Value::as_f64).collect::<Vec<f64>>()
    };
    let is_share = |share: &f64| (-1e-6..=1.0 + 1e-6).contains(share);
    let all_are = of("busy").iter().chain(&of("critical_path")).all(is_share);
    complaints.expect(all_are, || format!("`{}`: {:?}", row.name(), row.0["busy"]));
    let path: f64 = of("critical_path").iter().sum();
    complaints.expect(path <= 1.0 + 1e-5, || format!("`{}`: a path of {path}", row.name()));
    let free = row.0["host_thread"]["free_after_ns"].as_u64().expect("known");
    complaints.expect(free <= row.run(), || format!("`{}` is free after {free}", row.name()));
}

/// Who does the work, and what memory is pinned for it.
pub(super) fn memory(part: &Part<'_>, known: &Known, complaints: &mut Complaints) {
    for row in part.rows() {
        let name = row.name();
        let says_pinned = !row.is_spelled_out() && name.contains(", pinned");
        if known.pageable_only {
            let pins = row.pins() || says_pinned || !row.0["pinning"].is_null();
            complaints.expect(!pins, || format!("`{name}` pins, and only pageable was asked for"));
        }
        let pins_something = !row.0["pinning"].is_null();
        complaints.expect(row.pins() || !pins_something, || {
            format!("`{name}` has a price of pinning and does not pin")
        });
        let is_listed = known.on_cpu.iter().any(|one| one == name);
        if row.is_spelled_out() && known.groups.is_some() {
            complaints.expect(row.is_cpu() == is_listed, || {
                format!("`{name}` is said to be on `{}`", row.side())
            });
        }
    }
    let lists = ["winner", "program_winner"].map(|key| part.scenario[key].as_str());
    for name in lists.into_iter().flatten() {
        complaints.expect(part.row(name).is_some(), || format!("no row of `{name}`"));
    }
}

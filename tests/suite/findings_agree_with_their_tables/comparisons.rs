//! Which plan is compared with which, and what comes of it.

use super::certainty::certainty;
use super::table::{Complaints, Part, Row};
use serde_json::Value;

/// Two times that differ by no more than this share cannot be told apart.
const UNSEEN: f64 = 0.001;
/// A program's time has to be shorter by this share.
const CLEARLY: f64 = 0.01;
/// The share of draws that settles which of two is faster.
const SETTLED: f64 = 0.9;
/// Two times that differ by more than this share are no tie, whatever the draws say.
const FAR: f64 = 0.1;

/// A comparison, with the plans that it is about.
struct Compared<'j> {
    /// Where it is in the JSON.
    name: &'static str,
    value: &'j Value,
    /// The rows that compete, with the times that are compared.
    rows: Vec<(Row<'j>, u64)>,
    /// The difference that counts.
    least: f64,
}

impl<'j> Compared<'j> {
    /// A comparison of runs.
    fn of_runs(name: &'static str, value: &'j Value, rows: impl Iterator<Item = Row<'j>>) -> Self {
        let rows = rows.map(|row| (row, row.run())).collect();
        Self { name, value, rows, least: UNSEEN }
    }

    /// The plan to choose and the other, where there is one.
    fn contenders(&self) -> impl Iterator<Item = &'j Value> {
        [&self.value["chosen"], &self.value["other"]].into_iter().filter(|one| !one.is_null())
    }

    fn found(&self, contender: &Value) -> Option<(Row<'j>, u64)> {
        let name = contender["plan"].as_str()?;
        self.rows.iter().find(|(row, _)| row.name() == name).copied()
    }

    fn time(&self, contender: &Value) -> Option<u64> {
        Some(self.found(contender)?.1)
    }

    fn row(&self, contender: &Value) -> Option<Row<'j>> {
        Some(self.found(contender)?.0)
    }

    fn has(&self, on_cpu: bool) -> bool {
        self.rows.iter().any(|(row, _)| row.is_cpu() == on_cpu)
    }

    fn fastest(&self, on_cpu: bool) -> Option<(Row<'j>, u64)> {
        let side = self.rows.iter().filter(|(row, _)| row.is_cpu() == on_cpu);
        side.min_by_key(|(_, time)| *time).copied()
    }
}

pub(super) fn check(part: &Part<'_>, complaints: &mut Complaints) {
    let verdict = &part.scenario["verdict"];
    let run = Compared::of_runs("verdict.run", &verdict["run"], part.rows());
    contenders(&run, complaints);
    ranges(&run, 1, complaints);
    answers(&run, complaints);
    let expected = if run.value.is_null() { "nothing-to-compare" } else { word(run.value) };
    complaints.expect(verdict["run_answer"] == expected, || {
        format!("`run_answer` is {}, and not {expected}", verdict["run_answer"])
    });
    of_programs(part, complaints);
    without_pinning(part, complaints);
    gpu_alone(part, complaints);
    simpler_on_gpu(part, complaints);
}

fn word(comparison: &Value) -> &str {
    comparison["answer"].as_str().expect("a word")
}

/// Both are rows of the table, with the same times and on the same sides.
fn contenders(compared: &Compared<'_>, complaints: &mut Complaints) {
    let Compared { name, value, .. } = compared;
    if value.is_null() {
        return;
    }
    for contender in compared.contenders() {
        let plan = &contender["plan"];
        let Some((row, time)) = compared.found(contender) else {
            complaints.expect(false, || format!("{name}: {plan} does not compete"));
            continue;
        };
        complaints.expect(contender["side"] == row.side(), || format!("{name}: side of {plan}"));
        complaints.expect(contender["time_ns"] == time, || {
            format!("{name}: {plan} takes {}, and {time} by its row", contender["time_ns"])
        });
    }
    let times = [&value["chosen"], &value["other"]].map(|one| compared.time(one));
    if let [Some(chosen), Some(other)] = times {
        let expected = other.max(1) as f64 / chosen.max(1) as f64;
        let factor = value["factor"].as_f64().unwrap_or_default();
        complaints.expect((factor - expected).abs() <= 1e-6 * expected.max(1.0), || {
            format!("{name}: {factor} times as long, and not {expected}")
        });
    } else {
        let is_none = value["factor"].is_null() && value["faster_in"].is_null();
        complaints.expect(is_none, || format!("{name}: a factor of nothing"));
    }
}

/// The ends of the ranges, which are `runs` times those of a run after what comes before.
fn ranges(compared: &Compared<'_>, runs: u64, complaints: &mut Complaints) {
    let name = compared.name;
    for contender in compared.contenders() {
        let Some(row) = compared.row(contender) else { continue };
        let before = match name {
            "verdict.program" => row.before().unwrap_or_default(),
            _ => 0,
        };
        for end in ["low_ns", "high_ns"] {
            let expected = before + runs * row.time(end).expect("known");
            complaints.expect(contender[end] == expected, || {
                format!("{name}: `{end}` of `{}` is not {expected}", row.name())
            });
        }
    }
}

/// The answer is what the times say, and names both sides if there are two.
fn answers(compared: &Compared<'_>, complaints: &mut Complaints) {
    let Compared { name, value, rows, least } = compared;
    if value.is_null() {
        let none = rows.is_empty() || *name != "verdict.run";
        complaints.expect(none, || format!("{name}: nothing is compared"));
        return;
    }
    let (chosen, other) = (&value["chosen"], &value["other"]);
    let Some((winner, time)) = compared.found(chosen) else { return };
    let answer = word(value);
    let between_sides = compared.has(true) && compared.has(false);
    let is_of_sides = matches!(answer, "gpu" | "cpu" | "both" | "tie");
    let Some((loser, other_time)) = compared.found(other) else {
        let alone = rows.len() == 1 && answer == "nothing-to-compare";
        complaints.expect(alone, || format!("{name}: `{answer}` without another plan"));
        return;
    };
    if between_sides {
        complaints.expect(is_of_sides, || format!("{name}: `{answer}` between two sides"));
        let apart = winner.is_cpu() != loser.is_cpu();
        complaints.expect(apart, || {
            format!("{name}: `{}` and `{}` are on one side", winner.name(), loser.name())
        });
    } else {
        complaints.expect(matches!(answer, "plan" | "tie"), || {
            format!("{name}: `{answer}`, and all plans are on one side")
        });
    }
    if answer != "tie" {
        let side = match answer {
            "plan" => winner.side(),
            side => side,
        };
        complaints.expect(winner.side() == side, || {
            format!("{name}: `{answer}` by `{}`, which is on `{}`", winner.name(), winner.side())
        });
        let is_clear = (time as f64) < (1.0 - least) * other_time as f64 + 1.0;
        complaints.expect(is_clear, || {
            format!("{name}: `{answer}` wins with {time} against {other_time}")
        });
        if let (true, Some((best, least))) = (between_sides, compared.fastest(loser.is_cpu())) {
            complaints.expect(time < least, || {
                format!("{name}: `{answer}` with {time}, and `{}` takes {least}", best.name())
            });
        }
    }
    settled(compared, (winner, loser), complaints);
    certainty(name, value, complaints);
}

/// The chosen plan is faster in nine draws of ten or by more than a tenth, or else it is a tie.
fn settled(
    compared: &Compared<'_>,
    (winner, loser): (Row<'_>, Row<'_>),
    complaints: &mut Complaints,
) {
    let Compared { name, value, least, .. } = compared;
    let faster_in = value["faster_in"].as_f64().unwrap_or(-1.0);
    complaints.expect((0.0..=1.0).contains(&faster_in), || {
        format!("{name}: faster in {faster_in} of draws")
    });
    let [time, other] = ["chosen", "other"].map(|key| value[key]["time_ns"].as_u64().unwrap_or(0));
    let is_within = |share: f64| time.abs_diff(other) as f64 <= share * time.max(other) as f64;
    let (is_unseen, is_far) = (is_within(*least), !is_within(FAR));
    if word(value) != "tie" {
        let is_sure = (faster_in >= SETTLED - 1e-6 || is_far) && !is_unseen;
        complaints.expect(is_sure, || format!("{name}: sure in only {faster_in}"));
        return;
    }
    // Other plans than those named may be the ones that tie.
    let both_are_fastest = [winner, loser].iter().all(|row| {
        compared.fastest(row.is_cpu()).is_some_and(|(fastest, _)| fastest.name() == row.name())
    });
    let (most, is_tie) =
        (faster_in.max(1.0 - faster_in), is_unseen || (faster_in < SETTLED && !is_far));
    let between_sides = winner.is_cpu() != loser.is_cpu();
    complaints.expect(!(both_are_fastest && between_sides) || is_tie, || {
        format!("{name}: a tie of {time} and {other}, of which one is faster in {most}")
    });
}

/// A whole program takes what comes before its first run, and its runs.
fn of_programs(part: &Part<'_>, complaints: &mut Complaints) {
    let runs = part.runs();
    let mut rows = Vec::new();
    for row in part.rows() {
        let program = row.time("program_ns");
        complaints.expect(program.is_some() || row.time("setup_ns").is_none(), || {
            format!("`{}` has a set-up and no time in all", row.name())
        });
        if let (Some(before), Some(program)) = (row.before(), program) {
            let expected = before + runs * row.run();
            complaints.expect(program == expected, || {
                format!("`{}` takes {program} in all, and not {expected}", row.name())
            });
        }
        rows.extend(program.map(|program| (row, program)));
    }
    let verdict = &part.scenario["verdict"];
    let value = &verdict["program"];
    if value.is_null() {
        let is_known = !rows.is_empty() && rows.len() == part.rows().count();
        complaints.expect(!is_known, || "nothing is said of whole programs".to_owned());
        complaints.expect(verdict["answer"] == verdict["run_answer"], || {
            "another answer than for a run, of which nothing is said".to_owned()
        });
        return;
    }
    complaints.expect(rows.len() == part.rows().count(), || {
        "a plan without a known set-up might win".to_owned()
    });
    let compared = Compared { name: "verdict.program", value, rows, least: CLEARLY };
    contenders(&compared, complaints);
    answers(&compared, complaints);
    // Rows say nothing of a plan whose first use alone is known.
    if part.rows().all(|row| row.before().is_some()) {
        ranges(&compared, runs, complaints);
    }
    complaints.expect(verdict["answer"] == word(value), || {
        format!("the answer is {}, and {} by the program", verdict["answer"], word(value))
    });
    for contender in compared.contenders() {
        let Some(row) = compared.row(contender) else { continue };
        let [first_use, setup] = ["first_use_ns", "setup_ns"].map(|key| contender[key].as_u64());
        let sum = first_use.zip(setup).map(|(first_use, setup)| first_use + setup);
        let sum = sum.map(|before| before + runs * row.run());
        complaints.expect(sum == contender["time_ns"].as_u64(), || {
            format!("first use, set-up and runs of `{}` are {sum:?}", row.name())
        });
        complaints.expect(setup == row.time("setup_ns"), || {
            format!("another set-up of `{}` than in its row", row.name())
        });
    }
}

/// Only plans that pin nothing are compared, and only where it matters.
fn without_pinning(part: &Part<'_>, complaints: &mut Complaints) {
    let value = &part.scenario["without_pinning"];
    let mut named = part.of_a_run();
    let chosen = named.next();
    let other =
        named.next().filter(|other| chosen.is_some_and(|one| one.is_cpu() != other.is_cpu()));
    let matters = [chosen, other].into_iter().flatten().any(Row::pins);
    let unpinned = || part.rows().filter(|row| !row.pins());
    let (count, is_said) = (unpinned().count(), !value.is_null());
    complaints.expect(is_said == (matters && count > 0), || {
        format!("pinning matters: {matters}; plans without: {count}; said: {is_said}")
    });
    if is_said {
        let compared = Compared::of_runs("without_pinning", value, unpinned());
        contenders(&compared, complaints);
        ranges(&compared, 1, complaints);
        answers(&compared, complaints);
    }
}

/// Only a plan that shares the work is compared with one that leaves it all to the GPU.
fn gpu_alone(part: &Part<'_>, complaints: &mut Complaints) {
    let value = &part.scenario["gpu_alone"];
    if value.is_null() {
        return;
    }
    let [chosen, other] = [&value["chosen"], &value["other"]];
    let sides = [&chosen["side"], &other["side"]];
    complaints.expect(sides == ["both", "gpu"], || format!("gpu_alone: {sides:?}"));
    let compared = Compared::of_runs("gpu_alone", value, part.on_gpu());
    contenders(&compared, complaints);
    ranges(&compared, 1, complaints);
    let [one, alone] = [chosen, other].map(|one| compared.time(one).unwrap_or_default());
    let agrees = match word(value) {
        "both" => one < alone,
        "gpu" => alone < one,
        answer => answer == "tie",
    };
    complaints.expect(agrees, || format!("gpu_alone: {} of {one} and {alone}", word(value)));
}

/// The plan to choose on the GPU is compared with itself without a graph, and with each plan that
/// copies everything at once, or for each task, in the same memory.
fn simpler_on_gpu(part: &Part<'_>, complaints: &mut Complaints) {
    let on_gpu = &part.scenario["verdict"]["run"];
    let on_gpu = [&on_gpu["chosen"], &on_gpu["other"]];
    for value in part.scenario["simpler_on_gpu"].as_array().expect("a list") {
        let compared = Compared::of_runs("simpler_on_gpu", value, part.on_gpu());
        contenders(&compared, complaints);
        ranges(&compared, 1, complaints);
        let [chosen, other] = [&value["chosen"], &value["other"]];
        complaints.expect(on_gpu.iter().any(|one| one["plan"] == chosen["plan"]), || {
            format!("simpler_on_gpu: {} is not to be chosen", chosen["plan"])
        });
        let [mine, simple] = [chosen, other].map(|one| compared.row(one));
        let (Some(mine), Some(simple)) = (mine, simple) else { continue };
        let family = &simple.0["family"];
        let alike = ["family", "chunks", "ring", "streams"];
        let is_twin = alike.iter().all(|key| simple.0[*key] == mine.0[*key]);
        let is_twin = is_twin && mine.0["captured"] == true && simple.0["captured"] == false;
        let is_simple = *family == "resident" || *family == "round-trip" || is_twin;
        let is_same = simple.0["host_memory"] == mine.0["host_memory"];
        complaints.expect(is_simple && is_same && simple.name() != mine.name(), || {
            format!("simpler_on_gpu: `{}` against `{}`", simple.name(), mine.name())
        });
        let agrees = match word(value) {
            "plan" => mine.run() < simple.run(),
            answer => answer == "tie",
        };
        complaints.expect(agrees, || {
            format!("simpler_on_gpu: {} of {} and {}", word(value), mine.run(), simple.run())
        });
    }
}

/// The plan to choose ties with the fastest, and is no less simple than others that do.
pub(super) fn choices(part: &Part<'_>, complaints: &mut Complaints) {
    let scenario = part.scenario;
    let ties = |row: Row<'_>| row.0["rank"] == 1 || row.0["ties_with_fastest"] == true;
    let simplicity = |row: Row<'_>| (row.0["gpus"].as_u64(), row.0["streams"].as_u64());
    if let Some(winner) = scenario["winner"].as_str().and_then(|name| part.row(name)) {
        complaints.expect(ties(winner), || {
            format!("`{}` is to be chosen and does not tie with the fastest", winner.name())
        });
        for row in part.rows().filter(|row| ties(*row)) {
            let fastest = part.rows().next().map_or(0, |fastest| fastest.run());
            complaints.expect((row.run() - fastest) as f64 <= FAR * row.run() as f64, || {
                format!("`{}` takes {} and ties with {fastest}", row.name(), row.run())
            });
            complaints.expect(simplicity(winner) <= simplicity(row), || {
                format!("`{}` ties and is simpler than `{}`", row.name(), winner.name())
            });
        }
        let chosen = &scenario["verdict"]["run"]["chosen"]["plan"];
        complaints.expect(chosen == winner.name(), || {
            format!("`{}` is to be chosen for a run, and {chosen} is compared", winner.name())
        });
    }
    let program = &scenario["verdict"]["program"];
    if let (Some(winner), false) = (scenario["program_winner"].as_str(), program.is_null()) {
        complaints.expect(program["chosen"]["plan"] == winner, || {
            format!(
                "`{winner}` is to be chosen for all runs, and {} is compared",
                program["chosen"]
            )
        });
    }
    let simplest = &scenario["simplest"];
    let fastest = part.rows().next();
    let found = simplest["plan"].as_str().and_then(|name| part.row(name));
    if let (Some(fastest), Some(row)) = (fastest, found) {
        let most = (1.0 + simplest["within"].as_f64().unwrap_or(0.0)) * fastest.run() as f64;
        complaints.expect(row.run() as f64 <= most, || {
            format!("`{}` is the simplest, and takes more than {most}", row.name())
        });
        for other in part.rows().filter(|other| other.run() as f64 <= most) {
            complaints.expect(simplicity(row) <= simplicity(other), || {
                format!("`{}` is simpler than the simplest, `{}`", other.name(), row.name())
            });
        }
    }
    complaints.expect(fastest.is_none() == found.is_none(), || "a simplest plan".to_owned());
}

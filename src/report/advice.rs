//! What would help a program: today's time, what each remedy gains, and what does not help.

mod against;
mod code;
mod words;

pub use self::against::Against;
use self::code::{LANGUAGES, in_code};
use self::words::{brief, factor, filling, little, needs, taken, what};
use super::Origin;
use super::table::{Column, Table};
use super::words::{fine_percent, folded, joined, percent, plural, times, with_range};
use crate::advise::{Advice, Breakdown, Change, Combination, Measured, NoGain, Remedy, TimedRange};
use crate::stats::median;
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Advice on one program, and its basis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdviceReport {
    /// The profile behind the predictions.
    pub profile: Origin,
    /// Seed for the random draws behind the ranges.
    pub seed: u64,
    /// Number of random draws behind the ranges.
    pub draws: usize,
    /// Name of the scenario or trace.
    pub name: String,
    /// Name of the program in the scenario.
    pub program: String,
    /// Names of the scenario's other programs.
    pub others: Vec<String>,
    /// Time of the recorded pass. `null` for a scenario.
    pub recorded_ns: Option<Span>,
    /// The GPU that the pass was recorded on. `null` if it is unknown.
    pub recorded_on: Option<String>,
    /// The advice.
    pub advice: Advice,
    /// A recording of the changed program, compared with the prediction. `null` if none was given.
    pub against: Option<Against>,
}

/// A recording that took so many times the high end of the range was longer than predicted.
const BEYOND: f64 = 1.05;
/// The share of a pass in which the GPU idles that is what to look at first.
const MOSTLY: f64 = 0.5;
/// Changes that the first screen shows.
const SHOWN: usize = 6;
/// Remedies without a gain that the first screen shows.
const SHOWN_WITHOUT: usize = 4;
/// Remedies with an open condition that the first screen shows.
const SHOWN_OPEN: usize = 3;
/// Remedies that people expect to help.
const EXPECTED: [Remedy; 6] = [
    Remedy::Pin,
    Remedy::Prefetch,
    Remedy::DownloadStream,
    Remedy::Chunks,
    Remedy::MoreStreams,
    Remedy::Graph,
];

impl AdviceReport {
    /// The answer on one screen, or with everything that is known.
    pub fn text(&self, details: bool, width: Option<usize>) -> String {
        let advice = &self.advice;
        if let Some(against) = &self.against {
            return against.text(advice, width);
        }
        let mut text = folded(&self.head(), width);
        text += "\n";
        text += &changes(advice, details, width);
        if let Some(best) = advice.best.as_ref().filter(|best| best.steps.len() > 1) {
            text += &folded(&format!("\n{}", together(best)), width);
        } else if let Some(best) = &advice.best {
            text += &folded(&format!("\n{}", left(best)), width);
        }
        text += &folded(&agreement(advice), width);
        text += &folded(&only_if(advice, details), width);
        text += &folded(&no_help(advice, details), width);
        text += &folded(&filling(advice).unwrap_or_default(), width);
        if details {
            text += &folded(&self.in_detail(), width);
        }
        text + &folded(&self.foot(details), width)
    }

    fn head(&self) -> String {
        let Advice { today, breakdown, calls, .. } = &self.advice;
        let recorded = match self.recorded_ns {
            Some(recorded) => format!("; the recording took {recorded}"),
            None => String::new(),
        };
        format!(
            "{}: a pass of `{}` makes {} and takes {}{recorded}\n{}\n",
            self.name,
            self.program,
            plural(*calls, "call"),
            timed(today),
            where_it_goes(breakdown, today.predicted_ns)
        ) + &self.beside_recorded()
    }

    /// Why the prediction may differ from what was recorded.
    fn beside_recorded(&self) -> String {
        let gpu = &self.profile.gpu;
        if let Some(other) = self.recorded_on.as_ref().filter(|other| *other != gpu) {
            return format!(
                "Recorded on {other}, but predicted for {gpu}. To predict for your own machine, \
                 calibrate it (`hallway calibrate`), or fit a profile to the trace: `hallway \
                 import --table`, then `hallway fit --like`.\n"
            );
        }
        let high = self.advice.today.high_ns.nanos_f64();
        match self.recorded_ns {
            Some(recorded) if recorded.nanos_f64() > BEYOND * high => {
                "The recording took longer: first use, new memory and profiler overhead are not \
                 predicted.\n"
                    .to_owned()
            }
            _ => String::new(),
        }
    }

    fn foot(&self, details: bool) -> String {
        let others = match &self.others[..] {
            [] => String::new(),
            others => {
                let also = plural(others.len() as u64, "other program");
                format!(" The file has {also}: choose one with `--program NAME`.")
            }
        };
        let more = if details { "" } else { " Details, with code: `--details`." };
        let proof = match self.advice.today_measured_ns {
            Some(_) => "",
            None => " `--verify` runs the changes on this machine's GPU.",
        };
        format!(
            "\nPredicted for {}, each change on its own. Ranges come from {} draws.\
             {proof}{others}{more}\n",
            self.profile.gpu, self.draws
        )
    }

    fn in_detail(&self) -> String {
        let mut text = String::new();
        for change in self.advice.changes.iter().chain(&self.advice.only_if) {
            let _ = writeln!(text, "\n{}", what(change));
            if !change.places.is_empty() {
                let _ = writeln!(text, "- where: {}", places(change));
            }
            for language in LANGUAGES {
                let _ = writeln!(text, "- {language}: {}", in_code(change.remedy, language));
            }
            for condition in &change.conditions {
                let _ = writeln!(text, "- only if {condition}");
            }
            let _ = writeln!(text, "- needs {}", needs(&change.takes));
        }
        text
    }
}

fn timed(time: &TimedRange) -> String {
    with_range(time.predicted_ns, time.low_ns, time.high_ns)
}

/// How a pass divides.
fn where_it_goes(of: &Breakdown, pass: Span) -> String {
    let share = |span: Span| percent(span.nanos_f64() / pass.nanos_f64().max(1.0));
    let parts = [
        (of.copies_ns, "copies alone"),
        (of.kernels_ns, "kernels alone"),
        (of.both_ns, "both at once"),
        (of.idle_ns, "GPU idle"),
    ];
    let mut parts: Vec<(Span, &str)> =
        parts.into_iter().filter(|part| part.0 > Span::ZERO).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    let said = parts.into_iter().map(|(span, what)| format!("{what} {span} ({})", share(span)));
    format!("Where the time goes: {}.", joined(said, "; "))
}

fn changes(advice: &Advice, details: bool, width: Option<usize>) -> String {
    if advice.changes.is_empty() {
        let Advice { breakdown, today, .. } = advice;
        let idle = breakdown.idle_ns.nanos_f64() / today.predicted_ns.nanos_f64().max(1.0);
        let said = match idle {
            MOSTLY.. => {
                " Most of the time is the host's own work, which no change to the calls would save."
            }
            _ => "",
        };
        return folded(&format!("No change saves 1% or more on its own.{said}\n"), width);
    }
    let shown = if details { advice.changes.len() } else { SHOWN };
    let rows = advice.changes.iter().take(shown);
    let table = Table::of(rows)
        .with(Column::words("change"), what)
        .with(Column::number("a pass"), |change| change.time.predicted_ns)
        .with(Column::number("times as fast"), factor);
    let table = match advice.today_measured_ns {
        Some(_) => table.with(Column::number("measured"), measured),
        None => table,
    };
    let table = table.with(Column::words("needs"), |change| taken(&change.takes)).text(width);
    match advice.changes.len().saturating_sub(shown) {
        0 => table,
        rest => format!("{table}{} not shown: `--details`\n", plural(rest as u64, "change")),
    }
}

/// `7.1 (12.1 ms)`: the factor first, to be held against the predicted one.
fn measured(change: &Change) -> String {
    change.measured.as_ref().map_or_else(|| "-".to_owned(), in_run)
}

fn in_run(of: &Measured) -> String {
    format!("{} ({})", times(of.factor), of.pass_ns)
}

/// How well the predicted factors agree with the measured ones. Empty if nothing was run.
fn agreement(advice: &Advice) -> String {
    let Some(today) = advice.today_measured_ns else { return String::new() };
    let changes = advice.changes.iter().chain(&advice.only_if);
    let last = advice.best.as_ref().filter(|best| best.steps.len() > 1);
    let last = last.and_then(|best| Some((best.steps.last()?, best.measured?)));
    let pairs = changes.filter_map(|change| Some((change, change.measured?))).chain(last);
    let pairs: Vec<(&Change, Measured)> = pairs.collect();
    let error = |(change, of): &(&Change, Measured)| (change.factor / of.factor - 1.0).abs();
    let errors: Vec<f64> = pairs.iter().map(error).collect();
    let is_in = |(change, of): &&(&Change, Measured)| {
        let [low, high] = change.factor_range;
        (low..=high).contains(&of.factor)
    };
    let within = pairs.iter().filter(is_in).count();
    let Some(middle) = median(&errors) else {
        return format!("\nMeasured here: a pass takes {today}.\n");
    };
    format!(
        "\nMeasured here: a pass takes {today}. Within their ranges: {within} of {}; the median \
         error is {}.\n",
        plural(pairs.len() as u64, "factor"),
        fine_percent(middle)
    )
}

/// The cells of a change in a table: what it changes, a pass's time, the gain, what it needs.
pub(super) fn cells(change: &Change) -> [String; 4] {
    [what(change), change.time.predicted_ns.to_string(), factor(change), taken(&change.takes)]
}

/// Everything but the table: the best combination, what depends on conditions, what does not help.
pub(super) fn in_words(advice: &Advice) -> String {
    let together = match &advice.best {
        Some(best) if best.steps.len() > 1 => together(best),
        Some(best) => left(best),
        None => String::new(),
    };
    together + &only_if(advice, true) + &no_help(advice, true)
}

/// What several remedies gain together.
fn together(best: &Combination) -> String {
    let step = |step: &Change| format!("{} ({})", brief(step.remedy), step.time.predicted_ns);
    let steps = best.steps.iter().map(step);
    let last = best.steps.last().expect("a combination has steps");
    format!(
        "Best together: {}: {}, {} times as fast{}. Needs {}.\n{}",
        joined(steps, " + "),
        timed(&last.time),
        factor(last),
        best.measured.map_or_else(String::new, |of| format!("; measured {}", in_run(&of))),
        needs(&best.takes),
        left(best)
    )
}

/// What is left, beside the least that is possible.
fn left(best: &Combination) -> String {
    let last = best.steps.last().expect("a combination has steps");
    format!(
        "After that: {} In any order, these calls take at least {}.\n",
        where_it_goes(&last.breakdown, last.time.predicted_ns).replace("Where the time goes: ", ""),
        best.least_ns
    )
}

/// What would help if something is true that the program does not show.
fn only_if(advice: &Advice, details: bool) -> String {
    let found = &advice.only_if;
    let shown = if details { found.len() } else { SHOWN_OPEN };
    let said = found.iter().take(shown).map(|change| {
        let open = change.conditions.iter().filter(|one| one.is_open());
        let (time, factor) = (change.time.predicted_ns, factor(change));
        let run = change.measured.as_ref();
        let run = run.map_or_else(String::new, |of| format!("; measured {}", in_run(of)));
        format!(
            "- {}: {time}, {factor} times as fast{run}, if {}\n",
            what(change),
            joined(open, ", and ")
        )
    });
    let said: String = said.collect();
    if said.is_empty() { said } else { format!("\nOnly if:\n{said}") }
}

/// The remedies that do not help, those first that people expect to.
fn no_help(advice: &Advice, details: bool) -> String {
    let mut found: Vec<&NoGain> = advice.no_gain.iter().collect();
    let expected = |one: &&NoGain| EXPECTED.iter().position(|remedy| *remedy == one.remedy);
    found.sort_by_key(|one| expected(one).unwrap_or(EXPECTED.len()));
    let shown = if details { found.len() } else { SHOWN_WITHOUT };
    let mut text = String::new();
    for one in found.iter().take(shown) {
        let _ = writeln!(text, "- {}: {}", brief(one.remedy), little(one, &advice.breakdown));
    }
    match found.len().saturating_sub(shown) {
        _ if text.is_empty() => text,
        0 => format!("\nDoes not help:\n{text}"),
        rest => format!("\nDoes not help ({rest} more: `--details`):\n{text}"),
    }
}

fn places(change: &Change) -> String {
    let said = change.places.iter().map(|place| {
        let memory = place.memory.as_ref().map_or_else(String::new, |name| format!(" of `{name}`"));
        let bytes = place.bytes.map_or_else(String::new, |bytes| format!(", {bytes}"));
        let calls = match place.times {
            1 => format!("call {}", place.call),
            times => format!("{times} calls, starting with call {}", place.call),
        };
        let way = place.direction.map_or_else(String::new, |way| format!("{way}, "));
        format!("`{}`{memory}{bytes} ({way}{calls})", place.function)
    });
    joined(said, "; ")
}

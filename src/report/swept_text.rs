//! A sweep for the terminal, and as a table of comma-separated values.

use super::evaluation_text::ranges;
use super::swept::{SideTime, SweepReport, Sweeping, SweptPoint, Unit};
use super::table::{Column, Table};
use super::words::{
    bound_by, fine_count, folded, heading, in_a_word, or_dash, plural, range, stretch, times,
};
use crate::findings::times_as_long;
use crate::search::Setting;
use crate::units::{Bytes, Span};
use std::fmt::Write;

impl Unit {
    /// A value in words.
    pub fn say(self, value: f64) -> String {
        match self {
            Self::Number => fine_count(value),
            Self::Bytes => Bytes::new(value as u64).to_string(),
            Self::Nanoseconds => Span::from_nanos_f64(value).to_string(),
        }
    }
}

impl Sweeping {
    /// What a value is, behind its number: ``elements of `x` ``.
    fn noun(&self) -> String {
        match (&self.counted, self.unit) {
            (Some(counted), _) => format!(" {counted}"),
            (None, Unit::Number) => format!(" for `{}`", self.key),
            (None, _) => format!(" of `{}`", self.key),
        }
    }

    /// Where the GPU wins, in a sentence.
    pub fn sentence(&self) -> String {
        let noun = self.noun();
        let what = if self.of_programs { "over a whole program" } else { "in one run" };
        let known: Vec<&SweptPoint> =
            self.points.iter().filter(|point| point.cpu.is_some() && point.gpu.is_some()).collect();
        let (Some(first), Some(last)) = (known.first(), known.last()) else {
            return "There is nothing to compare: at no value have both sides a plan.".to_owned();
        };
        let [from, to] = [first, last].map(|point| self.unit.say(point.value.0));
        let say = |value: f64| self.unit.say(value);
        let stretches: Option<Vec<String>> =
            self.gpu_wins.iter().map(|wins| stretch(wins, &say)).collect();
        let both = match known.len() == self.points.len() {
            true => "",
            false => " at which both sides have a plan",
        };
        let tried = match known.len() {
            1 => format!("the only value tried{both}, {from}{noun}"),
            _ => format!("value tried{both}, from {from} to {to}{noun}"),
        };
        let mut said = match stretches.as_deref() {
            None if known.len() == 1 => format!("The GPU is faster {what} at {tried}."),
            None => format!("The GPU is faster {what} at every {tried}."),
            Some([]) if known.len() == 1 => {
                format!("The GPU is not faster {what} at {tried}.")
            }
            Some([]) => format!("The GPU is faster {what} at no {tried}."),
            Some(all) => format!("The GPU is faster {what} {}{noun}.", all.join(" and ")),
        };
        if let Some(row) = self.row {
            let turns = self.gpu_wins.iter().flat_map(|wins| [wins.from, wins.until]).flatten();
            let rows = turns.map(|at| plural((at.0 / row as f64).round() as u64, "row"));
            let rows: Vec<String> = rows.collect();
            if !rows.is_empty() {
                let _ = write!(said, " That is at {} of {row}.", rows.join(" and "));
            }
        }
        if let Some(Setting(here)) = self.here {
            let _ = write!(said, " The scenario has {}.", self.unit.say(here));
        }
        said
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut text = heading(&self.scenario, &self.question, width);
        let _ = writeln!(text, "\n{}\n", self.sentence());
        let time = if self.of_programs { "program" } else { "one run" };
        text += &Table::of(&self.points)
            .with(Column::number(&self.key), |point| self.unit.say(point.value.0))
            .with(Column::words("faster"), |point| {
                in_a_word(point.answer(self.of_programs)).to_owned()
            })
            .with(Column::words("plan"), |point| {
                self.of_winner(point, |winner| winner.plan.clone())
            })
            .with(Column::number(time), |point| {
                self.of_winner(point, |winner| winner.predicted_ns.to_string())
            })
            .with(Column::number("range").if_folded(2), |point| {
                self.of_winner(point, |winner| range(winner.low_ns, winner.high_ns))
            })
            .with(Column::number("CPU").if_room(2), |point| time_of(&point.cpu))
            .with(Column::number("GPU").if_room(2), |point| time_of(&point.gpu))
            .with(Column::words("GPU is").if_room(1), |point| or_dash(compared(point)))
            .with(Column::words("limited by").if_folded(1), |point| {
                self.of_winner(point, |winner| bound_by(winner.bottleneck))
            })
            .text(width);
        for (place, point) in self.points.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|before| self.points.get(before));
            // Neighbours often lack a plan for one and the same reason.
            let reason = point
                .unknown
                .as_ref()
                .filter(|reason| before.and_then(|before| before.unknown.as_ref()) != Some(reason));
            if let Some(reason) = reason {
                let which = match (&point.cpu, &point.gpu) {
                    (None, None) => "No plan",
                    (None, _) => "No plan on the CPU",
                    _ => "No plan on the GPU",
                };
                let _ = writeln!(text, "{which} at {}: {reason}", self.unit.say(point.value.0));
            }
        }
        text
    }

    /// What is said of the plan to choose at a value, if there is one.
    fn of_winner(&self, point: &SweptPoint, say: impl Fn(&SideTime) -> String) -> String {
        or_dash(point.winner(self.of_programs).map(say))
    }
}

fn time_of(side: &Option<SideTime>) -> String {
    or_dash(side.as_ref().map(|side| side.predicted_ns))
}

/// How much faster the GPU is than the CPU, or slower.
fn compared(point: &SweptPoint) -> Option<String> {
    let (cpu, gpu) = (point.cpu.as_ref()?.predicted_ns, point.gpu.as_ref()?.predicted_ns);
    Some(if gpu > cpu {
        format!("{} x slower", times(times_as_long(gpu, cpu)))
    } else {
        format!("{} x faster", times(times_as_long(cpu, gpu)))
    })
}

impl SweepReport {
    /// The report in lines of at most so many columns, if a number is given.
    pub fn text_within(&self, width: Option<usize>) -> String {
        let mut text = format!("{}\n", self.profile);
        let _ = writeln!(text, "{}", ranges(self.draws, self.trials, self.profile.model_error));
        if let Some(parts) = &self.parts {
            let numbers: Vec<String> = parts.numbers.iter().map(usize::to_string).collect();
            let _ = writeln!(text, "Parts    {} of {}", numbers.join(", "), parts.of);
        }
        for sweep in &self.sweeps {
            text.push('\n');
            text += &sweep.text(width);
        }
        folded(&text, width)
    }

    /// The points as a table of comma-separated values (RFC 4180). Times are in nanoseconds.
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        for sweep in &self.sweeps {
            for point in &sweep.points {
                let winner = point.winner(sweep.of_programs);
                let row = (
                    (&sweep.scenario, &sweep.key, point.value, point.answer(sweep.of_programs)),
                    (in_csv(winner), winner.map(|side| bound_by(side.bottleneck))),
                    [in_csv(point.cpu.as_ref()), in_csv(point.gpu.as_ref())],
                );
                writer.serialize(row).expect("rows are plain data");
            }
        }
        let bytes = writer.into_inner().expect("nothing fails that writes into memory");
        let rows = String::from_utf8(bytes).expect("all fields are text");
        if rows.is_empty() { rows } else { CSV_TITLES.to_owned() + &rows }
    }
}

const CSV_TITLES: &str = "scenario,key,value,answer,plan,predicted_ns,low_ns,high_ns,bottleneck,\
                          cpu_plan,cpu_ns,cpu_low_ns,cpu_high_ns,\
                          gpu_plan,gpu_ns,gpu_low_ns,gpu_high_ns\n";

/// A plan's name, its time and the ends of its range.
fn in_csv(side: Option<&SideTime>) -> (Option<&str>, [Option<Span>; 3]) {
    let of = |time: fn(&SideTime) -> Span| side.map(time);
    let times = [of(|side| side.predicted_ns), of(|side| side.low_ns), of(|side| side.high_ns)];
    (side.map(|side| side.plan.as_str()), times)
}

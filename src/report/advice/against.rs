//! A changed program, recorded again, beside what was predicted for the change.

use super::words::{factor, what};
use crate::advise::{Advice, Advised, Applied, Breakdown, Change, Traits};
use crate::program::Program;
use crate::report::table::{Column, Table};
use crate::report::words::{folded, joined, plural, times};
use crate::trace::Account;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A recording of the changed program, beside the prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// Name of the recording.
    pub name: String,
    /// Recorded time of a pass of the changed program.
    pub recorded_ns: Span,
    /// Recorded time of a pass before the change.
    pub before_ns: Span,
    /// The predicted change that the recording resembles most. `null` if it resembles the program
    /// without any change.
    pub applied: Option<Change>,
    /// Where the time of a pass was predicted to go with this change.
    pub predicted: Breakdown,
    /// Where the recorded time goes.
    pub recorded: Breakdown,
    /// What a pass does with this change.
    pub expected_traits: Traits,
    /// What the recorded pass does.
    pub recorded_traits: Traits,
}

/// A share of a time that is worth a remark.
const DIFFERS: f64 = 0.1;

impl Against {
    pub fn new(
        name: String,
        advised: &Advised,
        (before, before_ns): (&Program, Span),
        (changed, account): (&Program, &Account),
    ) -> Self {
        let (applied, expected_traits) = advised.applied(before, changed);
        let Advice { changes, only_if, best, breakdown, .. } = &advised.advice;
        let change = match applied {
            Applied::Nothing => None,
            Applied::Change(at) => changes.get(at),
            Applied::OnlyIf(at) => only_if.get(at),
            Applied::Best => best.as_ref().and_then(|best| best.steps.last()),
        };
        Self {
            name,
            recorded_ns: account.span,
            before_ns,
            applied: change.cloned(),
            predicted: change.map_or(*breakdown, |change| change.breakdown),
            recorded: Breakdown {
                kernels_ns: account.kernels.saturating_sub(account.both),
                copies_ns: account.copies.saturating_sub(account.both),
                both_ns: account.both,
                idle_ns: account.idle,
            },
            expected_traits,
            recorded_traits: Traits::of(changed, 1),
        }
    }

    pub fn text(&self, advice: &Advice, width: Option<usize>) -> String {
        let Self { name, recorded_ns, before_ns, applied, .. } = self;
        let gained = before_ns.nanos_f64() / recorded_ns.nanos_f64().max(1.0);
        let mut head = format!(
            "{name}: a pass took {recorded_ns} when recorded, compared with {before_ns} before \
             the change: {} times as fast.\n",
            times(gained)
        );
        match applied {
            None => head += "Judging by its calls, none of the predicted changes was made.\n",
            Some(change) => {
                let steps = advice.best.iter().flat_map(|best| &best.steps);
                let is_last = advice.best.as_ref().and_then(|best| best.steps.last());
                let made = match is_last == Some(change) {
                    true => joined(steps.map(|step| step.remedy.to_string()), " + "),
                    false => what(change),
                };
                let _ = writeln!(
                    head,
                    "Judging by its calls, this change was made: {made}. Predicted: {}, {} times \
                     as fast.",
                    change.time.predicted_ns,
                    factor(change)
                );
            }
        }
        let mut text = folded(&head, width);
        text += "\n";
        text += &self.parts(advice, width);
        text + &folded(&self.differences(), width)
    }

    /// Where the time goes: before, as predicted, and as recorded.
    fn parts(&self, advice: &Advice, width: Option<usize>) -> String {
        type Part = (&'static str, fn(&Breakdown) -> Span);
        let parts: [Part; 4] = [
            ("copies alone", |of| of.copies_ns),
            ("kernels alone", |of| of.kernels_ns),
            ("both at once", |of| of.both_ns),
            ("GPU idle", |of| of.idle_ns),
        ];
        Table::of(&parts)
            .with(Column::words("part of a pass"), |part| part.0)
            .with(Column::number("before, predicted"), |part| (part.1)(&advice.breakdown))
            .with(Column::number("after, predicted"), |part| (part.1)(&self.predicted))
            .with(Column::number("after, recorded"), |part| (part.1)(&self.recorded))
            .text(width)
    }

    /// What the recorded pass does otherwise than predicted, and how much of the gain came.
    fn differences(&self) -> String {
        let [wanted, found] = [&self.expected_traits, &self.recorded_traits];
        let mut said = Vec::new();
        let mut bytes = |what: &str, wanted: Bytes, found: Bytes| {
            let most = wanted.max(found).as_f64();
            if (wanted.as_f64() - found.as_f64()).abs() > DIFFERS * most {
                said.push(format!("{what}: {found}, not {wanted}"));
            }
        };
        bytes("copied to the GPU from pageable memory", wanted.pageable_in, found.pageable_in);
        bytes("copied to the GPU from pinned memory", wanted.pinned_in, found.pinned_in);
        bytes("copied to pageable host memory", wanted.pageable_out, found.pageable_out);
        bytes("copied to pinned host memory", wanted.pinned_out, found.pinned_out);
        let mut count = |what: &str, wanted: f64, found: f64| {
            if (wanted - found).abs() > 0.5 {
                let [wanted, found] = [wanted, found].map(|count| count.round() as u64);
                said.push(format!("{}, not {wanted}", plural(found, what)));
            }
        };
        count("copy", wanted.copies, found.copies);
        count("wait", wanted.waits, found.waits);
        count("copy stream", wanted.copy_streams as f64, found.copy_streams as f64);
        count("launch", wanted.launches, found.launches);
        count("allocation", wanted.taken, found.taken);
        match &said[..] {
            [] => "\nThe pass makes the calls that were predicted.\n".to_owned(),
            _ => format!("\nDifferences from the prediction, per pass: {}.\n", joined(said, "; ")),
        }
    }
}

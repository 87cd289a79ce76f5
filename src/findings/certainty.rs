//! How sure an answer is.

use super::{Answer, Comparison, MissingTime, rounded};
use crate::machine::Side;
use crate::search::Ranked;
use crate::simulate::Doubts;
use crate::stats::{NINE_OF_TEN, share_below};
use crate::timeline::{Lane, Timeline};
use crate::units::Span;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How sure it is that the plan to choose is faster than the one that it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Certainty {
    /// The answer's grade.
    pub grade: Grade,
    /// The probability that the plan to choose is the faster one, with all that is known about how
    /// far predictions are off: draws of the measured costs, the calibration's trials, how many
    /// measured times the ranges held, and a link that was busy while it was measured. `null` if
    /// the answer hangs on a missing time.
    pub probability: Option<f64>,
    /// What most of the doubt comes from.
    pub most_doubt: Option<Doubt>,
}

/// A word for a probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// At least 99%.
    Very,
    /// At least 95%.
    Fairly,
    /// Less.
    NotVery,
    /// Neither plan is clearly faster.
    Tie,
    /// A time is missing on which the answer hangs.
    Open,
}

/// What an answer may be wrong by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Doubt {
    /// The time of a plan.
    Plan {
        /// Its name.
        plan: String,
        /// Its side.
        side: Side,
        /// Lower end of the range of its time.
        low_ns: Span,
        /// Upper end of that range.
        high_ns: Span,
    },
    /// The link to the GPU, which something else used while it was measured.
    Link {
        /// By which share copies may be off.
        off: f64,
    },
    /// The time of a kernel that is not known.
    MissingTime {
        /// The least time of the kernel in a run with which the answer is open: that at which the
        /// other plan, at the lower end of its range, takes as long.
        from_ns: Span,
        /// The longest such time.
        to_ns: Span,
    },
}

/// Least probabilities of grades: with one wrong answer in a hundred, and with one in twenty.
const VERY: f64 = 0.99;
const FAIRLY: f64 = 0.95;

impl Grade {
    fn of(answer: Answer, probability: f64) -> Self {
        match answer {
            Answer::Tie | Answer::NothingToCompare => Self::Tie,
            _ if probability >= VERY => Self::Very,
            _ if probability >= FAIRLY => Self::Fairly,
            _ => Self::NotVery,
        }
    }
}

/// The two plans of a comparison, by what they are compared.
pub(super) struct Rivals<'r> {
    pub chosen: &'r Ranked,
    pub other: &'r Ranked,
    /// Runs of a whole program; nothing for one run without what comes before it.
    pub runs: Option<u64>,
}

impl Rivals<'_> {
    /// By which share of its time a plan may be off because of the link.
    fn link_share(&self, one: &Ranked, link: f64) -> f64 {
        let pass = one.makespan().nanos_f64();
        let all = match self.runs {
            Some(runs) => one.program(runs).map_or(pass, |all| all.nanos_f64() / runs as f64),
            None => pass,
        };
        link * on_link(&one.forecast.timeline).nanos_f64() / all.max(1.0)
    }

    /// The probability that the chosen plan is the faster one.
    pub fn probability(&self, doubts: Doubts) -> f64 {
        let Self { chosen, other, runs } = self;
        let before = |one: &Ranked| match runs {
            Some(_) => one.before_first_pass().unwrap_or_default(),
            None => Span::ZERO,
        };
        let before = [before(chosen), before(other)];
        let lead = chosen.forecast.lead_over(&other.forecast, before, runs.unwrap_or(1));
        lead.probability(doubts.ranges_as_wide, self.link_differs(doubts))
    }

    /// By how much more a slower or faster link changes one time than the other.
    fn link_differs(&self, doubts: Doubts) -> f64 {
        let of = |one: &Ranked| self.link_share(one, doubts.link);
        (of(self.chosen) - of(self.other)).abs()
    }
}

/// The time that copies over the link take of the chain that decides how long a pass takes.
fn on_link(timeline: &Timeline) -> Span {
    let path = timeline.critical_path();
    path.on(Lane::CopyIn) + path.on(Lane::CopyOut)
}

impl Certainty {
    /// How sure the answer of a comparison is.
    pub(super) fn of(compared: &Comparison, rivals: &Rivals<'_>, doubts: Doubts) -> Option<Self> {
        let probability = rivals.probability(doubts);
        let width = |low: Span, high: Span| {
            (high.nanos_f64().max(1.0) / low.nanos_f64().max(1.0)).ln() / 2.0
        };
        let plans = [&compared.chosen, compared.other.as_ref()?];
        let widest = plans.into_iter().max_by(|one, other| {
            width(one.low_ns, one.high_ns).total_cmp(&width(other.low_ns, other.high_ns))
        })?;
        let of_ranges = width(widest.low_ns, widest.high_ns) * doubts.ranges_as_wide;
        let most_doubt = if rivals.link_differs(doubts) > of_ranges {
            Doubt::Link { off: rounded(doubts.link) }
        } else {
            Doubt::Plan {
                plan: widest.plan.clone(),
                side: widest.side,
                low_ns: widest.low_ns,
                high_ns: widest.high_ns,
            }
        };
        Some(Self {
            grade: Grade::of(compared.answer, probability),
            probability: Some(rounded(probability)),
            most_doubt: Some(most_doubt),
        })
    }

    /// How sure an answer is that lacks a kernel's time: whether the plan that is known takes less
    /// even than all the rest on the other side. Its time differs by a normal deviate, as its range
    /// says.
    pub(super) fn without(missing: &MissingTime, known: &Comparison, doubts: Doubts) -> Self {
        let one = &known.chosen;
        if missing.other_wins_above_ns.is_some() {
            let left = |end: Span| end.saturating_sub(missing.rest_ns);
            let (from_ns, to_ns) = (left(one.low_ns), left(one.high_ns));
            let most_doubt = Some(Doubt::MissingTime { from_ns, to_ns });
            return Self { grade: Grade::Open, probability: None, most_doubt };
        }
        let [low, time, high, rest] = [one.low_ns, one.time_ns, one.high_ns, missing.rest_ns]
            .map(|time| time.nanos_f64().max(1.0).ln());
        let deviation = doubts.ranges_as_wide * (high - low) / 2.0 / NINE_OF_TEN;
        let probability = share_below((rest - time) / deviation.max(f64::MIN_POSITIVE));
        Self {
            grade: Grade::of(Answer::Plan, probability),
            probability: Some(rounded(probability)),
            most_doubt: Some(Doubt::Plan {
                plan: one.plan.clone(),
                side: one.side,
                low_ns: one.low_ns,
                high_ns: one.high_ns,
            }),
        }
    }
}

//! How sure an answer is.

use super::contender::Contender;
use super::{Answer, MissingTime, rounded, times_as_long};
use crate::machine::Side;
use crate::search::Ranked;
use crate::stats::{NINE_OF_TEN, normal_share_below};
use crate::timeline::{Lane, Timeline};
use crate::units::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How certain it is that the chosen plan is faster than the plan that it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certainty {
    /// The grade of the answer.
    pub grade: Grade,
    /// The probability that the chosen plan is the faster one. It follows from the ranges of both
    /// plans and, if the link was busy during the calibration, from the uncertainty of copies.
    /// `null` if the answer depends on a missing time.
    pub probability: Option<f64>,
    /// The main source of doubt.
    pub most_doubt: Option<Doubt>,
    /// The share of both times that the same kernels take. In this share, both predictions are off
    /// by the same factor, so the order of the plans can be certain even if their ranges overlap.
    pub same_kernels: f64,
}

/// A grade for a probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// At least 95%.
    Very,
    /// At least 80%.
    Fairly,
    /// Below 80%.
    NotVery,
    /// Neither plan is clearly faster.
    Tie,
    /// A time on which the answer depends is missing.
    Open,
}

/// A reason why an answer may be wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The link to the GPU, which something else used during the calibration.
    Link {
        /// Share by which copies may be off.
        off: f64,
    },
    /// The unknown time of a kernel.
    MissingTime {
        /// The shortest time of the kernel in a run with which the answer is open: the time at
        /// which the other plan, at the lower end of its range, takes as long.
        from_ns: Span,
        /// The longest such time.
        to_ns: Span,
    },
}

impl Doubt {
    /// The time of a plan.
    fn of(plan: &Contender) -> Self {
        let Contender { plan, side, low_ns, high_ns, .. } = plan.clone();
        Self::Plan { plan, side, low_ns, high_ns }
    }
}

/// Least probabilities of grades: with one wrong answer in twenty, and with one in five.
const VERY: f64 = 0.95;
const FAIRLY: f64 = 0.8;

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

/// By how much more a slower or faster link changes the time of one plan than that of another: of a
/// whole program if there is a number of runs, or else of one run without what comes before it.
fn link_differs([one, other]: [&Ranked; 2], runs: Option<u64>, link: f64) -> f64 {
    let share = |one: &Ranked| {
        let pass = one.makespan().nanos_f64();
        let of_program = |runs: u64| Some(one.program(runs)?.nanos_f64() / runs as f64);
        let all = runs.and_then(of_program).unwrap_or(pass);
        on_link(&one.forecast.timeline).nanos_f64() / all.max(1.0)
    };
    link * (share(one) - share(other)).abs()
}

/// Half the width of a range, as a logarithm.
fn half_width(of: &Contender) -> f64 {
    times_as_long(of.high_ns, of.low_ns).ln() / 2.0
}

/// The probability that one plan is faster than another. Their times differ from the predicted
/// ones by normal deviates on a logarithmic scale, of which nine in ten are within the ranges. The
/// share `same_kernels` of both is off by the same, because the same kernels run on the same
/// multiprocessors; all else is independent. What copies over the link may be off by comes on top:
/// `link` is the half width of the range that holds nine in ten of these.
///
/// If copies and calls of both plans were off by the same as well, the order would seem more
/// certain than it is: of pairs of recorded plans that were then said to be in some order with
/// 97%, 89% were measured in that order.
pub fn probability_faster([one, other]: [&Contender; 2], same_kernels: f64, link: f64) -> f64 {
    let [mine, theirs] = [one, other].map(half_width);
    let apart = mine * mine + theirs * theirs - 2.0 * same_kernels * mine * theirs;
    let around = apart.max(0.0).sqrt().hypot(link);
    probability_of_lead(one.time_ns, other.time_ns, around)
}

/// The probability that a time is less than another one, if nine in ten of their ratios are off by
/// at most `around`, as a logarithm.
fn probability_of_lead(time: Span, other: Span, around: f64) -> f64 {
    let lead = times_as_long(other, time).ln();
    if lead == 0.0 {
        // Also of times that are known exactly.
        return 0.5;
    }
    normal_share_below(lead * NINE_OF_TEN / around.max(f64::MIN_POSITIVE))
}

/// The share of both times that the same kernels take, in which the two plans are off by the same:
/// nothing if one of them leaves the GPU alone.
pub fn same_kernels(one: &Ranked, other: &Ranked) -> f64 {
    if one.is_cpu() || other.is_cpu() {
        return 0.0;
    }
    let [mine, theirs] = [one, other].map(kernels_on_path);
    let same = mine.iter().filter_map(|(kernel, time)| Some((*time).min(*theirs.get(kernel)?)));
    let same: Span = same.sum();
    let longer = one.makespan().max(other.makespan()).nanos_f64().max(1.0);
    (same.nanos_f64() / longer).min(1.0)
}

/// What each kernel takes of the chain that decides how long a pass takes.
fn kernels_on_path(one: &Ranked) -> BTreeMap<&str, Span> {
    let program = &one.plan.program;
    let path = one.forecast.timeline.critical_path();
    let on_gpu = path.segments.iter().filter(|segment| segment.activity.lane == Lane::Kernels);
    let mut times = BTreeMap::new();
    for segment in on_gpu {
        if let Some(kernel) = program.kernel_of(&program.body[segment.activity.call]) {
            let time: &mut Span = times.entry(kernel).or_default();
            *time += segment.time;
        }
    }
    times
}

/// The time that copies over the link take of the chain that decides how long a pass takes.
fn on_link(timeline: &Timeline) -> Span {
    let path = timeline.critical_path();
    path.on(Lane::CopyIn) + path.on(Lane::CopyOut)
}

impl Certainty {
    /// How sure the answer of a comparison is, by one run or by a program of `runs`.
    pub(super) fn of(
        answer: Answer,
        [chosen, other]: [&Contender; 2],
        (plans, runs): ([&Ranked; 2], Option<u64>),
        link_off: f64,
    ) -> Self {
        let link = link_differs(plans, runs, link_off);
        let same = same_kernels(plans[0], plans[1]);
        let probability = probability_faster([chosen, other], same, link);
        let widest = if half_width(chosen) > half_width(other) { chosen } else { other };
        let most_doubt = if link > half_width(widest) {
            Doubt::Link { off: rounded(link_off) }
        } else {
            Doubt::of(widest)
        };
        Self {
            grade: Grade::of(answer, probability),
            probability: Some(rounded(probability)),
            most_doubt: Some(most_doubt),
            same_kernels: rounded(same),
        }
    }

    /// How sure an answer is that lacks a kernel's time: whether the plan that is known takes less
    /// even than all the rest on the other side. Its time differs by a normal deviate, as its range
    /// says.
    pub(super) fn without(missing: &MissingTime, one: &Contender) -> Self {
        if missing.other_wins_above_ns.is_some() {
            let left = |end: Span| end.saturating_sub(missing.rest_ns);
            let (from_ns, to_ns) = (left(one.low_ns), left(one.high_ns));
            let most_doubt = Some(Doubt::MissingTime { from_ns, to_ns });
            return Self { grade: Grade::Open, probability: None, most_doubt, same_kernels: 0.0 };
        }
        let probability = probability_of_lead(one.time_ns, missing.rest_ns, half_width(one));
        Self {
            grade: Grade::of(Answer::Plan, probability),
            probability: Some(rounded(probability)),
            most_doubt: Some(Doubt::of(one)),
            same_kernels: 0.0,
        }
    }
}

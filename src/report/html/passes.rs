//! How much measured passes of a plan differ from one another: the density of each plan's passes
//! around their median, as criterion draws it.

use super::Case;
use super::bars::{ranked, shown};
use super::chart::{Scale, path_through};
use super::style::{scrolled, share};
use crate::report::ticks::even_marks;
use crate::report::words::{plural, range, signed_percent};
use crate::runs::Run;
use crate::search::Ranked;
use crate::stats::{density, median, quantile};
use crate::units::Span;
use maud::{Markup, html};

/// Passes beyond these quantiles lie beyond the axis if they are far out.
const TAILS: [f64; 2] = [0.01, 0.99];
/// The axis ends here at the latest, below and above the median.
const FURTHEST: [f64; 2] = [-0.5, 1.0];
/// Places at which a density is drawn.
const STEPS: usize = 120;
/// Fewer passes have no shape: each is drawn by itself.
const FEW: usize = 10;

/// The passes of one plan.
struct Passes<'a> {
    ranked: &'a Ranked,
    median: Span,
    /// Relative to the median, in ascending order.
    off: Vec<f64>,
}

pub(super) fn section(case: &Case<'_>) -> Markup {
    let plans = shown(case);
    let plans = plans.iter().filter_map(|plan| ranked(case, plan));
    let all: Vec<Passes<'_>> =
        plans.filter_map(|one| Passes::of(one, case.measured(one)?)).collect();
    let Some([low, high]) = ends(&all) else { return html! {} };
    let at = |off: f64| (off - low) / (high - low);
    let marks = even_marks(low, high, 6).into_iter().map(|mark| (at(mark), written(mark)));
    let scale = Scale::new(marks);
    let offs = all.iter().flat_map(|passes| &passes.off);
    let beyond = offs.filter(|off| !(low..=high).contains(*off)).count();
    case.part(
        "passes",
        &title(&all),
        &html! {
            (scrolled(&html! { table.passes {
                thead { tr {
                    th { "Plan" } th.bar { "Runs around their median" (scale.labels()) }
                    th.number { "Median" } th.number { "Nine in ten" } th.number { "Runs" }
                } }
                tbody { @for passes in &all { (passes.row([low, high], &scale)) } }
            } }))
            p.note {
                "Shapes: distribution of each plan's measured runs; vertical line: their median. \
                 Dot and line: predicted time and range, relative to that median."
                @if beyond > 0 { " " (plural(beyond as u64, "run")) " beyond the axis." }
            }
        },
    )
}

/// Which plan is the steadiest and which one the least steady.
fn title(all: &[Passes<'_>]) -> String {
    let spreads = || all.iter().filter_map(|one| Some((one.spread()?, one.ranked.plan.name())));
    let widest = spreads().max_by(|one, other| one.0.total_cmp(&other.0));
    let steadiest = spreads().min_by(|one, other| one.0.total_cmp(&other.0));
    match (steadiest, widest) {
        (Some((least, _)), Some((most, name))) if all.len() > 1 => format!(
            "Measured runs: nine in ten are within {:.1}% of each other at best, {:.0}% at worst \
             ({name})",
            100.0 * least,
            100.0 * most
        ),
        _ => "Measured runs".to_owned(),
    }
}

/// Where the axis begins and ends, relative to the medians.
fn ends(all: &[Passes<'_>]) -> Option<[f64; 2]> {
    let furthest = |at: usize| {
        let tails = all.iter().filter_map(move |one| quantile(&one.off, TAILS[at]));
        tails.chain(all.iter().map(move |one| one.predicted()[2 * at]))
    };
    if all.is_empty() {
        return None;
    }
    let low = furthest(0).fold(-0.01, f64::min).max(FURTHEST[0]);
    let high = furthest(1).fold(0.01, f64::max).min(FURTHEST[1]);
    Some([low, high])
}

/// `+5%`, or `median` where the axis has it.
fn written(off: f64) -> String {
    if off.abs() < 1e-9 {
        return "0%".to_owned();
    }
    let percent = (1e4 * off).round() / 1e2;
    format!("{percent:+}%")
}

impl<'a> Passes<'a> {
    fn of(ranked: &'a Ranked, run: &Run) -> Option<Self> {
        let times: Vec<f64> = run.passes_ns.iter().map(|pass| pass.nanos_f64()).collect();
        let middle = median(&times).filter(|middle| *middle > 0.0)?;
        let mut off: Vec<f64> = times.iter().map(|time| time / middle - 1.0).collect();
        off.sort_by(f64::total_cmp);
        Some(Self { ranked, median: run.makespan(), off })
    }

    /// The lower end of the range, the predicted time and the upper end, against the median.
    fn predicted(&self) -> [f64; 3] {
        let (low, high) = self.ranked.forecast.interval();
        let against = |time: Span| time.nanos_f64() / self.median.nanos_f64().max(1.0) - 1.0;
        [low, self.ranked.makespan(), high].map(against)
    }

    /// How far apart the middle nine tenths of the passes are.
    fn spread(&self) -> Option<f64> {
        Some(quantile(&self.off, 0.95)? - quantile(&self.off, 0.05)?)
    }

    fn row(&self, [low, high]: [f64; 2], scale: &Scale) -> Markup {
        let at = |off: f64| share((off - low) / (high - low));
        let [from, middle, to] = self.predicted().map(|off| off.clamp(low, high));
        let side = self.ranked.plan.side();
        let time = |q: f64| {
            let off = quantile(&self.off, q).unwrap_or(0.0);
            Span::from_nanos_f64(self.median.nanos_f64() * (1.0 + off))
        };
        let (fast, slow) = (time(0.05), time(0.95));
        let words = format!(
            "{}: median {}, nine in ten {}; predicted {} ({} vs the median)",
            self.ranked.plan.name(),
            self.median,
            range(fast, slow),
            self.ranked.makespan(),
            signed_percent(self.predicted()[1])
        );
        html! {
            tr {
                td.name { (self.ranked.plan.name()) }
                td.bar { div.track.violin role="img" aria-label=(words) title=(words) {
                    (scale.lines())
                    svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true" {
                        path class={ "shape " (side) } d=(self.shape([low, high])) {}
                    }
                    div.median style={ "left:" (at(0.0)) } {}
                    div class={ "range" @if from > self.predicted()[0] { " before" }
                            @if to < self.predicted()[2] { " on" } } style={
                        "left:" (at(from)) ";right:" (share(1.0 - (to - low) / (high - low)))
                    } {}
                    div.predicted style={ "left:" (at(middle)) } {}
                } }
                td.number { (self.median) }
                td.number { (range(fast, slow)) }
                td.number { (self.off.len()) }
            }
        }
    }

    /// The outline of the density, mirrored, within a box of 1000 by 100; of few passes, a stroke
    /// for each.
    fn shape(&self, [low, high]: [f64; 2]) -> String {
        let across = |off: f64| ((off - low) / (high - low) * 1e4).round() / 10.0;
        let ends = [self.off.first(), self.off.last()];
        let [Some(&first), Some(&last)] = ends else { return String::new() };
        let (from, to) = (first.max(low), last.min(high));
        let step = (high - low) / STEPS as f64;
        let count = ((to - from) / step).ceil().max(1.0) as usize;
        let places: Vec<f64> =
            (0..=count).map(|at| from + (to - from) * at as f64 / count as f64).collect();
        let dense = density(&self.off, &places).filter(|_| self.off.len() >= FEW);
        let Some(dense) = dense else {
            let shown = self.off.iter().filter(|off| (low..=high).contains(*off));
            return shown.map(|off| format!("M{} 30V70", across(*off))).collect();
        };
        let most = dense.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let half = |density: f64| (450.0 * density / most).round() / 10.0;
        let above = places.iter().zip(&dense).map(|(off, found)| (*off, 50.0 - half(*found)));
        let below = places.iter().zip(&dense).rev().map(|(off, found)| (*off, 50.0 + half(*found)));
        path_through(above.chain(below).map(|(off, y)| (across(off), y))) + "Z"
    }
}

//! How sure a prediction is. The engine runs under seeded draws of the profile, of how long each
//! launch takes, and of where the edges of the device's clock lie.

use super::engine::within_horizon;
use super::tally::Tally;
use crate::cost::{Analysis, CompileError, CompiledProgram, Draw};
use crate::profile::Profile;
use crate::program::{Program, ThreadId};
use crate::stats::quantile;
use crate::timeline::{Activity, Lane, Timeline, busy};
use crate::units::{Instant, Span};
use rayon::prelude::*;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The number of draws behind a range, unless the caller says otherwise; margins are computed with
/// as many. With 40 draws, the median error of calibrations' trials depended on the seed by a tenth
/// of a percent. With 100 it depends on it by half of that, and the errors are smaller by as much.
pub const DRAWS: usize = 100;

/// A predicted body: its makespans under profiles drawn from the scatter of the fitted one, and the
/// timeline of the median draw. That timeline stands for the machine better than one under the
/// fitted profile itself, in which an operation may narrowly miss a poll of its engine that most
/// draws catch.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    pub timeline: Timeline,
    /// Makespans under the draws, in order. The i-th draws of all forecasts with the same seed are
    /// of the same machine.
    pub draws: Vec<Span>,
    /// By how much both ends of the range are moved, from the calibration's trials of programs of
    /// this kind, on the scale of [`Margin::score`](crate::profile::Margin::score).
    pub margin: f64,
    /// How many times as wide the range is as draws and trials say: see [`Draws::widening`].
    pub widening: f64,
    /// How much of the prediction is stated: the time on the critical path of calls whose time the
    /// user states. No margin applies to it.
    pub stated: Span,
    /// What the main host thread does in a pass, on the machine without scatter: of a draw, it
    /// would be that of an arbitrary host where most of the time passes elsewhere.
    pub main_thread: MainThread,
    /// The least that the body's calls take in their order, on the machine without scatter: see
    /// [`CompiledProgram::lower_bound`].
    pub bound: Span,
}

/// What the host thread that begins and ends a pass does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MainThread {
    /// The share of the pass that it spends inside calls; synchronisations do not count.
    pub held: f64,
    /// When the last of these calls has returned.
    pub free_after: Span,
}

impl MainThread {
    fn of(program: &Program, timeline: &Timeline) -> Self {
        let is_held = |activity: &&Activity| {
            let waits = program.body[activity.call].only_waits();
            !waits && program.thread_of(activity.call) == ThreadId::MAIN
        };
        let calls = || timeline.lane(Lane::Host).filter(is_held);
        let held = busy(calls().map(|call| (call.start, call.end)));
        let free_after = calls().map(|call| call.end).max().unwrap_or(Instant::START);
        Self {
            held: held.nanos_f64() / timeline.makespan.nanos_f64().max(1.0),
            free_after: free_after.since_start(),
        }
    }
}

impl Forecast {
    /// The predicted time of one pass: the makespan of the median draw.
    pub fn makespan(&self) -> Span {
        self.timeline.makespan
    }

    /// The range that is made to hold the true time nine times out of ten: the 5% and 95%
    /// quantiles of the draws, with both ends moved by the margin, and widened on a logarithmic
    /// scale. It always contains the prediction.
    pub fn interval(&self) -> (Span, Span) {
        let draws: Vec<f64> = self.draws.iter().map(|span| span.nanos_f64()).collect();
        let middle = self.makespan().nanos_f64();
        let end = |q: f64| quantile(&draws, q).unwrap_or(middle);
        let (low, high) = (end(0.05).min(middle), end(0.95).max(middle));
        // No more than this of the distance to an end comes from what is measured.
        let measured = match self.stated {
            Span::ZERO => f64::INFINITY,
            stated => self.makespan().saturating_sub(stated).nanos_f64(),
        };
        let moved = |end: f64, outwards: f64| {
            // Only what is measured moves: a stated range stays as stated.
            let measured = (end - middle).clamp(-measured, measured);
            let rest = end - middle - measured;
            let inwards = middle + rest + measured * (1.0 + self.margin);
            let stated = self.stated.nanos_f64().min(end);
            let outwards = stated + (end - stated) * (outwards * self.margin).exp();
            if self.margin < 0.0 { inwards } else { outwards }
        };
        let widened = |end: f64| match self.widening {
            1.0 => end,
            widening => {
                // Like the margin, this is for what is measured.
                let measured = measured.min(middle);
                let off = (end - middle).clamp(-measured, measured);
                let times = (1.0 + off / measured.max(1.0)).powf(widening);
                end - off + measured * (times - 1.0)
            }
        };
        let end = |end: f64| Span::from_nanos_f64(widened(end));
        (end(moved(low, -1.0)), end(moved(high, 1.0)))
    }

    /// How many times as fast this is as another program, as a logarithm: the range that holds the
    /// true one nine times out of ten. Both go `runs` times through their bodies, each after
    /// something that takes as long as `before`. The draws of both are of the same machines; what
    /// the margins stand for is not, so of two that widen the range, the squares add up.
    pub fn lead_over(&self, other: &Self, before: [Span; 2], runs: u64) -> (f64, f64) {
        self.lead_after(other, before, [runs; 2])
    }

    /// Like [`lead_over`](Self::lead_over), if a run of this makes so many passes of the work, and
    /// one of the other program so many.
    pub fn lead_in_passes(&self, passes: u64, other: &Self, others: u64) -> (f64, f64) {
        self.lead_after(other, [Span::ZERO; 2], [others, passes])
    }

    fn lead_after(&self, other: &Self, before: [Span; 2], runs: [u64; 2]) -> (f64, f64) {
        let lead = |mine: Span, theirs: Span| {
            let [mine, theirs] = [before[0] + mine * runs[0], before[1] + theirs * runs[1]];
            (theirs.nanos_f64().max(1.0) / mine.nanos_f64().max(1.0)).ln()
        };
        let middle = lead(self.makespan(), other.makespan());
        let pairs = self.draws.iter().zip(&other.draws);
        let leads: Vec<f64> = pairs.map(|(&mine, &theirs)| lead(mine, theirs)).collect();
        let end = |q: f64| quantile(&leads, q).unwrap_or(middle);
        let (low, high) = (end(0.05).min(middle), end(0.95).max(middle));
        let (mine, theirs) =
            (self.margin_over(before[0], runs[0]), other.margin_over(before[1], runs[1]));
        let widest = mine.max(theirs);
        let widening = self.widening.max(other.widening);
        let widened = |end: f64| middle + (end - middle) * widening;
        if widest < 0.0 {
            let inwards = |end: f64| middle + (end - middle) * (1.0 + widest);
            return (widened(inwards(low)), widened(inwards(high)));
        }
        let margin = mine.max(0.0).hypot(theirs.max(0.0));
        (widened(low - margin), widened(high + margin))
    }

    /// The margin of `runs` passes behind something that takes as long as `before`, on the scale of
    /// all of that time: it does not apply to what is stated.
    fn margin_over(&self, before: Span, runs: u64) -> f64 {
        if self.stated == Span::ZERO || self.margin < 0.0 {
            return self.margin;
        }
        let all = (before + self.makespan() * runs).nanos_f64().max(1.0);
        let stated = ((self.stated * runs).nanos_f64() / all).min(1.0);
        (stated + (1.0 - stated) * self.margin.exp()).ln()
    }

    /// Whether it is open which of the two is faster: they differ by at most a tenth and neither is
    /// faster in nine draws of ten, or they differ by so little that nobody could tell. Without
    /// draws, the latter alone counts.
    pub fn ties_with(&self, other: &Self) -> bool {
        self.ties_over(other, [Span::ZERO; 2], 1)
    }

    /// Whether the draws do not settle which of two programs is faster that go `runs` times
    /// through this body and the other, each after something that takes as long as `before`.
    pub fn ties_over(&self, other: &Self, before: [Span; 2], runs: u64) -> bool {
        let all = |mine: Span, theirs: Span| [before[0] + mine * runs, before[1] + theirs * runs];
        let order = |mine: Span, theirs: Span| {
            let [mine, theirs] = all(mine, theirs);
            mine.cmp(&theirs)
        };
        let [mine, theirs] = all(self.makespan(), other.makespan());
        let (less, more) = (mine.min(theirs), mine.max(theirs));
        let is_within = |share: f64| (more - less).nanos_f64() <= share * more.nanos_f64();
        if self.draws.is_empty() || is_within(UNSEEN) || !is_within(FAR) {
            return is_within(UNSEEN);
        }
        // One of the two forecasts may have fewer draws.
        let pairs = || self.draws.iter().zip(&other.draws);
        let in_draws = |wanted: Ordering| {
            pairs().filter(|&(&mine, &theirs)| order(mine, theirs) == wanted).count()
        };
        let most = in_draws(Ordering::Less).max(in_draws(Ordering::Greater));
        (most as f64) < SETTLED * pairs().len() as f64
    }
}

/// Two programs whose times differ by no more than this share are as good as equal: passes of one
/// and the same program differ by ten times as much (see `repeatability` in a profile).
const UNSEEN: f64 = 0.001;

/// The share of measured times that ranges are made to hold.
pub const COVERAGE: f64 = 0.9;

/// Programs whose times differ by more than this share are never as good as equal, however much
/// their draws overlap: whoever took the slower one for its simplicity would lose too much.
const FAR: f64 = 0.1;

/// The share of draws that settles which of two programs is faster.
const SETTLED: f64 = 0.9;

/// Programs are drawn as often as asked for if all of them together make so many calls in that.
/// Beyond it, those that have lost are not drawn again after a few draws, and the others only as
/// often as they together make about so many calls.
const DRAWN_FREELY: usize = 8_000_000;
const DRAWN_AT_MOST: usize = 8_000_000;
const FEW: usize = 10;

/// How ranges are made: from how many draws of a profile's scatter, with which seed, and how many
/// times as wide as these say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    pub count: usize,
    pub seed: u64,
    /// 1, or more where runs on the machine show that ranges of draws and trials hold fewer times
    /// than they are made to hold.
    pub widening: f64,
}

impl Draws {
    pub const fn new(count: usize, seed: u64) -> Self {
        Self { count, seed, widening: 1.0 }
    }

    /// Changes how many times as wide ranges become; the draws stay as they are.
    #[must_use]
    pub const fn widened(self, widening: f64) -> Self {
        Self { widening, ..self }
    }
}

/// Predicts a program's body with its uncertainty.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the program does not
/// fit its machine.
pub fn forecast(
    program: &Program,
    profile: &Profile,
    draws: usize,
    seed: u64,
) -> Result<Forecast, CompileError> {
    let draws = Draws::new(draws, seed);
    let mut all = forecast_all(&[program], profile, draws, &Tally::default());
    all.pop().expect("one forecast of one program")
}

/// Predicts several programs under the same draws, on all CPU threads. The results are in the order
/// of the programs. Very long programs are drawn less often than asked for, and at least ten times.
/// Counts the calls of a program whenever it has been simulated: once for each draw, and once for
/// its timeline.
pub fn forecast_all<P: Borrow<Program> + Sync>(
    programs: &[P],
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Vec<Result<Forecast, CompileError>> {
    forecast_finalists(programs, profile, draws, done, |draws| vec![false; draws.len()])
}

/// Like [`forecast_all`], but where that would take long, only some of the programs are drawn
/// more than a few times: those of which `have_lost` does not say that they have lost, given a few
/// draws of each. There are none of what cannot be predicted.
pub fn forecast_finalists<P: Borrow<Program> + Sync>(
    programs: &[P],
    profile: &Profile,
    how: Draws,
    done: &Tally,
    have_lost: impl FnOnce(&[&[Span]]) -> Vec<bool>,
) -> Vec<Result<Forecast, CompileError>> {
    let Draws { count: draws, seed, widening } = how;
    let begun = programs.par_iter().map(|program| Begun::new(program.borrow(), profile));
    let mut begun: Vec<Begun<'_>> = begun.collect();
    // No draw says how sure the prices are, and a clone of that costs as much as the prices.
    let profile_of_draws = Profile { intervals: None, accuracy: None, ..profile.clone() };
    let draw = |number| Draw::new(&profile_of_draws, number, seed);
    let calls: usize = begun.iter().map(Begun::calls).sum();
    let mut first = 0;
    if calls.saturating_mul(draws) > DRAWN_FREELY && draws > FEW {
        go_on(&mut begun, 0..FEW, draw, done);
        first = FEW;
        let draws: Vec<&[Span]> = begun.iter().map(Begun::draws).collect();
        let have_lost = have_lost(&draws);
        begun.iter_mut().zip(have_lost).for_each(|(one, lost)| one.has_lost = lost);
    }
    let left: usize = begun.iter().filter(|one| !one.has_lost).map(Begun::calls).sum();
    let draws = draws.min((DRAWN_AT_MOST / left.max(1)).max(FEW));
    go_on(&mut begun, first..draws, draw, done);
    // The timelines of many programs are those of the same few draws.
    let middles: BTreeSet<usize> = begun.iter().filter_map(Begun::middle).collect();
    let middles: BTreeMap<usize, Draw> =
        middles.into_par_iter().map(|number| (number, draw(number))).collect();
    begun.into_par_iter().map(|one| one.finish(profile, &middles, widening, done)).collect()
}

/// Simulates programs under more draws, those of these numbers. A draw, which is a profile of a
/// tenth of a megabyte, is gone once all programs have been simulated under it.
fn go_on(
    begun: &mut [Begun<'_>],
    numbers: Range<usize>,
    draw: impl Fn(usize) -> Draw + Sync,
    done: &Tally,
) {
    let under_draw = |number| {
        let draw = draw(number);
        let makespans = begun.par_iter().map(|one| one.makespan(&draw, done));
        makespans.collect::<Vec<_>>()
    };
    let all: Vec<Vec<_>> = numbers.into_par_iter().map(under_draw).collect();
    for of_draw in all {
        begun.iter_mut().zip(of_draw).for_each(|(one, makespan)| one.add(makespan));
    }
}

/// How much of a pass is stated: the time on the critical path of calls whose time the user states.
fn stated_time(program: &Program, timeline: &Timeline) -> Span {
    let stated: Vec<bool> = program.body.iter().map(|call| program.is_stated(call)).collect();
    if !stated.contains(&true) {
        return Span::ZERO;
    }
    let path = timeline.critical_path();
    let on_path = path.segments.iter().filter(|segment| stated[segment.activity.call]);
    on_path.map(|segment| segment.time).sum()
}

/// A forecast that is under way.
struct Begun<'p> {
    program: &'p Program,
    analysis: Analysis,
    makespans: Result<Vec<Span>, CompileError>,
    has_lost: bool,
}

impl<'p> Begun<'p> {
    fn new(program: &'p Program, profile: &Profile) -> Self {
        let (analysis, makespans) = (Analysis::new(program, profile), Ok(Vec::new()));
        Self { program, analysis, makespans, has_lost: false }
    }

    fn calls(&self) -> usize {
        self.program.body.len()
    }

    fn draws(&self) -> &[Span] {
        self.makespans.as_deref().unwrap_or_default()
    }

    /// The makespan under a draw; `None` if no more are needed.
    fn makespan(&self, draw: &Draw, done: &Tally) -> Option<Result<Span, CompileError>> {
        let Self { program, analysis, makespans, has_lost } = self;
        (!has_lost && makespans.is_ok()).then(|| {
            let makespan = draw.compile(program, analysis)?.makespan();
            done.add(program.body.len() as u64);
            within_horizon(makespan)
        })
    }

    fn add(&mut self, makespan: Option<Result<Span, CompileError>>) {
        match (makespan, &mut self.makespans) {
            (Some(Ok(makespan)), Ok(before)) => before.push(makespan),
            (Some(Err(error)), Ok(_)) => self.makespans = Err(error),
            (_, Err(_)) | (None, Ok(_)) => {}
        }
    }

    /// The number of the median draw.
    fn middle(&self) -> Option<usize> {
        let draws = self.draws();
        let mut ranks: Vec<usize> = (0..draws.len()).collect();
        ranks.sort_by_key(|&number| draws[number]);
        ranks.get(ranks.len() / 2).copied()
    }

    /// The forecast, given the draws that are the median of some program.
    fn finish(
        self,
        profile: &Profile,
        middles: &BTreeMap<usize, Draw>,
        widening: f64,
        done: &Tally,
    ) -> Result<Forecast, CompileError> {
        let middle = self.middle();
        let Self { program, analysis, makespans, .. } = self;
        let draws = makespans?;
        let usual = CompiledProgram::usual(program, &analysis, profile)?;
        let bound = usual.lower_bound();
        let without_scatter = usual.timeline();
        let main_thread = MainThread::of(program, &without_scatter);
        let timeline = match middle {
            Some(middle) => {
                drop(without_scatter);
                middles[&middle].compile(program, &analysis)?.timeline()
            }
            None => without_scatter,
        };
        within_horizon(timeline.makespan)?;
        done.add(program.body.len() as u64);
        let stated = stated_time(program, &timeline);
        let margin = profile.margin(program, timeline.makespan.saturating_sub(stated));
        Ok(Forecast { timeline, draws, margin, widening, stated, main_thread, bound })
    }
}

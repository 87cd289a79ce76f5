//! Tries every remedy by itself, then the best with others on top.

use super::advice::{
    Advice, Advised, Breakdown, Change, Combination, NoGain, Rewritten, Takes, TimedRange,
};
use super::proof::proved;
use super::refusal::Refusal;
use super::remedy::Remedy;
use super::rewriting::{Condition, Rewriting};
use super::subject::Subject;
use crate::cost::{CompileError, setup_time};
use crate::profile::Profile;
use crate::program::Program;
use crate::simulate::{Draws, Forecast, Tally, forecast_all, textbook};
use crate::timeline::{Lane, Timeline, busy};
use crate::units::{Bytes, Span};

/// The share of a pass that a remedy has to gain to be one.
pub const LEAST_GAIN: f64 = 0.01;

/// A program that some remedies made, with what the simulator says of it.
struct Tried {
    remedy: Remedy,
    rewriting: Rewriting,
    /// Passes of the program as it was.
    passes: u64,
    /// Time of one of them, without scatter.
    pass: Span,
}

/// Works out what would help a program on a machine. Counts the calls that were simulated.
///
/// # Errors
/// If the profile does not know what one of the program's calls costs, or it does not fit.
pub fn advise(
    subject: &Subject,
    profile: &Profile,
    draws: Draws,
    done: &Tally,
) -> Result<Advised, CompileError> {
    let quick =
        |programs: &[&Program]| forecast_all(programs, profile, Draws { count: 0, ..draws }, done);
    let today = quick(&[&subject.program]).pop().expect("one forecast of one program")?;
    let today = today.makespan();
    let Singles { sure, open, mut no_gain } = singles(subject, today, &quick);
    let steps = best_combination(subject, &quick);
    let programs: Vec<&Program> = std::iter::once(&subject.program)
        .chain(sure.iter().chain(&open).chain(&steps).map(|tried| &tried.rewriting.program))
        .collect();
    let mut forecasts = forecast_all(&programs, profile, draws, done).into_iter();
    let as_it_is = forecasts.next().expect("one for each program")?;
    let setup = setup_time(&subject.program, profile).ok();
    let of = |tried: &Tried, forecast: &Forecast| {
        let program = &tried.rewriting.program;
        let once = setup.zip(setup_time(program, profile).ok());
        let once = once.map(|(before, after)| after.saturating_sub(before));
        change(subject, tried, &as_it_is, forecast, once)
    };
    let mut changes = |of_these: &[Tried]| {
        let mut changes = Vec::new();
        for (tried, forecast) in of_these.iter().zip(&mut forecasts) {
            changes.push((of(tried, &forecast?), tried.rewritten()));
        }
        changes.sort_by(|(one, _): &(Change, _), (other, _)| other.factor.total_cmp(&one.factor));
        Ok::<(Vec<Change>, Vec<Rewritten>), CompileError>(changes.into_iter().unzip())
    };
    let ((changes, sure), (only_if, open)) = (changes(&sure)?, changes(&open)?);
    let mut together = Vec::new();
    for (tried, forecast) in steps.iter().zip(forecasts) {
        let forecast = forecast?;
        let least = each(forecast.bound.min(forecast.makespan()), tried.passes);
        together.push((of(tried, &forecast), least));
    }
    let kept = steps_to_fastest(&together);
    let best = combination(together.drain(..kept));
    note_combined(&mut no_gain, best.as_ref());
    let advice = Advice {
        calls: subject.program.body.len() as u64,
        today: TimedRange::of(&as_it_is, 1),
        today_measured_ns: None,
        breakdown: Breakdown::of(&as_it_is.timeline, 1),
        changes,
        only_if,
        best,
        no_gain,
        without_grid: subject.program.kernels_without_grid().into_iter().map(Into::into).collect(),
    };
    Ok(Advised {
        advice,
        changes: sure,
        only_if: open,
        best: steps[..kept].last().map(Tried::rewritten),
    })
}

/// How many of the steps of a combination are worth taking: up to the one with which it is fastest.
/// Steps are chosen without scatter, and with it a later one may lose.
fn steps_to_fastest(steps: &[(Change, Span)]) -> usize {
    let times = steps.iter().map(|(step, _)| step.time.predicted_ns);
    let fastest = times.enumerate().min_by_key(|&(at, time)| (time, at));
    fastest.map_or(0, |(at, _)| at + 1)
}

/// The combination of these steps, each with a time that its calls take at least.
fn combination(steps: impl Iterator<Item = (Change, Span)>) -> Option<Combination> {
    let (steps, least): (Vec<Change>, Vec<Span>) = steps.unzip();
    let (takes, least_ns) = (steps.last()?.takes, *least.last()?);
    Some(Combination { steps, least_ns, takes, measured: None })
}

impl Tried {
    fn rewritten(&self) -> Rewritten {
        Rewritten { program: self.rewriting.program.clone(), passes: self.passes }
    }
}

/// Says of remedies without a gain of their own that they are in the best combination.
fn note_combined(no_gain: &mut [NoGain], best: Option<&Combination>) {
    let is_in = |remedy| best.is_some_and(|best| best.steps.iter().any(|one| one.remedy == remedy));
    no_gain.iter_mut().for_each(|one| one.is_combined = is_in(one.remedy));
}

/// What each remedy does by itself.
#[derive(Default)]
struct Singles {
    /// Remedies that gain something, the best first.
    sure: Vec<Tried>,
    /// Remedies that gain more if something is true that the program does not show.
    open: Vec<Tried>,
    no_gain: Vec<NoGain>,
}

fn singles(subject: &Subject, today: Span, quick: &impl Quick) -> Singles {
    let mut found = Singles::default();
    let is_short = subject.program.body.len() <= MOST_FOR_ANOTHER;
    let with_less = if is_short { subject.with_uploads_only_read() } else { None };
    let has_plans = !subject.plans.is_empty();
    for remedy in Remedy::ALL.into_iter().filter(|one| has_plans || !one.is_plan()) {
        let (Variants { sure, open }, refusal) = match tried(remedy, subject, quick) {
            Ok(variants) => (variants, None),
            Err(refusal) => (Variants { sure: None, open: None }, Some(refusal)),
        };
        let open = better(open, with_less.as_ref().and_then(|less| hoped(remedy, less, quick)));
        let gains = |one: &Tried| gain(today, one.pass) >= LEAST_GAIN;
        let least = sure.as_ref().map_or(today, |one| one.pass.min(today));
        let more = open.filter(|one| gain(least, one.pass) >= LEAST_GAIN);
        let sure_gain = sure.as_ref().map(|one| ratio(today, one.pass));
        let has_more = more.is_some();
        found.open.extend(more);
        match sure.filter(gains) {
            Some(one) => found.sure.push(one),
            None if has_more => {}
            None => {
                let applies = refusal.is_none();
                let factor = applies.then(|| sure_gain.unwrap_or(1.0));
                found.no_gain.push(NoGain { remedy, refusal, factor, is_combined: false });
            }
        }
    }
    for one in found.sure.iter_mut().chain(&mut found.open) {
        one.rewriting.places = subject.named(&one.rewriting.places);
    }
    found.sure.sort_by_key(|tried| tried.pass);
    without_waits_of_others(&mut found);
    found
}

/// Some remedies put all waits anew. Where that alone is what they gain, they gain nothing.
fn without_waits_of_others(found: &mut Singles) {
    let waits = found.sure.iter().find(|one| one.remedy == Remedy::DeferWaits);
    let Some(least) = waits.map(|one| one.pass) else { return };
    let gains_more = |one: &Tried| !one.remedy.waits_anew() || gain(least, one.pass) >= LEAST_GAIN;
    let (kept, left): (Vec<Tried>, Vec<Tried>) =
        std::mem::take(&mut found.sure).into_iter().partition(gains_more);
    found.sure = kept;
    found.no_gain.extend(left.into_iter().map(|one| {
        let refusal = Some(Refusal::OnlyWaits);
        NoGain { remedy: one.remedy, refusal, factor: None, is_combined: false }
    }));
}

/// The best variants of a remedy: of those that surely do the same, and of the others.
struct Variants {
    sure: Option<Tried>,
    open: Option<Tried>,
}

/// What a remedy does for a program whose kernels write less than they may.
fn hoped(remedy: Remedy, with_less: &Subject, quick: &impl Quick) -> Option<Tried> {
    let Variants { sure, open } = tried(remedy, with_less, quick).ok()?;
    let mut found = better(sure, open)?;
    found.rewriting.conditions.push(Condition::KernelsOnlyReadUploads);
    Some(found)
}

/// The second only if it gains more than the first.
fn better(one: Option<Tried>, other: Option<Tried>) -> Option<Tried> {
    match (one, other) {
        (Some(one), Some(other)) if gain(one.pass, other.pass) < LEAST_GAIN => Some(one),
        (one, None) => one,
        (_, other) => other,
    }
}

/// Simulates programs without scatter.
trait Quick: Fn(&[&Program]) -> Vec<Result<Forecast, CompileError>> {}
impl<F: Fn(&[&Program]) -> Vec<Result<Forecast, CompileError>>> Quick for F {}

/// Finds the simplest of the variants that are about as fast as the fastest.
fn tried(remedy: Remedy, subject: &Subject, quick: &impl Quick) -> Result<Variants, Refusal> {
    let variants = proved(remedy, subject)?;
    let programs: Vec<&Program> = variants.iter().map(|one| &one.program).collect();
    let forecasts = quick(&programs);
    let tried = variants.into_iter().zip(forecasts).filter_map(|(rewriting, forecast)| {
        let passes = subject.passes * rewriting.passes;
        let pass = each(forecast.ok()?.makespan(), passes);
        Some(Tried { remedy, rewriting, passes, pass })
    });
    let (open, sure): (Vec<Tried>, Vec<Tried>) = tried.partition(|one| one.rewriting.is_open());
    let best = |of: Vec<Tried>| {
        let least = of.iter().map(|one| one.pass).min()?;
        of.into_iter().find(|one| gain(one.pass, least) < LEAST_GAIN)
    };
    let (sure, open) = (best(sure), best(open));
    if sure.is_none() && open.is_none() {
        return Err(Refusal::NotPredicted);
    }
    Ok(Variants { sure, open })
}

/// The most calls of a program for which a second combination is looked for.
const MOST_FOR_ANOTHER: usize = 2_000;

/// The better of two combinations: the one that begins with the remedy that gains most, and the
/// one that does without that remedy. What gains most at first can keep others from applying.
fn best_combination(subject: &Subject, quick: &impl Quick) -> Vec<Tried> {
    let steps = combined(subject, None, quick);
    let Some(first) = steps.first() else { return steps };
    if subject.program.body.len() > MOST_FOR_ANOTHER {
        return steps;
    }
    let without = combined(subject, Some(first.remedy), quick);
    let is_better = match (steps.last(), without.last()) {
        (Some(one), Some(other)) => gain(one.pass, other.pass) >= LEAST_GAIN,
        _ => false,
    };
    if is_better { without } else { steps }
}

/// Adds remedies to the best one, each time the one that gains most, as long as one gains. Those
/// that give the program another shape come last, since the others look at a pass as it is.
fn combined(subject: &Subject, left_out: Option<Remedy>, quick: &impl Quick) -> Vec<Tried> {
    let mut steps: Vec<Tried> = Vec::new();
    for reshapes in [false, true] {
        loop {
            let last = steps.last();
            let now = match last {
                Some(last) => Subject {
                    program: last.rewriting.program.clone(),
                    passes: last.passes,
                    ..subject.clone()
                },
                None => subject.clone(),
            };
            let rest = Remedy::ALL.into_iter().filter(|remedy| {
                let is_new = steps.iter().all(|step| step.remedy != *remedy);
                is_new
                    && !remedy.is_plan()
                    && left_out != Some(*remedy)
                    && (reshapes || !remedy.reshapes())
            });
            let found = rest.filter_map(|remedy| tried(remedy, &now, quick).ok()?.sure);
            let Some(best) = found.min_by_key(|tried| tried.pass) else { break };
            let before = last.map_or_else(|| pass_of(&now, quick), |last| Some(last.pass));
            if before.is_none_or(|before| gain(before, best.pass) < LEAST_GAIN) {
                break;
            }
            steps.push(best);
        }
    }
    steps
}

/// The time of a pass of a program, without scatter.
fn pass_of(subject: &Subject, quick: &impl Quick) -> Option<Span> {
    let forecast = quick(&[&subject.program]).pop()?.ok()?;
    Some(each(forecast.makespan(), subject.passes))
}

/// What one of several passes takes.
fn each(all: Span, passes: u64) -> Span {
    Span::from_nanos(all.nanos() / passes.max(1))
}

/// The share of a time that is gained.
fn gain(before: Span, after: Span) -> f64 {
    1.0 - after.nanos_f64() / before.nanos_f64().max(1.0)
}

fn ratio(before: Span, after: Span) -> f64 {
    before.nanos_f64().max(1.0) / after.nanos_f64().max(1.0)
}

/// What a rewriting gains and takes, from the forecasts of the program and of the rewritten one.
fn change(
    subject: &Subject,
    tried: &Tried,
    before: &Forecast,
    after: &Forecast,
    once: Option<Span>,
) -> Change {
    let passes = tried.passes;
    let (low, high) = after.lead_in_passes(passes, before, subject.passes);
    let time = TimedRange::of(after, passes);
    let factor = ratio(each(before.makespan(), subject.passes), time.predicted_ns);
    let (now, then) = (&subject.program, &tried.rewriting.program);
    let more = |of: fn(&Program) -> Bytes| Bytes::new(of(then).get().saturating_sub(of(now).get()));
    let saved = before.makespan().saturating_sub(time.predicted_ns);
    let pays = once.filter(|_| saved > Span::ZERO);
    let takes = Takes {
        pinned_bytes: more(Program::pinned_bytes),
        device_bytes: more(Program::device_bytes),
        streams: then.streams.len().saturating_sub(now.streams.len()) as u64,
        once_ns: once,
        pays_from_passes: pays.map(|once| once.nanos().div_ceil(saved.nanos().max(1)).max(1)),
    };
    Change {
        remedy: tried.remedy,
        places: tried.rewriting.places.clone(),
        conditions: tried.rewriting.conditions.clone(),
        time,
        breakdown: Breakdown::of(&after.timeline, passes),
        factor,
        factor_range: [low.exp().min(factor), high.exp().max(factor)],
        textbook_factor: textbook_factor(subject, (now, before), (then, after, passes)),
        takes,
        measured: None,
    }
}

/// How many times as fast a textbook says that a program gets.
fn textbook_factor(
    subject: &Subject,
    (now, before): (&Program, &Forecast),
    (then, after, passes): (&Program, &Forecast, u64),
) -> f64 {
    let today = each(textbook(now, &before.timeline), subject.passes);
    ratio(today, each(textbook(then, &after.timeline), passes))
}

impl TimedRange {
    fn of(forecast: &Forecast, passes: u64) -> Self {
        let (low, high) = forecast.interval();
        let [predicted_ns, low_ns, high_ns] =
            [forecast.makespan(), low, high].map(|span| each(span, passes));
        Self { predicted_ns, low_ns, high_ns }
    }
}

impl Breakdown {
    /// What goes on in a pass, where a timeline has several.
    fn of(timeline: &Timeline, passes: u64) -> Self {
        let spans = |lanes: &[Lane]| {
            let found = timeline.activities.iter().filter(|one| lanes.contains(&one.lane));
            busy(found.map(|one| (one.start, one.end)))
        };
        let links = [Lane::CopyIn, Lane::CopyOut];
        let (copies, kernels) = (spans(&links), spans(&[Lane::Kernels]));
        let any = spans(&[Lane::CopyIn, Lane::CopyOut, Lane::Kernels]);
        let both = (copies + kernels).saturating_sub(any);
        Self {
            kernels_ns: each(kernels.saturating_sub(both), passes),
            copies_ns: each(copies.saturating_sub(both), passes),
            both_ns: each(both, passes),
            idle_ns: each(timeline.makespan.saturating_sub(any), passes),
        }
    }
}

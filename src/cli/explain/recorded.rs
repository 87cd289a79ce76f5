//! What a trace shows, and what a simulator makes of it.

use super::super::imported::read_trace;
use super::super::profiles::LoadedProfile;
use super::super::{Failure, Format, Outcome, print};
use super::{ExplainArguments, predicting};
use crate::compare::Replay;
use crate::fit::Like;
use crate::profile::Profile;
use crate::report::traced::{self, Pageable};
use crate::report::{TraceReport, folded, json};
use crate::study::{ReplayError, own_prices, play, replay};
use crate::trace::{
    Account, CopySite, HostTime, Reason, SpelledMemory, SpelledPart, Spelling, Trace,
};
use crate::units::Span;
use std::ops::Range;

pub(super) fn explain(
    arguments: &ExplainArguments,
    width: Option<usize>,
) -> Result<Outcome, Failure> {
    refuse_what_plans_have(arguments)?;
    let found = predicting(arguments).profile();
    // Without one that was named, the trace's own prices do.
    let found = if arguments.profile.is_some() { Some(found?) } else { found.ok() };
    let trace = read_trace(&arguments.scenario)?;
    let pass = trace.pass();
    let whole = 0..trace.calls.len();
    let SpelledPart { calls, .. } = SpelledPart::usual(&trace, pass.as_ref());
    let account = trace.account(calls.clone());
    let machine = Machine::of(&trace, found.as_ref(), arguments);
    let has_calls = trace.has_calls();
    let played = machine.as_ref().ok().filter(|_| has_calls).and_then(|machine| {
        let how = Spelling { each_kernel: true, ..machine.spelling() };
        play(&trace, calls.clone(), how, machine.profile()).ok()
    });
    // A pass alone would lack what the one before it left running.
    let replayed = has_calls.then(|| {
        machine.and_then(|machine| replay(&trace, whole, machine.spelling(), machine.profile()))
    });
    if arguments.format == Format::Json {
        let played = played.as_ref().map(|one| (&one.program, &one.timeline));
        let replayed = replayed.as_ref().and_then(|replayed| replayed.as_ref().ok());
        return print(&json(&TraceReport::new(&trace, pass.as_ref(), &account, played, replayed)));
    }
    let mut text = traced::account(&trace, pass.as_ref(), &account, width);
    let Some(replayed) = replayed else { return print(&text) };
    if let Some(pass) = played {
        text += &folded(&traced::critical_path(&pass.program, &pass.timeline), width);
    }
    let found = found.as_ref();
    text += &folded(&if_pinned(&trace, calls, &account, found).unwrap_or_default(), width);
    text += &folded(traced::OTHER_CHANGES, width);
    let replayed = match replayed {
        Ok(replay) => traced::replayed(&replay),
        Err(why) => format!("\nThe trace cannot be simulated: {why}.\n"),
    };
    text += &folded(&replayed, width);
    print(&(text + &folded(&arguments.switches.said(), width)))
}

/// What pinned memory would gain, if pageable memory held something up.
fn if_pinned(
    trace: &Trace,
    calls: Range<usize>,
    account: &Account,
    found: Option<&LoadedProfile>,
) -> Option<String> {
    let is_held = |site: &&CopySite| {
        use Reason::{NewMemory, PageableWaited};
        matches!(site.reason, Some(NewMemory | Reason::Pageable | PageableWaited))
    };
    let held: Vec<Span> = account.sites.iter().filter(is_held).map(|site| site.time).collect();
    let found = found.filter(|_| !held.is_empty())?;
    let [as_it_is, pinned] = with_pinned(trace, calls, found)?;
    let copies = match trace.knows_new_memory() {
        true => Pageable::Known { some_to_new: trace.copies_to_new_memory() },
        false => Pageable::Took(held.into_iter().sum()),
    };
    Some(traced::pinned(&found.profile.machine.gpu, &as_it_is, &pinned, copies))
}

/// Refuses arguments that mean nothing for a trace.
fn refuse_what_plans_have(arguments: &ExplainArguments) -> Result<(), Failure> {
    let ExplainArguments { plan, all, times, program, .. } = arguments;
    let given = [
        ("--plan", plan.is_some()),
        ("--all", *all),
        ("--times", *times),
        ("--program", program.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((argument, _)) => Err(Failure::refused(
            format!("{argument} applies to plans, but {} is a trace", arguments.scenario.display()),
            "`hallway import` turns the trace into a scenario, whose plan can be explained",
        )),
    }
}

/// A part of a trace on the machine of a profile: as it is, and with pinned memory. `None` if the
/// profile lacks what a call costs.
fn with_pinned(trace: &Trace, calls: Range<usize>, found: &LoadedProfile) -> Option<[Replay; 2]> {
    let played = |memory| {
        let how = Spelling { memory, host: HostTime::WithoutRecorder, ..Spelling::default() };
        replay(trace, calls.clone(), how, &found.profile).ok()
    };
    Some([played(SpelledMemory::OfStreams)?, played(SpelledMemory::Pinned)?])
}

/// What a trace is simulated on: the machine of the profile that was named, or else the trace's own
/// as far as it tells.
enum Machine<'f> {
    Named(&'f Profile),
    Own(Box<Profile>),
}

impl<'f> Machine<'f> {
    fn of(
        trace: &Trace,
        found: Option<&'f LoadedProfile>,
        arguments: &ExplainArguments,
    ) -> Result<Self, ReplayError> {
        if let Some(found) = found.filter(|_| arguments.profile.is_some()) {
            return Ok(Self::Named(&found.profile));
        }
        let like = found.map(|found| Like {
            from: found.path.display().to_string(),
            profile: found.profile.clone(),
        });
        let own = own_prices(trace, like.as_slice())?;
        Ok(Self::Own(Box::new(arguments.switches.applied(own))))
    }

    fn profile(&self) -> &Profile {
        match self {
            Self::Named(profile) => profile,
            Self::Own(profile) => profile,
        }
    }

    fn spelling(&self) -> Spelling {
        Spelling { each_call: matches!(self, Self::Own(_)), ..Spelling::default() }
    }
}

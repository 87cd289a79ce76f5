//! A program's body with everything that it costs on a machine.

use super::analysis::Analysis;
use super::antithetic::Antithetic;
use super::body::Body;
use super::call::index;
use super::copies::CopyEngines;
use super::entries::EntryId;
use super::halved::{Bottleneck, Prices};
use super::hand_overs::HandOvers;
use super::host_times::HostTimes;
use super::links::CopyLinks;
use super::polling::PollTimes;
use super::work::CallCost;
use crate::profile::{Profile, Unknown};
use crate::program::{DoesNotFit, Program};
use crate::units::Span;

/// Why a program cannot be predicted on a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
}

/// A program's body on a machine, ready to be simulated any number of times. Each rule of the
/// simulator finds its parameters in a field of its own.
#[derive(Debug, Clone)]
pub struct CompiledProgram<'p> {
    pub(crate) profile: &'p Profile,
    pub(crate) body: Body,
    pub(crate) hand_overs: HandOvers,
    /// How engines poll; `None` if hand-overs have costs instead.
    pub(crate) polling: Option<PollTimes>,
    pub(crate) copies: CopyEngines,
    pub(crate) links: CopyLinks,
}

impl<'p> CompiledProgram<'p> {
    /// Looks up what every call of the program's body costs.
    ///
    /// # Errors
    /// If the profile does not know one of them, or the program does not fit its machine.
    pub fn new(program: &Program, profile: &'p Profile) -> Result<Self, CompileError> {
        Self::usual(program, &Analysis::new(program, profile), profile)
    }

    /// What a call of the body costs, by its place there.
    pub fn cost_of(&self, call: usize) -> &CallCost {
        self.body.cost_of(index(call))
    }

    /// What a copy of the body costs instead if its stream is empty, so that its data travels along
    /// with its command. Other calls have no such cost.
    pub fn inline_cost_of(&self, call: usize) -> Option<&CallCost> {
        let place = self.body.structure.layout.calls[call].cost as usize;
        self.body.costs[place].may_go_inline.then(|| &self.body.costs[place + 1])
    }

    /// How long a call of the body occupies the host if it need not wait, by its place there.
    pub fn host_time(&self, call: usize) -> Span {
        self.body.host_of(index(call))
    }

    /// Compiles a program that has been analysed, for the machine without scatter.
    pub(crate) fn usual(
        program: &Program,
        analysis: &Analysis,
        profile: &'p Profile,
    ) -> Result<Self, CompileError> {
        Self::priced(program, analysis, &Prices::usual(profile), None)
    }

    /// Compiles a program that has been analysed, under random conditions if `random` is given:
    /// launches take longer or shorter one by one, and the clock by which engines poll starts
    /// anywhere in a tick.
    pub(crate) fn priced(
        program: &Program,
        analysis: &Analysis,
        prices: &Prices<'p>,
        mut random: Option<Antithetic>,
    ) -> Result<Self, CompileError> {
        let profile = prices.profile;
        analysis.fits.clone()?;
        analysis.shape.clone()?;
        let phase = random.as_mut().map_or(0.5, Antithetic::uniform);
        let host_times = HostTimes::new(profile, random, program);
        let body = Body::new(program, analysis, prices, host_times)?;
        profile.alike(body.devices())?;
        let structure = &body.structure;
        let copies = CopyEngines::new((&structure.copying, &body.costs), profile)?;
        let hand_overs = HandOvers::new(&structure.ties, profile)?;
        let links =
            CopyLinks::new((&structure.meetings, body.devices(), &body.costs), profile, &copies)?;
        structure.waiting_kernels.are_known((&structure.layout, &body.costs), profile)?;
        let mut compiled = Self {
            hand_overs,
            polling: PollTimes::new(profile, phase),
            links,
            copies,
            profile,
            body,
        };
        if prices.halved.has(Bottleneck::Waits) {
            compiled.hand_overs.halve();
            compiled.polling.iter_mut().for_each(PollTimes::halve);
            compiled.copies.halve();
        }
        Ok(compiled)
    }

    /// Whether anything but other copies and kernels that run may slow copies.
    #[inline]
    pub(crate) fn slows_copies_down(&self) -> bool {
        !self.body.structure.waiting_kernels.refetched.is_empty()
            || !self.body.streaming.is_nowhere()
            || !self.body.writes.is_empty()
    }

    /// Nanoseconds that a copy takes longer because the CPU has just written its data, if it starts
    /// when the CPU has written `written` bytes in this pass.
    #[inline]
    pub(crate) fn just_written(&self, entry: EntryId, written: f64) -> f64 {
        if self.body.writes.is_empty() {
            return 0.0;
        }
        let call = self.body.entry(entry).call;
        let age = self.body.writes.age(call, self.body.issued(call), written);
        age.map_or(0.0, |age| self.profile.just_written(&age))
    }
}

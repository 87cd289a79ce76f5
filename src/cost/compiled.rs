//! A program's body with everything that it costs on a machine.

use super::analysis::{Analysis, CHANNELS};
use super::antithetic::Antithetic;
use super::body::Body;
use super::call::index;
use super::copies::CopyEngines;
use super::entries::EntryId;
use super::halved::{Bottleneck, Prices};
use super::hand_overs::HandOvers;
use super::host_times::HostTimes;
use super::layout::Layout;
use super::links::CopyLinks;
use super::polling::PollTimes;
use super::work::{CallCost, Work};
use crate::machine::DeviceId;
use crate::profile::{Profile, Unknown};
use crate::program::{DoesNotFit, Program, StreamTraits};
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
        let place = self.body.layout.calls[call].cost as usize;
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
        let copies = CopyEngines::new(&body, profile)?;
        let hand_overs = HandOvers::new(&body, profile)?;
        let links = CopyLinks::new(&body, profile, &copies)?;
        body.layout.waiting_kernels.are_known(&body, profile)?;
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
        !self.body.layout.waiting_kernels.refetched.is_empty()
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

#[derive(Debug, Default)]
pub(crate) struct ChannelLayout {
    /// The channel of each stream.
    pub of_stream: Vec<u16>,
    /// The kernels of each channel, in order of issue. Empty unless a device has more streams than
    /// channels.
    pub kernels: Vec<Vec<EntryId>>,
}

impl ChannelLayout {
    pub fn new(program: &Program, layout: &Layout, costs: &[CallCost]) -> Self {
        let of_stream = dealt(layout);
        let mut devices = 0..program.devices();
        let are_shared = devices.any(|id| program.streams_of(DeviceId(id)) > CHANNELS);
        let kernels = if are_shared { kernels((layout, costs), &of_stream) } else { Vec::new() };
        Self { of_stream, kernels }
    }
}

/// Streams are assigned to the channels of their device in turn.
#[inline]
fn dealt(layout: &Layout) -> Vec<u16> {
    let mut dealt = vec![0; layout.devices()];
    let channel = |stream: &StreamTraits| {
        let turn = &mut dealt[stream.device.0];
        *turn += 1;
        (stream.device.0 * CHANNELS + (*turn - 1) % CHANNELS) as u16
    };
    layout.traits.iter().map(channel).collect()
}

fn kernels((layout, costs): (&Layout, &[CallCost]), channels: &[u16]) -> Vec<Vec<EntryId>> {
    let mut kernels = vec![Vec::new(); CHANNELS * layout.devices()];
    for (id, entry) in layout.entries_in_order() {
        if let Work::Kernel { .. } = costs[entry.cost as usize].work {
            kernels[usize::from(channels[usize::from(entry.stream)])].push(id);
        }
    }
    kernels
}

//! A lower bound on the time of a program.

use crate::cost::{
    CallCost, CompileError, CompiledProgram, ENGINES, NONE, PEER_ENGINE, Waits, Work, WorkKind,
};
use crate::machine::Direction;
use crate::profile::Profile;
use crate::program::Program;
use crate::units::{Instant, Span};

/// A time below which no schedule of the program's calls and operations can go on this machine.
/// Whatever an engine chooses to do next, it has to do its share, and what depends on something
/// comes after it. The bound leaves out hand-overs, queues, what the other direction or kernels
/// cost copies, and what copies or waits cost the calls behind them.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the program does not
/// fit its machine.
pub fn lower_bound(program: &Program, profile: &Profile) -> Result<Span, CompileError> {
    Ok(bound(&CompiledProgram::new(program, profile)?))
}

/// For each call of a program's body, how long it takes by itself on the host, and what it starts
/// on a device.
///
/// # Errors
/// As [`lower_bound`].
pub fn times_alone(program: &Program, profile: &Profile) -> Result<Vec<[Span; 2]>, CompileError> {
    let compiled = CompiledProgram::new(program, profile)?;
    let multiprocessors = profile.machine.multiprocessors;
    let calls = compiled.body.calls.iter();
    let costs = calls.map(|call| &compiled.body.costs[call.cost as usize]);
    Ok(costs.map(|cost| [cost.host, demand(&cost.work, multiprocessors).2]).collect())
}

/// What a call of a body takes at least, whatever goes on beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Time of the host thread.
    pub host: Span,
    /// Time before a kernel holds the multiprocessors.
    pub gap: Span,
    /// Time on an engine or on the multiprocessors, from start to end.
    pub alone: Span,
    /// Nanoseconds of the whole engine or of all multiprocessors: a kernel may need only part, and
    /// a copy whose data may travel along with its command needs no engine.
    pub load: f64,
}

/// What each call of a program's body takes at least.
///
/// # Errors
/// As [`lower_bound`].
pub fn demands(program: &Program, profile: &Profile) -> Result<Vec<Demand>, CompileError> {
    let compiled = CompiledProgram::new(program, profile)?;
    let multiprocessors = profile.machine.multiprocessors;
    let of = |cost: &CallCost| {
        let (_, gap, alone, _) = demand(&cost.work, multiprocessors);
        Demand { host: cost.host, gap, alone, load: work_of(&cost.work, alone, multiprocessors) }
    };
    let calls = compiled.body.calls.iter().map(|call| {
        let usual = of(&compiled.body.costs[call.cost as usize]);
        if !compiled.body.costs[call.cost as usize].may_go_inline {
            return usual;
        }
        let inline = of(&compiled.body.costs[call.cost as usize + 1]);
        Demand {
            host: usual.host.min(inline.host),
            alone: usual.alone.min(inline.alone),
            gap: Span::ZERO,
            load: 0.0,
        }
    });
    Ok(calls.collect())
}

/// The larger of two bounds: the longest chain of dependent operations and calls, and the load of
/// the busiest engine from the first moment at which it can have work (Graham, "Bounds on
/// Multiprocessing Timing Anomalies", 1969).
pub(super) fn bound(compiled: &CompiledProgram<'_>) -> Span {
    let multiprocessors = compiled.profile.machine.multiprocessors;
    let threads = &compiled.body.threads;
    let mut hosts = vec![Instant::START; threads.first.len().max(1)];
    let mut launched = Instant::START;
    let mut streams = vec![Instant::START; compiled.body.streams()];
    let mut recordings = vec![Instant::START; compiled.body.recordings];
    let mut engines = vec![[EngineLoad::default(); ENGINES + 1]; compiled.body.devices()];
    let mut latest = Instant::START;
    for (at, call) in compiled.body.calls.iter().enumerate() {
        let cost = &compiled.body.costs[call.cost as usize];
        let thread = threads.of.get(at).copied().map_or(0, usize::from);
        if let Waits::Thread(other) = cost.waits {
            hosts[thread] = hosts[thread].max(hosts[usize::from(other)]);
            continue;
        }
        let host = &mut hosts[thread];
        if cost.may_go_inline {
            // It may travel inline and need no engine, so the quicker of both ways bounds it.
            let inline = &compiled.body.costs[call.cost as usize + 1];
            let stream = &mut streams[usize::from(call.stream)];
            let end = |cost: &CallCost| {
                let time = demand(&cost.work, multiprocessors).2;
                (*host + cost.host + cost.latency).max(*stream) + time
            };
            *stream = end(cost).min(end(inline));
            *host = *host + cost.host.min(inline.host);
            latest = latest.max(*stream).max(*host);
            continue;
        }
        let issued = if cost.in_graph {
            launched = launched + cost.host;
            launched
        } else {
            launched = *host + cost.latency;
            *host = *host + cost.host;
            *host
        };
        let stream = streams.get_mut(usize::from(call.stream));
        let Some(stream) = stream.filter(|_| call.kind != WorkKind::Nothing) else {
            let recorded = recordings.get(call.recording as usize).copied();
            let awaited = awaited(compiled, call.stream, cost.waits, (&streams, recorded));
            *host = (*host).max(awaited);
            latest = latest.max(*host);
            continue;
        };
        match cost.work {
            Work::Record => {
                *stream = (*stream).max(issued);
                recordings[call.recording as usize] = *stream;
            }
            Work::Wait if call.recording == NONE => {}
            Work::Wait => *stream = (*stream).max(recordings[call.recording as usize]),
            work => {
                let (engine, gap, alone, early) = demand(&work, multiprocessors);
                let ready = (issued + cost.latency).max(*stream);
                if let Some(engine) = engine {
                    engines[compiled.body.device_of(call.stream)][engine]
                        .add(ready + gap, work_of(&work, alone, multiprocessors));
                }
                // In a row of staged copies, the host stages each while the one before is still on
                // its way.
                let from = if is_staged_in(&work) { issued + cost.latency } else { ready };
                *stream = (*stream).max(from + gap + alone);
                if cost.waits == Waits::Staging {
                    let end = stream.since_start();
                    *host = (*host).max(Instant::START + end.saturating_sub(early));
                }
            }
        }
        latest = latest.max(*stream).max(*host);
    }
    engines.iter().flatten().map(EngineLoad::ends).fold(latest, Instant::max).since_start()
}

/// The earliest moment at which what a call waits for can be done, and what it does behind that.
fn awaited(
    compiled: &CompiledProgram<'_>,
    stream: u16,
    waits: Waits,
    (streams, recorded): (&[Instant], Option<Instant>),
) -> Instant {
    match waits {
        Waits::Stream(_) => streams[usize::from(stream)],
        Waits::Event(_) => recorded.unwrap_or(Instant::START),
        Waits::Device { only, then, .. } => {
            let streams = streams.iter().zip(&compiled.body.traits);
            let meant = streams.filter(|(_, one)| only.is_none_or(|id| one.device == id));
            meant.map(|(&end, _)| end + then).max().unwrap_or(Instant::START)
        }
        Waits::No | Waits::Staging | Waits::Thread(_) => Instant::START,
    }
}

/// When an engine can first have work, and its load in nanoseconds.
#[derive(Clone, Copy)]
struct EngineLoad {
    first: Instant,
    load: f64,
}

impl Default for EngineLoad {
    fn default() -> Self {
        Self { first: Instant::NEVER, load: 0.0 }
    }
}

impl EngineLoad {
    fn add(&mut self, ready: Instant, load: f64) {
        self.first = self.first.min(ready);
        self.load += load;
    }

    fn ends(&self) -> Instant {
        if self.load == 0.0 {
            return Instant::START;
        }
        // Rounds down to whole nanoseconds, since a lower bound may not round up.
        self.first + Span::from_nanos(self.load as u64)
    }
}

/// What an operation takes: its engine within the device, the gap before it holds the engine, its
/// time alone, and how long before its end it releases the host.
fn demand(work: &Work, multiprocessors: u32) -> (Option<usize>, Span, Span, Span) {
    let engine = |direction: Direction| Some(direction as usize);
    match *work {
        Work::Copy { direction, alone, .. } => (engine(direction), Span::ZERO, alone, Span::ZERO),
        // It holds no engine: see `Work::Staged`.
        Work::Staged { duration, early, .. } => (None, Span::ZERO, duration, early),
        Work::Inline { duration } | Work::OnDevice { duration } => {
            (None, Span::ZERO, duration, Span::ZERO)
        }
        Work::PeerCopy { alone, .. } => (Some(PEER_ENGINE), Span::ZERO, alone, Span::ZERO),
        Work::Kernel { gap, blocks } => {
            (Some(ENGINES), gap, blocks.alone(multiprocessors), Span::ZERO)
        }
        Work::Nothing | Work::Record | Work::Wait => (None, Span::ZERO, Span::ZERO, Span::ZERO),
    }
}

const fn is_staged_in(work: &Work) -> bool {
    matches!(work, Work::Staged { direction: Direction::HostToDevice, .. })
}

/// Nanoseconds of a whole engine. A kernel may occupy only part of the multiprocessors.
fn work_of(work: &Work, alone: Span, multiprocessors: u32) -> f64 {
    match work {
        Work::Kernel { blocks, .. } => blocks.load(multiprocessors),
        _ => alone.nanos_f64(),
    }
}

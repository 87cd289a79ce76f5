//! A lower bound on the time of a plan.

use super::copies::{ENGINES, PEER_ENGINE};
use super::operation::{NONE, Work};
use super::program::{Class, CompiledProgram, SimulateError, Sort, Waits};
use crate::machine::Direction;
use crate::profile::Profile;
use crate::program::Program;
use crate::units::{Instant, Span};

/// A time below which no schedule of the plan's calls and operations can go on this machine.
/// Whatever an engine chooses to do next, it has to do its share, and what depends on something
/// comes after it. The bound leaves out hand-overs, queues, what the other direction or kernels
/// cost copies, and what copies or waits cost the calls behind them.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the plan does not
/// fit its machine.
pub fn lower_bound(plan: &Program, profile: &Profile) -> Result<Span, SimulateError> {
    Ok(bound(&CompiledProgram::new(plan, profile)?))
}

/// The larger of two bounds: the longest chain of dependent operations and calls, and the load of
/// the busiest engine from the first moment at which it can have work (Graham, "Bounds on
/// Multiprocessing Timing Anomalies", 1969).
fn bound(program: &CompiledProgram<'_>) -> Span {
    let multiprocessors = program.profile.machine.multiprocessors;
    let (mut host, mut launched) = (Instant::START, Instant::START);
    let mut streams = vec![Instant::START; program.streams()];
    let mut recordings = vec![Instant::START; program.recordings];
    let mut engines = vec![[Engine::default(); ENGINES + 1]; program.devices()];
    let mut latest = Instant::START;
    for item in &program.items {
        let class = &program.classes[item.class as usize];
        if class.may_go_inline {
            // It may travel inline and need no engine, so the quicker of both ways bounds it.
            let inline = &program.classes[item.class as usize + 1];
            let stream = &mut streams[usize::from(item.stream)];
            let end = |class: &Class| {
                let time = demand(&class.work, multiprocessors).2;
                (host + class.host + class.latency).max(*stream) + time
            };
            *stream = end(class).min(end(inline));
            host = host + class.host.min(inline.host);
            latest = latest.max(*stream).max(host);
            continue;
        }
        let issued = if class.in_graph {
            launched = launched + class.host;
            launched
        } else {
            launched = host + class.latency;
            host = host + class.host;
            host
        };
        let stream = streams.get_mut(usize::from(item.stream));
        let Some(stream) = stream.filter(|_| item.sort != Sort::HostOnly) else {
            if let Waits::Stream(_) = class.waits {
                host = host.max(streams[usize::from(item.stream)]);
            }
            latest = latest.max(host);
            continue;
        };
        match class.work {
            Work::Record => {
                *stream = (*stream).max(issued);
                recordings[item.recording as usize] = *stream;
            }
            Work::Wait if item.recording == NONE => {}
            Work::Wait => *stream = (*stream).max(recordings[item.recording as usize]),
            work => {
                let (engine, gap, alone, early) = demand(&work, multiprocessors);
                let ready = (issued + class.latency).max(*stream);
                if let Some(engine) = engine {
                    engines[program.device_of(item.stream)][engine]
                        .add(ready + gap, work_of(&work, alone, multiprocessors));
                }
                // In a row of staged copies, the host stages each while the one before is still on
                // its way.
                let from = if is_staged_in(&work) { issued + class.latency } else { ready };
                *stream = (*stream).max(from + gap + alone);
                if class.waits == Waits::Staging {
                    let end = stream.since_start();
                    host = host.max(Instant::START + end.saturating_sub(early));
                }
            }
        }
        latest = latest.max(*stream).max(host);
    }
    engines.iter().flatten().map(Engine::ends).fold(latest, Instant::max).since_start()
}

/// When an engine can first have work, and its load in nanoseconds.
#[derive(Clone, Copy)]
struct Engine {
    first: Instant,
    load: f64,
}

impl Default for Engine {
    fn default() -> Self {
        Self { first: Instant::NEVER, load: 0.0 }
    }
}

impl Engine {
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

/// Of an operation: its engine within the device, the gap before it holds the engine, its time
/// alone, and how long before its end it releases the host.
fn demand(work: &Work, multiprocessors: u32) -> (Option<usize>, Span, Span, Span) {
    let engine = |direction: Direction| Some(direction as usize);
    match *work {
        Work::Copy { direction, alone, .. } => (engine(direction), Span::ZERO, alone, Span::ZERO),
        // It holds no engine: see `Work::Staged`.
        Work::Staged { duration, early, .. } => (None, Span::ZERO, duration, early),
        Work::Inline { duration } => (None, Span::ZERO, duration, Span::ZERO),
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

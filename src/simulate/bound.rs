//! What no schedule of a plan's operations can beat.

use super::copies::{ENGINES, PEER_ENGINE};
use super::operation::{NONE, Work};
use super::program::{Class, Program, SimulateError, Sort, Waits};
use crate::plan::{Direction, Plan};
use crate::profile::Profile;
use crate::units::{Instant, Span};

/// A time that no schedule of the plan's calls and operations goes below on
/// this machine: however engines pick what is next, each has to do its share,
/// and what depends on something comes after it. Hand-overs, queues, what one
/// direction, or kernels, cost copies, and what copies or waits cost the calls
/// behind them are left out.
///
/// # Errors
/// If the profile does not know what one of the calls costs, or the plan does not
/// fit its machine.
pub fn lower_bound(plan: &Plan, profile: &Profile) -> Result<Span, SimulateError> {
    Ok(bound(&Program::new(plan, profile)?))
}

/// The longest chain of dependent operations and calls, and the load of the
/// busiest engine after the first that can come to it, whichever is more
/// (Graham, "Bounds on Multiprocessing Timing Anomalies", 1969).
fn bound(program: &Program<'_>) -> Span {
    let multiprocessors = program.profile.machine.multiprocessors;
    let (mut host, mut launched) = (Instant::START, Instant::START);
    let mut streams = vec![Instant::START; program.streams()];
    let mut recordings = vec![Instant::START; program.recordings];
    let mut engines = vec![[Engine::default(); ENGINES + 1]; program.devices()];
    let mut latest = Instant::START;
    for item in &program.items {
        let class = &program.classes[item.class as usize];
        if class.may_go_inline {
            // Whichever of its two ways is the quicker, and it may need no engine.
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
                // Of copies in a row, each is staged while the one before it still goes on.
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

/// What an engine has to do in all.
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
        // Down to whole nanoseconds: a bound may not round up.
        self.first + Span::from_nanos(self.load as u64)
    }
}

/// The engine of its device, the time before it is held, the time alone, and how long
/// before its end the operation lets the host go.
fn demand(work: &Work, multiprocessors: u32) -> (Option<usize>, Span, Span, Span) {
    let engine = |direction: Direction| Some(direction as usize);
    match *work {
        Work::Copy { direction, alone, .. } => (engine(direction), Span::ZERO, alone, Span::ZERO),
        // Holds no engine: see `Work::Staged`.
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

/// Nanoseconds of the whole engine: a kernel may take up a part of the device.
fn work_of(work: &Work, alone: Span, multiprocessors: u32) -> f64 {
    match work {
        Work::Kernel { blocks, .. } => blocks.load(multiprocessors),
        _ => alone.nanos_f64(),
    }
}

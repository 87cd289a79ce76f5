//! A lower bound on the time of a program.

use crate::cost::{
    Blocks, CallCost, CompileError, CompiledCall, CompiledProgram, ENGINES, NONE, PEER_ENGINE,
    Waits, Work, WorkKind,
};
use crate::machine::Direction;
use crate::profile::Profile;
use crate::program::Program;
use crate::units::{Instant, Span};

/// What a call of a body takes at least, whatever goes on beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Time of the host thread.
    pub host: Span,
    /// Time on an engine or on the multiprocessors, from start to end.
    pub alone: Span,
    /// Nanoseconds of the whole engine or of all multiprocessors: a kernel may need only part, and
    /// a copy whose data may travel along with its command needs no engine.
    pub load: f64,
}

/// [`CompiledProgram::lower_bound`] of a program on a machine.
///
/// # Errors
/// As [`CompiledProgram::new`].
pub fn lower_bound(program: &Program, profile: &Profile) -> Result<Span, CompileError> {
    Ok(CompiledProgram::new(program, profile)?.lower_bound())
}

impl CompiledProgram<'_> {
    /// What each call of the body takes at least.
    pub fn demands(&self) -> Vec<Demand> {
        let multiprocessors = self.profile.machine.multiprocessors;
        let of = |cost: &CallCost| {
            let (.., alone, _) = demand(&cost.work, multiprocessors);
            let load = work_of(&cost.work, alone, multiprocessors);
            Demand { host: cost.host, alone, load }
        };
        let calls = self.body.structure.layout.calls.iter().map(|call| {
            let cost = &self.body.costs[call.cost as usize];
            let usual = of(cost);
            if !cost.may_go_inline {
                return usual;
            }
            let inline = of(&self.body.costs[call.cost as usize + 1]);
            Demand {
                host: usual.host.min(inline.host),
                alone: usual.alone.min(inline.alone),
                load: 0.0,
            }
        });
        calls.collect()
    }

    /// A time below which no schedule of the program's calls and operations can go on this machine.
    /// Whatever an engine chooses to do next, it has to do its share, and what depends on something
    /// comes after it. The bound leaves out hand-overs, queues, what the other direction or kernels
    /// cost copies, and what copies or waits cost the calls behind them.
    ///
    /// It is the larger of two: the longest chain of dependent operations and calls, and the load
    /// of the busiest engine from the first moment at which it can have work (Graham, "Bounds on
    /// Multiprocessing Timing Anomalies", 1969).
    pub fn lower_bound(&self) -> Span {
        let threads = &self.body.structure.layout.threads;
        let nothing = Behind {
            host: Instant::START,
            launched: Instant::START,
            streams: vec![Instant::START; self.body.structure.layout.streams()],
            recordings: vec![Instant::START; self.body.structure.layout.entries.recordings.len()],
        };
        let last = threads.iter().max().map_or(0, |&last| usize::from(last));
        let mut behind = vec![nothing; last + 1];
        let mut engines = vec![[EngineLoad::default(); ENGINES + 1]; self.body.devices()];
        let mut latest = Instant::START;
        for (at, call) in self.body.structure.layout.calls.iter().enumerate() {
            let thread = threads.get(at).copied().map_or(0, usize::from);
            if let Waits::Thread(other) = self.body.costs[call.cost as usize].waits {
                let calls_of_other = behind[usize::from(other)].clone();
                behind[thread].join(&calls_of_other);
                continue;
            }
            latest = latest.max(behind[thread].make(self, call, &mut engines));
        }
        engines.iter().flatten().map(EngineLoad::ends).fold(latest, Instant::max).since_start()
    }
}

/// What is certain to be behind the next call of a host thread: its own calls, and those of another
/// thread that it has waited for. Other threads may not have made theirs yet.
#[derive(Clone)]
struct Behind {
    host: Instant,
    /// The latest node of a graph.
    launched: Instant,
    streams: Vec<Instant>,
    recordings: Vec<Instant>,
}

impl Behind {
    fn join(&mut self, other: &Self) {
        self.host = self.host.max(other.host);
        let ends = self.streams.iter_mut().chain(&mut self.recordings);
        for (end, theirs) in ends.zip(other.streams.iter().chain(&other.recordings)) {
            *end = (*end).max(*theirs);
        }
    }

    /// Makes the next call; returns when it and its operation have ended at the earliest.
    fn make(
        &mut self,
        compiled: &CompiledProgram<'_>,
        call: &CompiledCall,
        engines: &mut [[EngineLoad; ENGINES + 1]],
    ) -> Instant {
        let body = &compiled.body;
        let multiprocessors = compiled.profile.machine.multiprocessors;
        let cost = &body.costs[call.cost as usize];
        let at = usize::from(call.stream);
        if cost.may_go_inline {
            let both = [cost, &body.costs[call.cost as usize + 1]];
            let ends = (&mut self.host, &mut self.streams[at]);
            go_either_way(both, ends, multiprocessors);
            return self.host.max(self.streams[at]);
        }
        let issued = if cost.in_graph {
            self.launched = self.launched + cost.host;
            self.launched
        } else {
            self.launched = self.host + cost.latency;
            self.host = self.host + cost.host;
            self.host
        };
        if call.kind == WorkKind::Nothing || at >= self.streams.len() {
            self.host = self.host.max(self.awaited(compiled, call));
            return self.host;
        }
        let stream = &mut self.streams[at];
        match cost.work {
            Work::Record => {
                *stream = (*stream).max(issued);
                self.recordings[call.recording as usize] = *stream;
            }
            Work::Wait if call.recording == NONE => {}
            Work::Wait => *stream = (*stream).max(self.recordings[call.recording as usize]),
            work => {
                let work = rounded_down(work);
                let (engine, gap, alone, early) = demand(&work, multiprocessors);
                let ready = (issued + cost.latency).max(*stream);
                if let Some(engine) = engine {
                    engines[body.device_of(call.stream)][engine]
                        .add(ready + gap, work_of(&work, alone, multiprocessors));
                }
                // In a row of staged copies, the host stages each while the one before is still
                // on its way.
                let is_staged_in =
                    matches!(work, Work::Staged { direction: Direction::HostToDevice, .. });
                let from = if is_staged_in { issued + cost.latency } else { ready };
                *stream = (*stream).max(from + gap + alone);
                if cost.waits == Waits::Staging {
                    let end = stream.since_start();
                    self.host = self.host.max(Instant::START + end.saturating_sub(early));
                }
            }
        }
        self.host.max(*stream)
    }

    /// The earliest moment at which what a call waits for can be done, and what it does behind
    /// that.
    fn awaited(&self, compiled: &CompiledProgram<'_>, call: &CompiledCall) -> Instant {
        let cost = &compiled.body.costs[call.cost as usize];
        match cost.waits {
            Waits::Stream => self.streams[usize::from(call.stream)],
            Waits::Event => {
                let recorded = self.recordings.get(call.recording as usize);
                recorded.copied().unwrap_or(Instant::START)
            }
            Waits::Device(only) => {
                let streams = self.streams.iter().zip(&compiled.body.structure.layout.traits);
                let meant = streams.filter(|(_, one)| only.is_none_or(|id| one.device == id));
                meant.map(|(&end, _)| end + cost.then).max().unwrap_or(Instant::START)
            }
            Waits::No | Waits::Staging | Waits::Thread(_) => Instant::START,
        }
    }
}

/// Makes a copy that may travel inline and need no engine: the quicker of both ways bounds it.
fn go_either_way(
    both: [&CallCost; 2],
    (host, stream): (&mut Instant, &mut Instant),
    multiprocessors: u32,
) {
    let end = |cost: &CallCost| {
        let time = demand(&cost.work, multiprocessors).2;
        (*host + cost.host + cost.latency).max(*stream) + time
    };
    let [one, other] = both.map(end);
    *stream = one.min(other);
    *host = *host + both[0].host.min(both[1].host);
}

/// When an engine can first have work, and its load in nanoseconds.
#[derive(Clone, Copy, Default)]
struct EngineLoad {
    first: Option<Instant>,
    load: f64,
}

impl EngineLoad {
    fn add(&mut self, ready: Instant, load: f64) {
        self.first = Some(self.first.map_or(ready, |first| first.min(ready)));
        self.load += load;
    }

    fn ends(&self) -> Instant {
        match self.first {
            // Rounds down to whole nanoseconds, since a lower bound may not round up.
            Some(first) if self.load > 0.0 => first + Span::from_nanos(self.load as u64),
            _ => Instant::START,
        }
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

/// Nanoseconds of a whole engine. A kernel may occupy only part of the multiprocessors.
fn work_of(work: &Work, alone: Span, multiprocessors: u32) -> f64 {
    match work {
        Work::Kernel { blocks, .. } => blocks.load(multiprocessors),
        _ => alone.nanos_f64(),
    }
}

/// An operation whose blocks are as short as they can be: they run for whole nanoseconds, and
/// beside other kernels those that matter most may be rounded down each time.
fn rounded_down(work: Work) -> Work {
    match work {
        Work::Kernel { gap, blocks } => {
            let each = (blocks.each - 1.0).max(0.0);
            Work::Kernel { gap, blocks: Blocks { each, ..blocks } }
        }
        work => work,
    }
}

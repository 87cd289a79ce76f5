//! A plan that is set up and run: a checked pass, then warm-up and timed passes, then
//! another checked pass.

use super::effort::{Effort, warm_up_passes};
use super::error::Executed;
use super::executor::{Executor, Expected};
use super::handles::Handles;
use super::memory::{Memories, Memory, Pages, check_room};
use super::movable::Whole;
use super::outputs::{check_calls, outputs};
use super::prepared::{Prepared, make_once, make_setup, on_stream};
use super::{by_events, by_records};
use crate::gpu::{AnyDevice, AnyGraph, AnyStream};
use crate::host::OneCpu;
use crate::program::{Call, Program, Threads};
use crate::runs::{Run, Trace};
use crate::units::Span;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// A pass that is shorter than this is timed together with others, as many as fit into it.
/// Reading the clock and getting back to the plan takes a tenth of the shortest pass.
const SHORTEST: Duration = Duration::from_micros(20);

/// The longest pause before a timed pass. Copy engines poll for work at a period of some
/// microseconds, and a pass ends soon after a poll. Without a pause of random length, every pass
/// would start at the same point of the period, and a plan that just catches a poll, or just misses
/// it, would do so every time. In a real program the time between passes is arbitrary. (Where
/// several short passes are timed at once, only the first one has a pause.)
const LONGEST_PAUSE: Duration = Duration::from_micros(8);

/// Passes after which another core's caches have warmed up to the plan.
const PASSES_TO_SETTLE: usize = 2;

/// What setting a plan up took.
pub(super) struct Took {
    /// Creating streams and events.
    pub handles: Span,
    /// The calls of the set-up, and the graphs.
    pub setup: Span,
    /// Looking kernels up and getting the body's calls ready.
    pub body: Span,
}

/// A plan that is set up.
///
/// Fields are dropped in this order: handles before the memory they use.
pub(super) struct Stage<'a, D: AnyDevice> {
    executor: &'a Executor<'a, D>,
    program: &'a Program,
    body: Vec<Prepared<'a, D>>,
    /// Positions of the calls that the host makes: all calls of the body but those in graphs.
    made: Vec<usize>,
    handles: Handles<D>,
    memories: Memories<'a, D>,
    expected: Expected<'a>,
    took: Took,
    /// Whether only the issuing thread works for the plan. Then its passes need a core to
    /// themselves.
    works_alone: bool,
    /// How often a timed pass goes through the body.
    rounds: u32,
    /// How long a pass took before timing started.
    lasts: Duration,
    /// Draws the pauses.
    random: ChaCha8Rng,
    /// Passes timed so far, and passes timed while something else used this thread's
    /// core. Predictions are for a core to itself, as calibration is.
    passes: Vec<Span>,
    beside: Vec<Span>,
    worst_error: f64,
}

impl<'a, D: AnyDevice> Stage<'a, D> {
    /// Sets the plan up, makes a first pass and checks its outputs.
    pub fn new(executor: &'a Executor<'_, D>, program: &'a Program) -> Executed<Self> {
        let mut stage = Self::set_up(executor, program, Pages::Touched)?;
        // New memory of a device holds anything; from now on it holds what is expected of it.
        stage.checked_pass()?;
        stage.lasts = Duration::from_nanos(stage.pass()?.nanos());
        Ok(stage)
    }

    /// Sets the plan up.
    pub fn set_up(
        executor: &'a Executor<'_, D>,
        program: &'a Program,
        pages: Pages,
    ) -> Executed<Self> {
        let device = executor.device;
        check_room(device, program)?;
        check_calls(executor.workload, program)?;
        let expected = executor.expected(program)?;
        let mut memories = Memories::before(device, executor.workload, program, &expected.before)?;
        if pages == Pages::New {
            memories.renew_pages(program)?;
        }
        let start = D::now();
        let handles = Handles::new(device, program)?;
        let created = D::now();
        make_setup(program, executor.team, &handles, &mut memories)?;
        device.map_or(Ok(()), D::make_current)?;
        let (created, setup) = ((created - start).into(), (D::now() - created).into());
        for stream in &handles.streams {
            stream.synchronize()?;
        }
        let whole = Whole::new(program);
        let calls = program.body.iter();
        let start = D::now();
        let body = calls.map(|call| whole.ready(call, &handles, &mut memories));
        let body = body.collect::<Result<Vec<_>, _>>()?;
        let took = Took { handles: created, setup, body: (D::now() - start).into() };
        let footprint = program.host_footprint().all;
        let is_shared = |call: &Call| call.cpu_threads(footprint) == Some(Threads::All);
        let mut stage = Self {
            executor,
            program,
            made: (0..body.len()).collect(),
            body,
            handles,
            memories,
            expected,
            took,
            works_alone: executor.team.threads() == 1 || !program.body.iter().any(is_shared),
            rounds: 1,
            lasts: Duration::ZERO,
            random: ChaCha8Rng::seed_from_u64(0),
            passes: Vec::new(),
            beside: Vec::new(),
            worst_error: 0.0,
        };
        stage.capture()?;
        Ok(stage)
    }

    /// Makes a pass that starts from what was there before the plan, and checks its outputs.
    pub fn checked_pass(&mut self) -> Executed {
        self.begin_anew()?;
        self.rounds = 1;
        self.pass()?;
        self.check()
    }

    /// Compares all outputs with what they must be. Stand-ins compute nothing, so that behind them
    /// nothing is known.
    fn check(&mut self) -> Executed {
        if !self.program.stood_in_for().is_empty() {
            return Ok(());
        }
        let workload = self.executor.workload;
        let after = &self.expected.after;
        for (id, holder) in outputs(workload, self.program)? {
            let found = self.memories.read(holder, after.of(id).len())?;
            self.worst_error = self.worst_error.max(after.check(workload, id, &found)?);
        }
        Ok(())
    }

    /// Warms up and times passes, unless an earlier call already took this turn along.
    pub fn turn(&mut self, turn: usize, effort: Effort, cpu: &mut OneCpu) -> Executed {
        let effort = Effort { warm_up_passes: warm_up_passes(self.program, effort), ..effort };
        let at_once = effort.at_once(self.lasts);
        if !turn.is_multiple_of(at_once) {
            return Ok(());
        }
        let effort = effort.times(at_once);
        cpu.settle();
        self.warm_up(effort)?;
        self.time(effort, cpu)
    }

    /// Checks a last pass and returns the run.
    pub fn finish(mut self, effort: Effort) -> Executed<Run> {
        // The outputs must still be right at full speed, and nothing may be left of those
        // that were right before.
        self.checked_pass()?;
        let (mut passes, mut beside) =
            (std::mem::take(&mut self.passes), std::mem::take(&mut self.beside));
        if passes.len() < effort.times(effort.turns).fewest.div_ceil(2) {
            // The core was hardly ever free, so the other passes have to count, too.
            passes.append(&mut beside);
        }
        Ok(Run {
            plan: self.program.label.clone(),
            identity: self.program.identity(),
            setups_ns: vec![self.took.setup],
            passes_ns: passes,
            beside_ns: beside,
            new_processes: Vec::new(),
            worst_error: self.worst_error,
        })
    }

    /// Restores all memory as the set-up left it.
    fn begin_anew(&mut self) -> Executed {
        let Self { executor, program, handles, memories, expected, .. } = self;
        memories.begin_anew(program, &expected.before)?;
        for call in &program.setup {
            if call.memory_change().is_none() {
                make_once((*program, call), executor.team, handles, memories)?;
            }
        }
        executor.device.map_or(Ok(()), D::make_current)?;
        Ok(handles.streams.iter().try_for_each(|stream| stream.synchronize())?)
    }

    /// Makes one pass in which each call is timed.
    pub fn trace(mut self, cpu: &mut OneCpu) -> Executed<Trace> {
        cpu.settle();
        self.warm_up(Effort::FULL)?;
        let Self { executor, program, ref body, ref made, ref handles, ref mut memories, .. } =
            self;
        let (device, calls) = (executor.device, (&body[..], &made[..]));
        let mut make = |call: &Prepared<'a, D>| call(handles, memories, executor.team);
        let timeline = match by_records::timeline(program, calls, &mut make)? {
            Some(timeline) => timeline,
            None => by_events::timeline(device, program, calls, handles, &mut make)?,
        };
        Ok(Trace { identity: program.identity(), timeline })
    }

    /// Captures the plan's graphs and puts their launches into the body.
    fn capture(&mut self) -> Executed {
        let start = D::now();
        for graph in self.program.graphs() {
            self.made.retain(|at| !graph.calls.contains(at));
            let Self { body, handles, memories, executor, .. } = self;
            let captured = handles.streams[graph.origin.0].capture(|| {
                let mut calls = body[graph.calls].iter();
                calls.try_for_each(|call| call(handles, memories, executor.team))
            })?;
            let executable = captured.instantiate()?;
            // SAFETY: the memory of the plan outlives the pass, which waits for the graph.
            let replay = move |stream: &D::Stream| unsafe { stream.replay(&executable) };
            body[graph.launch] = on_stream::<D>(graph.origin, replay);
        }
        self.took.setup += (D::now() - start).into();
        Ok(())
    }

    /// Makes one pass over the body, timed by the host's clock. Short passes are made several
    /// times, and the mean is returned.
    pub fn pass(&mut self) -> Executed<Span> {
        let start = D::now();
        for _ in 0..self.rounds {
            for &at in &self.made {
                self.body[at](&self.handles, &mut self.memories, self.executor.team)?;
            }
        }
        Ok(((D::now() - start) / self.rounds).into())
    }

    /// What setting the plan up took.
    pub const fn took(&self) -> &Took {
        &self.took
    }

    fn needs_no_device(&self) -> bool {
        self.handles.streams.is_empty()
    }

    /// Pauses for a random time before a pass, for plans that use a device; see [`LONGEST_PAUSE`].
    fn pause(&mut self) {
        if self.needs_no_device() {
            return;
        }
        let (start, length) = (D::now(), LONGEST_PAUSE.mul_f64(self.random.random()));
        while D::now() - start < length {
            std::hint::spin_loop();
        }
    }

    fn warm_up(&mut self, effort: Effort) -> Executed {
        let start = D::now();
        let computes = !self.works_alone || self.needs_no_device();
        let least = if computes { effort.compute_warm_up } else { effort.warm_up };
        let mut passes = 0;
        self.rounds = 1;
        loop {
            let elapsed = D::now() - start;
            let is_warm = passes >= effort.warm_up_passes && elapsed >= least;
            if is_warm || elapsed >= effort.longest_warm_up {
                let fit_in = SHORTEST.as_nanos() * passes as u128 / elapsed.as_nanos().max(1);
                self.rounds = u32::try_from(fit_in).unwrap_or(u32::MAX).max(1);
                return Ok(());
            }
            self.pass()?;
            passes += 1;
        }
    }

    fn time(&mut self, effort: Effort, cpu: &mut OneCpu) -> Executed {
        let start = D::now();
        let (mut alone, mut all) = (0, 0);
        while alone < effort.fewest || (D::now() - start < effort.timed && alone < effort.most) {
            if D::now() - start > effort.timed * OneCpu::MORE_PATIENCE && all >= effort.fewest {
                break;
            }
            if self.works_alone && cpu.settle() {
                for _ in 0..PASSES_TO_SETTLE {
                    self.pass()?;
                }
            }
            self.pause();
            let pass = self.pass()?;
            let is_alone = !self.works_alone || cpu.is_alone();
            if is_alone { &mut self.passes } else { &mut self.beside }.push(pass);
            alone += usize::from(is_alone);
            all += 1;
        }
        Ok(())
    }
}

impl<D: AnyDevice> Drop for Stage<'_, D> {
    fn drop(&mut self) {
        // A pass that failed halfway may have left another device's context current, and
        // may have left work behind that uses the memory.
        let _ = self.executor.device.map(D::make_current);
        for stream in &self.handles.streams {
            let _ = stream.synchronize();
        }
        self.memories.all.iter_mut().for_each(|memory| *memory = Memory::None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::ExecuteError;
    use crate::families::{Cpu, Family, RoundTrip, Strategy, build};
    use crate::host::Team;
    use crate::machine::HostMemory;
    use crate::scenario::Workload;

    const ON_CPU: Strategy = Strategy {
        family: Family::Cpu(Cpu),
        memory: HostMemory::Pageable,
        graph: false,
        each_pass: false,
    };

    fn saxpy_into(output: &str, elements: u64) -> Workload {
        let names = ["x", "y", "z"].into_iter().filter(|&name| name != "z" || output == "z");
        let buffer = |name| {
            let rest = format!("type = \"f32\"\nelements = {elements}\nhome = \"host\"\n");
            format!("[[buffer]]\nname = \"{name}\"\n{rest}")
        };
        let buffers: String = names.map(buffer).collect();
        let text = format!(
            "schema_version = 1\nname = \"w\"\nquestion = \"?\"\n{buffers}[[task]]\n\
             name = \"t\"\nkernel = \"saxpy\"\nreads = [\"x\", \"y\"]\nwrites = [\"{output}\"]\n"
        );
        Workload::from_toml("w.toml", &text).expect("valid")
    }

    /// The issuing thread does the steps that are not worth sharing out, and every step
    /// if there is no other thread.
    #[test]
    fn passes_of_a_single_thread_need_a_core_of_their_own() {
        for (threads, elements, works_alone) in
            [(2, 1_000, true), (2, 1 << 20, false), (1, 1 << 20, true)]
        {
            let workload = saxpy_into("z", elements);
            let program = build(&workload, ON_CPU).expect("it can be done");
            let team = Team::new(threads).expect("threads");
            let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
            let stage = Stage::new(&executor, &program).expect("it runs");
            assert_eq!(stage.works_alone, works_alone, "{elements} elements, {threads} threads");
        }
    }

    /// Device-only plans warm up in few passes: they have no CPU cache to fill, and more
    /// passes would take most of a turn.
    #[test]
    fn plans_whose_data_the_cpu_goes_through_warm_up_longer() {
        let workload = saxpy_into("z", 1_000);
        let round_trip = |memory| Strategy {
            family: Family::RoundTrip(RoundTrip),
            memory,
            graph: false,
            each_pass: false,
        };
        let [pageable, pinned] = [HostMemory::Pageable, HostMemory::Pinned].map(round_trip);
        for (strategy, passes) in [(ON_CPU, 20), (pageable, 20), (pinned, 3)] {
            let program = build(&workload, strategy).expect("it can be done");
            assert_eq!(warm_up_passes(&program, Effort::SHORT), passes, "{strategy}");
        }
    }

    /// The last pass is checked by itself: by then, earlier outputs that were right have
    /// been overwritten.
    #[test]
    fn a_plan_that_stops_working_is_found() {
        // A task that works in place, and one that does not.
        for output in ["y", "z"] {
            let workload = saxpy_into(output, 1_000);
            let program = &build(&workload, ON_CPU).expect("it can be done");
            let team = Team::new(1).expect("a thread");
            let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
            for works in [true, false] {
                let mut stage = Stage::new(&executor, program).expect("right at first");
                stage.turn(0, Effort::SHORT, &mut OneCpu::quietest()).expect("it runs");
                if !works {
                    stage.made.clear();
                }
                let found = stage.finish(Effort::SHORT);
                assert_eq!(found.is_ok(), works, "{output}");
                assert!(works || matches!(found, Err(ExecuteError::Mismatch(_))));
            }
        }
    }
}

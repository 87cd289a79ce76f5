//! Running a plan: set-up, a checked pass, warm-up, timed passes.

use super::data::{Contents, Mismatch, asked_for};
use super::memory::{Memories, Memory};
use super::prepared::{Handles, Prepared};
use super::trace;
use crate::gpu::{Device, GpuError, Graph};
use crate::host::{HostError, OneCpu, Team, available_memory};
use crate::plan::{Call, Capacities, DoesNotFit, Plan, Whose, check_fits};
use crate::runs::{Run, Trace};
use crate::scenario::{BufferId, Workload};
use crate::units::Span;
use std::time::{Duration, Instant};

#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("`{plan}` {source}")]
    DoesNotFit { plan: String, source: DoesNotFit },
    #[error("this plan needs a GPU")]
    NeedsDevice,
}

/// Runs plans of one workload on one machine.
pub struct Executor<'a> {
    device: Option<&'a Device>,
    team: &'a Team,
    workload: &'a Workload,
    before: Contents,
    after: Contents,
}

/// How long a plan is run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Passes before timing starts: clocks rise, page tables fill, and the CPU's
    /// last-level cache takes a score of passes to learn what is worth keeping.
    warm_up: Duration,
    warm_up_passes: usize,
    /// What takes longer than this has forgotten at the end of a pass how it began.
    longest_warm_up: Duration,
    /// Timed passes stop after this time or the largest number, but not before
    /// the fewest.
    timed: Duration,
    fewest: usize,
    most: usize,
}

impl Effort {
    pub const FULL: Self = Self {
        warm_up: Duration::from_millis(60),
        warm_up_passes: 20,
        longest_warm_up: Duration::from_secs(5),
        timed: Duration::from_millis(120),
        fewest: 7,
        most: 101,
    };
    /// Where many plans matter more than one, and each is run several times.
    pub const SHORT: Self = Self {
        warm_up: Duration::from_millis(5),
        longest_warm_up: Duration::from_millis(40),
        timed: Duration::from_millis(6),
        fewest: 3,
        most: 21,
        ..Self::FULL
    };
}

/// A shorter pass is timed along with others, as many as fit in: to read the clock, and to
/// find the way back to the plan, takes a tenth of the shortest.
const SHORTEST: Duration = Duration::from_micros(20);

/// Passes after which the caches of another core know the plan.
const PASSES_TO_SETTLE: usize = 2;

impl<'a> Executor<'a> {
    /// Draws inputs and computes what the outputs must be.
    pub fn new(
        device: Option<&'a Device>,
        team: &'a Team,
        workload: &'a Workload,
        seed: u64,
    ) -> Self {
        // Outputs are checked with all threads. Whoever is started while the issuing thread
        // keeps to one CPU keeps to it, too.
        rayon::current_num_threads();
        let before = Contents::random(workload, team, seed);
        let after = before.computed(workload, team);
        Self { device, team, workload, before, after }
    }

    /// Runs a plan repeatedly and checks what it computes.
    ///
    /// # Errors
    /// If a call fails, memory does not suffice, or an output is wrong.
    pub fn run(&self, plan: &Plan, effort: Effort) -> Result<Run, ExecuteError> {
        let mut stage = Stage::new(self, plan)?;
        stage.pass()?;
        let mut worst_error = self.check(plan, &mut stage)?;
        stage.warm_up(effort)?;
        let (passes_ns, beside_ns) = stage.passes(effort)?;
        // Updates in place go on from their own results; anything else must
        // still be right when it ran at full speed.
        if !self.updates_in_place() {
            worst_error = worst_error.max(self.check(plan, &mut stage)?);
        }
        let setup_ns = stage.setup;
        Ok(Run {
            plan: plan.strategy.to_string(),
            identity: plan.identity(),
            setups_ns: vec![setup_ns],
            passes_ns,
            beside_ns,
            worst_error,
        })
    }

    /// Runs a plan with a clock on every call.
    ///
    /// # Errors
    /// As for [`Executor::run`].
    pub fn trace(&self, plan: &Plan) -> Result<Trace, ExecuteError> {
        let mut stage = Stage::new(self, plan)?;
        stage.warm_up(Effort::FULL)?;
        let timeline =
            trace::timeline(self.device, plan, &stage.body, &stage.handles, |call, handles| {
                call.make(handles, &mut stage.memories, self.team)
            })?;
        Ok(Trace { identity: plan.identity(), timeline })
    }

    fn updates_in_place(&self) -> bool {
        let both = |id| self.workload.is_input(id) && self.workload.is_output(id);
        (0..self.workload.buffers.len()).map(BufferId).any(both)
    }

    fn check(&self, plan: &Plan, stage: &mut Stage<'_>) -> Result<f64, ExecuteError> {
        let mut worst = 0.0_f64;
        for id in asked_for(self.workload) {
            let holder = plan.allocations.iter().position(|a| a.holds == Some(id));
            let holder = holder.expect("a buffer that is asked for has a home");
            let length = self.after.of(id).len();
            let found = stage.memories.read(self.device, holder, length)?;
            worst = worst.max(self.after.check(self.workload, id, &found)?);
        }
        Ok(worst)
    }
}

/// A plan that is set up.
///
/// The fields are dropped in this order: handles before the memory they use.
struct Stage<'a> {
    body: Vec<Prepared<'a>>,
    /// Positions of the calls that the host makes: all but those in graphs.
    made: Vec<usize>,
    handles: Handles,
    memories: Memories,
    device: Option<&'a Device>,
    team: &'a Team,
    setup: Span,
    /// Where the thread is that issues calls.
    cpu: OneCpu,
    /// Whether other threads of the plan's own never work beside it.
    issues_only: bool,
    /// How often a timed pass goes over the body.
    rounds: u32,
}

impl<'a> Stage<'a> {
    fn new(executor: &'a Executor<'_>, plan: &Plan) -> Result<Self, ExecuteError> {
        let device = executor.device;
        let cpu = OneCpu::quietest();
        check_room(device, plan)?;
        let mut memories = Memories::before(device, executor.workload, plan, &executor.before)?;
        let handles = Handles::new(device, plan)?;
        let start = Instant::now();
        for call in &plan.setup {
            match call {
                Call::Allocate(id) => memories.allocate(device, id.0, plan.allocation(*id))?,
                Call::Pin(id) => memories.pin(device, id.0)?,
                other => {
                    let call = (plan, other);
                    let prepared = Prepared::new(call, device, &handles, &mut memories)?;
                    if let (Some(device), Some(stream)) = (device, other.stream()) {
                        device.nth(plan.device_of(stream).0)?.make_current()?;
                    }
                    prepared.make(&handles, &mut memories, executor.team)?;
                }
            }
        }
        device.map_or(Ok(()), Device::make_current)?;
        let setup = start.elapsed().into();
        for stream in &handles.streams {
            stream.synchronize()?;
        }
        let calls = plan.body.iter().map(|call| (plan, call));
        let body = calls.map(|call| Prepared::new(call, device, &handles, &mut memories));
        let body = body.collect::<Result<Vec<_>, _>>()?;
        let made = (0..body.len()).collect();
        let team = executor.team;
        let issues_only = !plan.body.iter().any(|call| matches!(call, Call::Compute { .. }));
        let mut stage = Self {
            body,
            made,
            handles,
            memories,
            device,
            team,
            setup,
            cpu,
            issues_only,
            rounds: 1,
        };
        stage.capture(plan)?;
        Ok(stage)
    }

    /// Makes graphs of the calls that the plan has in them.
    fn capture(&mut self, plan: &Plan) -> Result<(), ExecuteError> {
        let start = Instant::now();
        for graph in plan.graphs() {
            self.made.retain(|at| !graph.calls.contains(at));
            let Self { body, handles, memories, team, .. } = self;
            let captured = Graph::capture(&handles.streams[graph.origin.0], || {
                let mut calls = body[graph.calls].iter();
                calls.try_for_each(|call| call.make(handles, memories, team))
            })?;
            let executable = Some(captured.instantiate()?);
            body[graph.launch] = Prepared::Replay { stream: graph.origin.0, graph: executable };
        }
        self.setup += start.elapsed().into();
        Ok(())
    }

    /// One pass over the body, timed by the host's clock: of short ones, the mean of several.
    fn pass(&mut self) -> Result<Span, ExecuteError> {
        let start = Instant::now();
        for _ in 0..self.rounds {
            for &at in &self.made {
                self.body[at].make(&self.handles, &mut self.memories, self.team)?;
            }
        }
        Ok((start.elapsed() / self.rounds).into())
    }

    /// Timed passes, and those during which something else used the core of this thread:
    /// predictions are for a core of one's own, as calibration is.
    fn passes(&mut self, effort: Effort) -> Result<(Vec<Span>, Vec<Span>), ExecuteError> {
        let start = Instant::now();
        let (mut passes, mut beside) = (Vec::new(), Vec::new());
        while passes.len() < effort.fewest
            || (start.elapsed() < effort.timed && passes.len() < effort.most)
        {
            if self.issues_only && self.cpu.settle() {
                for _ in 0..PASSES_TO_SETTLE {
                    self.pass()?;
                }
            }
            let pass = self.pass()?;
            let is_alone = !self.issues_only || self.cpu.is_alone();
            if is_alone { &mut passes } else { &mut beside }.push(pass);
            let all = passes.len() + beside.len();
            if start.elapsed() > effort.timed * OneCpu::MORE_PATIENCE && all >= effort.fewest {
                break;
            }
        }
        if passes.len() < effort.fewest {
            // This core is not to be had alone for so long.
            passes.append(&mut beside);
        }
        Ok((passes, beside))
    }

    fn warm_up(&mut self, effort: Effort) -> Result<(), ExecuteError> {
        let start = Instant::now();
        let mut passes = 0;
        loop {
            let elapsed = start.elapsed();
            let is_warm = passes >= effort.warm_up_passes && elapsed >= effort.warm_up;
            if is_warm || elapsed >= effort.longest_warm_up {
                let fit_in = SHORTEST.as_nanos() * passes as u128 / elapsed.as_nanos().max(1);
                self.rounds = u32::try_from(fit_in).unwrap_or(u32::MAX).max(1);
                return Ok(());
            }
            self.pass()?;
            passes += 1;
        }
    }
}

/// Before anything is taken: whoever takes the last page may be stopped by the
/// system, without a word.
fn check_room(device: Option<&Device>, plan: &Plan) -> Result<(), ExecuteError> {
    let free = |device: &Device| {
        let devices = (0..plan.devices().max(1)).map(|index| device.nth(index)?.free_memory());
        devices.collect::<Result<Vec<_>, _>>()
    };
    // The most that the plan takes of any device has to fit where least is left.
    let device = device.map(free).transpose()?.and_then(|free| free.into_iter().min());
    let there_is = Capacities { device, pinned: available_memory() };
    check_fits(plan, there_is, Whose::Now).map_err(|source| {
        let plan = plan.strategy.to_string();
        ExecuteError::DoesNotFit { plan, source }
    })
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // A pass that failed halfway may have left another device's context current,
        // and work behind that uses the memory.
        let _ = self.device.map(Device::make_current);
        for stream in &self.handles.streams {
            let _ = stream.synchronize();
        }
        self.memories.0.iter_mut().for_each(|memory| *memory = Memory::None);
    }
}

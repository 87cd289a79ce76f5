//! The checked form of a scenario.

use super::needed::Needed;
use super::tasks::{Task, TaskId, Tasks};
use super::words::{CpuCode, FamilyName, PlanMemory};
use super::{OwnWork, TaskKernel};
use crate::kernels::{CpuSide, GpuSide, Kernel, OwnCost, OwnKernel, Shape};
use crate::machine::{Capacities, HostMemory};
use crate::program::spelled::DeclaredKernel;
use crate::program::{BufferId, Process, Program};
use crate::units::{Bytes, ElementType};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A computation: buffers, tasks, how often they run, and limits for plans.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    pub name: String,
    pub question: String,
    /// Independent repetitions, each with host data of its own.
    pub batches: u64,
    /// How many times a program runs the whole workload. The cost of set-up is spread over them.
    pub runs: u64,
    pub buffers: Vec<Buffer>,
    pub tasks: Tasks,
    /// Programs over the buffers that the scenario spells out, call by call.
    pub programs: Vec<Program>,
    /// The user's own CPU code for all tasks of a batch, where the scenario tells of it.
    pub own_cpu: Option<Arc<DeclaredKernel>>,
    /// By a program's name, the result that the scenario says it leaves.
    pub results: BTreeMap<String, String>,
    /// Which of the scenario's contests it is, if there are several.
    pub part: Option<String>,
    pub limits: Limits,
    pub plans: PlanChoice,
    /// The files that its kernels were read from.
    pub files: Vec<PathBuf>,
    /// The process that runs the programs.
    pub process: Process,
}

/// An array that tasks and programs read and write.
#[derive(Debug, Clone, PartialEq)]
pub struct Buffer {
    pub name: String,
    /// Tasks take `f32` alone.
    pub element_type: ElementType,
    /// Elements per batch.
    pub elements: u64,
    pub home: Home,
    /// Whether every run of the workload gets new host memory, whose pages were never touched.
    /// Only outputs can be fresh.
    pub fresh: bool,
    /// Whether all batches read the same contents. No task writes them.
    pub shared: bool,
    /// What of each batch has to cross between host and device. `None`: all of it.
    pub needed: Option<Needed>,
}

/// The buffer with which all batches of all buffers together no longer fit into a signed 64-bit
/// number of bytes.
pub(super) fn too_large(buffers: &[Buffer], batches: u64) -> Option<usize> {
    let mut room = i64::MAX as u64;
    buffers.iter().position(|buffer| {
        let size = buffer.elements.checked_mul(buffer.element_type.size());
        let size = size.and_then(|bytes| bytes.checked_mul(buffer.copies(batches)));
        match size.and_then(|size| room.checked_sub(size)) {
            Some(left) => room = left,
            None => return true,
        }
        false
    })
}

impl Buffer {
    /// Bytes of a batch that have to cross.
    pub fn crossing_bytes(&self) -> Bytes {
        let elements = self.needed.map_or(self.elements, |needed| needed.elements());
        Bytes::new(elements * self.element_type.size())
    }

    /// Bytes of so many batches.
    pub const fn bytes(&self, batches: u64) -> Bytes {
        Bytes::new(self.elements * self.copies(batches) * self.element_type.size())
    }

    /// How many batches have contents of their own.
    pub(super) const fn copies(&self, batches: u64) -> u64 {
        if self.shared { 1 } else { batches }
    }

    /// How many elements lie in front of a batch, counted from 0.
    pub const fn start_of(&self, batch: u64) -> u64 {
        if self.shared { 0 } else { self.elements * batch }
    }
}

/// Where a buffer is before the workload, and must be after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    Host(HostMemory),
    Device,
    /// An intermediate: nobody asks for it before or after.
    Scratch,
}

/// What a plan may use of the machine. `None` means no limit but the machine's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    pub device_memory: Option<Bytes>,
    pub pinned_memory: Option<Bytes>,
    pub cpu_threads: Option<usize>,
}

/// Which plans to consider. With an empty list, the search chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanChoice {
    pub families: Vec<FamilyName>,
    /// Pieces into which each batch is cut.
    pub chunks: Vec<u64>,
    pub memory: Vec<PlanMemory>,
}

impl PlanChoice {
    /// Whether plans are to hold data in this way, by the scenario's word.
    pub fn holds(&self, memory: PlanMemory) -> bool {
        self.memory.contains(&memory)
    }

    /// Whether plans may pin memory, or take pinned memory, for data that is pageable.
    pub fn may_pin(&self) -> bool {
        self.memory.is_empty() || self.memory.iter().any(|one| *one != PlanMemory::Pageable)
    }
}

impl From<&Limits> for Capacities {
    fn from(limits: &Limits) -> Self {
        Self { device: limits.device_memory, pinned: limits.pinned_memory, host: None }
    }
}

impl Workload {
    /// The most calls of a plan that nobody has asked for by its number of chunks.
    pub const MOST_CALLS: u64 = 16_384;

    /// The most calls that a plan of so many chunks may make.
    pub fn most_calls(&self, chunks: u64) -> u64 {
        let is_asked_for = chunks == 1 || self.plans.chunks.contains(&chunks);
        if is_asked_for { Program::MOST_CALLS as u64 } else { Self::MOST_CALLS }
    }

    /// The least number of calls of a plan that cuts each batch into so many chunks.
    pub fn calls(&self, chunks: u64) -> u64 {
        // A copy in, a copy out, and a call that joins them with the launches.
        const AROUND: u64 = 3;
        let launches: u64 = self.tasks.iter().map(|task| task.iterations).sum();
        (launches + AROUND).saturating_mul(self.batches).saturating_mul(chunks)
    }

    /// Whether the scenario spells a program out, rather than that it does the tasks.
    pub fn spells_out(&self, program: &Program) -> bool {
        self.programs.contains(program)
    }

    /// The workload as the user's own CPU code does it, if there is such code: one task does
    /// everything.
    pub fn on_own_cpu(&self) -> Option<Self> {
        let declared = self.own_cpu.clone()?;
        let is_result = |id: &BufferId| self.buffer(*id).home != Home::Scratch;
        let reads: Vec<BufferId> = self.buffer_ids().filter(|&id| self.is_input(id)).collect();
        let writes = self.buffer_ids().filter(|&id| self.is_output(id)).filter(is_result);
        let whole = reads.iter().map(|&id| Some(self.buffer(id).elements)).collect();
        let scaled = self.largest_scaled().map(|buffer| buffer.elements);
        let elements = scaled.or_else(|| self.buffers.iter().map(|buffer| buffer.elements).max());
        let work = OwnWork { declared, numbers: BTreeMap::new(), elements, whole };
        let task = Task {
            name: work.declared.kernel.name.clone(),
            kernel: TaskKernel::Own(work),
            writes: writes.collect(),
            reads,
            after: Vec::new(),
            iterations: 1,
            splittable: false,
            on_cpu: false,
        };
        Some(Self { tasks: vec![task].into(), own_cpu: None, ..self.clone() })
    }

    /// Whether a buffer keeps its size when others are scaled, since arguments say how large it is:
    /// it holds a reduction's results, or is read whole.
    pub fn keeps_size(&self, id: BufferId) -> bool {
        self.is_reduced(id) || self.is_read_whole(id)
    }

    /// The largest buffer that is scaled; of equals, the first in the scenario.
    pub fn largest_scaled(&self) -> Option<&Buffer> {
        let buffers = self.buffers.iter().enumerate().rev();
        let scaled = buffers.filter(|&(id, _)| !self.keeps_size(BufferId(id)));
        scaled.map(|(_, buffer)| buffer).max_by_key(|buffer| buffer.elements)
    }

    /// Whose code does the tasks on the CPU, if there are any. What a roofline says is priced by
    /// what the profile's CPU does at most.
    pub fn cpu_code(&self) -> Option<CpuCode> {
        let of = |kernel: &DeclaredKernel| match kernel.kernel.cpu {
            CpuSide::Cost(OwnCost::Stated { .. } | OwnCost::Points(_)) => CpuCode::Stated,
            CpuSide::Cost(OwnCost::Roofline { .. }) | CpuSide::Command(_) | CpuSide::Unknown => {
                CpuCode::Yours
            }
        };
        let of_task = |task: &Task| {
            task.kernel.own_work().map_or(CpuCode::Hallway, |work| of(&work.declared))
        };
        let of_tasks: BTreeSet<CpuCode> = match &self.own_cpu {
            Some(own) if !self.tasks.is_empty() => [of(own)].into(),
            _ => self.tasks.iter().map(of_task).collect(),
        };
        match of_tasks.len() {
            0 | 1 => of_tasks.first().copied(),
            _ if of_tasks.contains(&CpuCode::Hallway) => Some(CpuCode::Mixed),
            _ => Some(CpuCode::Yours),
        }
    }

    /// The kernels whose time on the GPU is stated and whose `grid` is not, in alphabetical order.
    /// They are taken to fill the GPU, so that nothing runs beside them.
    pub fn kernels_without_grid(&self) -> BTreeSet<&str> {
        let of_tasks = self.tasks.iter().filter(|task| !task.on_cpu);
        let of_tasks =
            of_tasks.filter_map(|task| task.kernel.own_work()).map(|work| &work.declared);
        let of_tasks = of_tasks.filter(|one| !one.has_grid()).map(|one| &one.kernel);
        let is_stated = |kernel: &&OwnKernel| matches!(kernel.gpu, GpuSide::Cost(_));
        let of_tasks = of_tasks.filter(is_stated).map(|kernel| kernel.name.as_str());
        of_tasks.chain(self.programs.iter().flat_map(Program::kernels_without_grid)).collect()
    }

    pub fn buffer_ids(&self) -> impl Iterator<Item = BufferId> + use<> {
        (0..self.buffers.len()).map(BufferId)
    }

    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.tasks.len()).map(TaskId)
    }

    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0]
    }

    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.0]
    }

    /// What has to cross of some elements of a batch of a buffer, in plans in which the GPU has the
    /// tasks that are not kept on the CPU: see [`Buffer::needed`].
    pub fn crossing(&self, id: BufferId, range: &Range<u64>) -> Vec<Needed> {
        // What goes from task to task goes whole.
        let is_between = self.is_output(id) && self.goes_to_cpu(id);
        match self.buffer(id).needed.filter(|_| !is_between) {
            Some(needed) => needed.within(range),
            None => vec![range.clone().into()],
        }
    }

    /// Whether a task that stays on the CPU uses a buffer that others use as well.
    pub fn goes_to_cpu(&self, id: BufferId) -> bool {
        self.used_on_cpu_and_elsewhere(id) == [true, true]
    }

    /// Whether all tasks that use a buffer stay on the CPU.
    pub fn is_only_on_cpu(&self, id: BufferId) -> bool {
        self.used_on_cpu_and_elsewhere(id) == [true, false]
    }

    /// The task that writes a buffer, if one does.
    pub fn writer_of(&self, id: BufferId) -> Option<TaskId> {
        self.tasks.uses(id).writer
    }

    /// Whether a task needs the contents that a buffer had before the workload.
    pub fn is_input(&self, id: BufferId) -> bool {
        self.tasks.uses(id).is_input
    }

    /// Whether a task that does not stay on the CPU needs the contents that a buffer had before
    /// the first of these.
    pub fn is_input_of_gpu(&self, id: BufferId) -> bool {
        self.tasks.uses(id).is_input_elsewhere
    }

    /// Whether a task that stays on the CPU uses a buffer, and whether another one does.
    pub fn used_on_cpu_and_elsewhere(&self, id: BufferId) -> [bool; 2] {
        let uses = self.tasks.uses(id);
        [uses.on_cpu, uses.elsewhere]
    }

    /// Whether a task reads all of a buffer for every element that it writes.
    pub fn is_read_whole(&self, id: BufferId) -> bool {
        self.tasks.uses(id).is_read_whole
    }

    /// The reduction of which a buffer holds the result. Every chunk has its own part of that.
    pub fn reduction(&self, id: BufferId) -> Option<Kernel> {
        let (kernel, _) = self.task(self.writer_of(id)?).kernel.library()?;
        (kernel.shape() == Shape::Reduction).then_some(kernel)
    }

    /// Whether a buffer holds the result of a reduction.
    pub fn is_reduced(&self, id: BufferId) -> bool {
        self.reduction(id).is_some()
    }

    /// Whether its data is no larger than any memory.
    pub fn has_size(&self) -> bool {
        too_large(&self.buffers, self.batches).is_none()
    }

    /// Number of elements that belong together in every task, such as a row. A chunk is a whole
    /// number of such groups.
    pub fn grain(&self) -> u64 {
        let grains = self.tasks.iter().map(|task| task.kernel.grain());
        grains.fold(1, |all, grain| match all % grain {
            0 => all,
            _ => all.saturating_mul(grain / gcd(all, grain)),
        })
    }

    /// Whether a task writes a buffer.
    pub fn is_output(&self, id: BufferId) -> bool {
        self.writer_of(id).is_some()
    }
}

/// The greatest common divisor (Euclid).
fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

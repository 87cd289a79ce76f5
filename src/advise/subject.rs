//! The program to advise on, and how much is known of it.

use super::refusal::Refusal;
use super::remedy::Remedy;
use super::rewriting::{Condition, Place as PlaceInBody};
use crate::kernels::Geometry;
use crate::machine::Direction::{DeviceToHost, HostToDevice};
use crate::machine::StreamId;
use crate::program::{
    AllocationId, Call, MemoryChange, OwnStep, Place, Program, Slice, Step, check_hazards,
    ordered_reads,
};
use crate::units::Bytes;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Calls times streams: a walk that knows the order of all calls stores a number for each.
const MOST_CLOCKS: usize = 16_000_000;

/// A program to advise on.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    pub program: Program,
    /// Whether it was recorded: what its kernels use is then not known, and whatever the host does
    /// between two calls may read what was copied to it.
    pub is_recorded: bool,
    /// Whether its memory is known by addresses: kernels then use what their pointers point to.
    pub by_address: bool,
    /// How many passes of the program as it was its body makes.
    pub passes: u64,
    /// For copies of the body, by their positions, whether they were recorded to bring equal bytes
    /// in all passes. What is not known is left out.
    pub unchanged: BTreeMap<usize, bool>,
    /// What the host may read of what was copied to it.
    pub host_reads: HostReads,
    /// The functions that calls of the body were when they were recorded, by their positions.
    pub functions: BTreeMap<usize, String>,
    /// Other plans for the tasks that the program does, if a scenario has them.
    pub plans: BTreeMap<Remedy, Program>,
}

/// What the host may read whenever it works. A recording does not show what it reads, but it cannot
/// read what may still be under way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostReads {
    /// For each time that it works in a pass. Empty if it may read everything each time.
    each: Vec<Vec<Slice>>,
    /// The number of allocations that were looked at.
    allocations: usize,
}

/// The most ranges of memory on the host that are told apart.
const MOST_TARGETS: usize = 64;

impl Subject {
    /// A program that a scenario spells out.
    pub fn spelled(program: Program) -> Self {
        Self {
            program,
            is_recorded: false,
            by_address: true,
            passes: 1,
            unchanged: BTreeMap::new(),
            host_reads: HostReads::default(),
            functions: BTreeMap::new(),
            plans: BTreeMap::new(),
        }
    }

    /// A program that a trace was turned into. Its kernels count as reading and writing all device
    /// memory that it uses; if its own order of calls then has a race, all that their stream uses.
    pub fn recorded(program: Program) -> Self {
        let whole = |_: StreamId| true;
        let program = without_reads_of_new_memory(program);
        let subject =
            |program| Self { is_recorded: true, by_address: false, ..Self::spelled(program) };
        let all = subject(with_uses(&program, |_| used_in(&program, &whole)));
        if check_hazards(&all.with_host_reads()).is_ok() {
            return all;
        }
        subject(with_uses(&program, |stream| used_in(&program, &|other| other == stream)))
    }

    /// A program that a recording was turned into, with its memory known by addresses. `None` if
    /// nothing orders two of its calls that use the same memory, as far as that shows.
    pub fn addressed(program: Program) -> Option<Self> {
        let subject = Self { by_address: true, ..Self::recorded(program) };
        let host_reads = subject.possible_host_reads();
        let subject = Self { host_reads, ..subject };
        check_hazards(&subject.with_host_reads()).is_ok().then_some(subject)
    }

    /// The program with kernels that only read what copies of the body bring to the GPU. A
    /// recording does not show whether they write there too. `None` if nothing would change.
    pub(super) fn with_uploads_only_read(&self) -> Option<Self> {
        if !self.is_recorded || !self.by_address {
            return None;
        }
        let mut program = self.program.clone();
        let mut only_read: BTreeSet<AllocationId> = BTreeSet::new();
        let crossings = || self.program.body.iter().filter_map(Call::crossing);
        only_read
            .extend(crossings().filter(|one| one.1 == HostToDevice).map(|one| one.3.allocation));
        for (_, _, from, _) in crossings().filter(|one| one.1 == DeviceToHost) {
            only_read.remove(&from.allocation);
        }
        for call in &mut program.body {
            let Some(Step::Own(step)) = call.launched_mut() else { continue };
            // A kernel that would write nothing writes to one of them after all.
            let is_kept = |slice: &Slice| !only_read.contains(&slice.allocation);
            if step.writes.iter().any(is_kept) {
                step.writes.retain(is_kept);
            }
        }
        (program != self.program).then(|| Self { program, ..self.clone() })
    }

    /// Places of the body, with the functions that were called there.
    pub(super) fn named(&self, places: &[PlaceInBody]) -> Vec<PlaceInBody> {
        let named = |place: &PlaceInBody| {
            let function = self.functions.get(&place.call).unwrap_or(&place.function).clone();
            PlaceInBody { function, ..place.clone() }
        };
        places.iter().map(named).collect()
    }

    /// What has to be true of what kernels use.
    pub(super) fn about_kernels(&self) -> Option<Condition> {
        self.is_recorded.then_some(match self.by_address {
            true => Condition::KernelsUsePointers,
            false => Condition::KernelsUseAll,
        })
    }

    /// The program in another form.
    pub fn rewritten(&self, program: Program, passes: u64) -> Self {
        let (passes, host_reads) = (self.passes * passes, self.host_reads.clone());
        Self {
            program,
            passes,
            unchanged: BTreeMap::new(),
            host_reads,
            functions: BTreeMap::new(),
            plans: BTreeMap::new(),
            ..*self
        }
    }

    /// The program with calls at equal positions in which it shows what the host may read whenever
    /// it works. It is there to be checked, not to be predicted.
    pub fn with_host_reads(&self) -> Cow<'_, Program> {
        if !self.is_recorded {
            return Cow::Borrowed(&self.program);
        }
        let mut program = self.program.clone();
        let is_copied_to = &self.program.copied()[1];
        let ids = (0..program.allocations.len()).filter(|&id| is_copied_to[id]);
        let all: Vec<AllocationId> = ids.map(AllocationId).collect();
        let works = program.body.iter_mut().filter(|call| call.stated_time().is_some());
        let works: Vec<&mut Call> = works.collect();
        let HostReads { each, allocations } = &self.host_reads;
        // A program that works more often, or less, may read everything each time. What only a
        // rewritten program has may be read each time, too.
        let is_alike = !each.is_empty() && works.len().is_multiple_of(each.len());
        let new = all.iter().filter(|id| id.0 >= *allocations);
        let new: Vec<AllocationId> = new.copied().collect();
        for (at, call) in works.into_iter().enumerate() {
            let (known, rest) = match is_alike {
                true => (each[at % each.len()].as_slice(), &new),
                false => (&[][..], &all),
            };
            let rest = rest.iter().map(|&id| whole(&self.program, id));
            let reads = known.iter().copied().chain(rest).collect();
            *call = Call::Compute { step: unknown_step(reads, Vec::new()).into() };
        }
        Cow::Owned(program)
    }

    /// What the host may read each time that it works, of what copies bring to it.
    fn possible_host_reads(&self) -> HostReads {
        let crossings = self.program.body.iter().filter_map(Call::crossing);
        let downloads = crossings.filter(|one| one.1 == DeviceToHost).map(|one| *one.3);
        let mut targets: Vec<Slice> = Vec::new();
        for target in downloads {
            if !targets.contains(&target) {
                targets.push(target);
            }
            if targets.len() > MOST_TARGETS {
                return HostReads::default();
            }
        }
        let mut shown = self.program.clone();
        let works = self.program.body.iter().map(|call| call.stated_time().is_some());
        for (call, _) in shown.body.iter_mut().zip(works.clone()).filter(|one| one.1) {
            let step = unknown_step(targets.clone(), Vec::new());
            *call = Call::Compute { step: step.into() };
        }
        let all = ordered_reads(&shown).into_iter().zip(works);
        let each = all.filter_map(|(reads, works)| works.then_some(reads)).collect();
        HostReads { each, allocations: self.program.allocations.len() }
    }

    /// Refuses programs whose waits nothing here can put in anew.
    pub fn check_waits(&self) -> Result<(), Refusal> {
        let program = &self.program;
        if program.thread_count() > 1 {
            return Err(Refusal::SeveralThreads);
        }
        if program.devices() > 1 {
            return Err(Refusal::SeveralGpus);
        }
        if program.graphs().any(|graph| graph.has_branches()) {
            return Err(Refusal::HasGraphs);
        }
        if self.has_room_for(0) { Ok(()) } else { Err(Refusal::TooLong) }
    }

    /// Whether a walk that knows the order of all calls can have so many more streams.
    pub fn has_room_for(&self, more_streams: usize) -> bool {
        let lanes = self.program.lane_count() + more_streams + 1;
        self.program.body.len().saturating_mul(lanes) <= MOST_CLOCKS
    }

    /// For each call, whether it is in a graph, or launches one.
    pub fn in_graphs(&self) -> Vec<bool> {
        let mut inside = vec![false; self.program.body.len()];
        for graph in self.program.graphs() {
            inside[graph.launch..graph.calls.end].fill(true);
        }
        inside
    }
}

/// All of some memory.
pub(super) fn whole(program: &Program, allocation: AllocationId) -> Slice {
    Slice { allocation, offset: Bytes::ZERO, length: program.allocation(allocation).bytes }
}

/// The program with kernels that do not read memory which the body has taken and nothing has
/// written since. What such memory holds is nobody's, so no result depends on it.
fn without_reads_of_new_memory(mut program: Program) -> Program {
    let mut new: BTreeSet<AllocationId> = BTreeSet::new();
    for at in 0..program.body.len() {
        if let Some((id, MemoryChange::Allocate)) = program.body[at].memory_change() {
            new.insert(id);
            continue;
        }
        if let Some(Step::Own(step)) = program.body[at].launched_mut() {
            step.reads.retain(|slice| !new.contains(&slice.allocation));
        }
        for written in program.accesses(&program.body[at]).filter(|one| one.writes()) {
            new.remove(&written.allocation());
        }
    }
    program
}

/// A step of which only the memory is known.
fn unknown_step(reads: Vec<Slice>, writes: Vec<Slice>) -> OwnStep {
    let (numbers, parameters) = (BTreeMap::new(), Vec::new());
    let geometry: Option<Geometry> = None;
    OwnStep { kernel: 0, reads, writes, elements: 1, numbers, geometry, parameters }
}

/// The device memory that copies and memsets in some streams use.
fn used_in(program: &Program, counts: &dyn Fn(StreamId) -> bool) -> Vec<Slice> {
    let here = program.body.iter().filter(|call| call.stream().is_some_and(counts));
    let ids: BTreeSet<AllocationId> = here
        .flat_map(|call| program.accesses(call))
        .map(|one| one.allocation())
        .filter(|&id| matches!(program.allocation(id).place, Place::Device(_)))
        .collect();
    ids.into_iter().map(|id| whole(program, id)).collect()
}

/// The program with kernels that use what `used` says of their streams, where nothing is said of
/// what they use.
fn with_uses(program: &Program, used: impl Fn(StreamId) -> Vec<Slice>) -> Program {
    let mut with = program.clone();
    let mut known: BTreeMap<StreamId, Vec<Slice>> = BTreeMap::new();
    for call in &mut with.body {
        let Some(stream) = call.stream() else { continue };
        let Some(Step::Own(step)) = call.launched_mut() else { continue };
        if step.reads.is_empty() && step.writes.is_empty() {
            let slices = known.entry(stream).or_insert_with(|| used(stream));
            step.reads.clone_from(slices);
            step.writes.clone_from(slices);
        }
    }
    with
}

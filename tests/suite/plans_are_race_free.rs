//! Every plan orders the calls that touch the same bytes, and computes what the CPU computes in any
//! order that it allows. A plan that lacks a wait does neither.

mod after_others;
mod by_task;
mod in_graphs;
mod of_other_memory;
mod over_several_gpus;
pub(super) mod own_kernels;
mod parts_and_sides;
mod shared_by_batches;

use self::of_other_memory::{held_otherwise, of_other_memory};
use self::over_several_gpus::{check_contexts, over_several};
use super::any_program_is_read::order::without;
use super::workloads::{ON_HOST, SPLIT, any_workload, committed, floats, head, read, simple, task};
use hallway::execute::{Contents, run_in_random_order};
use hallway::families::{
    Buffered, ByChunk, ByEngine, Cpu, Each, Family, Issue, MultiGpu, Resident, RoundTrip, Spread,
    Strategy, build,
};
use hallway::host::Team;
use hallway::kernels::{Arguments, Kernel};
use hallway::machine::HostMemory;
use hallway::program::{
    Access, AccessKind, Call, EventId, Place, Program, Step, StreamKind, check_hazards,
};
use hallway::scenario::{FamilyName, Home, TaskKernel, Workload};
use hallway::search::candidates;
use hallway::units::Bytes;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A workload with the contents of its buffers before and after.
struct Case {
    workload: Workload,
    team: Team,
    before: Contents,
    after: Contents,
}

impl Case {
    fn new(workload: Workload) -> Self {
        let team = Team::new(1).expect("one thread");
        let before = Contents::random(&workload, &team, 7);
        let after = before.computed(&workload, &team);
        Self { workload, team, before, after }
    }

    fn runs(&self, plan: &Program, seed: u64) -> Result<(), String> {
        let contents = (&self.before, &self.after);
        run_in_random_order(&self.workload, plan, &self.team, contents, seed)
            .map_err(|mismatch| format!("{}, seed {seed}: {mismatch}", plan.label))
    }

    /// The plans that the search finds, and plans of every family with numbers of chunks
    /// that divide nothing evenly. A family refuses what it cannot do before it builds a
    /// plan with a race.
    fn plans(&self) -> Vec<Program> {
        let mut found = candidates(&self.workload);
        let mut refused = std::mem::take(&mut found.refused);
        let mut programs = found.programs();
        for strategy in strategies() {
            match build(&self.workload, strategy) {
                Ok(program) => programs.push(program),
                Err(refusal) => refused.push(refusal),
            }
        }
        for refusal in &refused {
            assert!(!refusal.reason.contains("nothing orders them"), "{refusal}");
        }
        programs
    }

    /// Checks every plan by proof, and by running it in some orders.
    fn check(&self, seeds: u64) -> Result<usize, String> {
        let plans = self.plans();
        for plan in &plans {
            check_hazards(plan).map_err(|hazard| format!("{}: {hazard}", plan.label))?;
            check_contexts(plan)?;
            (0..seeds).try_for_each(|seed| self.runs(plan, seed))?;
        }
        Ok(plans.len())
    }
}

fn strategies() -> Vec<Strategy> {
    let mut families =
        vec![Family::Cpu(Cpu), Family::RoundTrip(RoundTrip), Family::Resident(Resident)];
    for chunks in [2, 3, 7, 64] {
        families.extend([
            Family::ByChunk(ByChunk { chunks, streams: 1, issue: Issue::DepthFirst }),
            Family::ByChunk(ByChunk { chunks, streams: 3, issue: Issue::DepthFirst }),
            Family::ByChunk(ByChunk { chunks, streams: 2, issue: Issue::BreadthFirst }),
            Family::ByEngine(ByEngine { chunks }),
            Family::Buffered(Buffered { chunks, ring: 1 }),
            Family::Buffered(Buffered { chunks, ring: 2 }),
        ]);
    }
    families.extend(of_other_memory());
    for chunks in [1, 2, 3, 6] {
        for devices in [2, 3] {
            families.extend(over_several(chunks, devices));
        }
    }
    let ways =
        [(HostMemory::Pageable, false), (HostMemory::Pinned, false), (HostMemory::Pinned, true)];
    let with =
        |family| ways.map(|(memory, graph)| Strategy { family, memory, graph, each_pass: false });
    let held: Vec<Strategy> = families.iter().copied().flat_map(held_otherwise).collect();
    families.into_iter().flat_map(with).chain(held).collect()
}

fn pinned(family: impl Into<Family>) -> Strategy {
    Strategy::plain(family, HostMemory::Pinned)
}

#[test]
fn every_plan_of_every_scenario_computes_what_the_cpu_does() {
    // A prime, so that no number of chunks divides it.
    for workload in committed(1009) {
        let case = Case::new(workload);
        let checked = case.check(3).unwrap_or_else(|e| panic!("{}: {e}", case.workload.name));
        let fewest = if case.workload.tasks.iter().all(|task| task.splittable) { 30 } else { 5 };
        assert!(checked >= fewest, "only {checked} plans of {}", case.workload.name);
    }
}

#[test]
fn every_plan_uses_all_memory_that_it_takes() {
    let mut on_device = committed(1009);
    on_device.iter_mut().for_each(|workload| workload.buffers[0].home = Home::Device);
    for workload in committed(1009).into_iter().chain(on_device) {
        let case = Case::new(workload);
        for plan in case.plans() {
            let used: BTreeSet<usize> =
                plan.body.iter().flat_map(|call| allocations_of(&plan, call)).collect();
            for (index, allocation) in plan.allocations.iter().enumerate() {
                let name = &allocation.name;
                assert!(used.contains(&index), "{} never uses {name}", plan.label);
            }
        }
    }
}

/// Otherwise the GPU would win only because it need not copy pageable memory. The CPU's
/// own data stays where it is.
#[test]
fn the_cpu_may_have_what_is_on_the_device_copied_to_pinned_memory() {
    let own = simple(Kernel::Scale, 4096, "");
    let kinds = |workload: &Workload| {
        let plans = candidates(workload).programs().into_iter();
        let plans = plans.filter(Program::computes_on_cpu);
        let kind = |plan: Program| {
            let places = plan.allocations.iter().map(|allocation| allocation.place);
            (plan.label.clone(), places.collect::<Vec<_>>())
        };
        plans.map(kind).collect::<Vec<_>>()
    };
    let [pageable, pinned] = [HostMemory::Pageable, HostMemory::Pinned].map(Place::Host);
    assert_eq!(kinds(&own), [("cpu".to_owned(), vec![pageable; 2])]);
    let mut input_there = own;
    input_there.buffers[0].home = Home::Device;
    let places = |kind| vec![Place::FIRST_DEVICE, pageable, kind];
    let expected =
        [("cpu".to_owned(), places(pageable)), ("cpu, pinned".to_owned(), places(pinned))];
    assert_eq!(kinds(&input_there), expected);
}

/// The memory whose contents a call uses.
fn allocations_of(plan: &Program, call: &Call) -> Vec<usize> {
    let contents = |one: &Access| !matches!(one.kind, AccessKind::Changes(_));
    plan.accesses(call).filter(contents).map(|one| one.allocation().0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_of_any_workload_computes_what_the_cpu_does(workload in any_workload()) {
        let case = Case::new(workload);
        let plans = case.check(2).map_err(TestCaseError::fail)?;
        prop_assert!(plans > 0, "there is always a plan for the CPU");
    }
}

/// A task that updates its first operand runs again on what it has written, and leaves
/// the other operand as it was.
#[test]
fn iterations_in_place_repeat_the_task() {
    for (reads, expected) in [
        // Twice `v = 0.5 v + w`, twice `v = 0.5 w + v`, twice `v = 0.5 v + v`.
        (["v", "w"], |v: f32, w: f32| 0.5 * (0.5 * v + w) + w),
        (["w", "v"], |v: f32, w: f32| 0.5 * w + (0.5 * w + v)),
        (["v", "v"], |v: f32, _: f32| 2.25 * v),
    ] as [([&str; 2], fn(f32, f32) -> f32); 3]
    {
        let names: BTreeSet<&str> = reads.into_iter().collect();
        let buffers = names.into_iter().map(|name| floats([name], 200, ON_HOST));
        let task = task("t", "saxpy", &reads, "v", &format!("iterations = 2\n{SPLIT}"));
        let text = head("update", "") + &buffers.collect::<String>() + &task;
        let case = Case::new(read(&text));
        let ids: Vec<_> = case.workload.tasks[0].reads.clone();
        let v = case.workload.tasks[0].output();
        let w = ids.into_iter().find(|id| *id != v).unwrap_or(v);
        for i in 0..200 {
            let truth = expected(case.before.of(v)[i], case.before.of(w)[i]);
            let found = case.after.of(v)[i];
            assert!((found - truth).abs() < 1e-5, "{reads:?}: {found} is not {truth}");
        }
        case.check(3).unwrap();
    }
}

/// Intermediate iterations of a stencil reach beyond their chunk, so they must not be
/// kept in an array that the chunks share.
#[test]
fn chunks_whose_iterations_overlap_at_home_are_refused() {
    let mut workload = simple(Kernel::Stencil, 300, "");
    workload.tasks[0].iterations = 3;
    let out = workload.tasks[0].output();
    workload.buffers[out.0].home = Home::Device;
    let refusal = build(&workload, pinned(ByEngine { chunks: 4 })).expect_err("overlaps");
    assert!(refusal.to_string().contains("`out` stays on the device"), "{refusal}");
    build(&workload, pinned(Resident)).expect("one chunk overlaps nothing");
    workload.tasks[0].iterations = 1;
    build(&workload, pinned(ByEngine { chunks: 4 })).expect("each writes its own");
}

/// Positions in a plan's body of the calls of a kind.
fn places(plan: &Program, wanted: impl Fn(&Call) -> bool) -> Vec<usize> {
    (0..plan.body.len()).filter(|&index| wanted(&plan.body[index])).collect()
}

/// Asserts that both methods, proof and random orders, find a mistake.
fn is_found(case: &Case, plan: &Program, what: &str) {
    assert!(
        check_hazards(plan).is_err(),
        "{}: the proof does not notice that {what} is missing",
        plan.label
    );
    let found = (0..400).any(|seed| case.runs(plan, seed).is_err());
    assert!(found, "{}: no order shows that {what} is missing", plan.label);
}

fn is_wait(call: &Call) -> bool {
    matches!(call, Call::Wait { .. })
}

fn is_synchronize(call: &Call) -> bool {
    matches!(call, Call::Synchronize { .. })
}

/// Asserts that a plan is right, and needs each of its calls of a kind; returns how many it has.
fn needs(case: &Case, plan: &Program, wanted: impl Fn(&Call) -> bool) -> usize {
    case.runs(plan, 1).expect("the unchanged plan is right");
    let all = places(plan, wanted);
    for &index in &all {
        is_found(case, &without(plan, index), &format!("call {index}"));
    }
    all.len()
}

#[test]
fn every_forgotten_wait_record_and_synchronisation_is_found() {
    for (kernel, more) in
        [(Kernel::Scale, ""), (Kernel::Stencil, ""), (Kernel::Scale, "batches = 2")]
    {
        let case = Case::new(simple(kernel, 101, more));
        for family in [
            Family::ByEngine(ByEngine { chunks: 3 }),
            Family::Buffered(Buffered { chunks: 3, ring: 2 }),
            Family::Buffered(Buffered { chunks: 5, ring: 2 }),
            Family::Buffered(Buffered { chunks: 5, ring: 1 }),
            Family::MultiGpu(MultiGpu {
                chunks: 4,
                devices: 2,
                each: Each::ByEngine,
                spread: Spread::Host,
            }),
        ] {
            let plan = build(&case.workload, pinned(family)).expect("fits");
            needs(&case, &plan, is_wait);
            needs(&case, &plan, |call| is_awaited_record(&plan, call));
            needs(&case, &plan, is_synchronize);
        }
    }
}

/// Whether a later wait needs this record.
fn is_awaited_record(plan: &Program, call: &Call) -> bool {
    let waited_for = |wanted: EventId| {
        let waits = |call: &Call| matches!(call, Call::Wait { event, .. } if *event == wanted);
        plan.body.iter().any(waits)
    };
    matches!(call, Call::Record { event, .. } if waited_for(*event))
}

#[test]
fn every_forgotten_synchronisation_of_a_chunked_plan_is_found() {
    for issue in [Issue::DepthFirst, Issue::BreadthFirst] {
        let case = Case::new(simple(Kernel::Scale, 101, ""));
        let family = Family::ByChunk(ByChunk { chunks: 5, streams: 2, issue });
        let plan = build(&case.workload, pinned(family)).expect("fits");
        let waits = needs(&case, &plan, is_synchronize);
        assert_eq!(waits, 2, "one for each stream");
    }
}

/// The chunks of a reduction meet in one number. Without a wait before, parts are missing from it.
#[test]
fn a_reduction_waits_for_all_its_parts() {
    let mut workload = simple(Kernel::Scale, 101, "");
    let (kernel, arguments) = (Kernel::Sum, Arguments::default());
    workload.tasks[0].kernel = TaskKernel::Library { kernel, arguments };
    let out = workload.tasks[0].output();
    workload.buffers[out.0].elements = 1;
    let case = Case::new(workload);
    let plan = build(&case.workload, pinned(ByEngine { chunks: 3 })).expect("fits");
    case.runs(&plan, 1).expect("the unchanged plan is right");
    let waits = places(&plan, is_synchronize);
    is_found(&case, &without(&plan, waits[0]), "the synchronisation before the host adds");
}

#[test]
fn more_chunks_than_elements_are_refused() {
    let workload = simple(Kernel::Scale, 5, "");
    build(&workload, pinned(ByEngine { chunks: 5 })).expect("an element each");
    for family in [
        Family::ByEngine(ByEngine { chunks: 6 }),
        Family::Buffered(Buffered { chunks: 6, ring: 2 }),
        Family::ByChunk(ByChunk { chunks: 6, streams: 2, issue: Issue::DepthFirst }),
    ] {
        let refusal = build(&workload, pinned(family)).expect_err("an empty chunk");
        let text = refusal.to_string();
        assert!(text.contains("a batch has too few elements for 6 chunks"), "{text}");
        assert!(text.starts_with(&family.name().to_string()), "{text}");
    }
}

/// Instead of events, a plan may rely on the legacy default stream.
#[test]
fn the_legacy_default_stream_orders_what_events_would() {
    let case = Case::new(simple(Kernel::Scale, 101, ""));
    let plan = build(&case.workload, pinned(ByEngine { chunks: 3 })).expect("fits");
    let mut bare = plan.clone();
    bare.body.retain(|call| !matches!(call, Call::Wait { .. } | Call::Record { .. }));
    is_found(&case, &bare, "every wait");
    let compute = 1;
    for (index, stream) in bare.streams.iter_mut().enumerate() {
        let is_barrier = index == compute;
        stream.kind = if is_barrier { StreamKind::LegacyDefault } else { StreamKind::Blocking };
    }
    check_hazards(&bare).expect("every kernel is a barrier");
    (0..100).try_for_each(|seed| case.runs(&bare, seed)).expect("right in any order");
    bare.streams[0].kind = StreamKind::NonBlocking;
    is_found(&case, &bare, "the barrier");
}

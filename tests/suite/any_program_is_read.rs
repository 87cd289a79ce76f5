//! No reader relies on how the programs of families look. Programs that no family makes pass all
//! of them if waits order their calls; with one of these waits removed, they are refused as a
//! hazard. What the simulator cannot predict it refuses by name.

pub mod drawn;
pub mod order;
pub mod readers;

use super::machines::{machine, machine_of_two};
use super::predicted::PROFILE;
use super::programs_are_plain_values::read_back;
use super::workloads::simple;
use drawn::drawn;
use hallway::cost::CompileError;
use hallway::execute::{Effort, ExecuteError, Executor, check_orders};
use hallway::families::{Cpu, Family, Strategy, build};
use hallway::host::Team;
use hallway::kernels::Kernel;
use hallway::machine::HostMemory;
use hallway::profile::Profile;
use hallway::program::{Allocation, AllocationId, BufferId, Call, Place, Program, check_hazards};
use hallway::scenario::{Buffer, Home, Workload};
use hallway::units::{Bytes, ElementType};
use order::{race, unissued, without};
use rayon::prelude::*;
use readers::{check_timeline, read};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const PROGRAMS: u64 = 400;

/// Drawn once for all tests: to find where two calls need a wait takes longest.
static DRAWN: LazyLock<Vec<Program>> =
    LazyLock::new(|| (0..PROGRAMS).into_par_iter().map(drawn).collect());

fn programs() -> impl Iterator<Item = &'static Program> {
    DRAWN.iter()
}

/// A workload with the buffers that a program holds.
pub fn around(program: &Program) -> Workload {
    let mut workload = simple(Kernel::Scale, 4096, "");
    let held = program.allocations.iter().filter_map(|one| one.holds.map(|id| (id, one)));
    let held: BTreeMap<BufferId, &Allocation> = held.collect();
    let pinned = |at| program.calls().any(|call| *call == Call::Pin(AllocationId(at)));
    let buffer = |id: usize| {
        let at = program.allocations.iter().position(|one| one.holds == Some(BufferId(id)));
        let (name, elements, home) = match (at, held.get(&BufferId(id))) {
            (Some(at), Some(one)) => {
                let home = match one.place {
                    Place::Device(_) => Home::Device,
                    Place::Host(_) if pinned(at) => Home::Host(HostMemory::Pageable),
                    Place::Host(memory) => Home::Host(memory),
                };
                (one.name.clone(), one.bytes.get(), home)
            }
            _ => (format!("unused {id}"), 1, Home::Scratch),
        };
        Buffer {
            name,
            element_type: ElementType::U8,
            elements,
            home,
            fresh: false,
            shared: false,
            needed: None,
        }
    };
    let most = held.keys().last().map_or(0, |id| id.0 + 1);
    workload.buffers = (0..most).map(buffer).collect();
    workload
}

/// What a program may do, and nobody who spells one out means to do: wait for nothing, and renew
/// memory that is pinned.
const NOT_SPELLED_OUT: [&str; 2] =
    ["no earlier call records an event named `", "is not pageable memory"];

#[test]
fn each_has_a_text_and_computes_the_same_in_any_order() {
    let team = Team::new(1).expect("a thread");
    let mut spelled_out = 0;
    for program in programs() {
        let label = &program.label;
        check_hazards(program).unwrap_or_else(|hazard| panic!("{label}: {hazard}"));
        assert_eq!(read_back(program).as_ref(), Ok(program));
        let text = around(program).spelled_out(program);
        match Workload::from_toml("s.toml", &text).map_err(|error| error.to_string()) {
            Ok(read) => {
                assert_eq!(read.spelled_out(&read.programs[0]), text);
                spelled_out += 1;
            }
            Err(error) => {
                let is_known = NOT_SPELLED_OUT.iter().any(|known| error.contains(known));
                assert!(is_known, "{label}: {error}\n{text}");
            }
        }
        for seed in 0..3 {
            check_orders(program, &team, seed).unwrap_or_else(|error| panic!("{label}: {error}"));
        }
    }
    assert!(2 * spelled_out > PROGRAMS, "{spelled_out} of {PROGRAMS}");
}

/// Whether a wait is needed is found without the hazard check, and it must agree.
#[test]
fn each_is_refused_without_a_wait_that_it_needs() {
    let team = Team::new(1).expect("a thread");
    let (mut needed, mut not_needed, mut shown, mut run) = (0, 0, 0, 0);
    for program in programs() {
        for (at, call) in program.body.iter().enumerate() {
            if !matches!(call, Call::Wait { .. }) && !call.only_waits() {
                continue;
            }
            let broken = without(program, at);
            let race = unissued(&broken).or_else(|| race(&broken));
            let found = check_hazards(&broken);
            assert_eq!(
                race.is_some(),
                found.is_err(),
                "{} without call {at}: {race:?}, but {found:?}: {:?}",
                program.label,
                broken.threads.iter().zip(&broken.body).collect::<Vec<_>>()
            );
            if race.is_none() {
                not_needed += 1;
                continue;
            }
            needed += 1;
            // A race that shows in memory shows in some order.
            if needed % 8 == 0 {
                run += 1;
                shown +=
                    usize::from((0..20).any(|seed| check_orders(&broken, &team, seed).is_err()));
            }
        }
    }
    assert!(needed > 1_000 && not_needed > 100, "{needed} needed, {not_needed} not");
    assert!(3 * shown > run, "{shown} of {run} races show in an order");
}

/// Reads all programs and counts the reasons for which some are not simulated.
fn simulated(one: &Profile, two: &Profile) -> (usize, BTreeMap<String, usize>) {
    let workload = simple(Kernel::Scale, 4096, "");
    let (mut known, mut refused) = (0, BTreeMap::new());
    for program in programs() {
        let profile = if program.devices() > 1 { two } else { one };
        match read(program, profile, &workload) {
            Ok(timeline) => {
                check_timeline(program, &timeline);
                known += 1;
            }
            Err(CompileError::Unknown(unknown)) => {
                for what in unknown.what().split("; ") {
                    *refused.entry(what.to_owned()).or_default() += 1;
                }
            }
            Err(error) => panic!("{}: {error}", program.label),
        }
    }
    (known, refused)
}

#[test]
fn at_least_half_are_simulated_and_the_others_refused_by_name() {
    let (known, refused) = simulated(&machine(), &machine_of_two([8.0, 8.0, 16.0]));
    println!("{known} of {PROGRAMS} are simulated, the others refused for {refused:#?}");
    assert!(2 * known >= PROGRAMS as usize, "{known} of {PROGRAMS}; {refused:#?}");
}

/// Those on one device; the profile knows no second.
#[test]
fn on_a_real_machine_no_reader_panics() {
    let (known, refused) = simulated(&PROFILE, &PROFILE);
    println!("{known} of {PROGRAMS} are simulated, the others refused for {refused:#?}");
    assert!(3 * known >= PROGRAMS as usize, "{known} of {PROGRAMS}; {refused:#?}");
}

/// The executor refuses what it cannot run before it starts.
#[test]
fn the_executor_refuses_what_it_cannot_run() {
    let workload = simple(Kernel::Scale, 4096, "");
    let team = Team::new(1).expect("a thread");
    let executor: Executor<'_> = Executor::new(None, &team, &workload, 1);
    let strategy = Strategy {
        family: Family::Cpu(Cpu),
        memory: HostMemory::Pageable,
        graph: false,
        each_pass: false,
    };
    let plan = build(&workload, strategy).expect("there is always a plan for the CPU");
    executor.run(&plan, Effort::SHORT).expect("it runs");
    let refused = |change: &dyn Fn(&mut Program), expected: &str| {
        let mut plan = plan.clone();
        change(&mut plan);
        let error = executor.run(&plan, Effort::SHORT).expect_err("it cannot be run");
        assert!(matches!(error, ExecuteError::Unfit { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    let own = |plan: &mut Program| {
        let bytes = Bytes::of_f32(4);
        let place = Place::Host(HostMemory::Pageable);
        plan.allocations.push(Allocation { name: "own".to_owned(), place, bytes, holds: None });
        plan.body.insert(0, Call::allocate(AllocationId(2)));
    };
    refused(&own, "cannot be run: body[0] allocates `own` in every run without freeing it");
    refused(
        &|plan| plan.body.push(Call::Pin(AllocationId(0))),
        "pins `x`, but it is not declared as pinned",
    );
    refused(&|plan| plan.allocations[1].holds = None, "has no memory for `out`");
    refused(&|plan| plan.allocations[0].holds = Some(BufferId(7)), "that `simple` does not have");
    let pinned = |plan: &mut Program| plan.allocations[0].place = Place::Host(HostMemory::Pinned);
    refused(&pinned, "has `x` in a different kind of memory than the scenario");
}

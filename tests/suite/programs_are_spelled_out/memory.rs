//! Kinds of memory: kernels that use the host's, write-combined memory, pages that move.

use super::{MIB, program, read, scenario, slice};
use crate::machines::{machine, per_element_of_bytes};
use crate::programs_are_plain_values::read_back;
use hallway::cost::first_use;
use hallway::findings::Assessment;
use hallway::machine::{HostMemory, Residence, StreamId};
use hallway::program::{Call, Place, Process};
use hallway::search::{candidates, rank};
use hallway::simulate::simulate;

/// A program with memory of each kind.
fn calls(calls: &str) -> String {
    scenario(&format!(
        "[[program]]\nname = \"p\"\nmemory = [\n\
         {{ name = \"d\", kind = \"device\", size = \"16 MiB\" }},\n\
         {{ name = \"h\", kind = \"pageable\", size = \"16 MiB\" }},\n\
         {{ name = \"p\", kind = \"pinned\", size = \"16 MiB\" }},\n\
         {{ name = \"w\", kind = \"write-combined\", size = \"16 MiB\" }},\n\
         {{ name = \"m\", kind = \"managed\", size = \"16 MiB\" }},\n]\ncalls = [\n{calls}\n]\n"
    ))
}

#[test]
fn kernels_may_use_the_host_s_memory_where_devices_see_it() {
    let text = calls(
        "{ compute = \"scale\", reads = [\"x\"], writes = \"w\" },\n\
         { launch = \"saxpy\", reads = [\"w\", \"m\"], writes = \"p\", stream = \"s\" },\n\
         { launch = \"scale\", reads = [\"p\"], writes = \"y\", stream = \"s\" },\n\
         { synchronize = \"s\" },",
    );
    let found = program(&text);
    let place = |name: &str| found.allocations.iter().find(|one| one.name == name);
    let place = |name: &str| place(name).expect("named").place;
    assert_eq!(place("w"), Place::Host(HostMemory::WriteCombined));
    assert_eq!(place("m"), Place::Host(HostMemory::Managed));
    assert_eq!(read_back(&found).as_ref(), Ok(&found));
    // Two of them are page-locked besides the buffer, and managed memory may be on the device.
    assert_eq!(found.pinned_bytes().get(), 3 * 16 * MIB);
    assert_eq!(found.device_bytes().get(), 2 * 16 * MIB);
}

#[test]
fn managed_memory_is_prefetched_to_either_side() {
    let text = calls(
        "{ prefetch = \"m[0..4 MiB]\", to = \"gpu\", stream = \"s\" },\n\
         { launch = \"scale\", reads = [\"m\"], writes = \"d\", stream = \"s\" },\n\
         { prefetch = \"m\", to = \"host\", stream = \"s\" },\n\
         { synchronize = \"s\" },\n{ copy = \"d\", to = \"x\" },",
    );
    let found = program(&text);
    let stream = StreamId(0);
    let prefetch = |length, to| Call::Prefetch { stream, target: slice(4, 0, length), to };
    assert_eq!(found.body[0], prefetch(4 * MIB, Residence::Device));
    assert_eq!(found.body[2], prefetch(16 * MIB, Residence::Host));
    assert_eq!(read_back(&found).as_ref(), Ok(&found));
}

/// What the body writes first is new to the process, but for memory of the program's own.
#[test]
fn memory_of_the_program_is_not_paid_for_at_the_first_use() {
    let text = calls("{ compute = \"scale\", reads = [\"y\"], writes = \"m\" },");
    assert_eq!(first_use(&program(&text), &Process::default(), &machine()).known.nanos(), 0);
}

/// Registering takes 50000, and 1 for each element. A copy of pinned memory takes 1 for each
/// element, and one that the driver stages 2.
#[test]
fn from_how_many_passes_on_pinning_pays_is_told() {
    let assessed = |rounds: u32, names: [&str; 2]| {
        let [from, to] = names;
        let text = scenario(&format!(
            "[[program]]\nname = \"p\"\nmemory = [\n\
             {{ name = \"d\", kind = \"device\", size = \"16 MiB\" }},\n]\n\
             setup = [{{ pin = \"x\" }}]\ncalls = [\n{{ repeat = {rounds}, calls = [\n\
             {{ copy = \"{from}\", to = \"{to}\" }},\n] }},\n{{ copy = \"d\", to = \"y\" }},\n]\n"
        ));
        let workload = read(&text);
        let mut machine = machine();
        for model in &mut machine.staging {
            model.until_complete = per_element_of_bytes(8_000.0, 2.0);
            model.until_return = Some(model.until_complete.clone());
        }
        let ranking = rank(candidates(&workload), &machine, 10, 1);
        let assessment = Assessment::new(&workload, 1, &ranking, None);
        let plan = assessment.plans.into_iter().next().expect("predicted");
        (plan.predicted_ns.nanos(), plan.pinning.expect("it pins"))
    };
    let elements = 4_194_304;
    for (rounds, pays_from) in [(1, 2), (2, 1)] {
        let (with, pinning) = assessed(rounds, ["x", "d"]);
        assert_eq!(pinning.prices.register_ns.map(|time| time.nanos()), Some(50_000 + elements));
        let without = pinning.unpinned_pass_ns.expect("predicted").nanos();
        let saved = without - with;
        // Nearly 1 for each element, and a little for the calls.
        assert!(saved.abs_diff(u64::from(rounds) * elements) < elements / 8, "{saved}");
        // Unpinning takes 40000, and a half for each element.
        let unpins = 40_000 + elements / 2;
        assert_eq!(pinning.prices.unregister_ns.map(|time| time.nanos()), Some(unpins));
        assert_eq!(pinning.pays_from_runs, Some((50_000 + elements + unpins) / saved + 1));
        assert_eq!(pinning.pays_from_runs, Some(pays_from));
    }
    // Nothing that is pinned is copied.
    let (_, pinning) = assessed(1, ["y", "d"]);
    assert_eq!(pinning.pays_from_runs, None);
}

/// A kernel of one's own is taken to go once through what it names.
#[test]
fn own_kernels_may_use_the_host_s_memory_too() {
    let time = |from: &str| {
        let launch = format!(
            "{{ launch = \"k\", reads = [\"{from}\"], writes = [\"d\"], elements = 1, \
             stream = \"s\" }},\n{{ synchronize = \"s\" }},\n\
             {{ copy = \"x\", to = \"d\" }},"
        );
        let own = "[[kernel]]\nname = \"k\"\nstated = { fixed = \"5 us\" }\n";
        let found = program(&(calls(&launch) + own));
        simulate(&found, &machine()).expect("known").makespan.nanos()
    };
    // Across the link, it takes 1000, and 3 for each element, rather than 5000.
    let longer = time("p") - time("d[..4 MiB]");
    assert!(longer.abs_diff(3 * 4_194_304) < 10_000, "{longer}");
}

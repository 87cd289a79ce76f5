//! What a plan on the CPU does with data on the device, one on the GPU may do, too.

use super::*;
use hallway::program::Call;

/// From the device into fresh memory on the host.
fn fresh() -> Workload {
    let memory = "\"host\"\nhost = { state = \"fresh\" }";
    task("scale", ["\"device\"", memory], 1 << 24, "split = { along = \"elements\" }")
}

/// The driver's one thread touches new pages slowly. A plan on the CPU copied into pinned memory
/// first and had all threads touch them, and so it won, of which its name said nothing.
#[test]
fn results_come_into_fresh_memory_through_pinned_memory() {
    let ranking = ranked(&fresh());
    let gpu = ranking.fastest_on_gpu().expect("one");
    assert!(gpu.plan.name().ends_with(", pinned"), "{}", gpu.plan.name());
    // Where all threads copy what has landed while more of it comes, it takes no longer.
    let copies = |calls: &[Call]| calls.iter().filter(|call| call.is_compute()).count();
    let mut in_chunks = ranking.plans.iter().filter(|one| !one.is_cpu());
    let in_chunks = in_chunks.find(|one| copies(&one.plan.program.body) > 1).expect("some");
    assert!(in_chunks.makespan().nanos_f64() < 1.02 * gpu.makespan().nanos_f64());
    let cpu = ranking.fastest_on_cpu().expect("one");
    assert!(gpu.makespan().nanos_f64() < 1.02 * cpu.makespan().nanos_f64());
    let pins = |call: &Call| matches!(call, Call::Pin(_));
    for one in ranking.plans.iter().filter(|one| !one.is_cpu()) {
        assert!(!one.plan.program.setup.iter().any(pins), "{}", one.plan.name());
    }
}

#[test]
fn the_cpu_says_how_much_of_its_time_is_copies_from_the_device() {
    let copies = |workload: &Workload| {
        let assessment = assessed(workload, 1);
        let text = said::text(&assessment, &PROFILE);
        let said = said::labelled(&text, "Copies").first().map(|line| (*line).to_owned());
        (assessment.cpu_copies_ns, said)
    };
    let (time, said) = copies(&fresh());
    let start = format!("{} of the CPU's ", time.expect("it fetches its data"));
    let said = said.expect("it is said");
    assert!(said.starts_with(&start), "{said}");
    assert!(said.ends_with(" is copying to and from the GPU, where the data lives"), "{said}");
    assert_eq!(copies(&scenario("stencil-halo")), (None, None));
}

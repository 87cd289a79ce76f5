//! What crosses is what is needed, wherever the rest is; and what a scenario keeps on the CPU is
//! computed there in every plan.

use super::super::predicted::PROFILE;
use super::super::workloads::SCRATCH;
use super::*;
use hallway::families::Packed;
use hallway::program::BufferId;
use hallway::scenario::Needed;
use hallway::schedule::random_schedule;

/// Bytes that cross in each direction in a pass.
fn crossing(plan: &Program) -> [u64; 2] {
    let mut bytes = [0; 2];
    for call in &plan.body {
        if let Some((_, direction, from, _)) = call.crossing() {
            let of_rows = call.sides().rows.map(|rows| rows.count(from) * rows.row.get());
            bytes[direction as usize] += of_rows.unwrap_or(from.length.get());
        }
    }
    bytes
}

/// `out = x / 2`, of which so much is needed.
fn halved(elements: u64, x: &str, out: &str, split: &str) -> Workload {
    let [x, out] = [("x", x), ("out", out)]
        .map(|(name, needed)| floats([name], elements, &format!("{ON_HOST}\n{needed}")));
    read(&(head("h", "batches = 2") + &x + &out + &task("t", "scale", &["x"], "out", split)))
}

const RANGE: &str = "needed = { from = 190, elements = 201 }";
const ROWS: &str = "needed = { from = 13, elements = 20, pitch = 100, rows = 9 }";

fn random_schedules(case: &Case) -> Vec<Program> {
    let divided = [(1, 1), (1, 2), (3, 1), (3, 2), (7, 3)];
    let of = |seed| {
        let schedules = divided.into_iter();
        schedules.filter_map(move |one| random_schedule(&case.workload, &PROFILE, one, seed).ok())
    };
    (0..6).flat_map(of).collect()
}

#[test]
fn only_what_is_needed_crosses() {
    for (needed, elements) in [(RANGE, 201), (ROWS, 180)] {
        for (x, out) in [("", needed), (needed, needed)] {
            let case = Case::new(halved(1009, x, out, SPLIT));
            assert!(case.check(3).unwrap_or_else(|error| panic!("{error}")) >= 20);
            let comes = if x.is_empty() { 1009 } else { elements };
            let mut seen = 0;
            for plan in case.plans().into_iter().chain(random_schedules(&case)) {
                check_hazards(&plan).unwrap();
                case.runs(&plan, 1).unwrap();
                // Schedules may have a part on the CPU, and plans may copy nothing.
                let [to, from] = crossing(&plan);
                if plan.label.starts_with("by-chunk") || plan.label.starts_with("by-engine") {
                    assert_eq!([to, from], [8 * comes, 8 * elements], "{}", plan.label);
                    seen += 1;
                }
                assert!(to <= 8 * comes && from <= 8 * elements, "{}: {to} {from}", plan.label);
            }
            assert!(seen >= 10, "{seen}");
        }
    }
}

/// A wrong element is noticed where it is needed, and nowhere else.
#[test]
fn only_what_is_needed_is_looked_at() {
    for needed in [RANGE, ROWS] {
        let case = Case::new(halved(1009, "", needed, SPLIT));
        let id = BufferId(1);
        let part = case.workload.buffer(id).needed.expect("it says so");
        let good = case.after.of(id).to_vec();
        for element in [0, 12, 13, 32, 33, 113, 190, 390, 391, 1008, 1009 + 13, 1009 + 390] {
            let mut wrong = good.clone();
            wrong[element] += 1.0;
            let is_noticed = case.after.check(&case.workload, id, &wrong).is_err();
            assert_eq!(is_noticed, part.contains(element as u64 % 1009), "{needed}: {element}");
        }
    }
}

proptest! {
    #[test]
    fn parts_of_ranges_are_what_both_have(
        (first, row, more, rows) in (0..40_u64, 1..9_u64, 0..5_u64, 1..7_u64),
        (from, length) in (0..90_u64, 0..70_u64)
    ) {
        let needed = Needed { first, row, rows, pitch: row + more };
        let range = from..from + length;
        let found: Vec<u64> =
            needed.within(&range).iter().flat_map(Needed::ranges).flatten().collect();
        let expected: Vec<u64> = range.filter(|&one| needed.contains(one)).collect();
        prop_assert_eq!(found, expected);
        for to in [1, 2, 7, 50, 1000] {
            let all = needed.span().end;
            let scaled = needed.scaled(all, to);
            prop_assert!(scaled.span().end <= to && scaled.elements() > 0, "{scaled:?} of {to}");
        }
    }
}

/// Half of a chain on the CPU, in front or behind.
fn sided(before: &str, behind: &str) -> Workload {
    let cut = |side: &str| format!("{side}\n{SPLIT}");
    let text = [
        head("s", "batches = 2"),
        floats(["x"], 1009, ON_HOST),
        floats(["prepared", "squared"], 1009, SCRATCH),
        floats(["out"], 1009, &format!("{ON_HOST}\nhost = {{ state = \"fresh\" }}")),
        task("prepare", "scale", &["x"], "prepared", &cut(before)),
        task("square", "polynomial", &["prepared"], "squared", SPLIT),
        task("finish", "scale", &["squared"], "out", &cut(behind)),
    ];
    read(&text.concat())
}

fn computes(plan: &Program) -> usize {
    plan.body.iter().filter(|call| matches!(call, Call::Compute { .. })).count()
}

#[test]
fn what_is_kept_on_the_cpu_is_computed_there() {
    let kept = "on = \"cpu\"";
    for (before, behind) in [(kept, ""), ("", kept), (kept, kept)] {
        let case = Case::new(sided(before, behind));
        let kept = [before, behind].iter().filter(|side| !side.is_empty()).count();
        assert!(case.check(3).unwrap_or_else(|error| panic!("{error}")) >= 20);
        for plan in case.plans().into_iter().chain(random_schedules(&case)) {
            case.runs(&plan, 1).unwrap_or_else(|error| panic!("{error}"));
            // At least in each of the two batches.
            assert!(computes(&plan) >= 2 * kept, "{}", plan.label);
            let launches = plan.body.iter().filter(|call| call.is_launch()).count();
            assert!(!plan.label.starts_with("by-chunk") || launches >= 2 * (3 - kept));
        }
    }
}

/// The CPU converts bytes, whole or cut, by a kernel of the user's own.
#[test]
fn a_kernel_of_ones_own_may_stay_on_the_cpu() {
    for split in ["", SPLIT] {
        let mut workload = read(&super::own_kernels::pipeline(split, ""));
        workload.tasks[0].on_cpu = true;
        let case = Case::new(workload);
        assert!(case.check(2).unwrap_or_else(|error| panic!("{error}")) >= 4);
        for plan in case.plans() {
            let by_cpu = |call: &&Call| matches!(call, Call::Compute { step: Step::Own(_) });
            let launches_own =
                |call: &Call| matches!(call, Call::Launch { step: Step::Own(_), .. });
            // Twice in each of two batches.
            assert!(plan.body.iter().filter(by_cpu).count() >= 4, "{}", plan.label);
            assert!(!plan.body.iter().any(launches_own));
        }
    }
}

/// A wait that a plan lacks in front of what the CPU does with results is found.
#[test]
fn a_forgotten_wait_in_front_of_the_cpu_is_found() {
    let case = Case::new(sided("on = \"cpu\"", "on = \"cpu\""));
    let plan = build(&case.workload, pinned(Resident)).expect("there is one");
    assert!(needs(&case, &plan, is_synchronize) > 0);
}

#[test]
fn what_families_cannot_do_is_said() {
    let reasons = |workload: &Workload| -> Vec<String> {
        candidates(workload).refused.iter().map(ToString::to_string).collect()
    };
    let says = |workload: &Workload, what: &str| {
        let reasons = reasons(workload);
        assert!(reasons.iter().any(|one| one.contains(what)), "{what}: {reasons:?}");
    };
    let mut between = sided("", "");
    between.tasks[1].on_cpu = true;
    says(&between, "task `square` on the CPU is between tasks on the GPU; only");
    let case = Case::new(between);
    let schedules = random_schedules(&case);
    assert!(!schedules.is_empty(), "single tasks can be scheduled so");
    for plan in schedules {
        case.runs(&plan, 2).unwrap();
        assert!(computes(&plan) >= 2);
    }
    let mut all = sided("", "");
    all.tasks.iter_mut().for_each(|task| task.on_cpu = true);
    says(&all, "no task is left to run on the GPU");
    let mut there = sided("on = \"cpu\"", "");
    there.buffers[0].home = Home::Device;
    says(&there, "` on the CPU uses `x`, which is on the GPU; only `by-task`");
    let mut halo = sided("on = \"cpu\"", "");
    let TaskKernel::Library { kernel, .. } = &mut halo.tasks[1].kernel else { unreachable!() };
    *kernel = Kernel::Stencil;
    halo.plans.chunks = vec![4];
    says(&halo, "the CPU uses `prepared`, whose chunks overlap");
    let mut rows = halved(1009, "", ROWS, SPLIT);
    rows.plans.families = vec![FamilyName::Staged, FamilyName::Managed];
    says(&rows, "only separate rows of `out` are needed, but the CPU can only copy contiguous");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any tasks on the CPU, any part needed of any result.
    #[test]
    fn any_sides_and_parts_are_right(
        mut workload in any_workload(),
        on_cpu in any::<[bool; 3]>(),
        (share, rows, packed) in (1..9_u64, 1..4_u64, any::<bool>()),
    ) {
        for (task, on_cpu) in workload.tasks.iter_mut().zip(on_cpu) {
            task.on_cpu = on_cpu;
        }
        for id in (0..workload.buffers.len()).map(BufferId) {
            let is_result = workload.is_output(id) && !workload.is_input(id);
            let buffer = &mut workload.buffers[id.0];
            if is_result && matches!(buffer.home, Home::Host(_)) {
                let pitch = (buffer.elements / rows).max(1);
                let (first, row) = (pitch / 10, (pitch * share / 10).max(1));
                let rows = rows.min(buffer.elements);
                buffer.needed = Some(Needed { first, row, rows, pitch })
                    .filter(|needed| needed.span().end <= buffer.elements);
            }
        }
        let case = Case::new(workload);
        case.check(2).map_err(TestCaseError::fail)?;
        for plan in random_schedules(&case) {
            check_hazards(&plan).map_err(|hazard| TestCaseError::fail(hazard.to_string()))?;
            case.runs(&plan, 3).map_err(TestCaseError::fail)?;
        }
        let up_to = Bytes::new(if packed { 400 } else { 1 << 20 });
        for strategy in [pinned(Packed { up_to }), pageable(Packed { up_to })] {
            if let Ok(plan) = build(&case.workload, strategy) {
                case.runs(&plan, 4).map_err(TestCaseError::fail)?;
            }
        }
    }
}

fn pageable(family: impl Into<Family>) -> Strategy {
    Strategy { memory: HostMemory::Pageable, ..pinned(family) }
}

#[test]
fn small_arrays_cross_in_one_transfer() {
    let mut text = head("p", "batches = 6");
    for (name, elements) in [("a", 30), ("b", 1000), ("c", 30), ("d", 70), ("e", 70)] {
        text += &floats([name], elements, ON_HOST);
    }
    for (name, reads, writes) in [("one", "a", "c"), ("two", "d", "e"), ("three", "b", "b")] {
        text += &task(name, "scale", &[reads], writes, "");
    }
    let case = Case::new(read(&text));
    for (up_to, copies) in [(Bytes::new(400), 4), (Bytes::mib(1), 2)] {
        let plan = build(&case.workload, pinned(Packed { up_to })).unwrap();
        let crossing = plan.body.iter().filter(|call| call.crossing().is_some()).count();
        assert_eq!(crossing, 6 * copies, "{}", plan.label);
        let by_cpu = plan.body.iter().filter(|call| call.name() == "memcpy").count();
        assert_eq!(by_cpu, 6 * if copies == 4 { 4 } else { 6 });
        for seed in 0..6 {
            case.runs(&plan, seed).unwrap();
        }
        // What no copy uses is not pinned.
        let pins = plan.setup.iter().filter(|call| matches!(call, Call::Pin(_))).count();
        assert_eq!(pins, usize::from(copies == 4));
        // Each wait in front of the CPU counts.
        needs(&case, &plan, is_synchronize);
    }
    let few = Packed { up_to: Bytes::new(100) };
    let refusal = build(&case.workload, pinned(few)).unwrap_err();
    assert!(refusal.reason.contains("fewer than two arrays"), "{refusal}");
}

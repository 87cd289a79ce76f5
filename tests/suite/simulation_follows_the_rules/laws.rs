//! Laws that hold for every plan of every workload. Drawn calls keep them in `naive_simulator` and
//! `any_program_is_read`.

use super::*;
use crate::machines::{machine, machine_of_two, machine_with_bandwidth, wide_machine};
use crate::predicted::reread;
use crate::workloads::{any_workload, committed, simple};
use hallway::cost::CompiledProgram;
use hallway::families::{ByChunk, ByEngine, Issue, Resident, RoundTrip, build};
use hallway::machine::DeviceId;
use hallway::profile::Curve;
use hallway::program::Graph;
use hallway::scenario::Workload;
use hallway::search::{candidates, candidates_over};
use hallway::simulate::{Draws, Tally, forecast, forecast_all, lower_bound};
use hallway::timeline::Activity;
use proptest::prelude::{ProptestConfig, TestCaseError, prop_assert, prop_assert_eq, proptest};

/// All candidates of a workload, with few chunks so that small workloads have chunked plans too.
fn plans(workload: &Workload) -> Vec<Program> {
    let mut workload = workload.clone();
    workload.plans.chunks = vec![2, 5];
    candidates(&workload).programs()
}

fn predicted(plan: &Program) -> Timeline {
    simulate(plan, &machine()).expect("the machine knows everything")
}

/// Checks that lanes are in order, that the host and each copy engine do one thing at a time, and
/// that everything is in its own lane.
fn check_lanes(plan: &Program, timeline: &Timeline) -> Result<(), TestCaseError> {
    for lane in Lane::ALL {
        prop_assert!(timeline.busy(lane) <= timeline.makespan, "{lane}");
        let spans = spans(timeline, lane);
        prop_assert!(spans.is_sorted_by_key(|span| span.0), "{lane}: {spans:?}");
        for device in (0..plan.devices().max(1)).map(DeviceId) {
            let is_here =
                |call: &Call| call.stream().is_none_or(|stream| plan.device_of(stream) == device);
            let is_here = |a: &&Activity| lane == Lane::Host || is_here(&plan.body[a.call]);
            let here = timeline.lane(lane).filter(is_here);
            let in_turn = here.is_sorted_by(|before, after| before.end <= after.start);
            prop_assert!(lane == Lane::Kernels || in_turn, "{lane}: {spans:?}");
        }
        prop_assert!(spans.iter().all(|span| span.1 <= makespan(timeline)), "{lane}: {spans:?}");
    }
    let calls: Vec<usize> = timeline.lane(Lane::Host).map(|activity| activity.call).collect();
    let captured: Vec<Graph> = plan.graphs().collect();
    let mut made: Vec<usize> = (0..plan.body.len()).collect();
    made.retain(|call| !captured.iter().any(|graph| graph.calls.contains(call)));
    prop_assert!(calls == made, "the host makes each call once, but for those in graphs");
    let works = |call: &&Call| {
        use Call::{Clear, Copy, Launch};
        matches!(call, Copy { by: CopyBy::Stream(..), .. } | Launch { .. } | Clear { .. })
    };
    let on_device = timeline.activities.len() - made.len();
    prop_assert_eq!(on_device, plan.body.iter().filter(works).count());
    Ok(())
}

/// Checks that nothing starts before what its stream, an event or the host makes it wait for.
fn check_order(plan: &Program, timeline: &Timeline) -> Result<(), TestCaseError> {
    let lanes = plan.lanes();
    let mut ends = vec![Instant::START; plan.lane_count()];
    let waits_for = |lane: usize, other: usize| {
        plan.streams.get(lane).is_some_and(|mine| mine.waits_for(&plan.streams[other]))
    };
    let mut events = vec![Instant::START; plan.events];
    let at = |call: usize, host: bool| {
        let mut found = timeline.activities.iter().filter(|activity| activity.call == call);
        found.find(|activity| (activity.lane == Lane::Host) == host).expect("it happened")
    };
    for (index, call) in plan.body.iter().enumerate() {
        let Some(lane) = lanes.lane_of(index) else { continue };
        // The launch of a graph is not one of its nodes, and no barrier holds back a branch.
        let is_work = !matches!(call, Call::Synchronize { .. } | Call::Replay { .. });
        for other in 0..plan.streams.len() {
            if is_work && waits_for(lane, other) {
                ends[lane] = ends[lane].max(ends[other]);
            }
        }
        match call {
            Call::Record { event, .. } => events[event.0] = ends[lane],
            Call::Wait { event, .. } => ends[lane] = ends[lane].max(events[event.0]),
            Call::Synchronize { .. } => prop_assert!(at(index, true).end >= ends[lane]),
            Call::Copy { by: CopyBy::Stream(..), .. }
            | Call::Launch { .. }
            | Call::Clear { .. } => {
                let graph = plan.graphs().find(|graph| graph.calls.contains(&index));
                let launch = graph.map_or(index, |graph| graph.launch);
                let (device, host) = (at(index, false), at(launch, true));
                prop_assert!(device.start >= ends[lane], "call {index}: {device:?}");
                prop_assert!(device.start >= host.start, "call {index}: {device:?} {host:?}");
                ends[lane] = device.end;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that the critical path fills the makespan, with its segments one after another.
pub fn check_path(timeline: &Timeline) -> Result<(), TestCaseError> {
    let path = timeline.critical_path();
    let lanes: u64 = Lane::ALL.iter().map(|&lane| path.on(lane).nanos()).sum();
    prop_assert_eq!(lanes + path.gaps().nanos(), makespan(timeline), "{:?}", path);
    // The launch of a graph is left out, because it goes on while the first nodes run.
    let on_device = path.segments.iter().filter(|segment| segment.activity.lane != Lane::Host);
    prop_assert!(on_device.map(|segment| segment.activity.end).is_sorted(), "{path:?}");
    let starts = path.segments.iter().map(|segment| segment.activity.start);
    let pairs = starts.zip(path.segments.iter().skip(1));
    for (start, next) in pairs {
        prop_assert!(start <= next.activity.end, "{path:?}");
    }
    Ok(())
}

pub fn check_bound(
    plan: &Program,
    timeline: &Timeline,
    machine: &Profile,
) -> Result<(), TestCaseError> {
    let bound = lower_bound(plan, machine).expect("known");
    let (bound, makespan) = (bound.nanos(), makespan(timeline));
    prop_assert!(bound <= makespan, "{bound} ns and {makespan} ns");
    Ok(())
}

/// Checks all laws that hold whatever the plan does.
fn check_all(plan: &Program, machine: &Profile) -> Result<(), TestCaseError> {
    let timeline = simulate(plan, machine).expect("known");
    check_lanes(plan, &timeline)?;
    check_order(plan, &timeline)?;
    check_path(&timeline)?;
    check_bound(plan, &timeline, machine)
}

/// Checks that a makespan equals that of the timeline, which is simulated with every question
/// asked. A makespan leaves out those that a plain program makes unnecessary. The machines are
/// quiet; with copies that slow each other; with polling engines; with waiting kernels that slow
/// copies; and with running kernels that do.
fn check_questions(workload: &Workload) {
    let [mut quiet, mut polling] = [(); 2].map(|()| wide_machine());
    let [mut waiting, mut running] = [(); 2].map(|()| machine());
    for polling in &mut quiet.polling {
        polling.delay.knots = vec![(0.0, 0.0), (1.0, 700.0)];
    }
    polling.latency.semaphore_polling = Some(semaphore_polling(1_500.0));
    waiting.link.refetches[0].slowdown.knots = vec![(0.0, 1.0), (3.0, 1.37)];
    let knots = vec![(1_000.0, 900.0), (100_000.0, 300.0)];
    running.link.down_beside_kernels = Some(Curve { knots, scatter: 0.0 });
    for machine in [quiet, machine(), polling, waiting, running] {
        for plan in plans(workload) {
            let program = CompiledProgram::new(&plan, &machine).expect("known");
            let makespan = program.makespan();
            assert_eq!(makespan, program.timeline().makespan, "{}", plan.label);
            let bound = lower_bound(&plan, &machine).expect("known");
            assert!(bound <= makespan, "{}: {bound} and {makespan}", plan.label);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn timelines_of_plans_are_consistent(workload in any_workload()) {
        for plan in plans(&workload) {
            check_all(&plan, &machine())?;
        }
    }

    #[test]
    fn questions_that_do_not_arise_change_nothing(workload in any_workload()) {
        check_questions(&workload);
    }

    /// With a root that limits nobody, and with one that slows everything.
    #[test]
    fn timelines_of_plans_over_two_devices_are_consistent(workload in any_workload()) {
        let mut workload = workload;
        workload.plans.chunks = vec![1, 2, 4];
        let plans = candidates_over(&workload, &[2]).programs();
        for machine in [[8.0, 8.0, 16.0], [4.5, 5.5, 7.0]].map(machine_of_two) {
            for plan in plans.iter().filter(|plan| plan.devices() == 2) {
                check_all(plan, &machine)?;
            }
        }
    }

    #[test]
    fn equal_chunks_may_change_places(order in 0..24_usize, family in 0..3_usize) {
        let chunks = 4;
        let family = match family {
            0 => Family::ByEngine(ByEngine { chunks }),
            1 => Family::ByChunk(ByChunk { chunks, streams: 2, issue: Issue::DepthFirst }),
            _ => Family::ByChunk(ByChunk { chunks, streams: 4, issue: Issue::BreadthFirst }),
        };
        let workload = simple(Kernel::Scale, 4 * 9_600, "");
        let plan = build(&workload, pinned(family)).expect("fits");
        let mut places = [0, 1, 2, 3];
        let mut order = order;
        for left in (1..=4).rev() {
            places.swap(left - 1, order % left);
            order /= left;
        }
        // Moves all copies to other parts of the host's buffers.
        let mut moved = plan.clone();
        for call in &mut moved.body {
            if let Call::Copy { from, to, .. } = call {
                for slice in [from, to] {
                    let chunk = slice.offset.get() / slice.length.get();
                    let place: u64 = places[chunk as usize];
                    slice.offset = Bytes::new(place * slice.length.get());
                }
            }
        }
        prop_assert_eq!(predicted(&plan).makespan, predicted(&moved).makespan);
    }

    #[test]
    fn more_bandwidth_never_slows_a_plan_of_one_stream(
        elements in 64..100_000_u64,
        times in 1.0..16.0_f64,
    ) {
        let workload = simple(Kernel::Stencil, elements, "batches = 2");
        for family in [Family::RoundTrip(RoundTrip), Family::Resident(Resident)] {
            let plan = build(&workload, pinned(family)).expect("fits");
            let faster = simulate(&plan, &machine_with_bandwidth(times)).expect("known");
            prop_assert!(faster.makespan <= predicted(&plan).makespan);
        }
    }
}

#[test]
fn timelines_of_the_scenarios_are_consistent() {
    for workload in committed(1_000_003) {
        for plan in candidates(&workload).programs() {
            let timeline = predicted(&plan);
            let checked =
                check_lanes(&plan, &timeline).and_then(|()| check_order(&plan, &timeline));
            checked.unwrap_or_else(|error| panic!("{}, {}: {error}", workload.name, plan.label));
        }
    }
}

#[test]
fn questions_that_do_not_arise_change_nothing_in_the_scenarios() {
    committed(100_003).iter().for_each(check_questions);
}

#[test]
fn a_plan_of_a_day_is_no_longer_than_time_can_tell() {
    let mut machine = machine();
    let hour = 3_600e9;
    for model in &mut machine.copies {
        model.time = Curve { knots: vec![(1.0, hour), (1e6, hour)], scatter: 0.0 };
    }
    let hours = (0..24).map(|_| copy_in(0, PINNED, 5_000)).chain([synchronize(0)]).collect();
    let timeline = run(hours, &machine);
    assert_eq!(makespan(&timeline), 4_000 + 24 * 3_600_000_000_000 + 6_000);
}

#[test]
fn forecasts_depend_on_their_seed_alone() {
    let workload = &committed(100_003)[0];
    let plans = plans(workload);
    let draws = |seed, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let (draws, done) = (Draws::new(12, seed), Tally::default());
        let all = pool.install(|| forecast_all(&plans, &machine(), draws, &done));
        all.into_iter().map(|one| one.expect("known").draws).collect::<Vec<_>>()
    };
    assert_eq!(draws(1, 1), draws(1, 4));
    assert_eq!(draws(1, 2)[0], forecast(&plans[0], &machine(), 12, 1).expect("known").draws);
    for (one, other) in draws(1, 2).iter().zip(draws(2, 2)) {
        assert_ne!(*one, other);
    }
}

/// Draws are made a hundred or so at a time, and each has its number.
#[test]
fn more_draws_begin_with_the_same_ones() {
    let program = &plans(&committed(10_007)[0])[0];
    let draws = |draws| forecast(program, &machine(), draws, 1).expect("known");
    let (few, many) = (draws(100), draws(300));
    assert_eq!(few.draws[..], many.draws[..100]);
    assert_eq!(many.draws.len(), 300);
    let mut sorted = many.draws.clone();
    sorted.sort_unstable();
    assert_eq!(many.makespan(), sorted[150], "the timeline is of the median draw");
}

fn machine_without_scatter() -> Profile {
    let without = |text: String| text.replace("scatter = 0.05", "scatter = 0.0");
    reread(&machine(), without).expect("still a profile")
}

#[test]
fn a_forecast_without_scatter_is_a_point() {
    let machine = machine_without_scatter();
    let workload = &committed(10_007)[0];
    for plan in plans(workload) {
        let forecast = forecast(&plan, &machine, 5, 1).expect("known");
        let exact = forecast.makespan();
        assert_eq!(forecast.draws, [exact; 5]);
        assert_eq!(forecast.interval(), (exact, exact));
    }
}

/// Half of the launches take less than 0.6 of the mean, and yet the mean is what the profile says.
#[test]
fn each_launch_of_a_draw_takes_a_time_of_its_own() {
    let mut machine = machine_without_scatter();
    let plan = tiny((0..16).map(|_| launch(0, 10)).chain([synchronize(0)]).collect());
    let exact = makespan(&simulate(&plan, &machine).expect("known"));
    machine.calls.launch_spread = Some(vec![(0.0, 0.2), (0.5, 0.6), (1.0, 2.6)]);
    assert_eq!(makespan(&simulate(&plan, &machine).expect("known")), exact);
    let forecast = forecast(&plan, &machine, 400, 1).expect("known");
    let mut draws: Vec<u64> = forecast.draws.iter().map(|draw| draw.nanos()).collect();
    let mean = draws.iter().sum::<u64>() / 400;
    assert!(mean.abs_diff(exact) < exact / 50, "{mean} for {exact}");
    draws.sort_unstable();
    draws.dedup();
    // Some of four hundred draws within ten microseconds agree to the nanosecond.
    assert!(draws.len() > 360, "{} different", draws.len());
    let launches = spans(&forecast.timeline, Lane::Host);
    let mut times: Vec<u64> = launches[..16].iter().map(|(start, end)| end - start).collect();
    assert!(launches.windows(2).all(|pair| pair[0].1 == pair[1].0), "one right behind another");
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 14 && times[0] >= 400 && times[times.len() - 1] <= 5_200, "{times:?}");
}

#[test]
fn intervals_hold_the_prediction_and_grow_with_the_scatter() {
    let workload = &committed(100_003)[0];
    let mut wider = machine();
    for model in &mut wider.copies {
        model.time.scatter *= 3.0;
    }
    let plan = build(workload, pinned(Resident)).expect("fits");
    let interval = |machine| {
        let forecast = forecast(&plan, machine, 200, 1).expect("known");
        let (low, high) = forecast.interval();
        assert!(low < forecast.makespan() && forecast.makespan() < high);
        high - low
    };
    assert!(interval(&wider) > interval(&machine()));
}

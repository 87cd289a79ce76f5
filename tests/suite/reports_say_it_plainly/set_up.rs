//! Set-up has a column of its own, and can change the answer.

use super::*;
use hallway::machine::HostMemory;
use hallway::search::Plan;

/// What is fastest in a pass may have more set-up than another plan of its side.
#[test]
fn set_up_is_set_against_the_least_of_the_other_side() {
    let mut ranking = ranking(Some(SLOW), Some(FAST));
    let mut other = ranking.plans[0].clone();
    other.plan = candidates(&scaling()).plans.pop().expect("many");
    other.forecast.timeline.makespan = Span::from_millis(19);
    other.forecast.draws = vec![Span::from_millis(19); 4];
    other.setup = Ok(Span::from_millis(2));
    let name = other.plan.name();
    ranking.plans.insert(1, other);
    let assessment = Assessment::new(&scaling(), 1, &ranking, None);
    let program = assessment.verdict.program.as_ref().expect("all is known");
    let other = program.other.as_ref().expect("the GPU's");
    assert_eq!((program.answer, &other.plan), (Answer::Cpu, &name));
    let times = (program.chosen.time_ns, other.time_ns, other.setup_ns);
    let [cpu, gpu] = [20_100, 21_000].map(Span::from_micros);
    assert_eq!(times, (cpu, gpu, Some(Span::from_millis(2))));
    let text = said::text(&assessment, &machine());
    let words = format!("21.0 ms with `{name}` (set-up 2.00 ms)");
    assert!(said::the(&text, "Program").ends_with(&words), "{text}");
}

/// A scenario's memory is pageable, and whoever implements the plan has to pin it first.
#[test]
fn who_wins_without_pinning_is_said_where_it_is_another() {
    let with_pageable = |micros: &[u64]| {
        let mut ranking = ranking(Some(SLOW), Some(FAST));
        let plans = candidates(&scaling()).plans;
        let [pinned, pageable] = [HostMemory::Pinned, HostMemory::Pageable].map(|memory| {
            let fits = |plan: &&Plan| plan.program.needs_device() && plan.host_memory() == memory;
            plans.iter().find(fits).expect("one of each").clone()
        });
        ranking.plans[0].plan = pinned;
        let mut other = ranking.plans[0].clone();
        other.plan = pageable;
        other.forecast.draws = micros.iter().map(|&micros| Span::from_micros(micros)).collect();
        other.forecast.timeline.makespan = Span::from_micros(micros[0]);
        ranking.plans.push(other);
        ranking.plans.sort_by_key(Ranked::makespan);
        Assessment::new(&scaling(), 1, &ranking, None)
    };
    for (micros, answer, start) in [
        (&[30_000, 30_100, 29_900, 30_000], Answer::Cpu, "CPU faster: CPU 20.1 ms, GPU 30.0 ms (`"),
        (
            &[20_100, 20_300, 19_900, 20_200],
            Answer::Tie,
            "too close to call: CPU 20.1 ms, GPU 20.1",
        ),
        (&[10_000, 10_100, 9_900, 10_000], Answer::Gpu, "GPU faster: GPU 10.0 ms (`"),
    ] {
        let assessment = with_pageable(micros);
        assert_eq!(assessment.verdict.run_answer, Answer::Gpu);
        let without = assessment.without_pinning.as_ref().expect("the best one pins");
        assert_eq!(without.answer, answer);
        // Whatever is compared pins nothing.
        for one in [Some(&without.chosen), without.other.as_ref()].into_iter().flatten() {
            assert!(!assessment.plan(&one.plan).expect("in the table").pins, "{one:?}");
        }
        let text = said::text(&assessment, &machine());
        // The whole program has another answer than one run.
        let start = format!("in one run, {start}");
        assert!(said::the(&text, "Without pinning").starts_with(&start), "{text}");
    }
}

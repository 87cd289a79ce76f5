//! Set-up has a column of its own, and can change the answer.

use super::*;
use hallway::machine::HostMemory;
use hallway::search::Plan;

#[test]
fn set_up_can_change_which_plan_to_choose() {
    let text = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST))).text(Rows::All);
    let said = "\n\nStay on the CPU for a program of 1 run: it takes 20.1 ms, \
                `round-trip, pageable` 55.9 ms (set-up 50.0 ms). The GPU takes less from about 4 \
                runs on. After set-up, each pass is faster on the GPU: `";
    assert!(text.contains(said), "{text}");
    let text = evaluation(&scaling(), &ranking(Some(FAST), Some(SLOW))).text(Rows::All);
    assert!(!text.contains("for a program"), "{text}");
}

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
    let sentence = Verdict::of(&ranking).over(&ranking, 1).sentence;
    let words = format!("it takes 20.1 ms, `{name}` 21.0 ms (set-up 2.00 ms).");
    assert!(sentence.contains(&words), "{sentence}");
}

#[test]
fn a_process_that_has_not_used_the_gpu_yet_pays_for_a_context() {
    let mut evaluation = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST)));
    assert!(!evaluation.text(Rows::All).contains("context"));
    evaluation.context_ns = Some(Span::from_millis(124));
    let text = evaluation.text(Rows::All);
    assert!(text.contains("pays for a context, 124 ms: programs below include it"), "{text}");
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
        Verdict::of(&ranking).sentence
    };
    for (micros, end) in [
        (&[30_000, 30_100, 29_900, 30_000], " Without pinning, the CPU wins: `"),
        (&[20_100, 20_300, 19_900, 20_200], " Without pinning, neither wins: `"),
    ] {
        let sentence = with_pageable(micros);
        assert!(sentence.contains(end), "{sentence}");
        assert!(
            sentence.ends_with(&format!(", pageable` takes {}.", Span::from_micros(micros[0])))
        );
    }
    let sentence = with_pageable(&[10_000, 10_100, 9_900, 10_000]);
    assert!(!sentence.contains("Without pinning"), "{sentence}");
}

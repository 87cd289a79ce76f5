//! Set-up has a column of its own, and can change the answer.

use super::*;

#[test]
fn set_up_can_change_which_plan_to_choose() {
    let text = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST))).text(Rows::All);
    let note = "But with set-up and 1 run, the CPU wins: 20.1 ms on the CPU against 55.9 ms with `";
    assert!(text.contains(note) && !text.contains("taken together"), "{text}");
    let text = evaluation(&scaling(), &ranking(Some(FAST), Some(SLOW))).text(Rows::All);
    assert!(!text.contains("taken together"), "{text}");
}

/// What is fastest in a pass may have more set-up than another plan of its side.
#[test]
fn set_up_is_set_against_the_least_of_the_other_side() {
    let mut ranking = ranking(Some(SLOW), Some(FAST));
    let mut other = ranking.plans[0].clone();
    other.plan = candidates(&scaling()).plans.pop().expect("many");
    other.forecast.timeline.makespan = Span::from_millis(19);
    other.setup = Ok(Span::from_millis(2));
    let name = other.plan.strategy.to_string();
    ranking.plans.insert(1, other);
    let sentence = Verdict::of(&ranking).over(&ranking, 1).sentence;
    let words = format!("the CPU wins: 20.1 ms on the CPU against 21.0 ms with `{name}`.");
    assert!(sentence.ends_with(&words), "{sentence}");
}

#[test]
fn a_process_that_has_not_used_the_gpu_yet_pays_for_a_context() {
    let mut evaluation = evaluation(&scaling(), &ranking(Some(SLOW), Some(FAST)));
    assert!(!evaluation.text(Rows::All).contains("pays once"));
    evaluation.context_ns = Some(Span::from_millis(124));
    let text = evaluation.text(Rows::All);
    assert!(text.contains("pays once to begin using the GPU: 124 ms"), "{text}");
}

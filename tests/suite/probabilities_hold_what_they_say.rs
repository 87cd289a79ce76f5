//! How sure an answer is was checked like a prediction: among pairs of recorded plans, the one that
//! is said to be faster with some probability was measured to be so at least as often.

use super::predicted::{PROFILE, RANKED, runs};
use hallway::findings::{Contender, probability_faster, same_kernels};
use hallway::report::RangesHeld;
use hallway::search::{Ranked, Ranking, candidates_over, rank};
use hallway::simulate::{DRAWS, Forecast};
use hallway::units::Span;

/// Lower ends of bands of probability, from even chances to near certainty.
const BANDS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// By how much fewer pairs than said may be right: pairs of one scenario share their errors.
const LEEWAY: f64 = 0.02;

/// The plans of a scenario that ran, with their measured times.
fn measured(ranking: &Ranking, set: &hallway::runs::RunSet) -> Vec<(Ranked, Span)> {
    let run = |one: &Ranked| Some((one.clone(), set.run_of(&one.plan.identity())?.makespan()));
    ranking.plans.iter().filter_map(run).collect()
}

/// How many of these times lie in their ranges.
fn held<'p>(plans: impl Iterator<Item = &'p (Ranked, Span)>) -> RangesHeld {
    let inside = plans.map(|(one, time)| {
        let (low, high) = one.forecast.interval();
        (low..=high).contains(time)
    });
    let inside: Vec<bool> = inside.collect();
    let share = inside.iter().filter(|&&one| one).count() as f64 / inside.len() as f64;
    RangesHeld { share, tries: inside.len(), of_trials: false }
}

fn contender(one: &Ranked, widening: f64) -> Contender {
    let forecast = Forecast { widening, ..one.forecast.clone() };
    let (low_ns, high_ns) = forecast.interval();
    Contender {
        plan: one.plan.name(),
        side: one.plan.side(),
        time_ns: one.makespan(),
        low_ns,
        high_ns,
        first_use_ns: None,
        setup_ns: None,
    }
}

#[test]
fn pairs_of_recorded_plans_are_in_the_order_that_was_said_as_often_as_was_said() {
    // As many draws as `evaluate` makes: with few, ranges are too narrow.
    let all = RANKED.iter().map(|(workload, _)| {
        let plans = candidates_over(workload, &PROFILE.gpu_counts());
        measured(&rank(plans, &PROFILE, DRAWS, 1), &runs(workload))
    });
    let all: Vec<Vec<(Ranked, Span)>> = all.collect();
    let mut bands = [(0.0, 0.0, 0.0); BANDS.len()];
    for (index, plans) in all.iter().enumerate() {
        // What is said of a scenario knows only how ranges did in the others.
        let others = all.iter().enumerate().filter(|(other, _)| *other != index);
        let wide = held(others.flat_map(|(_, plans)| plans)).widening();
        assert!((1.0..3.0).contains(&wide), "{wide} times as wide");
        for (place, (one, time)) in plans.iter().enumerate() {
            for (other, other_time) in &plans[place + 1..] {
                let same = same_kernels(one, other);
                let said = probability_faster(
                    [one, other].map(|one| contender(one, wide)).each_ref(),
                    same,
                    0.0,
                );
                let (said, right) = match said >= 0.5 {
                    true => (said, time < other_time),
                    false => (1.0 - said, time > other_time),
                };
                let band = BANDS.iter().rposition(|&from| said >= from).expect("at least even");
                let (pairs, sum, rights) = &mut bands[band];
                *pairs += 1.0;
                *sum += said;
                *rights += f64::from(u8::from(right));
            }
        }
    }
    for (from, (pairs, sum, rights)) in BANDS.into_iter().zip(bands) {
        let (said, right) = (sum / pairs, rights / pairs);
        println!("from {from}: {pairs} pairs, said {said:.3}, right {right:.3}");
        assert!(pairs >= 100.0, "only {pairs} pairs are said with {from} or more");
        assert!(right >= said - LEEWAY, "from {from}: said {said:.3}, right {right:.3}");
    }
}

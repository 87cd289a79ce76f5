//! The simplest of plans that tie is named, whatever the seed.

use super::*;
use hallway::search::Simplicity;
use std::collections::BTreeSet;

#[test]
fn no_seed_decides_which_of_tied_plans_wins() {
    let workload = scenario("stencil-halo");
    let (mut fastest, mut named) = (BTreeSet::new(), BTreeSet::new());
    for seed in 1..=8 {
        let ranking = rank(candidates(&workload), &h200(), 40, seed);
        fastest.insert(ranking.fastest().expect("one").plan.name());
        named.insert(ranking.winner().expect("one").plan.name());
    }
    assert!(fastest.len() > 1, "the order of ties goes by the seed: {fastest:?}");
    assert_eq!(named.len(), 1, "{named:?}");
}

/// No two candidates are equally simple: else their order would decide.
#[test]
fn simplicity_is_a_total_order() {
    for name in ["stencil-halo", "image-batches", "separable-blur"] {
        let plans = candidates(&scenario(name)).plans;
        let all: BTreeSet<_> = plans.iter().map(Simplicity::of).collect();
        assert_eq!(all.len(), plans.len(), "{name}");
    }
}

#[test]
fn a_winner_that_is_not_the_fastest_is_said_to_tie_with_it() {
    let workload = scenario("stencil-halo");
    let assessment = assessed(&workload, 1_000_000);
    let (fastest, winner) = (&assessment.plans[0].plan, assessment.winner.as_ref().expect("one"));
    assert_ne!(fastest, winner);
    assert_eq!(assessment.best_on_gpu().map(|plan| &plan.plan), Some(winner));
    let text = said::text(&assessment, &h200());
    assert!(said::answer(&text).contains(&format!("`{winner}` takes")), "{text}");
    let choice = said::the(&text, "Choice");
    let time = |name| plan(&assessment, name).predicted_ns;
    let start = format!("`{winner}` ({}) is the simplest of ", time(winner));
    let end = format!(" plans that tie with the fastest, `{fastest}` ({})", time(fastest));
    assert!(choice.starts_with(&start) && choice.ends_with(&end), "{choice}");
}

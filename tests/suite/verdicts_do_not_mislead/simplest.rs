//! Little time may be worth fewer streams, events and pinned memory.

use super::*;

#[test]
fn it_is_named_with_what_it_saves() {
    let workload = scenario("stencil-halo");
    let ranking = ranked(&workload);
    let said = |share| {
        let assessment = Assessment::new(&workload, 1, &ranking, None).simplest(&ranking, share);
        said::text(&assessment, &PROFILE)
    };
    let time = ranking.best_on_cpu().expect("one").makespan();
    let expected = format!(
        "within 40% of the fastest: `cpu`, {time}, with 0 streams, 0 events and 0 B of pinned \
         memory"
    );
    assert_eq!(said::the(&said(0.4), "Simplest"), expected);
}

//! Plans that are captured into a graph are free of races, too, and what cannot be
//! captured is refused.

use super::*;
use hallway::scenario::FamilyName;
use hallway::search::candidates_over;

fn captured(family: impl Into<Family>) -> Strategy {
    Strategy { graph: true, ..pinned(family) }
}

/// A graph has waits of its own, where its branches start and end. A plan without a wait
/// that is not needed must be right in every order; every other missing wait must be
/// found.
#[test]
fn every_forgotten_wait_of_a_graph_is_found_if_it_counts() {
    let case = Case::new(simple(Kernel::Stencil, 101, "batches = 2"));
    for (family, least) in [
        (Family::ByEngine(ByEngine { chunks: 3 }), 13),
        (Family::Buffered(Buffered { chunks: 3, ring: 2 }), 21),
        (Family::ByChunk(ByChunk { chunks: 2, streams: 3, issue: Issue::BreadthFirst }), 2),
    ] {
        let plan = build(&case.workload, captured(family)).expect("fits");
        case.runs(&plan, 1).expect("the unchanged plan is right");
        let graph = plan.graphs().next().expect("the plan has a graph");
        let mut found = 0;
        for index in places(&plan, is_wait) {
            assert!(graph.calls.contains(&index), "{}: {index}", plan.label);
            let shorter = without(&plan, index);
            if check_hazards(&shorter).is_err() {
                is_found(&case, &shorter, &format!("wait {index}"));
                found += 1;
            } else {
                (0..50)
                    .try_for_each(|seed| case.runs(&shorter, seed))
                    .expect("right without a wait that is not needed");
            }
        }
        assert!(found >= least, "{}: {found}", plan.label);
        let last = places(&plan, is_synchronize);
        assert_eq!(last.len(), 1, "{}", plan.label);
        is_found(&case, &without(&plan, last[0]), "the synchronisation");
    }
}

#[test]
fn what_cannot_be_captured_is_refused_by_name() {
    let workload = simple(Kernel::Scale, 1024, "");
    let refused = |workload: &Workload, strategy| {
        build(workload, strategy).expect_err("it cannot be captured").to_string()
    };
    let pageable = Strategy { memory: HostMemory::Pageable, ..captured(Resident) };
    let (each, spread) = (Each::ByEngine, Spread::Host);
    let over_two = Family::MultiGpu(MultiGpu { chunks: 2, devices: 2, each, spread });
    for (strategy, expected) in [
        (pageable, "graph of resident, pageable: a copy of pageable memory cannot be captured"),
        (captured(RoundTrip), "graph of round-trip, pinned: a host wait in the middle of a run"),
        (captured(Cpu), "graph of cpu, pinned: a computation on the host cannot be captured"),
        (captured(over_two), "graph of multi-gpu 2 on 2 by-engine, pinned: graphs across several"),
    ] {
        let text = refused(&workload, strategy);
        assert!(text.starts_with(expected), "{text}");
    }
    // The search never tries these, whatever the scenario asks for.
    let mut only = workload.clone();
    (only.plans.families, only.plans.chunks) = (vec![FamilyName::Graph], vec![2, 4]);
    let found = candidates_over(&only, &[2]);
    assert!(found.plans.len() >= 8, "{} plans, {:?}", found.plans.len(), found.refused);
    assert!(found.plans.iter().all(|plan| plan.program.graphs().count() == 1));
}

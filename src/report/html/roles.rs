//! What a plan is to a scenario, in the same words all over the page.
//!
//! `fastest` is the plan with the least predicted time of a pass. `to choose` is the plan that the
//! answer is about: the simplest of those that tie with the fastest on the side of the answer. The
//! same on the other side is `to choose on` that. `naive` is what one would write first.

use super::Case;
use crate::machine::Side;
use crate::search::Ranked;
use maud::{Markup, html};

/// The roles of a plan, as labels beside its name.
pub(super) fn roles(case: &Case<'_>, ranked: &Ranked) -> Markup {
    let is_it = |one: Option<&Ranked>| one.is_some_and(|one| std::ptr::eq(one, ranked));
    let ranking = case.subject.ranking;
    let is_on_its_side = is_it(ranking.best_on_gpu()) || is_it(ranking.best_on_cpu());
    let beside = format!("to choose {}", place(ranked.plan.side()));
    let all = [
        ("fastest", is_it(ranking.fastest())),
        ("to choose", is_it(case.chosen())),
        (&beside, is_on_its_side && !is_it(case.chosen())),
        ("naive", is_it(case.naive())),
    ];
    html! {
        @for (role, _) in all.iter().filter(|(_, is_it)| *is_it) { " " span.role { (role) } }
    }
}

/// Where a plan computes: `on the GPU`.
pub(super) const fn place(side: Side) -> &'static str {
    match side {
        Side::Cpu => "on the CPU",
        Side::Gpu => "on the GPU",
        Side::Both => "on both processors",
    }
}

//! What the answer would be if something were different.

use super::Case;
use super::style::{rich, scrolled};
use crate::findings::InBrief;
use crate::report::what_if_text::{against, turns};
use crate::report::words::cells;
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>) -> Markup {
    let assessment = case.assessment;
    let Some(today) = &assessment.today else { return html! {} };
    let assumptions = assessment.assumptions();
    case.part("what-if", &title(case, today), &html! {
        (scrolled(&html! { table {
            thead { tr {
                th { "What if" } th { "Verdict" } th { "Plan" } th.number { "Time per run" }
                th.number { "Range" } th.number { "vs today" } th { "Limited by" }
                th { "Break-even" }
            } }
            tbody {
                (row("as it is", today, today, ""))
                @for one in &assessment.what_if {
                    @let turned = one.turning.as_ref().map_or(String::new(), turns);
                    (row(&one.change, &one.answer, today, &turned))
                }
            }
        } }))
        p.note { (rich(
            "Each row is a new simulation. `2x` doubles a capacity (such as the link's bandwidth) \
             or a time. Break-even: the factor beyond which the other side is faster in one run."
        )) }
        @for line in assumptions { p.note { "Assumed: " (rich(line)) } }
    })
}

fn title(case: &Case<'_>, today: &InBrief) -> String {
    let turned =
        case.assessment.what_if.iter().filter(|one| cells(&one.answer)[0] != cells(today)[0]);
    let turned: Vec<&str> = turned.map(|one| one.change.as_str()).collect();
    match turned[..] {
        [] => "What if: no change reverses the verdict".to_owned(),
        _ => format!("What if: the verdict changes with {}", turned.join("; ")),
    }
}

fn row(change: &str, brief: &InBrief, today: &InBrief, turns: &str) -> Markup {
    let [verdict, winner, time, range, bound] = cells(brief);
    html! {
        tr {
            td.change { code { (change) } }
            td { (verdict) }
            td.name { (winner) }
            td.number { (time) }
            td.number { (range) }
            td.number { (against(brief, today)) }
            td { (bound) }
            td { (turns) }
        }
    }
}

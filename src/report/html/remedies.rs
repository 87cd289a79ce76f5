//! What would help a program, with its timeline as it is above the one with all remedies.

use super::chart::Scale;
use super::style::{rich, scrolled, share};
use super::{Case, Remedies};
use crate::report::AdviceReport;
use crate::report::advice::{cells, in_words};
use crate::timeline::{Lane, Timeline};
use crate::units::Span;
use maud::{Markup, html};

/// The least part of a timeline's width that a gap must have to be seen.
const SEEN: f64 = 0.001;

pub(super) fn section(case: &Case<'_>) -> Markup {
    let Some(Remedies { report, before, after }) = case.subject.remedies else { return html! {} };
    let rows = report.advice.changes.iter().map(cells);
    // If the changed program makes several passes at once, as many are shown as fit.
    let widest = before.makespan;
    let scale = Scale::of_times(widest);
    let title = match report.advice.best.as_ref().and_then(|best| best.steps.last()) {
        Some(last) => format!("What would help: up to {:.1} times as fast", last.factor),
        None => "What would help: nothing that was tried".to_owned(),
    };
    case.part(
        "remedies",
        &title,
        &html! {
            @if !report.advice.changes.is_empty() {
                (scrolled(&html! { table {
                    thead { tr {
                        th { "Change to " code { (report.program) } } th.number { "Time of a pass" }
                        th.number { "Times as fast" } th { "Needs" }
                    } }
                    tbody { @for [what, pass, factor, needs] in rows { tr {
                        td { (rich(&what)) } td.number { (pass) } td.number { (factor) }
                        td { (needs) }
                    } } }
                } }))
            }
            (scrolled(&html! { table.waterfall {
                thead { tr { th { "Timeline" } th.bar { "Predicted" (scale.labels()) } } }
                tbody {
                    (lanes("As it is", before, widest, &scale))
                    @if let Some(after) = after {
                        (lanes("With the best combination", after, widest, &scale))
                    }
                }
            } }))
            @if let Some(passes) = passes(report, before, after.as_ref()) {
                p.note {
                    "The second timeline shows passes that overlap, as many as fit. A pass takes "
                    (passes) "."
                }
            }
            (paragraphs(&in_words(&report.advice)))
        },
    )
}

/// The time of a pass of the changed program, where its timeline has several.
fn passes(report: &AdviceReport, before: &Timeline, after: Option<&Timeline>) -> Option<Span> {
    let pass = report.advice.best.as_ref()?.steps.last()?.time.predicted_ns;
    let is_several = after?.makespan.nanos_f64() > 1.5 * pass.nanos_f64();
    (is_several && before.makespan > Span::ZERO).then_some(pass)
}

/// Sentences, of which some are items of a list.
fn paragraphs(text: &str) -> Markup {
    html! {
        @for line in text.lines().filter(|line| !line.is_empty()) {
            @match line.strip_prefix("- ") {
                Some(item) => ul { li { (rich(item)) } },
                None => p { (rich(line)) },
            }
        }
    }
}

const LANES: [(Lane, &str, &str); 4] = [
    (Lane::Host, "host", "host"),
    (Lane::CopyIn, "H2D", "h2d"),
    (Lane::Kernels, "kernels", "kernels"),
    (Lane::CopyOut, "D2H", "d2h"),
];

fn lanes(what: &str, timeline: &Timeline, widest: Span, scale: &Scale) -> Markup {
    let all = widest.nanos_f64().max(1.0);
    let used = LANES.iter().map(|lane| (lane, shown(timeline, lane.0, all * SEEN)));
    html! {
        tr.total { td { (what) } td.bar {} }
        @for ((_, name, class), spans) in used.filter(|(_, spans)| !spans.is_empty()) { tr {
            td { (name) }
            td.bar { div.track {
                (scale.lines())
                @for [from, to] in spans.iter().filter(|span| span[0] < all) {
                    div class={ "fill " (class) } style={
                        "left:" (share(from / all)) ";width:" (share((to - from) / all))
                    } {}
                }
            } }
        } }
    }
}

/// When something goes on in a lane, in nanoseconds, without gaps too short to be seen.
fn shown(timeline: &Timeline, lane: Lane, gap: f64) -> Vec<[f64; 2]> {
    let times = timeline
        .lane(lane)
        .map(|one| [one.start, one.end].map(|moment| moment.since_start().nanos_f64()));
    let mut times: Vec<[f64; 2]> = times.collect();
    times.sort_by(|one, other| one[0].total_cmp(&other[0]));
    let mut shown: Vec<[f64; 2]> = Vec::new();
    for [from, to] in times {
        match shown.last_mut() {
            Some(last) if from <= last[1] + gap => last[1] = last[1].max(to),
            _ => shown.push([from, to]),
        }
    }
    shown
}

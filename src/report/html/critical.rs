//! What the time of a plan consists of: its critical path, as a waterfall.

use super::chart::Scale;
use super::columns::{REASONS, reason};
use super::style::{folded_table, rich, scrolled, share};
use super::{Case, distinct, noted, place, roles};
use crate::cost::Bottleneck;
use crate::program::Program;
use crate::report::said::{above_least, host_threads};
use crate::report::table::{Column, Table};
use crate::report::words::{if_known, percent};
use crate::search::Ranked;
use crate::timeline::{CriticalPath, Lane, PathSegment, Reason};
use crate::units::Span;
use indexmap::IndexMap;
use maud::{Markup, html};

/// Steps of the path that the table shows; the rest would be read by nobody.
const STEPS: usize = 200;

pub(super) fn section(case: &Case<'_>) -> Markup {
    let plans = distinct([case.subject.ranking.best_on_gpu(), case.naive()]);
    let Some(first) = plans.first() else { return html! {} };
    case.part(
        "critical",
        &title(case, first),
        &html! {
            @for (at, ranked) in plans.iter().enumerate() {
                (waterfall(case, ranked, at == 0))
            }
            @if let Some(line) = host_threads(case.assessment) {
                (noted(&line))
            }
        },
    )
}

fn title(case: &Case<'_>, best: &Ranked) -> String {
    let assessed = case.assessment.plans.iter().find(|one| one.plan == best.plan.name());
    match assessed.and_then(|one| one.bottleneck) {
        Some(Bottleneck::Balanced) | None => {
            "Critical path: no single cost limits the best GPU plan".to_owned()
        }
        Some(bottleneck) => {
            let side = place(best.plan.side());
            format!("Critical path: recommended plan {side}, limit: {bottleneck}")
        }
    }
}

/// What stretches of the path have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    what: String,
    class: &'static str,
}

fn waterfall(case: &Case<'_>, ranked: &Ranked, is_best: bool) -> Markup {
    let timeline = &ranked.forecast.timeline;
    let path = timeline.critical_path();
    let program = &ranked.plan.program;
    let kinds = kinds(program, &path);
    let takes = timeline.makespan.nanos_f64().max(1.0);
    let scale = Scale::of_times(timeline.makespan);
    let mut reached = Span::ZERO;
    let rows = kinds.into_iter().map(|(kind, (time, times))| {
        let from = reached;
        reached += time;
        (kind, from, time, times)
    });
    let rows: Vec<_> = rows.collect();
    let shown = path.segments.len().min(STEPS);
    let steps = Table::of(&path.segments[..shown])
        .with(Column::words("step"), |segment| {
            format!("call {}: {}", segment.activity.call + 1, work(program, segment).what)
        })
        .with(Column::words("why not sooner"), |segment| match segment.activity.cause {
            None => REASONS[0].to_owned(),
            Some(cause) => {
                format!("{} call {}", REASONS[reason(cause.reason) as usize], cause.after + 1)
            }
        })
        .with(Column::number("after a gap of"), |segment| segment.gap)
        .with(Column::number("takes"), |segment| segment.time);
    html! {
        h4 {
            (rich(&format!("`{}`", ranked.plan.name())))
            (roles(case, ranked))
        }
        (scrolled(&html! { table.waterfall {
            thead { tr {
                th { "What" } th.bar { "In sequence" (scale.labels()) }
                th.number { "Time" } th.number { "Share" } th.number { "Steps" }
            } }
            tbody {
                @for (kind, from, time, times) in &rows { tr {
                    td { (kind.what) }
                    td.bar { div.track {
                        (scale.lines())
                        div class={ "fill " (kind.class) } style={
                            "left:" (share(from.nanos_f64() / takes))
                            ";width:" (share(time.nanos_f64() / takes))
                        } {}
                    } }
                    td.number { (time) }
                    td.number { (percent(time.nanos_f64() / takes)) }
                    td.number { (times) }
                } }
                tr.total {
                    td { "Total" } td.bar {} td.number { (timeline.makespan) } td.number { "100%" }
                    td.number {}
                }
            }
        } }))
        p.note {
            "In this order, the plan's calls take at least " (ranked.bound) "."
            @if let (Some(least), true) = (case.assessment.least_ns, is_best) {
                " No schedule of these tasks takes less than " (least)
                (rich(&if_known(case.assessment.above_least.as_ref(), above_least))) "."
            }
        }
        (folded_table(
            &match path.segments.len() {
                all if all > shown => format!("The first {shown} of {all} steps"),
                all => format!("The path, step by step ({all})"),
            },
            &steps,
        ))
    }
}

/// The parts of the makespan, in the order in which they come first on the path: for each kind, its
/// time in all and how often it comes.
fn kinds(program: &Program, path: &CriticalPath<'_>) -> IndexMap<Kind, (Span, usize)> {
    let mut found: IndexMap<Kind, (Span, usize)> = IndexMap::new();
    let parts = path
        .segments
        .iter()
        .flat_map(|segment| [(gap(segment), segment.gap), (work(program, segment), segment.time)]);
    for (kind, time) in parts.filter(|(_, time)| *time > Span::ZERO) {
        let (total, times) = found.entry(kind).or_default();
        (*total, *times) = (*total + time, *times + 1);
    }
    found
}

fn gap(segment: &PathSegment<'_>) -> Kind {
    let on_host = segment.activity.lane == Lane::Host;
    let what = match segment.reason {
        Some(Reason::Issue) if on_host => "between calls",
        Some(Reason::Issue) | None => "from the call to the device",
        Some(Reason::Stream) => "hand-over within a stream",
        Some(Reason::Event) => "hand-over by an event",
        Some(Reason::Engine) => "engine switching to other work",
        Some(Reason::Device) => "host waking up",
        Some(Reason::Thread) => "host thread waking up",
    };
    Kind { what: what.to_owned(), class: "gap" }
}

fn work(program: &Program, segment: &PathSegment<'_>) -> Kind {
    let call = &program.body[segment.activity.call];
    let (what, class) = match segment.activity.lane {
        Lane::Host if call.only_waits() => ("host returning from a wait".to_owned(), "host"),
        Lane::Host if call.is_host_work() => {
            let kernel = program.kernel_of(call).unwrap_or("other work");
            (format!("host: {kernel}"), "host")
        }
        Lane::Host => (format!("host in {}", call.name()), "host"),
        Lane::CopyIn => ("copies to the device".to_owned(), "h2d"),
        Lane::CopyOut => ("copies to the host".to_owned(), "d2h"),
        Lane::PeerCopy => ("copies between GPUs".to_owned(), "p2p"),
        Lane::Kernels => match program.kernel_of(call) {
            Some(kernel) => (format!("kernel {kernel}"), "kernels"),
            None => ("on the device".to_owned(), "kernels"),
        },
    };
    Kind { what, class }
}

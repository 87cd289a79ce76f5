//! From which size on the GPU pays.

use super::chart::Chart;
use super::scale::Scale;
use super::style::share;
use super::{Case, noted};
use crate::findings::Threshold;
use crate::machine::Side;
use crate::report::coincide::Line;
use crate::report::said;
use crate::report::ticks::time_at;
use crate::report::words::count;
use crate::search::{AtSize, Setting, Wins};
use crate::units::Span;
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>) -> Markup {
    let Some(note) = said::sizes(case.assessment) else { return html! {} };
    let Some(found) = case.assessment.threshold() else { return html! {} };
    case.part(
        "sizes",
        &title(found),
        &html! {
            (strip(found))
        @if let Some(chart) = chart(found, case.subject.sizes) { (chart.draw()) }
            (noted(&note))
        },
    )
}

fn title(found: &Threshold) -> String {
    match &found.gpu_wins[..] {
        [] => "Break-even: the CPU wins at every size".to_owned(),
        [Wins { from: None, until: None, .. }] => {
            "Break-even: the GPU wins at every size".to_owned()
        }
        [.., Wins { from: Some(from), until: None, .. }] => {
            format!("Break-even: the GPU wins from about {} elements on", count(from.0 as u64))
        }
        _ => "Break-even: the GPU wins at some sizes".to_owned(),
    }
}

/// Widths of the line in a narrow window and in a wide one, in pixels.
const STRIP: [f64; 2] = [320.0, 480.0];

/// Who wins where, on a line of sizes.
fn strip(found: &Threshold) -> Markup {
    let [least, most] = found.tried.map(|size| size as f64);
    let at = |size: u64| (size as f64 / least).ln() / (most / least).ln().max(1e-9);
    let stretches = found.gpu_wins.iter().map(|sizes| {
        let from = sizes.from.map_or(0.0, |from| at(from.0 as u64));
        (from, sizes.until.map_or(1.0, |until| at(until.0 as u64)) - from)
    });
    let stretches: Vec<(f64, f64)> = stretches.collect();
    let open = open(found).into_iter().map(|ends| ends.map(|end| at(end as u64)));
    let open: Vec<[f64; 2]> = open.collect();
    let ends = found.gpu_wins.iter().flat_map(|wins| [wins.from, wins.until]).flatten();
    let ends = ends.map(|end| end.0 as u64).chain(found.tried);
    let scale = Scale::new(ends.map(|end| (at(end), count(end))), STRIP);
    let is_left = |size: u64| if at(size) > 0.6 { " left" } else { "" };
    html! {
        figure.strip {
            div.track.cpu {
                @for (from, wide) in &stretches {
                    div.fill.gpu style={ "left:" (share(*from)) ";width:" (share(*wide)) } {}
                }
                @for [from, to] in &open {
                    div.fill.open style={ "left:" (share(*from)) ";width:" (share(to - from)) } {}
                }
                div class={ "flag" (is_left(found.elements)) }
                    style={ "left:" (share(at(found.elements))) } {
                    span { "here: " (count(found.elements)) }
                }
            }
            (scale.labels())
            figcaption.note {
                (count(found.tried[0])) " to " (count(found.tried[1])) " elements of "
                code { (found.buffer) } ", on a logarithmic line. A run is faster: "
                span.key.cpu {} "on the CPU, " span.key.gpu {} "with the GPU, "
                span.key.open {} "open (the ranges of both times overlap)."
            }
        }
    }
}

/// The sizes at which it is open who wins, as ranges of times have it.
fn open(found: &Threshold) -> Vec<[f64; 2]> {
    let [least, most] = found.tried.map(|size| size as f64);
    let ranges = found.gpu_wins.iter().flat_map(|wins| [wins.from_range, wins.until_range]);
    let ends = |[from, to]: [Option<Setting>; 2]| {
        [from.map_or(least, |from| from.0), to.map_or(most, |to| to.0)]
    };
    ranges.flatten().map(ends).collect()
}

/// What each side takes at each size.
fn chart(found: &Threshold, sizes: &[AtSize]) -> Option<Chart> {
    let line = |name: &str, side: Side, of: fn(&AtSize) -> Option<Span>| {
        let points = sizes.iter().filter_map(|at| {
            let time = of(at)?;
            let words = format!("{} elements, {time}", count(at.elements));
            Some((at.elements as f64, time.nanos_f64(), words))
        });
        Line { name: name.to_owned(), side, points: points.collect() }
    };
    let lines = vec![
        line("fastest on the CPU", Side::Cpu, |at| at.cpu),
        line("fastest that uses the GPU", Side::Gpu, |at| at.gpu),
    ];
    let size = |size: f64| count(size.round() as u64).replace(".0 ", " ");
    let title = format!("elements of {}", found.buffer);
    let description = "Time of a run of the fastest plan on the CPU and on the GPU, against the \
                       size; the sentence below says where they cross, and between which sizes \
                       that is open, which are shaded.";
    let (x, y) = ((title.as_str(), size), ("time of a run", time_at));
    let chart = Chart::of(lines, x, y, description.to_owned())?;
    let flags = vec![(found.elements as f64, "here".to_owned())];
    Some(Chart { flags, shaded: open(found), ..chart })
}

//! From which size on the GPU pays.

use super::chart::{Chart, Scale};
use super::style::share;
use super::{Case, noted};
use crate::findings::Threshold;
use crate::machine::Side;
use crate::report::coincide::Line;
use crate::report::said::{self, holds};
use crate::report::ticks::time_at;
use crate::report::words::{count, fine_percent};
use crate::search::{AtSize, Setting, Wins};
use crate::units::Span;
use maud::{Markup, html};

pub(super) fn section(case: &Case<'_>) -> Markup {
    let Some(note) = said::sizes(case.assessment) else { return html! {} };
    let Some(found) = case.assessment.threshold() else { return html! {} };
    let side = side(found.elements, case.subject.sizes);
    case.part(
        "sizes",
        &title(found, side),
        &html! {
            (strip(found, side))
            @if let Some(chart) = chart(found, case.subject.sizes, side) { (chart.draw()) }
            (noted(&note))
            @for line in small_leads(found, case.subject.sizes) { p.note { (line) } }
        },
    )
}

/// Where the fastest plan that uses the GPU computes, about as large as the scenario is.
fn side(elements: u64, sizes: &[AtSize]) -> Side {
    let off = |at: &&AtSize| at.elements.max(elements) / at.elements.min(elements).max(1);
    match sizes.iter().min_by_key(off) {
        Some(AtSize { is_shared: true, .. }) => Side::Both,
        _ => Side::Gpu,
    }
}

fn title(found: &Threshold, side: Side) -> String {
    let wins = if side == Side::Both { "both processors win" } else { "the GPU wins" };
    match &found.gpu_wins[..] {
        [] => "Break-even: the CPU wins at every size".to_owned(),
        [Wins { from: None, until: None, .. }] => format!("Break-even: {wins} at every size"),
        [.., Wins { from: Some(from), until: None, .. }] => {
            format!("Break-even: {wins} at about {} elements or more", count(from.0 as u64))
        }
        _ => format!("Break-even: {wins} at some sizes"),
    }
}

/// The sizes at which the side is faster that is said to lose: by so little that it turns nothing.
fn small_leads(found: &Threshold, sizes: &[AtSize]) -> Vec<String> {
    let line = |at: &AtSize| {
        let (cpu, gpu) = (at.cpu?, at.gpu?);
        let gpu_leads = gpu < cpu;
        let is_as_said =
            gpu_leads == found.gpu_wins.iter().any(|wins| holds(wins, at.elements as f64));
        let (name, fast, slow) =
            if gpu_leads { ("the GPU", gpu, cpu) } else { ("the CPU", cpu, gpu) };
        let less = fine_percent(1.0 - fast.nanos_f64() / slow.nanos_f64().max(1.0));
        let elements = count(at.elements);
        (!is_as_said && gpu != cpu).then(|| {
            format!(
                "At {elements} elements, {name} takes {less} less time: too little to change the \
                 verdict."
            )
        })
    };
    sizes.iter().filter_map(line).collect()
}

/// Who wins where, on a line of sizes.
fn strip(found: &Threshold, side: Side) -> Markup {
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
    let scale = Scale::new(ends.map(|end| (at(end), count(end))));
    let wins = if side == Side::Both { "on both processors" } else { "with the GPU" };
    let is_left = |size: u64| if at(size) > 0.6 { " left" } else { "" };
    html! {
        figure.strip {
            div.track.cpu {
                @for (from, wide) in &stretches {
                    div class={ "fill " (side) }
                        style={ "left:" (share(*from)) ";width:" (share(*wide)) } {}
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
                code { (found.buffer) } ", on a logarithmic scale. A run is faster: "
                span.key.cpu {} "on the CPU, " span class={ "key " (side) } {} (wins) ", "
                span.key.open {} (OPEN) "."
            }
        }
    }
}

const OPEN: &str = "undecided (the ranges of both times overlap)";

/// The sizes at which it is open who wins, as ranges of times have it. What is open around one turn
/// may reach into what is open around the next.
fn open(found: &Threshold) -> Vec<[f64; 2]> {
    let [least, most] = found.tried.map(|size| size as f64);
    let ranges = found.gpu_wins.iter().flat_map(|wins| [wins.from_range, wins.until_range]);
    let ends = |[from, to]: [Option<Setting>; 2]| {
        [from.map_or(least, |from| from.0), to.map_or(most, |to| to.0)]
    };
    let mut all: Vec<[f64; 2]> = ranges.flatten().map(ends).collect();
    all.sort_by(|one, other| one[0].total_cmp(&other[0]));
    all.dedup_by(|next, before| {
        let meets = next[0] <= before[1];
        before[1] = if meets { before[1].max(next[1]) } else { before[1] };
        meets
    });
    all
}

/// What each side takes at each size.
fn chart(found: &Threshold, sizes: &[AtSize], side: Side) -> Option<Chart> {
    let line = |name: &str, side: Side, of: fn(&AtSize) -> Option<Span>| {
        let points = sizes.iter().filter_map(|at| {
            let time = of(at)?;
            let how = if side != Side::Cpu && at.is_shared { ", shared with the CPU" } else { "" };
            let words = format!("{} elements, {time}{how}", count(at.elements));
            Some((at.elements as f64, time.nanos_f64(), words))
        });
        Line { name: name.to_owned(), side, points: points.collect() }
    };
    let lines = vec![
        line("fastest on the CPU", Side::Cpu, |at| at.cpu),
        line("fastest using the GPU", side, |at| at.gpu),
    ];
    let size = |size: f64| count(size.round() as u64).replace(".0 ", " ");
    let title = format!("elements of {}", found.buffer);
    let description = "Time per run of the fastest plan on the CPU and on the GPU, against size. \
                       The sentence below says where they cross; sizes at which the winner is \
                       uncertain are shaded.";
    let (x, y) = ((title.as_str(), size), ("time per run", time_at));
    let chart = Chart::of(lines, x, y, description.to_owned())?;
    let flags = vec![(found.elements as f64, "here".to_owned())];
    Some(Chart { flags, shaded: open(found), shade: OPEN, ..chart })
}

//! Into how many pieces to cut, and in how many streams to send them.

use super::Case;
use super::chart::Chart;
use super::style::folded_table;
use crate::report::coincide::Line;
use crate::report::table::{Column, Table};
use crate::report::ticks::time_at;
use crate::report::words::{plural, predicted};
use crate::search::Ranked;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds that a chart has: the fastest ones. The others are in its table.
const MOST_KINDS: usize = 6;

/// Plans that differ in their number of chunks alone, by that number.
type Kinds<'a> = BTreeMap<String, BTreeMap<u64, &'a Ranked>>;

pub(super) fn section(case: &Case<'_>) -> Markup {
    let mut kinds: Vec<_> = kinds(case).into_iter().filter(|(_, plans)| plans.len() > 1).collect();
    if kinds.is_empty() {
        return html! {};
    }
    kinds.sort_by_key(|(name, plans)| (fastest(plans).1.makespan(), name.clone()));
    let all = kinds.iter().flat_map(|(name, plans)| {
        plans.iter().map(move |(chunks, ranked)| (name, chunks, predicted(ranked)))
    });
    let all: Vec<_> = all.collect();
    let figures = Table::of(&all)
        .with(Column::words("kind of plan"), |(name, ..)| name)
        .with(Column::number("chunks"), |(_, chunks, _)| chunks)
        .with(Column::number("time per run"), |(.., time)| time);
    let (best, plans) = &kinds[0];
    let (chunks, ranked) = fastest(plans);
    let pieces = if chunks == 1 { "a single piece".to_owned() } else { format!("{chunks} chunks") };
    let time = ranked.makespan();
    let title = format!("Chunks and streams: the fastest of these plans uses {pieces}: {time}");
    case.part(
        "chunks",
        &title,
        &html! {
            @if let Some(chart) = chart(&kinds, best, chunks) { (chart.draw()) }
            @if kinds.len() > MOST_KINDS {
                p.note { "The fastest " (MOST_KINDS) " of " (kinds.len()) " kinds of plans are \
                                                                           shown." }
            }
            (folded_table("Figures", &figures))
        },
    )
}

fn chart(kinds: &[(String, BTreeMap<u64, &Ranked>)], best: &str, chunks: u64) -> Option<Chart> {
    let drawn = &kinds[..kinds.len().min(MOST_KINDS)];
    let line = |(name, plans): &(String, BTreeMap<u64, &Ranked>)| Line {
        name: name.clone(),
        side: fastest(plans).1.plan.side(),
        points: plans
            .iter()
            .map(|(&chunks, ranked)| {
                let words = format!("{}, {}", plural(chunks, "chunk"), predicted(ranked));
                (chunks as f64, ranked.makespan().nanos_f64(), words)
            })
            .collect(),
    };
    let lines: Vec<Line> = drawn.iter().map(line).collect();
    let numbers: BTreeSet<u64> =
        drawn.iter().flat_map(|(_, plans)| plans.keys().copied()).collect();
    let powers = numbers.iter().filter(|number| number.is_power_of_two()).count();
    let is_marked = |number: &u64| powers < 2 || number.is_power_of_two();
    let description = format!(
        "Time per run against number of chunks, for {} kinds of plans; {best} with {chunks} is the \
         fastest. The table below has the figures.",
        lines.len()
    );
    let (x, y) = (("chunks per batch", |_: f64| String::new()), ("time per run", time_at));
    let mut chart = Chart::of(lines, x, y, description)?;
    let marked = numbers.into_iter().filter(is_marked);
    chart.x.marks = marked.map(|number| (number as f64, number.to_string())).collect();
    Some(chart)
}

fn fastest<'a>(plans: &BTreeMap<u64, &'a Ranked>) -> (u64, &'a Ranked) {
    let best = plans.iter().min_by_key(|(_, ranked)| ranked.makespan());
    let (chunks, ranked) = best.expect("a kind has plans");
    (*chunks, ranked)
}

fn kinds<'a>(case: &Case<'a>) -> Kinds<'a> {
    let mut kinds = Kinds::new();
    for ranked in &case.subject.ranking.plans {
        let Some(strategy) = ranked.plan.strategy.filter(|one| !one.is_on_cpu()) else { continue };
        let chunks = strategy.family.chunks();
        // `by-chunk 16 x4 depth, pinned` is of the kind `by-chunk x4 depth, pinned`.
        let name = ranked.plan.name();
        let kind = name.replacen(&format!(" {chunks}"), "", 1);
        if kind != name {
            kinds.entry(kind).or_default().insert(chunks, ranked);
        }
    }
    kinds
}

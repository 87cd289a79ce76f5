//! The plans of a scenario side by side, as bars with ranges.

use super::axis::{even_marks, time_like};
use super::style::{
    Area, BLUE, BODY, Drawn, GREEN, GREY, GRID, INK, LINE_HEIGHT, ORANGE, context, heading, quoted,
    svg, titled, wrapped, wrapped_title, write,
};
use super::tips::Tips;
use crate::findings::Verdict;
use crate::machine::Side;
use crate::report::Origin;
use crate::report::said;
use crate::report::words::with_range;
use crate::search::{Ranked, Ranking};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeSet;

const WIDTH: i32 = 1200;
const ROW: i32 = 34;
/// Room for axis marks below the bars.
const FOOT: i32 = 44;
/// Where bars begin, so that a name of 64 letters fits before them; and where their times stand.
const LEFT: i32 = 560;
const RIGHT: i32 = 240;
/// How many of the fastest plans are shown, beside the best of each kind.
const FASTEST: usize = 5;
const MOST: usize = 20;

/// Draws the fastest plans, and the best of every family and kind of host memory.
pub fn plans(
    (scenario, question, runs): (&str, &str, u64),
    ranking: &Ranking,
    origin: &Origin,
) -> String {
    let shown = shown(ranking);
    let verdict = Verdict::of(ranking, runs);
    let first = said::verdict(&verdict, runs, ranking.plans.len(), None);
    let title = format!("{scenario}: {}", quoted(first.trim_end_matches('.')));
    let title = wrapped_title(&title, WIDTH);
    let mut lines = context(question, origin, WIDTH);
    lines.extend(wrapped(
        "Time of a pass. Blue: on the CPU; orange: on the GPU; green: on both. Lines: the predicted range.",
        WIDTH,
    ));
    let height = heading(&title, &lines) + ROW * shown.len() as i32 + FOOT;
    svg((WIDTH, height), |area, tips| {
        let top = heading(&title, &lines);
        titled(area, &title, &lines)?;
        bars(area, &shown, top, tips)
    })
}

fn shown(ranking: &Ranking) -> Vec<&Ranked> {
    let mut kinds = BTreeSet::new();
    let winner = ranking.winner().map(|best| best.plan.name());
    let mut place = 0;
    let is_shown = |ranked: &&Ranked| {
        place += 1;
        let strategy = ranked.plan.strategy;
        let kind = strategy.map(|one| (one.family.name(), one.graph));
        let is_first = kinds.insert((kind, ranked.plan.host_memory()));
        place <= FASTEST || is_first || winner.as_ref() == Some(&ranked.plan.name())
    };
    ranking.plans.iter().filter(is_shown).take(MOST).collect()
}

fn bars(area: &Area<'_>, shown: &[&Ranked], top: i32, tips: &Tips) -> Drawn {
    let ends = shown.iter().map(|ranked| ranked.forecast.interval().1.nanos_f64());
    let longest = ends.fold(1.0, f64::max);
    let width = f64::from(WIDTH - LEFT - RIGHT);
    let x = |nanos: f64| LEFT + (nanos / longest * width).round() as i32;
    let bottom = top + ROW * shown.len() as i32;
    for mark in even_marks(0.0, longest, 5) {
        let line = vec![(x(mark), top), (x(mark), bottom)];
        area.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
        let label = time_like(longest, mark);
        let half = 4 * label.len() as i32;
        write(area, &label, (x(mark) - half, bottom + LINE_HEIGHT / 2), BODY - 1, HPos::Left)?;
    }
    for (row, ranked) in shown.iter().enumerate() {
        let (y, name) = (top + ROW * row as i32, ranked.plan.name());
        let (low, high) = ranked.forecast.interval();
        let time = ranked.makespan();
        let colour = match ranked.plan.side() {
            Side::Cpu => BLUE,
            Side::Gpu => ORANGE,
            Side::Both => GREEN,
        };
        let corners = [(LEFT, y + 7), (x(time.nanos_f64()).max(LEFT + 1), y + ROW - 7)];
        area.draw(&Rectangle::new(corners, colour.mix(0.85).filled()))?;
        let middle = y + ROW / 2;
        let ends = [low, high].map(|end| x(end.nanos_f64()));
        let range = vec![(ends[0], middle), (ends[1], middle)];
        area.draw(&PathElement::new(range, INK.stroke_width(2)))?;
        for end in ends {
            let cap = vec![(end, middle - 5), (end, middle + 5)];
            area.draw(&PathElement::new(cap, INK.stroke_width(2)))?;
        }
        write(area, &name, (LEFT - 12, middle), BODY, HPos::Right)?;
        let said = with_range(time, low, high);
        write(area, &said, (ends[1].max(corners[1].0) + 10, middle), BODY - 1, HPos::Left)?;
        tips.add((0, y), (WIDTH, y + ROW), format!("{name}: {said}"));
    }
    let line = vec![(LEFT, top), (LEFT, bottom)];
    area.draw(&PathElement::new(line, GREY.stroke_width(1)))
}

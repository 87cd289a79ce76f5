//! The plans of a scenario side by side, as bars with ranges.

use super::picture::{Picture, Pictured};
use super::style::{Area, BODY, Drawn, GREY, GRID, INK, LINE_HEIGHT, Tips, rgb, wrapped, write};
use crate::report::palette::of_side;
use crate::report::ticks::{even_marks, time_like};
use crate::report::words::with_range;
use crate::runs::RunSet;
use crate::search::{Ranked, Ranking};
use crate::units::Span;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeSet;

const WIDTH: i32 = 1200;
const ROW: i32 = 34;
/// Room for axis marks below the bars.
const FOOT: i32 = 44;
/// Room for a letter of a name, before the bars: no common font has wider ones on average.
const LETTER: f64 = 8.6;
/// Room for what stands behind the bars: a predicted time with its range, and what was measured.
const PREDICTED: i32 = 240;
const MEASURED: i32 = 170;
/// How many of the fastest plans are shown, beside the best of each kind.
const FASTEST: usize = 5;
const MOST: usize = 20;

/// Draws the fastest plans, and the fastest of every family and kind of host memory, with what was
/// measured of them.
pub fn plans(of: &Pictured<'_>) -> String {
    let shown = shown(of.ranking);
    let title = format!("{}: {}", of.workload.name, of.verdict().trim_end_matches('.'));
    let mut lines = of.context(WIDTH);
    let diamonds =
        if of.runs.is_some() { " Diamonds: the median of the measured runs." } else { "" };
    let legend = format!(
        "Time per run. Blue: on the CPU; orange: on the GPU; green: on both. Lines: the predicted \
         range.{diamonds} *: the recommended plan on its side, the simplest of those that tie."
    );
    lines.extend(wrapped(&legend, WIDTH));
    let height = ROW * shown.len() as i32 + FOOT;
    let picture = Picture { title, lines, legend: None, width: WIDTH, height };
    picture.svg(|area, tips| bars(area, &shown, of.runs, tips))
}

/// The plans that are drawn, by their names: those to choose have a mark.
fn shown(ranking: &Ranking) -> Vec<(String, &Ranked)> {
    let mut kinds = BTreeSet::new();
    let chosen = [ranking.best_on_gpu(), ranking.best_on_cpu()];
    let is_chosen = |ranked: &Ranked| chosen.iter().flatten().any(|one| std::ptr::eq(*one, ranked));
    let mut place = 0;
    let is_shown = |ranked: &&Ranked| {
        place += 1;
        let strategy = ranked.plan.strategy;
        let kind = strategy.map(|one| (one.family.name(), one.graph));
        let is_first = kinds.insert((kind, ranked.plan.host_memory()));
        place <= FASTEST || is_first || is_chosen(ranked)
    };
    let shown = ranking.plans.iter().filter(is_shown).take(MOST);
    let named = shown.map(|ranked| {
        let mark = if is_chosen(ranked) { " *" } else { "" };
        (format!("{}{mark}", ranked.plan.name()), ranked)
    });
    named.collect()
}

fn bars(area: &Area<'_>, shown: &[(String, &Ranked)], runs: Option<&RunSet>, tips: &Tips) -> Drawn {
    let (_, top) = area.get_base_pixel();
    let run = |ranked: &Ranked| Some(runs?.run_of(&ranked.plan.identity())?.makespan());
    let ends = shown.iter().flat_map(|(_, one)| [Some(one.forecast.interval().1), run(one)]);
    let longest = ends.flatten().map(Span::nanos_f64).fold(1.0, f64::max);
    let letters = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let left = 40 + (LETTER * letters as f64) as i32;
    let right = PREDICTED + if runs.is_some() { MEASURED } else { 0 };
    let width = f64::from(WIDTH - left - right);
    let x = |nanos: f64| left + (nanos / longest * width).round() as i32;
    let bottom = ROW * shown.len() as i32;
    for mark in even_marks(0.0, longest, 5) {
        let line = vec![(x(mark), 0), (x(mark), bottom)];
        area.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
        let label = time_like(longest, mark);
        let half = 4 * label.len() as i32;
        write(area, &label, (x(mark) - half, bottom + LINE_HEIGHT / 2), BODY - 1, HPos::Left)?;
    }
    for (row, (name, ranked)) in shown.iter().enumerate() {
        let y = ROW * row as i32;
        let (low, high) = ranked.forecast.interval();
        let time = ranked.makespan();
        let colour = rgb(of_side(ranked.plan.side()));
        let corners = [(left, y + 7), (x(time.nanos_f64()).max(left + 1), y + ROW - 7)];
        area.draw(&Rectangle::new(corners, colour.filled()))?;
        let middle = y + ROW / 2;
        let ends = [low, high].map(|end| x(end.nanos_f64()));
        let range = vec![(ends[0], middle), (ends[1], middle)];
        area.draw(&PathElement::new(range, INK.stroke_width(2)))?;
        for end in ends {
            let cap = vec![(end, middle - 5), (end, middle + 5)];
            area.draw(&PathElement::new(cap, INK.stroke_width(2)))?;
        }
        write(area, name, (left - 12, middle), BODY, HPos::Right)?;
        let mut said = with_range(time, low, high);
        let mut behind = ends[1].max(corners[1].0);
        if let Some(measured) = run(ranked) {
            let at = x(measured.nanos_f64());
            area.draw(&Polygon::new(diamond((at, middle), 6), INK.filled()))?;
            area.draw(&Polygon::new(diamond((at, middle), 3), WHITE.filled()))?;
            said += &format!(", measured {measured}");
            behind = behind.max(at + 6);
        }
        write(area, &said, (behind + 10, middle), BODY - 1, HPos::Left)?;
        let at = top + y;
        tips.add((0, at), (WIDTH, at + ROW), format!("{name}: {said}"));
    }
    let line = vec![(left, 0), (left, bottom)];
    area.draw(&PathElement::new(line, GREY.stroke_width(1)))
}

/// The corners of a diamond around a point.
fn diamond((x, y): (i32, i32), half: i32) -> Vec<(i32, i32)> {
    vec![(x - half, y), (x, y - half), (x + half, y), (x, y + half)]
}

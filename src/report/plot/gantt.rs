//! A plan's timeline: which lane does what when, predicted above measured.

use super::axis::{Axis, Margins, chart};
use super::picture::{Picture, Pictured};
use super::style::{Area, BODY, Drawn, Tips, rgb, wrapped, write};
use crate::findings::{Answer, Verdict, is_waiting};
use crate::machine::Side;
use crate::program::Program;
use crate::program::spelled::Names;
use crate::report::palette::of_lane;
use crate::report::ticks::time_like;
use crate::report::timeline_row::{TimelineRow, captioned};
use crate::report::words::{percent, plural};
use crate::scenario::Workload;
use crate::search::Ranked;
use crate::timeline::{Activity, Timeline};
use crate::units::{Instant, Span};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

const WIDTH: i32 = 1200;
const HEAD: i32 = 34;
const LANE: i32 = 38;
const FOOT: i32 = 46;
/// Room for the lanes' names on the left, and for their busy shares on the right.
const SIDES: (i32, i32) = (130, 94);
/// Kernels that run side by side are drawn in at most this many rows of their lane.
const ROWS: usize = 4;

/// Draws a plan of the scenario. Where its calls were timed, a pass on the machine is below the
/// predicted one.
pub fn gantt(of: &Pictured<'_>, drawn: &Ranked) -> String {
    let plan = &drawn.plan;
    let identity = plan.identity();
    let panels = captioned(drawn, of.runs.filter(|runs| runs.run_of(&identity).is_some()));
    let longest = panels.iter().map(|(_, timeline)| timeline.makespan).max().unwrap_or_default();
    let height = |timeline: &Timeline| {
        HEAD + LANE * TimelineRow::all(&plan.program, timeline).len() as i32 + FOOT
    };
    let picture = Picture {
        title: title(of, drawn),
        lines: lines(of, drawn),
        legend: None,
        width: WIDTH,
        height: panels.iter().map(|(_, timeline)| height(timeline)).sum(),
    };
    picture.svg(|area, tips| {
        let mut rest = area.clone();
        for (caption, timeline) in &panels {
            let (area, below) = rest.split_vertically(height(timeline));
            write(&area, caption, (24, HEAD / 2 + 2), BODY, HPos::Left)?;
            draw((&plan.program, timeline), &area, longest, tips)?;
            rest = below;
        }
        Ok(())
    })
}

/// Who wins, and what is drawn.
fn title(of: &Pictured<'_>, drawn: &Ranked) -> String {
    let Workload { name, runs, .. } = of.workload;
    let (verdict, runs) = (Verdict::of(of.ranking, *runs), plural(*runs, "run"));
    let who = match verdict.answer {
        Answer::Gpu => format!("the GPU is faster over {runs}"),
        Answer::Both => format!("both sides together are faster over {runs}"),
        Answer::Cpu => format!("the CPU is faster over {runs}"),
        Answer::Plan => format!("one plan is fastest over {runs}"),
        Answer::Tie => format!("a tie over {runs}"),
        Answer::NothingToCompare => "nothing to compare with".to_owned(),
    };
    format!("{name}: {who}; \"{}\" takes {} per run", drawn.plan.name(), drawn.makespan())
}

/// The verdict that `hallway evaluate` gives, why this plan is drawn, and how to read the picture.
fn lines(of: &Pictured<'_>, drawn: &Ranked) -> Vec<String> {
    let is_drawn = |best: Option<&Ranked>| best.is_some_and(|best| std::ptr::eq(best, drawn));
    let choice = match drawn.plan.side() {
        _ if is_drawn(of.ranking.winner()) => "",
        _ if !is_drawn(of.ranking.best_on_gpu()) => "This is not the recommended plan. ",
        Side::Both => {
            "This is the recommended plan of those that use the GPU; it uses both processors. "
        }
        _ => "This is the recommended plan on the GPU. ",
    };
    let legend = "Alternating shades separate operations. Light blue in the host's row: waiting.";
    let mut lines = of.context(WIDTH);
    lines.extend(wrapped(&of.verdict(), WIDTH));
    lines.extend(wrapped(&format!("{choice}{legend}"), WIDTH));
    lines
}

/// The rows of a timeline, on an axis that is as long as the longest one's.
fn draw(
    (program, timeline): (&Program, &Timeline),
    area: &Area<'_>,
    longest: Span,
    tips: &Tips,
) -> Drawn {
    let (left, right) = SIDES;
    let end = longest.nanos_f64().max(1.0);
    let drawn = TimelineRow::all(program, timeline);
    let (names, lanes) = (Names::in_program(program), drawn.len() as f64);
    let x = Axis::even((0.0, end), 10, move |nanos| time_like(end, nanos), "");
    let y = Axis::new((0.0, lanes), Vec::new(), |_| String::new(), "");
    let margins = Margins { top: HEAD, right, bottom: FOOT, left };
    let mut chart = chart(area, margins, x, y)?;
    let pixels = chart.plotting_area().get_x_axis_pixel_range();
    let pixel = end / f64::from(pixels.end - pixels.start);
    for (index, row) in drawn.into_iter().enumerate() {
        let bottom = lanes - 1.0 - index as f64;
        let bars = bars((program, timeline), row, bottom, pixel);
        for Bar { corners: [one, other], activity, .. } in &bars {
            let [one, other] = [one, other].map(|corner| chart.backend_coord(corner));
            tips.add(one, other, said(program, &names, activity));
        }
        chart.draw_series(bars.iter().map(|bar| Rectangle::new(bar.corners, bar.style)))?;
        let y = HEAD + LANE * index as i32 + LANE / 2;
        write(area, &row.name(program), (left - 10, y), BODY, HPos::Right)?;
        let busy = format!("{} busy", percent(row.busy(program, timeline)));
        write(area, &busy, (WIDTH - right + 10, y), BODY - 2, HPos::Left)?;
    }
    Ok(())
}

/// One rectangle for each visible activity, at least a pixel wide. An activity within a
/// pixel that is drawn already is left out, and gaps narrower than a pixel are closed.
fn bars<'t>(
    (program, timeline): (&Program, &'t Timeline),
    row: TimelineRow,
    bottom: f64,
    pixel: f64,
) -> Vec<Bar<'t>> {
    let lane = timeline.lane(row.lane);
    let activities: Vec<&Activity> =
        lane.filter(|one| TimelineRow::of(program, one) == row).collect();
    let rows = rows(&activities);
    let height = 0.72 / (1 + rows.iter().max().copied().unwrap_or(0)) as f64;
    let mut reached = [f64::NEG_INFINITY; ROWS];
    let mut bars = Vec::new();
    for (index, (activity, level)) in activities.into_iter().zip(rows).enumerate() {
        let (start, end) = (activity.start.since_start(), activity.end.since_start());
        let (mut start, end) = (start.nanos_f64(), end.nanos_f64());
        if end < reached[level] {
            continue;
        }
        if start < reached[level] + pixel {
            start = start.min(reached[level]);
        }
        let end = end.max(start + pixel);
        reached[level] = end;
        // A thin bar would be invisible in a lighter shade.
        let is_thin = end - start < 3.0 * pixel;
        let shade = match index % 2 {
            _ if is_waiting(program, activity) => 0.2,
            1 if !is_thin => 0.62,
            _ => 1.0,
        };
        let top = bottom + 0.86 - height * level as f64;
        let style = rgb(of_lane(row.lane)).mix(shade).filled();
        bars.push(Bar { corners: [(start, top), (end, top - height)], style, activity });
    }
    bars
}

/// An activity as it is drawn.
struct Bar<'a> {
    corners: [(f64, f64); 2],
    style: ShapeStyle,
    activity: &'a Activity,
}

/// What an activity is, from when to when.
fn said(program: &Program, names: &Names<'_>, activity: &Activity) -> String {
    let thread = program.thread_of(activity.call);
    let call = names.call(&program.body[activity.call], thread);
    let (from, time) = (activity.start.since_start(), activity.end.since(activity.start));
    format!("{}, from {from}: {time}\n{call}", activity.lane.name())
}

/// For each activity, the first row that is free when it starts, or the last row if none is.
fn rows(activities: &[&Activity]) -> Vec<usize> {
    let mut free = [Instant::START; ROWS];
    let mut place = |activity: &&Activity| {
        let row = free.iter().position(|end| *end <= activity.start).unwrap_or(ROWS - 1);
        free[row] = activity.end;
        row
    };
    activities.iter().map(&mut place).collect()
}

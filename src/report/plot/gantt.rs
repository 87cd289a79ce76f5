//! A plan's timeline: which lane does what when, predicted above measured.

use super::axis::{Axis, Margins, chart};
use super::style::{
    Area, BODY, Drawn, context, heading, quoted, rgb, svg, titled, wrapped, wrapped_title, write,
};
use super::tips::Tips;
use crate::findings::{Answer, Verdict, is_waiting};
use crate::machine::Side;
use crate::program::Program;
use crate::program::spelled::Names;
use crate::report::Origin;
use crate::report::palette::of_lane;
use crate::report::said;
use crate::report::ticks::{even_marks, time_like};
use crate::report::timeline_row::{TimelineRow, captioned};
use crate::report::words::{percent, plural};
use crate::runs::Run;
use crate::search::{Ranked, Ranking};
use crate::timeline::{Activity, Timeline};
use crate::units::{Instant, Span};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// What the picture shows.
#[derive(Debug, Clone, Copy)]
pub struct Gantt<'a> {
    pub scenario: &'a str,
    pub question: &'a str,
    /// The machine that is predicted.
    pub origin: &'a Origin,
    /// Passes in one program, which the verdict is of.
    pub runs: u64,
    pub ranking: &'a Ranking,
    /// The plan of the ranking that is drawn.
    pub drawn: &'a Ranked,
    pub measured: Option<Measured<'a>>,
}

/// A pass in which every call was timed, and the run whose passes were timed as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    pub timeline: &'a Timeline,
    pub run: &'a Run,
}

const WIDTH: i32 = 1200;
const HEAD: i32 = 34;
const LANE: i32 = 38;
const FOOT: i32 = 46;
/// Room for the lanes' names on the left, and for their busy shares on the right.
const SIDES: (i32, i32) = (130, 94);
/// Kernels that run side by side are drawn in at most this many rows of their lane.
const ROWS: usize = 4;

/// Draws the plan.
pub fn gantt(of: &Gantt<'_>) -> String {
    let plan = &of.drawn.plan;
    let (traced, run) = of.measured.map(|one| (one.timeline, one.run)).unzip();
    let panels = captioned(of.drawn, traced, run);
    let longest = panels.iter().map(|(_, timeline)| timeline.makespan).max().unwrap_or_default();
    let (title, lines) = (wrapped_title(&of.title(), WIDTH), of.lines());
    let height = |timeline: &Timeline| {
        HEAD + LANE * TimelineRow::all(&plan.program, timeline).len() as i32 + FOOT
    };
    let heights: i32 = panels.iter().map(|(_, timeline)| height(timeline)).sum();
    svg((WIDTH, heading(&title, &lines) + heights), |area, tips| {
        let mut rest = titled(area, &title, &lines)?;
        for (caption, timeline) in &panels {
            let (area, below) = rest.split_vertically(height(timeline));
            write(&area, caption, (24, HEAD / 2 + 2), BODY, HPos::Left)?;
            draw((&plan.program, timeline), &area, longest, tips)?;
            rest = below;
        }
        Ok(())
    })
}

impl Gantt<'_> {
    /// Who wins, and what is drawn.
    fn title(&self) -> String {
        let verdict = Verdict::of(self.ranking, self.runs);
        let runs = plural(self.runs, "run");
        let who = match verdict.answer {
            Answer::Gpu => format!("the GPU wins {runs}"),
            Answer::Both => format!("both sides together win {runs}"),
            Answer::Cpu => format!("the CPU wins {runs}"),
            Answer::Plan => format!("one plan is fastest over {runs}"),
            Answer::Tie => format!("a tie over {runs}"),
            Answer::NothingToCompare => "nothing to compare with".to_owned(),
        };
        let (scenario, plan) = (self.scenario, self.drawn.plan.name());
        format!("{scenario}: {who}; \"{plan}\" takes {} per run", self.drawn.makespan())
    }

    /// The verdict that `hallway evaluate` gives, why this plan is drawn, and how to read the
    /// picture.
    fn lines(&self) -> Vec<String> {
        let verdict = Verdict::of(self.ranking, self.runs);
        let verdict = quoted(&said::verdict(&verdict, self.runs, self.ranking.plans.len()));
        let is_drawn =
            |best: Option<&Ranked>| best.is_some_and(|best| std::ptr::eq(best, self.drawn));
        let choice = if is_drawn(self.ranking.winner()) {
            ""
        } else if is_drawn(self.ranking.best_on_gpu()) {
            match self.drawn.plan.side() {
                Side::Both => {
                    "This is the plan to choose of those that use the GPU; it uses both \
                     processors. "
                }
                _ => "This is the plan to choose on the GPU. ",
            }
        } else {
            "This is not the plan to choose. "
        };
        let legend =
            "Alternating shades separate operations. Pale on the host's row: it is waiting.";
        let mut lines = context(self.question, self.origin, WIDTH);
        lines.extend(wrapped(&verdict, WIDTH));
        lines.extend(wrapped(&format!("{choice}{legend}"), WIDTH));
        lines
    }
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
    let x = Axis {
        low: 0.0,
        high: end,
        marks: even_marks(0.0, end, 10),
        label: Box::new(move |nanos| time_like(end, nanos)),
        title: "".into(),
    };
    let y = Axis {
        low: 0.0,
        high: lanes,
        marks: Vec::new(),
        label: Box::new(|_| String::new()),
        title: "".into(),
    };
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

//! A plan's timeline: which lane does what when, predicted above measured.

use super::axis::{Axis, Margins, chart, even_marks, time_like};
use super::style::{
    Area, BLUE, BODY, Drawn, GREEN, GREY, ORANGE, heading, svg, titled, wrapped, write,
};
use crate::program::spelled::Names;
use crate::program::{Program, ThreadId};
use crate::report::host_thread::{HostThread, is_waiting};
use crate::report::verdict::Verdict;
use crate::report::words::{percent, plural, with_range};
use crate::runs::Run;
use crate::search::{Ranked, Ranking};
use crate::timeline::{Activity, Lane, Timeline};
use crate::units::{Instant, Span};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// What the picture shows.
#[derive(Debug, Clone, Copy)]
pub struct Gantt<'a> {
    pub scenario: &'a str,
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
const SIDES: (i32, i32) = (96, 94);
/// Kernels that run side by side are drawn in at most this many rows of their lane.
const ROWS: usize = 4;

/// Draws the plan.
pub fn gantt(of: &Gantt<'_>) -> String {
    let Ranked { plan, forecast, .. } = of.drawn;
    let (low, high) = forecast.interval();
    let mut panels = vec![Panel {
        caption: format!("predicted: {}", with_range(of.drawn.makespan(), low, high)),
        timeline: &forecast.timeline,
    }];
    if let Some(Measured { timeline, run }) = of.measured {
        let caption = format!(
            "measured: {} with a clock on every call, which can slow it; {} without (median of {})",
            timeline.makespan,
            run.makespan(),
            plural(run.passes_ns.len() as u64, "pass")
        );
        panels.push(Panel { caption, timeline });
    }
    let longest = panels.iter().map(|panel| panel.timeline.makespan).max().unwrap_or_default();
    let title = format!("{}: {}, {} per pass", of.scenario, plan.name(), of.drawn.makespan());
    let lines = of.lines();
    let height = |panel: &Panel<'_>| HEAD + LANE * panel.lanes(&plan.program).len() as i32 + FOOT;
    svg((WIDTH, heading(&lines) + panels.iter().map(height).sum::<i32>()), |area| {
        let mut rest = titled(area, &title, &lines)?;
        for panel in &panels {
            let (area, below) = rest.split_vertically(height(panel));
            panel.draw(&area, &plan.program, longest)?;
            rest = below;
        }
        Ok(())
    })
}

impl Gantt<'_> {
    /// The verdict that `hallway evaluate` gives, why this plan is drawn, and how to read the
    /// picture.
    fn lines(&self) -> Vec<String> {
        let verdict = Verdict::of(self.ranking).over(self.ranking, self.runs);
        let verdict = verdict.sentence.replace('`', "\"");
        let is_drawn =
            |best: Option<&Ranked>| best.is_some_and(|best| std::ptr::eq(best, self.drawn));
        let choice = if is_drawn(self.ranking.winner()) {
            ""
        } else if is_drawn(self.ranking.best_on_gpu()) {
            "This is the best plan on the GPU. "
        } else {
            "This is the GPU plan whose calls were timed; its range overlaps the best plan's. "
        };
        let legend = "Alternating shades separate operations. Light grey: the host is waiting.";
        let mut lines = wrapped(&verdict, WIDTH);
        lines.extend(wrapped(&format!("{choice}{legend}"), WIDTH));
        lines
    }
}

struct Panel<'a> {
    caption: String,
    timeline: &'a Timeline,
}

impl Panel<'_> {
    /// Each host thread has a lane of its own. That of copies between devices is left out if there
    /// are none.
    fn lanes(&self, program: &Program) -> Vec<(Lane, ThreadId)> {
        let is_drawn =
            |lane: &Lane| *lane != Lane::PeerCopy || self.timeline.lane(*lane).next().is_some();
        let threads = |lane| if lane == Lane::Host { program.thread_count() as u16 } else { 1 };
        let lanes = Lane::ALL.into_iter().filter(is_drawn);
        lanes.flat_map(|lane| (0..threads(lane)).map(move |id| (lane, ThreadId(id)))).collect()
    }

    fn draw(&self, area: &Area<'_>, program: &Program, longest: Span) -> Drawn {
        write(area, &self.caption, (24, HEAD / 2 + 2), BODY, HPos::Left)?;
        let (left, right) = SIDES;
        let end = longest.nanos_f64().max(1.0);
        let drawn = self.lanes(program);
        let (names, lanes) = (Names::of(program), drawn.len() as f64);
        let x = Axis {
            low: 0.0,
            high: end,
            marks: even_marks(0.0, end, 10),
            label: Box::new(move |nanos| time_like(end, nanos)),
            title: "",
        };
        let y = Axis {
            low: 0.0,
            high: lanes,
            marks: Vec::new(),
            label: Box::new(|_| String::new()),
            title: "",
        };
        let margins = Margins { top: HEAD, right, bottom: FOOT, left };
        let mut chart = chart(area, margins, x, y)?;
        let pixels = chart.plotting_area().get_x_axis_pixel_range();
        let pixel = end / f64::from(pixels.end - pixels.start);
        for (index, (lane, thread)) in drawn.into_iter().enumerate() {
            let bottom = lanes - 1.0 - index as f64;
            chart.draw_series(self.bars(program, (lane, thread), bottom, pixel))?;
            let y = HEAD + LANE * index as i32 + LANE / 2;
            let name = match thread {
                ThreadId::MAIN => lane.name().to_owned(),
                other => format!("host {}", names.thread(other)),
            };
            write(area, &name, (left - 10, y), BODY, HPos::Right)?;
            let busy = match lane {
                Lane::Host => HostThread::of_thread(program, self.timeline, thread).held,
                _ => self.timeline.utilisation(lane),
            };
            let x = WIDTH - right + 10;
            write(area, &format!("{} busy", percent(busy)), (x, y), BODY - 2, HPos::Left)?;
        }
        Ok(())
    }

    /// One rectangle for each visible activity, at least a pixel wide. An activity within a
    /// pixel that is drawn already is left out, and gaps narrower than a pixel are closed.
    fn bars(
        &self,
        program: &Program,
        (lane, thread): (Lane, ThreadId),
        bottom: f64,
        pixel: f64,
    ) -> Vec<Rectangle<(f64, f64)>> {
        let is_here = |one: &&Activity| lane != Lane::Host || program.thread_of(one.call) == thread;
        let activities: Vec<&Activity> = self.timeline.lane(lane).filter(is_here).collect();
        let rows = rows(&activities);
        let height = 0.72 / (1 + rows.iter().max().copied().unwrap_or(0)) as f64;
        let mut reached = [f64::NEG_INFINITY; ROWS];
        let mut bars = Vec::new();
        for (index, (activity, row)) in activities.into_iter().zip(rows).enumerate() {
            let (start, end) = (activity.start.since_start(), activity.end.since_start());
            let (mut start, end) = (start.nanos_f64(), end.nanos_f64());
            if end < reached[row] {
                continue;
            }
            if start < reached[row] + pixel {
                start = start.min(reached[row]);
            }
            let end = end.max(start + pixel);
            reached[row] = end;
            // A thin bar would be invisible in a lighter shade.
            let is_thin = end - start < 3.0 * pixel;
            let shade = match index % 2 {
                _ if is_waiting(program, activity) => 0.2,
                1 if !is_thin => 0.62,
                _ => 1.0,
            };
            let top = bottom + 0.86 - height * row as f64;
            let style = colour(lane).mix(shade).filled();
            bars.push(Rectangle::new([(start, top), (end, top - height)], style));
        }
        bars
    }
}

fn colour(lane: Lane) -> RGBColor {
    match lane {
        Lane::Host => GREY,
        Lane::CopyIn => BLUE,
        Lane::Kernels => ORANGE,
        Lane::CopyOut | Lane::PeerCopy => GREEN,
    }
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

//! The rows of a timeline: host threads, and the engines of each GPU.

use super::words::{if_known, plural, predicted};
use crate::findings::HostThread;
use crate::program::spelled::Names;
use crate::program::{Program, ThreadId};
use crate::runs::RunSet;
use crate::search::Ranked;
use crate::timeline::{Activity, Lane, Timeline, busy};

/// The timelines of a plan under their captions: the predicted one, and the measured one of a pass
/// in which each call was timed, beside the run whose passes were timed as a whole.
pub(super) fn captioned<'a>(
    ranked: &'a Ranked,
    runs: Option<&'a RunSet>,
) -> Vec<(String, &'a Timeline)> {
    let identity = ranked.plan.identity();
    let predicted = format!("predicted: {}", predicted(ranked));
    let measured = runs.and_then(|runs| {
        let timeline = &runs.trace_of(&identity)?.timeline;
        let otherwise = if_known(runs.run_of(&identity), |run| {
            let passes = plural(run.passes_ns.len() as u64, "run");
            format!("; {} otherwise (median of {passes})", run.makespan())
        });
        let taken = timeline.makespan;
        Some((format!("measured: {taken} while each call was timed{otherwise}"), timeline))
    });
    std::iter::once((predicted, &ranked.forecast.timeline)).chain(measured).collect()
}

/// One row of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimelineRow {
    is_on_device: bool,
    /// The host thread, or the GPU.
    number: usize,
    pub lane: Lane,
}

impl TimelineRow {
    /// The row of an activity.
    pub fn of(program: &Program, activity: &Activity) -> Self {
        let Activity { lane, call, .. } = *activity;
        let number = match lane {
            Lane::Host => usize::from(program.thread_of(call).0),
            _ => {
                let stream = program.body[call].stream();
                stream.map_or(0, |stream| program.device_of(stream).0)
            }
        };
        Self::at(lane, number)
    }

    fn at(lane: Lane, number: usize) -> Self {
        Self { is_on_device: lane != Lane::Host, number, lane }
    }

    /// All rows, lane by lane. That of copies between devices is left out if there are none.
    pub fn all(program: &Program, timeline: &Timeline) -> Vec<Self> {
        let of_lane = |lane: Lane| {
            let is_host = lane == Lane::Host;
            let rows = if is_host { program.thread_count() } else { program.devices().max(1) };
            (0..rows).map(move |number| Self::at(lane, number))
        };
        let is_drawn = |row: &Self| {
            let is_there = |one: &Activity| Self::of(program, one) == *row;
            row.lane != Lane::PeerCopy || timeline.lane(row.lane).any(is_there)
        };
        Lane::ALL.into_iter().flat_map(of_lane).filter(is_drawn).collect()
    }

    pub fn name(self, program: &Program) -> String {
        let lane = self.lane.name();
        match ThreadId(self.number as u16) {
            _ if self.is_on_device && program.devices() > 1 => {
                format!("GPU {} {lane}", self.number)
            }
            thread if !self.is_on_device && thread != ThreadId::MAIN => {
                format!("{lane} {}", Names::in_program(program).thread(thread))
            }
            _ => lane.to_owned(),
        }
    }

    /// The share of the pass in which it does something.
    pub fn busy(self, program: &Program, timeline: &Timeline) -> f64 {
        if self.lane == Lane::Host {
            return HostThread::of_thread(program, timeline, ThreadId(self.number as u16)).held;
        }
        let here = timeline.lane(self.lane).filter(|one| Self::of(program, one) == self);
        let time = busy(here.map(|one| (one.start, one.end)));
        time.nanos_f64() / timeline.makespan.nanos_f64().max(1.0)
    }
}

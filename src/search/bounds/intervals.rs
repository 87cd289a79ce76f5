//! Whether tasks have enough time between the earliest moments at which they can begin and the
//! latest at which they must end.

use super::path::{CPU, GPU, Paths, SIDES};
use super::work::Work;

/// More tasks than all intervals are looked at for.
const MOST_NODES: usize = 250;

/// A task on a side: when it can begin and must end, how long it takes by itself, and its load.
struct Window {
    from: f64,
    until: f64,
    takes: f64,
    load: f64,
}

impl Window {
    /// The least load between two moments, wherever in its window the task is (Baptiste, Le Pape,
    /// Nuijten, "Satisfiability tests and time-bound adjustments for cumulative scheduling
    /// problems", 1999).
    fn within(&self, from: f64, until: f64) -> f64 {
        let early = self.from + self.takes - from;
        let late = until - (self.until - self.takes);
        let inside = self.takes.min(until - from).min(early).min(late).max(0.0);
        if self.takes > 0.0 { self.load * (inside / self.takes) } else { 0.0 }
    }
}

impl Work {
    /// Whether a schedule could end within a time, as far as intervals tell: in none of them are
    /// processors to do more than they can (Fernandez and Bussell, "Bounds on the number of
    /// processors and time for multiprocessor optimal schedules", 1973). A task of which one side
    /// would be too late has to be on the other.
    pub fn may_end_within(&self, paths: &Paths, time: f64) -> bool {
        if self.nodes.len() > MOST_NODES {
            return true;
        }
        let windows: Vec<[Option<Window>; 2]> = (0..self.nodes.len())
            .map(|node| SIDES.map(|side| self.window(paths, (node, side), time)))
            .collect();
        if windows.iter().any(|sides| sides.iter().all(Option::is_none)) {
            return false;
        }
        let all = || windows.iter().flatten().flatten();
        let starts: Vec<f64> = sorted(all().map(|window| window.from));
        let ends: Vec<f64> = sorted(all().map(|window| window.until));
        starts.iter().all(|&from| {
            ends.iter()
                .filter(|&&until| until > from)
                .all(|&until| self.suffices(&windows, from, until))
        })
    }

    fn suffices(&self, windows: &[[Option<Window>; 2]], from: f64, until: f64) -> bool {
        let (mut on_cpu, mut on_gpus, mut anywhere) = (0.0, 0.0, 0.0);
        for sides in windows {
            let [cpu, gpu] =
                SIDES.map(|side| sides[side].as_ref().map(|one| one.within(from, until)));
            match (cpu, gpu) {
                (Some(cpu), None) => on_cpu += cpu,
                (None, Some(gpu)) => on_gpus += gpu,
                (Some(cpu), Some(gpu)) => anywhere += cpu.min(gpu),
                (None, None) => {}
            }
        }
        // Rounding must not make a time look too short.
        let length = (until - from) * (1.0 + 1e-9) / self.batches;
        let gpus = self.gpus as f64;
        on_cpu <= length
            && on_gpus <= length * gpus
            && on_cpu + on_gpus + anywhere <= length * (gpus + 1.0)
    }

    /// Nothing if the task would end too late on the side.
    fn window(&self, paths: &Paths, (node, side): (usize, usize), time: f64) -> Option<Window> {
        let of = &self.nodes[node];
        let load = if side == CPU { of.cpu } else { of.gpu.map(|gpu| gpu.load) };
        let load = load.filter(|_| paths.through(node, side) <= time)?;
        debug_assert!(side == CPU || side == GPU);
        Some(Window {
            from: paths.head[node][side],
            until: time - paths.tail[node][side],
            takes: paths.takes[node][side],
            load,
        })
    }
}

fn sorted(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_unstable_by(f64::total_cmp);
    times.dedup();
    times
}

//! How early a task can begin on a side, and how much comes after it.

use super::work::{Node, Work};
use crate::scenario::Home;

/// The CPU, and any GPU.
const SIDES: [usize; 2] = [CPU, GPU];
pub(super) const CPU: usize = 0;
pub(super) const GPU: usize = 1;

/// For each task and side: the least time in front of it, the time that it takes from start to end,
/// and the least time behind it. Infinite where it cannot be. A kernel that uses the host's memory
/// where it is ends after all of that has crossed the link, in front of the kernel or during it.
pub(super) struct Paths {
    head: Vec<[f64; 2]>,
    takes: Vec<[f64; 2]>,
    tail: Vec<[f64; 2]>,
    /// For each task, what has to cross the link until it ends, and from when it begins, if it is
    /// on a GPU.
    crossing: Vec<[f64; 2]>,
}

impl Paths {
    pub fn new(work: &Work) -> Self {
        let count = work.nodes.len();
        let takes = work.nodes.iter().map(|node| SIDES.map(|side| work.on_path(node, side)));
        let mut paths = Self {
            takes: takes.collect(),
            head: vec![[0.0; 2]; count],
            tail: vec![[0.0; 2]; count],
            crossing: work.nodes.iter().map(|node| work.crossing_of(node)).collect(),
        };
        // Tasks are in an order that respects their dependencies.
        for node in 0..count {
            paths.head[node] = SIDES.map(|side| paths.head_of(work, node, side));
        }
        for node in (0..count).rev() {
            paths.tail[node] = SIDES.map(|side| paths.tail_of(work, node, side));
        }
        paths
    }

    /// All of the least path through a task on a side.
    pub fn through(&self, node: usize, side: usize) -> f64 {
        let [head, takes, tail] =
            [&self.head, &self.takes, &self.tail].map(|times| times[node][side]);
        let [arriving, leaving] = if side == GPU { self.crossing[node] } else { [0.0; 2] };
        (head + takes + tail).max(arriving + tail).max(head + leaving)
    }

    /// The longest path of which each task is on the side that makes it shortest.
    pub fn longest(&self) -> f64 {
        let least = |node| {
            SIDES.map(|side| self.through(node, side)).into_iter().fold(f64::INFINITY, f64::min)
        };
        (0..self.head.len()).map(least).fold(0.0, f64::max)
    }

    fn head_of(&self, work: &Work, node: usize, side: usize) -> f64 {
        let of = &work.nodes[node];
        let begins =
            work.together(of.takes.iter().map(|&data| work.between_home(of, data, side, 0)));
        let before = of.before.iter().map(|&(before, data)| {
            let ends = |other: usize| {
                let moves = work.moves((before, node), data, other, side);
                self.head[before][other] + self.takes[before][other] + moves
            };
            ends(CPU).min(ends(GPU))
        });
        before.fold(begins, f64::max)
    }

    fn tail_of(&self, work: &Work, node: usize, side: usize) -> f64 {
        let of = &work.nodes[node];
        let ends =
            work.together(of.leaves.iter().map(|&data| work.between_home(of, data, side, 1)));
        let behind = of.behind.iter().map(|&(behind, data)| {
            let rest = |other: usize| {
                let moves = work.moves((node, behind), data, side, other);
                moves + self.takes[behind][other] + self.tail[behind][other]
            };
            rest(CPU).min(rest(GPU))
        });
        behind.fold(ends, f64::max)
    }
}

impl Work {
    /// Pieces of what is cut overlap with what comes before and behind, but for the smallest: that
    /// is left out.
    fn on_path(&self, node: &Node, side: usize) -> f64 {
        let price = if side == CPU { node.cpu } else { node.gpu.map(|gpu| gpu.alone) };
        price.map_or(f64::INFINITY, |price| if node.is_cut { 0.0 } else { price })
    }

    /// Copies of one task use one link if there is one GPU; otherwise others may bring some.
    fn together(&self, copies: impl Iterator<Item = f64>) -> f64 {
        if self.gpus == 1 { copies.sum() } else { copies.fold(0.0, f64::max) }
    }

    /// What a task on a GPU reads of the host's memory and leaves there, by the time that it needs
    /// of a link. Of a task that is cut, pieces may be on the CPU.
    fn crossing_of(&self, node: &Node) -> [f64; 2] {
        let on_host = |id: &&usize| matches!(self.data[**id].home, Home::Host(_));
        let of = |ids: &[usize], way: usize| {
            self.together(ids.iter().filter(on_host).map(|&id| self.data[id].copy[way]))
        };
        if node.is_cut { [0.0; 2] } else { [of(&node.takes, 0), of(&node.leaves, 1)] }
    }

    /// What has to pass before a task, or behind it, for data to change sides.
    fn crossing(&self, node: &Node, data: usize, way: usize) -> f64 {
        let in_place = self.maps || node.is_cut;
        if in_place { 0.0 } else { self.data[data].copy[way] }
    }

    /// What has to pass between data's home and a task on a side: before the task (0), or behind it
    /// (1).
    fn between_home(&self, node: &Node, data: usize, side: usize, end: usize) -> f64 {
        match (self.data[data].home, side) {
            (Home::Host(_), GPU) => self.crossing(node, data, end),
            (Home::Device, CPU) => self.crossing(node, data, 1 - end),
            _ => 0.0,
        }
    }

    fn moves(
        &self,
        (writer, reader): (usize, usize),
        data: Option<usize>,
        from: usize,
        to: usize,
    ) -> f64 {
        let [writer, reader] = [writer, reader].map(|node| &self.nodes[node]);
        let way = match (from, to) {
            (CPU, GPU) => 0,
            (GPU, CPU) => 1,
            _ => return 0.0,
        };
        let crossing =
            |data| self.crossing(writer, data, way).min(self.crossing(reader, data, way));
        data.map_or(0.0, crossing)
    }
}

//! Which of the predicted changes a changed program has, as far as its calls show.

use super::advice::{Advised, Rewritten};
use crate::machine::{Direction, HostMemory};
use crate::program::{Call, Place, Program};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a pass of a program does, as far as changes show in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traits {
    /// Bytes that are copied to the GPU from pageable memory.
    pub pageable_in: Bytes,
    /// Bytes that are copied to the GPU from pinned memory.
    pub pinned_in: Bytes,
    /// Bytes that are copied from the GPU to pageable memory.
    pub pageable_out: Bytes,
    /// Bytes that are copied from the GPU to pinned memory.
    pub pinned_out: Bytes,
    /// Number of copies between host and GPU.
    pub copies: f64,
    /// Number of waits of the host.
    pub waits: f64,
    /// Number of streams with copies between host and GPU.
    pub copy_streams: u64,
    /// Number of launches of kernels and graphs that the host makes.
    pub launches: f64,
    /// Number of allocations and of targets that are new.
    pub taken: f64,
}

impl Traits {
    /// The traits of a pass of a program whose body makes so many.
    pub fn of(program: &Program, passes: u64) -> Self {
        let mut bytes = [[0_u64; 2]; 2];
        let (mut copies, mut streams) = (0_u64, BTreeSet::new());
        for call in &program.body {
            let Some((stream, way, from, to)) = call.crossing() else { continue };
            let here = program.allocation(way.ashore(from, to).allocation).place;
            let is_pageable = here == Place::Host(HostMemory::Pageable);
            let rows = call.sides().rows;
            let length = rows.map_or(from.length.get(), |r| r.count(from) * r.row.get());
            bytes[usize::from(way == Direction::DeviceToHost)][usize::from(!is_pageable)] += length;
            copies += 1;
            streams.insert(stream);
        }
        let inside: usize = program.graphs().map(|graph| graph.calls.len()).sum();
        let is_made = |call: &&Call| call.is_launch() || call.launched_calls().is_some();
        let launches = program.body.iter().filter(is_made).count().saturating_sub(inside);
        let waits = program.body.iter().filter(|call| call.only_waits()).count();
        let taken = program.body.iter().filter(|call| call.memory_change().is_some()).count();
        let each = |count: usize| count as f64 / passes.max(1) as f64;
        let part = |way: usize, memory: usize| Bytes::new(bytes[way][memory] / passes.max(1));
        Self {
            pageable_in: part(0, 0),
            pinned_in: part(0, 1),
            pageable_out: part(1, 0),
            pinned_out: part(1, 1),
            copies: each(copies as usize),
            waits: each(waits),
            copy_streams: streams.len() as u64,
            launches: each(launches),
            taken: each(taken),
        }
    }

    /// How far two passes are from each other: the sum of the logarithms of all ratios.
    fn distance(&self, other: &Self) -> f64 {
        self.numbers()
            .into_iter()
            .zip(other.numbers())
            .map(|(one, two)| (one / two).ln().abs())
            .sum()
    }

    /// Numbers above zero, in which a copy's kind of memory weighs as much as a wait.
    fn numbers(&self) -> [f64; 9] {
        let bytes = |bytes: Bytes| (1.0 + bytes.as_f64()).ln() + 1.0;
        [
            bytes(self.pageable_in),
            bytes(self.pinned_in),
            bytes(self.pageable_out),
            bytes(self.pinned_out),
            1.0 + self.copies,
            1.0 + self.waits,
            1.0 + self.copy_streams as f64,
            1.0 + self.launches,
            1.0 + self.taken,
        ]
    }
}

/// A program of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The program as it was.
    Nothing,
    /// A change, by its place in the answer.
    Change(usize),
    /// A change that depends on a condition, by its place.
    OnlyIf(usize),
    /// The best combination.
    Best,
}

impl Advised {
    /// The program of this answer that a changed program resembles most, and its traits.
    pub fn applied(&self, before: &Program, changed: &Program) -> (Applied, Traits) {
        let wanted = Traits::of(changed, 1);
        let of = |one: &Rewritten| Traits::of(&one.program, one.passes);
        let changes = self.changes.iter().enumerate();
        let only_if = self.only_if.iter().enumerate();
        let mut all = vec![(Applied::Nothing, Traits::of(before, 1))];
        all.extend(changes.map(|(at, one)| (Applied::Change(at), of(one))));
        all.extend(only_if.map(|(at, one)| (Applied::OnlyIf(at), of(one))));
        all.extend(self.best.iter().map(|one| (Applied::Best, of(one))));
        let nearest = all
            .into_iter()
            .min_by(|(_, one), (_, other)| wanted.distance(one).total_cmp(&wanted.distance(other)));
        nearest.expect("the program as it was is among them")
    }
}

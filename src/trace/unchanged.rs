//! Whether copies bring bytes that were there before: a recording with digests knows.

use super::{CallKind, CopyPlaces, Pass, Trace};
use crate::machine::Direction;
use crate::units::Bytes;
use std::collections::{BTreeMap, HashSet};

/// Copies to the GPU whose checksums are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    pub copies: usize,
    /// Copies that sent bytes that an earlier copy had already sent.
    pub again: usize,
    pub bytes_again: Bytes,
}

impl Trace {
    /// How many of the copies to the GPU sent what had been sent before, to whatever place.
    pub fn sent(&self) -> Sent {
        let (mut sent, mut before) = (Sent::default(), HashSet::new());
        for work in &self.work {
            let is_in = matches!(work.kind.crossing(), Some((Direction::HostToDevice, _)));
            let Some(call) = work.call.filter(|_| is_in) else { continue };
            let CallKind::Copy { places, bytes: Some(bytes), .. } = self.calls[call].kind else {
                continue;
            };
            let Some(digest) = places.digest else { continue };
            sent.copies += 1;
            if !before.insert((digest, bytes)) {
                sent.again += 1;
                sent.bytes_again += bytes;
            }
        }
        sent
    }

    /// For copies of the steady pass, by their positions in [`Trace::calls`], whether they bring
    /// equal bytes in all turns that make equally many copies; nothing if those are not most.
    /// Copies without a digest are left out.
    pub fn unchanged_copies(&self, pass: &Pass) -> BTreeMap<usize, bool> {
        let copies_of = |&[from, to]: &[usize; 2]| {
            let calls = self.calls[from..to].iter().zip(from..);
            let own = calls.filter(|(call, _)| call.thread == pass.thread);
            let copies = own.filter_map(|(call, at)| match call.kind {
                CallKind::Copy { places, .. } => Some((at, places)),
                _ => None,
            });
            copies.collect::<Vec<(usize, CopyPlaces)>>()
        };
        let turns: Vec<Vec<(usize, CopyPlaces)>> = pass.turns.iter().map(copies_of).collect();
        let Some(steady) = turns.get(pass.steady) else { return BTreeMap::new() };
        let alike = turns.iter().filter(|turn| turn.len() == steady.len());
        let alike: Vec<&Vec<(usize, CopyPlaces)>> = alike.collect();
        if alike.len() < 2 || alike.len() * 2 <= turns.len() {
            return BTreeMap::new();
        }
        let known = steady.iter().enumerate().filter_map(|(number, &(at, places))| {
            let digest = places.digest?;
            let others = alike.iter().map(|turn| turn[number].1.digest);
            let others: Option<Vec<u64>> = others.collect();
            Some((at, others?.into_iter().all(|other| other == digest)))
        });
        known.collect()
    }
}

//! Whether copies bring equal bytes in every turn of a loop: a recording with digests knows.

use super::{CallKind, CopyPlaces, Pass, Trace};
use std::collections::BTreeMap;

impl Trace {
    /// For copies of the steady pass, by their positions in [`Trace::calls`], whether they bring
    /// equal bytes in all turns. Copies without a digest are left out; so are all if turns do not
    /// make equally many copies.
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
        if turns.len() < 2 || turns.iter().any(|turn| turn.len() != steady.len()) {
            return BTreeMap::new();
        }
        let known = steady.iter().enumerate().filter_map(|(number, &(at, places))| {
            let digest = places.digest?;
            let others = turns.iter().map(|turn| turn[number].1.digest);
            let others: Option<Vec<u64>> = others.collect();
            Some((at, others?.into_iter().all(|other| other == digest)))
        });
        known.collect()
    }
}

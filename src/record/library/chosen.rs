//! Which calls are recorded, if only some parts of a program are: what GPUs did for others is left
//! out.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Which calls are recorded, by their numbers: a bit for each, since there may be millions.
#[derive(Default)]
pub struct Chosen(Mutex<BTreeMap<u32, u64>>);

impl Chosen {
    pub fn add(&self, call: u32) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *words.entry(call / 64).or_default() |= 1 << (call % 64);
    }

    pub fn has(&self, call: Option<u32>) -> bool {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bit =
            |call: u32| words.get(&(call / 64)).is_some_and(|word| word >> (call % 64) & 1 == 1);
        call.is_some_and(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_calls_are_told_from_others() {
        let chosen = Chosen::default();
        for call in [0, 63, 64, u32::MAX] {
            chosen.add(call);
        }
        let found = [0, 1, 62, 63, 64, 65, u32::MAX - 1, u32::MAX];
        let found = found.into_iter().filter(|&call| chosen.has(Some(call)));
        assert_eq!(found.collect::<Vec<u32>>(), [0, 63, 64, u32::MAX]);
        assert!(!chosen.has(None));
    }
}

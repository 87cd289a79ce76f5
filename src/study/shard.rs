//! A part of the plans, for one of several processes.

use hmac_sha256::Hash;
use std::ops::Range;
use std::str::FromStr;

/// One of several parts into which all plans are dealt. Every process deals alike, so all parts
/// together are the whole, and no plan is in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Counted from 1.
    number: usize,
    of: usize,
}

impl Shard {
    const MOST: usize = 100_000;

    /// `None` unless `number` is from 1 to `of`.
    pub fn new(number: usize, of: usize) -> Option<Self> {
        ((1..=of).contains(&number) && of <= Self::MOST).then_some(Self { number, of })
    }

    /// Deals plans, each given by its workload, its identity, and a place among the workloads. The
    /// hash mixes kinds and workloads; dealing in its order makes all parts equally large.
    pub fn of<'c>(self, mut all: Vec<(&'c str, &'c str, usize)>) -> Vec<(&'c str, &'c str, usize)> {
        all.sort_by_cached_key(|(workload, identity, _)| {
            let hash = Hash::hash(format!("{identity} {workload}").as_bytes());
            (hash, (*workload).to_owned())
        });
        all.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }

    /// Counted from 1.
    pub const fn number(self) -> usize {
        self.number
    }

    /// How many parts there are.
    pub const fn parts(self) -> usize {
        self.of
    }

    /// Its places among so many that have an order: neighbours stay together, and no part has over
    /// one more than another.
    pub const fn range(self, all: usize) -> Range<usize> {
        all * (self.number - 1) / self.of..all * self.number / self.of
    }

    /// The name of a folder for the runs of this part.
    pub fn folder(self) -> String {
        format!("shard-{}-of-{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let shard = numbers.and_then(|(number, of)| Self::new(number, of));
        shard.ok_or_else(|| {
            "write the part's number and the number of parts, such as 3/16".to_owned()
        })
    }
}

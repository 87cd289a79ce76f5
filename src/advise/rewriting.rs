//! A program in another form, with what it changes and what it assumes.

use crate::machine::Direction;
use crate::program::{AllocationId, Call, Program};
use crate::units::{Bytes, words};
use serde::{Deserialize, Serialize};

/// A program that does the same in another way.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewriting {
    pub program: Program,
    /// How many passes of the program that it came from its body makes.
    pub passes: u64,
    /// What is changed, the largest first.
    pub places: Vec<Place>,
    pub conditions: Vec<Condition>,
}

/// Calls of one kind, on the same memory, that a rewriting changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// Position of the first of these calls in the body of the program, counted from 0.
    pub call: usize,
    /// The function that is called.
    pub function: String,
    /// Direction of the copy. `null` if it is not one between host and GPU.
    pub direction: Option<Direction>,
    /// Name of the memory.
    pub memory: Option<String>,
    /// Total size of this memory.
    pub memory_bytes: Option<Bytes>,
    /// Number of bytes that each call uses.
    pub bytes: Option<Bytes>,
    /// Number of these calls.
    pub times: u64,
}

impl Place {
    /// The place of a call about some memory.
    pub fn of(program: &Program, call: usize, memory: Option<AllocationId>) -> Self {
        let function = program.body.get(call).map_or("", Call::name).to_owned();
        let sides = program.body.get(call).map(Call::sides).unwrap_or_default();
        let memory = memory.map(|id| program.allocation(id));
        let bytes = sides.from.or(sides.to).map(|slice| slice.length);
        let bytes = bytes.or(memory.map(|one| one.bytes));
        let memory_bytes = memory.map(|one| one.bytes);
        let memory = memory.map(|one| one.name.clone());
        let direction = program.body.get(call).and_then(Call::crossing).map(|one| one.1);
        Self { call, function, direction, memory, memory_bytes, bytes, times: 1 }
    }

    fn weight(&self) -> u64 {
        self.bytes.map_or(0, Bytes::get).saturating_mul(self.times)
    }

    /// Places of equal calls together, the largest first.
    pub fn gathered(places: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for place in places {
            let is_equal = |one: &&mut Self| {
                one.bytes == place.bytes
                    && one.memory == place.memory
                    && one.function == place.function
                    && one.direction == place.direction
            };
            match found.iter_mut().find(is_equal) {
                Some(one) => one.times += place.times,
                None => found.push(place),
            }
        }
        found.sort_by_key(|one| (std::cmp::Reverse(one.weight()), one.call));
        found
    }
}

words! {
    /// A condition, not shown by the program, under which a rewriting does the same as the
    /// original.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Condition {
        SameMemory = "each pass uses the same host memory, so it needs to be pinned only once",
        SourceKept = "the host does not refill the source before its copy is done",
        ReadLater = "the host does not read the results before the end of the pass",
        PassesOverlap = "the host starts the next pass before it has the results of this one",
        NextIsReady = "the host has the next data ready one step earlier",
        Unchanged = "the bytes do not change from pass to pass",
        OnlyRead = "kernels do not write to the memory (its bytes were the same in all recorded \
                    passes)",
        KernelsOnlyReadUploads = "kernels do not write to memory that the pass copies to the GPU \
                                  (`--writes` can say what a kernel writes)",
        NobodyReads = "nothing on the host reads the bytes",
        OnlyIssues = "the host does nothing between these calls but prepare the next one",
        KernelsUsePointers = "kernels access only memory whose pointers are passed to them",
        KernelsUseAll = "kernels use only memory that belongs to their own stream (the trace \
                         does not say which memory they use)",
    }
}

impl Condition {
    /// Whether somebody has to look at the program to know it. The others are met by writing the
    /// change as it should be written.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            Self::Unchanged
                | Self::OnlyRead
                | Self::KernelsOnlyReadUploads
                | Self::NobodyReads
                | Self::ReadLater
                | Self::OnlyIssues
        )
    }
}

impl Rewriting {
    /// Whether it does the same only if something is true that the program does not show.
    pub fn is_open(&self) -> bool {
        self.conditions.iter().any(|one| one.is_open())
    }
}

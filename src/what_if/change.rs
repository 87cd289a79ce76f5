//! Changes, as a user writes them.

use crate::machine::{HostMemory, PcieLink};
use crate::program::ProcessState;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Some changes at once, such as `link=0.5x,kernels=0.5x`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    text: String,
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A capacity or a time is so many times what it was.
    Times(Knob, f64),
    /// A capacity that is counted is so much.
    Count(Knob, usize),
    /// The link between host and device is this one.
    Link(PcieLink),
    /// The workload's host buffers are in such memory from the start.
    Memory(HostMemory),
    /// The machine has so many GPUs like the first.
    Gpus(usize),
    /// The process that runs the programs has used the GPU before, or has not.
    Process(ProcessState),
}

/// What can be scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knob {
    /// Both directions of the link. The two below: one of them.
    Link,
    CopyIn,
    CopyOut,
    Multiprocessors,
    Threads,
    /// All kernels on the GPU. Below: one of them.
    Kernels,
    Kernel(String),
    Launch,
    Setup(SetupPrice),
}

/// What set-up pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupPrice {
    /// All of the below.
    All,
    /// Pinning memory, new or where it is, and giving it back.
    Pin,
    /// Allocating device memory, and freeing it.
    Allocate,
    Streams,
    Events,
    /// Capturing and instantiating graphs.
    Graphs,
    Context,
    Module,
}

impl SetupPrice {
    const ALL: [(&str, Self); 7] = [
        ("pin", Self::Pin),
        ("allocate", Self::Allocate),
        ("streams", Self::Streams),
        ("events", Self::Events),
        ("graphs", Self::Graphs),
        ("context", Self::Context),
        ("module", Self::Module),
    ];
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "link",
            Self::CopyIn => "h2d",
            Self::CopyOut => "d2h",
            Self::Multiprocessors => "multiprocessors",
            Self::Threads => "threads",
            Self::Kernels => "kernels",
            Self::Kernel(name) => return write!(f, "kernel.{name}"),
            Self::Launch => "launch",
            Self::Setup(SetupPrice::All) => "setup",
            Self::Setup(price) => {
                let name = SetupPrice::ALL.iter().find(|(_, one)| one == price);
                return write!(f, "setup.{}", name.map_or("", |(name, _)| name));
            }
        })
    }
}

/// Everything that can be changed, for messages.
const KNOBS: &str = "link, h2d, d2h, multiprocessors, threads, kernels, kernel.NAME, launch, \
                     setup, setup.pin, setup.allocate, setup.streams, setup.events, \
                     setup.graphs, setup.context, setup.module, memory, process or gpus";

impl Knob {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "link" => Self::Link,
            "h2d" => Self::CopyIn,
            "d2h" => Self::CopyOut,
            "multiprocessors" => Self::Multiprocessors,
            "threads" => Self::Threads,
            "kernels" => Self::Kernels,
            "launch" => Self::Launch,
            "setup" => Self::Setup(SetupPrice::All),
            _ => match name.split_once('.')? {
                ("kernel", kernel) if !kernel.is_empty() => Self::Kernel(kernel.to_owned()),
                ("setup", price) => {
                    Self::Setup(SetupPrice::ALL.iter().find(|(one, _)| *one == price)?.1)
                }
                _ => return None,
            },
        })
    }

    /// Whether it says how much there is of something, and not how long it takes.
    pub const fn is_capacity(&self) -> bool {
        matches!(
            self,
            Self::Link | Self::CopyIn | Self::CopyOut | Self::Multiprocessors | Self::Threads
        )
    }

    const fn is_counted(&self) -> bool {
        matches!(self, Self::Multiprocessors | Self::Threads)
    }

    /// A factor such as `0.5x`, or a number of what is counted.
    fn change(self, value: &str) -> Result<Change, String> {
        if let (true, Ok(count)) = (self.is_counted(), value.parse::<usize>()) {
            return match count {
                1..=MOST_COUNTED => Ok(Change::Count(self, count)),
                _ => Err(format!("`{self}` can be 1 to {MOST_COUNTED}, not {value}")),
            };
        }
        let digits = value.strip_suffix('x').or((value == "0").then_some("0"));
        let factor = digits.and_then(|digits| digits.parse::<f64>().ok());
        let factor = factor.filter(|factor| factor.is_finite()).ok_or_else(|| {
            let or_number = if self.is_counted() { ", or a whole number" } else { "" };
            format!(
                "`{value}` is not a factor for `{self}`: write a factor such as \
                     `0.5x`{or_number}"
            )
        })?;
        let (least, most) = if self.is_capacity() { (0.001, 1000.0) } else { (0.0, 1000.0) };
        if (least..=most).contains(&factor) {
            Ok(Change::Times(self, factor))
        } else {
            Err(format!("`{self}` can be scaled by {least}x to {most}x, not by {value}"))
        }
    }
}

/// More multiprocessors or threads than there will be.
const MOST_COUNTED: usize = 10_000;
/// More GPUs than a host has.
const MOST_GPUS: usize = 16;

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            format!("`{text}` is not a change: write, for example, `link=0.5x` or `memory=pinned`")
        })?;
        let (name, value) = (name.trim(), value.trim());
        match name {
            "memory" => match value {
                "pinned" => Ok(Self::Memory(HostMemory::Pinned)),
                "pageable" => Ok(Self::Memory(HostMemory::Pageable)),
                _ => Err(format!("`memory` can be `pinned` or `pageable`, not `{value}`")),
            },
            "process" => match value {
                "new" => Ok(Self::Process(ProcessState::New)),
                "running" => Ok(Self::Process(ProcessState::Running)),
                _ => Err(format!("`process` can be `new` or `running`, not `{value}`")),
            },
            "gpus" => match value.parse() {
                Ok(count @ 1..=MOST_GPUS) => Ok(Self::Gpus(count)),
                _ => Err(format!("`gpus` can be 1 to {MOST_GPUS}, not `{value}`")),
            },
            "link" if value.starts_with("gen") => value.parse().map(Self::Link),
            _ => {
                let knob = Knob::named(name)
                    .ok_or_else(|| format!("`{name}` cannot be changed: use {KNOBS}"))?;
                knob.change(value)
            }
        }
    }
}

impl Variation {
    /// A single change.
    pub fn of(change: Change) -> Self {
        Self { text: String::new(), changes: vec![change] }
    }
}

impl FromStr for Variation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let changes = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        let name = |change: &'_ str| change.split('=').next().unwrap_or_default().trim().to_owned();
        if let Some(twice) = text.split(',').map(name).find(|name| !names.insert(name.clone())) {
            return Err(format!("`{twice}` is changed twice: remove one of the changes"));
        }
        Ok(Self { text: text.to_owned(), changes })
    }
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

//! Changes, as a user writes them.

use crate::machine::{GpuModel, HostMemory, PcieLink};
use crate::profile::Profile;
use crate::program::ProcessState;
use crate::scenario::Workload;
use crate::units::words;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Some changes at once, such as `link=0.5x,kernels=0.5x`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    pub(super) text: String,
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
    /// Another GPU is in the machine.
    Gpu(&'static GpuModel),
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

words! {
    /// What set-up pays for.
    pub enum SetupPrice {
        /// All of the below.
        All = "setup",
        /// Pinning memory, new or where it is, and giving it back.
        Pin = "setup.pin",
        /// Allocating device memory, and freeing it.
        Allocate = "setup.allocate",
        Streams = "setup.streams",
        Events = "setup.events",
        /// Capturing and instantiating graphs.
        Graphs = "setup.graphs",
        Context = "setup.context",
        Module = "setup.module",
    }
}

/// The names of what can be scaled, but for set-up, and for single kernels: `kernel.NAME`.
static KNOBS: [(&str, Knob); 7] = [
    ("link", Knob::Link),
    ("h2d", Knob::CopyIn),
    ("d2h", Knob::CopyOut),
    ("multiprocessors", Knob::Multiprocessors),
    ("threads", Knob::Threads),
    ("kernels", Knob::Kernels),
    ("launch", Knob::Launch),
];

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(name) => write!(f, "kernel.{name}"),
            Self::Setup(price) => f.write_str(price.name()),
            _ => f.write_str(KNOBS.iter().find(|one| one.1 == *self).expect("all have a name").0),
        }
    }
}

impl Knob {
    fn named(name: &str) -> Option<Self> {
        if let Some(kernel) = name.strip_prefix("kernel.") {
            return (!kernel.is_empty()).then(|| Self::Kernel(kernel.to_owned()));
        }
        let knob = KNOBS.iter().find(|(one, _)| *one == name).map(|(_, knob)| knob.clone());
        knob.or_else(|| SetupPrice::from_name(name).map(Self::Setup))
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
        if !(least..=most).contains(&factor) {
            return Err(format!("`{self}` can be scaled by {least}x to {most}x, not by {value}"));
        }
        Ok(Change::Times(self, factor))
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
            "process" => match ProcessState::from_name(value) {
                Some(state) => Ok(Self::Process(state)),
                None => Err(format!("`process` can be `new` or `running`, not `{value}`")),
            },
            "gpu-model" => gpu_model(value).map(Self::Gpu),
            "gpus" => match value.parse() {
                Ok(count @ 1..=MOST_GPUS) => Ok(Self::Gpus(count)),
                _ => Err(format!("`gpus` can be 1 to {MOST_GPUS}, not `{value}`")),
            },
            "link" if value.starts_with("gen") => value.parse().map(Self::Link),
            _ => {
                let knob = Knob::named(name).ok_or_else(|| {
                    let knobs = KNOBS.iter().map(|(name, _)| *name);
                    let knobs = knobs.chain(SetupPrice::ALL.map(SetupPrice::name));
                    let knobs = knobs.collect::<Vec<_>>().join(", ");
                    format!(
                        "`{name}` cannot be changed: use {knobs}, kernel.NAME, memory, process, \
                         gpu-model or gpus"
                    )
                })?;
                knob.change(value)
            }
        }
    }
}

/// The GPU of this key.
///
/// # Errors
/// If there is none: all keys that there are.
pub fn gpu_model(key: &str) -> Result<&'static GpuModel, String> {
    GpuModel::with_key(key).ok_or_else(|| {
        let known = GpuModel::all().iter().map(|model| model.key).collect::<Vec<_>>().join(", ");
        format!("there is no data sheet for `{key}`: use one of these NVIDIA GPUs: {known}")
    })
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

/// A machine and a workload that could be.
#[derive(Debug, Clone)]
pub struct Varied {
    pub profile: Profile,
    pub workload: Workload,
    /// What the change takes for granted and nobody has measured, in sentences.
    pub assumptions: Vec<String>,
}

impl Varied {
    /// Notes what is taken for granted, once.
    pub(super) fn assume(&mut self, assumption: &str) {
        if !self.assumptions.iter().any(|known| known == assumption) {
            self.assumptions.push(assumption.to_owned());
        }
    }
}

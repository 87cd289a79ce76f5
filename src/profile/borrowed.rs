//! What a profile has from another machine's: costs that the machine's own samples lack.
//!
//! A table of times rarely says what a call costs or how long an engine takes from one operation to
//! the next. Such costs differ between machines, but far less than what a link carries or a kernel
//! takes. So they may be borrowed, and nothing else is.

use super::Profile;
use super::calls::CallCosts;
use super::parameters::identity;
use crate::stats::{LEAST_DEVIATE, NINE_OF_TEN};
use crate::units::words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Costs that were borrowed from one profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Borrowed {
    /// The profile that they come from, as it was named.
    pub from: String,
    /// The GPU of that profile.
    pub gpu: String,
    #[serde(rename = "group")]
    pub groups: Vec<BorrowedGroup>,
}

/// Borrowed costs of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BorrowedGroup {
    pub costs: BorrowedCosts,
    /// Their names: see [`Parameter::name`](super::Parameter::name).
    pub parameters: Vec<String>,
}

words! {
    /// The kinds of costs that may be borrowed.
    // The word for each is the subject of a sentence.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum BorrowedCosts {
        /// Host time of calls: launches, copies, events, synchronisations.
        Calls = "calls and launches",
        /// Hand-overs from one operation to the next, and latencies to and from the device.
        HandOvers = "hand-overs and latencies",
        /// The slowdown of an engine that serves several streams.
        SeveralStreams = "costs of using several streams",
        /// Interference between copies and kernels.
        BesideKernels = "interference between copies and kernels",
        Graphs = "graphs",
        /// Allocating, pinning, first touches, and creating streams and events.
        Memory = "allocation and pinning",
        /// Calls to other GPUs.
        SeveralGpus = "calls to other GPUs",
    }
}

impl BorrowedCosts {
    /// By which share such costs differ between machines: a standard deviation.
    ///
    /// The five profiles in `calibration`, all of H200s on different hosts, were compared pair by
    /// pair and parameter by parameter. Nine of ten differ by less than 0.39 (calls), 0.54
    /// (hand-overs), 0.34 (several streams), 1.27 (beside kernels), 0.27 (graphs) and 0.83
    /// (memory); for a normal deviate, that is 1.645 times its standard deviation. Machines of
    /// different kinds differ by more, so it is doubled: then each of these public figures lies
    /// within nine tenths of the deviates around an H200's 1.6 us for an asynchronous copy's call
    /// and 3.3 us for a launch: 2.3 us a call on an H20 (FlexKV PR 193), 2.8 us on an RTX 5090
    /// (imp PR 1411), a launch of 4.8 us by CUDA's runtime library.
    ///
    /// What calls to other GPUs cost is known of one machine only, so it is as for other calls.
    pub const fn spread(self) -> f64 {
        match self {
            Self::Calls | Self::SeveralGpus => 0.5,
            Self::HandOvers => 0.65,
            Self::SeveralStreams => 0.4,
            Self::BesideKernels => 1.5,
            Self::Graphs => 0.35,
            Self::Memory => 1.0,
        }
    }

    /// Between which factors the costs of nine machines in ten lie, of those of another one.
    pub fn range(self) -> [f64; 2] {
        [-1.0, 1.0].map(|way| (1.0 + way * NINE_OF_TEN * self.spread()).max(LEAST_DEVIATE))
    }

    /// The kind of the costs in a section of a profile, below a key of it.
    fn of(section: &str, key: &str) -> Option<Self> {
        Some(match (section, key) {
            ("calls", _) => Self::Calls,
            ("latency", "semaphore_polling") => return None,
            ("latency" | "handover", _) => Self::HandOvers,
            ("polling", _) | ("link", "down_switch" | "up_switch" | "refetches") => {
                Self::SeveralStreams
            }
            ("interference", _) | ("link", "down_beside_kernels" | "up_beside_kernels") => {
                Self::BesideKernels
            }
            ("graph", _) => Self::Graphs,
            ("memory", "managed_allocate" | "waits_for_device") => return None,
            ("memory", key) if key.starts_with("combined_") => return None,
            ("memory" | "setup", _) => Self::Memory,
            ("multi_gpu", "use_device" | "peer_copy" | "start_peer_copy" | "crossing") => {
                Self::SeveralGpus
            }
            _ => return None,
        })
    }
}

impl Profile {
    /// The profile with costs of another machine wherever it lacks them. They are marked as
    /// borrowed, and as uncertain as machines differ.
    #[must_use]
    pub fn like(self, like: &Self, from: &str) -> Self {
        let before: BTreeSet<String> = self.parameters().into_iter().map(|one| one.name).collect();
        let has_several_gpus = self.machine.devices > 1;
        let (Value::Object(mut own), Value::Object(like_plain)) = (self.plain(), like.plain())
        else {
            unreachable!("a profile is plain data with names")
        };
        for (section, theirs) in like_plain {
            let Some(theirs) = lendable(&section, theirs, has_several_gpus) else { continue };
            match own.get_mut(&section) {
                Some(mine) => fill(mine, theirs),
                None => drop(own.insert(section, theirs)),
            }
        }
        let mut filled: Self = super::file::of_plain(&Value::Object(own));
        let mut groups: Vec<BorrowedGroup> = Vec::new();
        let new = filled.parameters().into_iter().filter(|one| !before.contains(&one.name));
        for parameter in new {
            let mut place = parameter.name.split(['.', '(']);
            let [section, key] = [(); 2].map(|()| place.next().unwrap_or_default());
            let Some(costs) = BorrowedCosts::of(section, key) else { continue };
            match groups.iter_mut().find(|group| group.costs == costs) {
                Some(group) => group.parameters.push(parameter.name),
                None => groups.push(BorrowedGroup { costs, parameters: vec![parameter.name] }),
            }
        }
        groups.sort_by_key(|group| group.costs);
        if !groups.is_empty() {
            let gpu = like.machine.gpu.clone();
            filled.borrowed.push(Borrowed { from: from.to_owned(), gpu, groups });
        }
        filled
    }

    /// The profile with some of its parameters multiplied by a factor; of what says how many times
    /// as long something takes, only the part above 1.
    #[must_use]
    pub fn scaled(&self, parameters: &[String], factor: f64) -> Self {
        let wanted: BTreeSet<&str> = parameters.iter().map(String::as_str).collect();
        let plain = self.plain();
        let mut scaled = self.clone();
        let prices = scaled.prices_mut().into_iter();
        let chosen = prices.filter(|price| wanted.contains(price.key.name(&plain).as_str()));
        chosen.for_each(|mut price| price.scale(factor));
        scaled
    }

    /// Everything that was borrowed, by kind, with where it comes from.
    pub fn borrowed_costs(&self) -> impl Iterator<Item = (&Borrowed, &BorrowedGroup)> {
        self.borrowed.iter().flat_map(|one| one.groups.iter().map(move |group| (one, group)))
    }
}

impl CallCosts {
    /// These costs, and those of another machine where there are none.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let plain = |costs: &Self| {
            let mut plain = serde_json::to_value(costs).expect("costs are plain data");
            super::file::drop_nothing(&mut plain);
            plain
        };
        let mut own = plain(self);
        fill(&mut own, plain(other));
        super::file::of_plain(&own)
    }
}

/// The part of a section that may be borrowed, as uncertain as machines differ.
fn lendable(section: &str, theirs: Value, has_several_gpus: bool) -> Option<Value> {
    let lent = |key: &str, value: Value| {
        let costs = BorrowedCosts::of(section, key)?;
        let is_wanted = has_several_gpus || costs != BorrowedCosts::SeveralGpus;
        is_wanted.then(|| widened(value, costs.spread()))
    };
    match theirs {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let lent: Map<String, Value> = fields
                .filter_map(|(key, value)| lent(&key, value).map(|value| (key, value)))
                .collect();
            (!lent.is_empty()).then_some(Value::Object(lent))
        }
        Value::Array(items) => {
            let is_wanted = |model: &Value| {
                (has_several_gpus || !is_of_several_gpus(model)) && !is_of_cpu(model)
            };
            let wanted = items.into_iter().filter(is_wanted);
            let lent: Vec<Value> = wanted.filter_map(|model| lent("", model)).collect();
            (!lent.is_empty()).then_some(Value::Array(lent))
        }
        _ => None,
    }
}

/// Whether a model is of what threads of the CPU and copies take from each other. That is the host
/// memory's, as its rate is.
fn is_of_cpu(model: &Value) -> bool {
    model.get("load").is_some_and(|load| load == "cpu")
}

/// Whether a model is of copies between GPUs.
fn is_of_several_gpus(model: &Value) -> bool {
    ["from", "to"].iter().any(|key| model.get(key).is_some_and(|kind| kind == "peer-copy"))
}

/// Fills in what is missing. A model that is there stays as it is.
fn fill(own: &mut Value, like: Value) {
    match (own, like) {
        (Value::Object(own), Value::Object(like)) => {
            for (key, value) in like {
                own.entry(key).or_insert(value);
            }
        }
        (Value::Array(own), Value::Array(like)) => {
            let name = |model: &Value| model.as_object().map(identity);
            let known: Vec<_> = own.iter().map(name).collect();
            own.extend(like.into_iter().filter(|model| !known.contains(&name(model))));
        }
        _ => {}
    }
}

/// A model whose scatter is at least so large.
fn widened(mut model: Value, spread: f64) -> Value {
    match &mut model {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                let own = field.as_f64().filter(|_| key == "scatter");
                *field = match own {
                    Some(own) => Value::from(own.hypot(spread)),
                    None => widened(field.take(), spread),
                };
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = widened(item.take(), spread));
        }
        _ => {}
    }
    model
}

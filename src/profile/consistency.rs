//! Whether numbers of a profile that are each possible make a machine together.

use super::parameters::identity;
use super::prices::Amount;
use super::{Parameter, Profile};
use crate::machine::FASTEST_MEMORY;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Measured times of neighbouring sizes scatter, but a larger size does not take less than this
/// share of the time of a smaller one.
const FALLEN: f64 = 0.5;

/// Each element of a kernel of the library is read.
const ELEMENT: f64 = 4.0;

/// Sections of the file that hold no model.
const DESCRIPTIONS: [&str; 4] = ["machine", "accuracy", "intervals", "borrowed"];

/// Keys that say how the subject of a table was found to be. The other words, whole numbers and
/// truth values of a table say which subject it has.
const PROPERTIES: [&str; 3] = ["direct", "registers_per_thread", "shared_bytes_per_block"];

impl Profile {
    /// The first contradiction, in words.
    pub(super) fn problem(&self) -> Option<String> {
        let machine = || self.machine.problem().map(|(_, problem)| format!("[machine]: {problem}"));
        machine()
            .or_else(|| self.threads())
            .or_else(|| self.gpus())
            .or_else(|| self.rates())
            .or_else(|| self.twice())
            .or_else(|| self.times())
    }

    /// What runs on all threads of the CPU was measured with some.
    fn threads(&self) -> Option<String> {
        let is_missing = self.machine.cpu_threads == 0 && !self.twins.is_empty();
        is_missing.then(|| {
            "`cpu_threads` in [machine] is 0, but there are [[twin]] tables: set it to the \
             number of threads they were measured with"
                .to_owned()
        })
    }

    /// A table about GPUs that the machine does not have.
    fn gpus(&self) -> Option<String> {
        let (several, devices) = (&self.multi_gpu, self.machine.devices);
        let others = several.others.iter().map(|other| ("other", other.device));
        let peers = several.peers.iter().map(|peer| ("peer", peer.from.max(peer.to)));
        let roots = several.roots.iter().map(|root| root.devices);
        let has = format!("but [machine] has `devices = {devices}`");
        let foreign = others.chain(peers).find(|(_, device)| device.0 >= devices);
        let foreign = foreign.map(|(table, device)| {
            format!(
                "a [[multi_gpu.{table}]] table refers to GPU {} (GPUs are numbered from 0), {has}",
                device.0
            )
        });
        foreign.or_else(|| {
            let more = roots.into_iter().find(|root| !(1..=devices).contains(root))?;
            Some(format!("a [[multi_gpu.root]] table is for {more} GPUs, {has}"))
        })
    }

    /// A rate beyond that of any memory.
    fn rates(&self) -> Option<String> {
        let mut machine = self.clone();
        machine.prices_mut().into_iter().find_map(|price| match price.amount {
            Amount::Rate(rate) if rate.bytes_per_second() > FASTEST_MEMORY => {
                let (key, section) = (price.key.dotted(), price.key.section());
                let key = key.rsplit('.').next().unwrap_or_default();
                let rate = rate.bytes_per_second();
                Some(format!(
                    "`{key} = {rate:e}` in [{section}] is over 50 TB/s: no memory is that fast"
                ))
            }
            _ => None,
        })
    }

    /// Two tables about one thing: it would depend on their order which is believed.
    fn twice(&self) -> Option<String> {
        let Value::Object(sections) = self.plain() else { return None };
        sections
            .iter()
            .filter(|(key, _)| !DESCRIPTIONS.contains(&key.as_str()))
            .find_map(|(key, value)| twice(key, value))
    }

    /// A curve that is the whole time of something and cannot be.
    fn times(&self) -> Option<String> {
        let parameters = self.parameters();
        let is_whole = |one: &&Parameter| one.is_curve && is_whole_time(&one.section, &one.name);
        parameters.iter().filter(is_whole).find_map(|one| self.time_problem(one))
    }

    /// The least share of a time that a larger size takes. From some size on, all threads share the
    /// work of a twin.
    fn fallen(&self, section: &str) -> f64 {
        let threads = if section == "twin" { self.machine.cpu_threads.max(1) } else { 1 };
        FALLEN / threads as f64
    }

    /// Brings down the times that were held up while they were measured: no machine takes so much
    /// longer than for a larger size.
    pub(crate) fn bring_down_fallen_times(&mut self) {
        let [twin, other] = ["twin", ""].map(|section| self.fallen(section));
        for price in self.prices_mut() {
            let (section, key) = (price.key.section(), price.key.dotted());
            let Amount::Curve(curve) = price.amount else { continue };
            if !is_whole_time(section, &key) {
                continue;
            }
            let fallen = if section == "twin" { twin } else { other };
            let mut least = f64::INFINITY;
            for (_, ns) in curve.knots.iter_mut().rev() {
                *ns = if least < fallen * *ns { least } else { *ns };
                least = least.min(*ns);
            }
        }
    }

    fn time_problem(&self, time: &Parameter) -> Option<String> {
        let Parameter { name, section, points: knots, .. } = time;
        let fallen = self.fallen(section);
        let bytes_per_unit = match section.as_str() {
            "kernel" | "twin" => ELEMENT,
            _ => 1.0,
        };
        let &(largest, longest) = knots.last()?;
        if longest <= 0.0 {
            return Some(format!("`{name}`: all times up to the largest size, {largest}, are 0"));
        }
        let bytes = largest * bytes_per_unit;
        if bytes > FASTEST_MEMORY * 1e-9 * longest {
            return Some(format!(
                "`{name}` gives {longest} ns for {bytes} bytes, over 50 TB/s: no \
                 memory is that fast"
            ));
        }
        (0..knots.len()).find_map(|at| {
            let (size, ns) = knots[at];
            let before = knots[..at].iter().find(|before| ns < fallen * before.1)?;
            Some(format!(
                "`{name}`: the time falls from {} ns at size {} to {ns} ns at size {size}",
                before.1, before.0
            ))
        })
    }
}

/// Whether the curve of a section and a key is all that something takes, and not only how much
/// longer it takes. The times of a user's kernels may be over anything that the user counts.
fn is_whole_time(section: &str, key: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or_default();
    !section.starts_with("own_") && ["time", "until_return", "until_complete"].contains(&key)
}

/// The first complaint about two tables of an array, anywhere in a value, that are about the same.
fn twice(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => {
            fields.iter().find_map(|(key, field)| twice(&format!("{name}.{key}"), field))
        }
        Value::Array(items) => {
            let mut tables = items.iter().filter_map(Value::as_object);
            let mut seen = BTreeSet::new();
            if tables.any(|table| !seen.insert(subject(table))) {
                let complaint = "tables describe the same thing; remove one";
                return Some(format!("two [[{name}]] {complaint}"));
            }
            items.iter().find_map(|item| twice(name, item))
        }
        _ => None,
    }
}

/// What a table of an array is about.
fn subject(table: &Map<String, Value>) -> String {
    let mut table = table.clone();
    table.retain(|key, _| !PROPERTIES.contains(&key.as_str()));
    identity(&table)
}

//! What an importer has read so far, before calls and work are joined.
//!
//! Both importers fill one, in any order; `join` makes a trace of it.

use super::functions::{Action, Function};
use super::{Defect, HostThread, MemoryKind, Origin, StreamKey, WorkKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The correlation id of what has none.
pub(super) const NO_ID: u64 = u64::MAX;

/// No copy and no allocation is larger: 256 TiB are beyond all memory that addresses reach.
pub(super) const MOST_BYTES: u64 = 1 << 48;

/// Times are nanoseconds as the file counts them, from whenever.
#[derive(Debug)]
pub(super) struct Draft {
    pub origin: Origin,
    pub gpu_names: BTreeMap<u32, String>,
    pub threads: Threads,
    pub calls: Vec<DraftCall>,
    pub work: Vec<DraftWork>,
    pub facts: Vec<Fact>,
    pub memory: Vec<MemoryEvent>,
    pub ranges: Vec<DraftRange>,
    pub defects: BTreeMap<Defect, usize>,
    /// Another time, beside zero, at which events lie that have none.
    pub unset: Option<i64>,
    pub functions: Functions,
    names: HashSet<Arc<str>>,
}

/// A call, kept small: there may be millions.
#[derive(Debug)]
pub(super) struct DraftCall {
    pub begin: i64,
    pub end: i64,
    pub correlation: u64,
    /// Position in [`Threads`].
    pub thread: u32,
    /// Position in [`Functions`].
    pub function: u32,
    pub arguments: Option<Box<Arguments>>,
}

/// What a call was given, in traces that say so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub bytes: Option<u64>,
    pub from: Option<u64>,
    pub to: Option<u64>,
    /// The memory that is taken or given back.
    pub address: Option<u64>,
}

#[derive(Debug)]
pub(super) struct DraftWork {
    pub kind: WorkKind,
    /// `None` where the file does not say: then ids of all processes are compared.
    pub process: Option<u64>,
    pub device: u32,
    pub stream: u64,
    pub start: i64,
    pub end: i64,
    pub correlation: u64,
    pub graph_node: Option<u64>,
    /// Moved by the driver itself, between processors that share memory: no call asked for it.
    pub is_uncalled: bool,
}

/// What a record beside a call says about it: which stream or event it was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fact {
    pub process: Option<u64>,
    pub correlation: u64,
    pub device: u32,
    pub stream: Option<u64>,
    pub event: Option<u64>,
    /// Concluded from a record about another call: that this one is missing is no defect.
    pub is_indirect: bool,
}

/// Memory that was taken or given back, at a time within the call that did it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryEvent {
    pub process: u64,
    pub time: i64,
    pub memory: MemoryKind,
    pub address: u64,
    pub bytes: u64,
    pub is_free: bool,
}

#[derive(Debug)]
pub(super) struct DraftRange {
    pub thread: u32,
    pub name: Arc<str>,
    pub begin: i64,
    pub end: i64,
}

impl Draft {
    pub fn of(tool: &'static str) -> Self {
        Self {
            origin: Origin { tool, version: None, part: None },
            gpu_names: BTreeMap::new(),
            threads: Threads::default(),
            calls: Vec::new(),
            work: Vec::new(),
            facts: Vec::new(),
            memory: Vec::new(),
            ranges: Vec::new(),
            defects: BTreeMap::new(),
            unset: None,
            functions: Functions::default(),
            names: HashSet::new(),
        }
    }

    pub fn note(&mut self, defect: Defect) {
        *self.defects.entry(defect).or_default() += 1;
    }

    /// Whether an event's times can be used. If not, that is noted.
    pub fn is_forwards(&mut self, begin: i64, end: i64) -> bool {
        if end < begin {
            self.note(Defect::EndsBeforeStart);
        }
        begin <= end
    }

    /// One copy of a name, however often it occurs.
    pub fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    pub fn events(&self) -> usize {
        self.calls.len() + self.work.len() + self.facts.len() + self.ranges.len()
    }
}

/// The threads of all processes, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pub all: Vec<HostThread>,
    positions: HashMap<(u64, u64), u32>,
    names: HashMap<(u64, u64), String>,
}

impl Threads {
    pub fn position(&mut self, process: u64, id: u64) -> u32 {
        *self.positions.entry((process, id)).or_insert_with(|| {
            self.all.push(HostThread { process, id, name: None });
            self.all.len() as u32 - 1
        })
    }

    /// Names a thread that has been met or will be. The first name stays.
    pub fn set_name(&mut self, process: u64, id: u64, name: &str) {
        let name = name.trim();
        if !name.is_empty() {
            self.names.entry((process, id)).or_insert_with(|| name.to_owned());
        }
    }

    pub fn process(&self, position: u32) -> u64 {
        self.all[position as usize].process
    }

    pub fn named(mut self) -> Vec<HostThread> {
        for thread in &mut self.all {
            thread.name = self.names.remove(&(thread.process, thread.id));
        }
        self.all
    }
}

/// The functions that were called.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub all: Vec<CalledFunction>,
    positions: HashMap<String, u32>,
}

#[derive(Debug)]
pub(super) struct CalledFunction {
    pub name: Arc<str>,
    pub action: Action,
    pub is_driver: bool,
    pub is_rocm: bool,
}

impl Functions {
    pub fn position(&mut self, full: &str) -> u32 {
        if let Some(&position) = self.positions.get(full) {
            return position;
        }
        let function = Function::named(full);
        let position = self.all.len() as u32;
        self.all.push(CalledFunction {
            name: function.name.into(),
            action: function.action,
            is_driver: function.is_driver,
            is_rocm: function.is_rocm(),
        });
        self.positions.insert(full.to_owned(), position);
        position
    }

    pub fn of(&self, call: &DraftCall) -> &CalledFunction {
        &self.all[call.function as usize]
    }
}

impl Fact {
    pub fn key(&self, process: u64) -> Option<StreamKey> {
        self.stream.map(|stream| StreamKey { process, device: self.device, stream })
    }
}

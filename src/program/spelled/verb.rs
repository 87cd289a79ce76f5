//! Which call a table is, and whether it has the keys of that call and no others.

use super::Mistake;
use super::raw::RawCall;
use crate::files::Spanned;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a call does, with the keys that it needs.
#[derive(Debug)]
pub(super) enum Verb<'r> {
    Copy { from: &'r Spanned<String>, to: &'r Spanned<String> },
    Launch(KernelCall<'r>),
    Compute(KernelCall<'r>),
    Clear(&'r Spanned<String>),
    Record(&'r Spanned<String>),
    Wait(&'r Spanned<String>),
    Synchronize(&'r Spanned<String>),
    Allocate(&'r Spanned<String>),
    Pin(&'r Spanned<String>),
    Renew(&'r Spanned<String>),
    Repeat { times: &'r Spanned<i64>, index: Option<&'r Spanned<String>>, calls: &'r [RawCall] },
    Graph { calls: &'r Spanned<Vec<RawCall>> },
}

/// A kernel with what it works on.
#[derive(Debug)]
pub(super) struct KernelCall<'r> {
    pub kernel: &'r Spanned<String>,
    pub reads: &'r Spanned<Vec<Spanned<String>>>,
    pub writes: &'r Spanned<String>,
    pub arguments: Option<&'r BTreeMap<Spanned<String>, Spanned<f64>>>,
    pub lead: Option<&'r Spanned<i64>>,
    pub workspace: Option<&'r Spanned<String>>,
}

/// Every key that says which call a table is, with those that must and those that may stand beside
/// it.
const CALLS: [(&str, &[&str], &[&str]); 12] = [
    ("copy", &["to"], &["stream"]),
    ("launch", &["reads", "writes"], &["arguments", "lead", "workspace", "stream"]),
    ("compute", &["reads", "writes"], &["arguments", "lead"]),
    ("clear", &[], &["stream"]),
    ("record", &[], &["stream"]),
    ("wait", &[], &["stream"]),
    ("synchronize", &[], &[]),
    ("allocate", &[], &[]),
    ("pin", &[], &[]),
    ("renew", &[], &[]),
    ("repeat", &["calls"], &["index"]),
    ("graph", &[], &["stream"]),
];

impl RawCall {
    /// The keys that are there, with the places of their values.
    fn keys(&self) -> Vec<(&'static str, Range<usize>)> {
        fn of<T>(
            key: &'static str,
            value: &Option<Spanned<T>>,
        ) -> Option<(&'static str, Range<usize>)> {
            value.as_ref().map(|value| (key, value.span()))
        }
        let keys = [
            of("copy", &self.copy),
            of("launch", &self.launch),
            of("compute", &self.compute),
            of("clear", &self.clear),
            of("record", &self.record),
            of("wait", &self.wait),
            of("synchronize", &self.synchronize),
            of("allocate", &self.allocate),
            of("pin", &self.pin),
            of("renew", &self.renew),
            of("repeat", &self.repeat),
            of("graph", &self.graph),
            of("to", &self.to),
            of("reads", &self.reads),
            of("writes", &self.writes),
            of("arguments", &self.arguments),
            of("lead", &self.lead),
            of("workspace", &self.workspace),
            of("index", &self.index),
            of("calls", &self.calls),
            of("stream", &self.stream),
        ];
        keys.into_iter().flatten().collect()
    }

    /// Which call this is, and where in the file it stands. `within` is the place of what it is
    /// in, for a call without any key.
    pub(super) fn verb(&self, within: &Range<usize>) -> Result<(Verb<'_>, Range<usize>), Mistake> {
        let keys = self.keys();
        let is_call = |key: &str| CALLS.iter().find(|(call, ..)| *call == key);
        let mut calls = keys.iter().filter_map(|(key, span)| Some((is_call(key)?, span)));
        let Some(((call, needs, takes), span)) = calls.next() else {
            let span = keys.first().map_or(within, |(_, span)| span).clone();
            let all: Vec<String> = CALLS.iter().map(|(call, ..)| format!("`{call}`")).collect();
            let message = "a call does not say what it does".to_owned();
            let help = format!("give it one of {}", all.join(", "));
            return Err(Mistake::new(message, span, "no call", help));
        };
        if let Some(((other, ..), second)) = calls.next() {
            let message = format!("a call is both `{call}` and `{other}`");
            let help = "write two calls, one after the other";
            return Err(Mistake::new(message, second.clone(), "a second call", help)
                .and(span.clone(), "the first"));
        }
        let is_known = |key: &str| key == *call || needs.contains(&key) || takes.contains(&key);
        if let Some((key, place)) = keys.iter().find(|(key, _)| !is_known(key)) {
            let known: Vec<String> =
                needs.iter().chain(*takes).map(|key| format!("`{key}`")).collect();
            let help = match known.as_slice() {
                [] => format!("take it out: `{call}` takes no other key"),
                known => format!("take it out: beside `{call}` there may be {}", known.join(", ")),
            };
            let message = format!("`{key}` is no key of a `{call}`");
            return Err(Mistake::new(message, place.clone(), "has no meaning here", help));
        }
        let missing = needs.iter().find(|&need| !keys.iter().any(|(key, _)| key == need));
        match (self.with_keys(), missing) {
            (Some(verb), None) => Ok((verb, span.clone())),
            (_, missing) => {
                let missing = missing.copied().unwrap_or("key");
                let message = format!("this `{call}` has no `{missing}`");
                let help = format!("add `{missing} = ...`");
                Err(Mistake::new(message, span.clone(), "is not enough", help))
            }
        }
    }

    /// The call, if all that it needs is there.
    fn with_keys(&self) -> Option<Verb<'_>> {
        let kernel = |kernel| {
            Some(KernelCall {
                kernel,
                reads: self.reads.as_ref()?,
                writes: self.writes.as_ref()?,
                arguments: self.arguments.as_ref().map(Spanned::get_ref),
                lead: self.lead.as_ref(),
                workspace: self.workspace.as_ref(),
            })
        };
        if let Some(from) = &self.copy {
            return Some(Verb::Copy { from, to: self.to.as_ref()? });
        }
        if let Some(name) = &self.launch {
            return kernel(name).map(Verb::Launch);
        }
        if let Some(name) = &self.compute {
            return kernel(name).map(Verb::Compute);
        }
        if let Some(times) = &self.repeat {
            let calls = self.calls.as_ref()?.get_ref();
            return Some(Verb::Repeat { times, index: self.index.as_ref(), calls });
        }
        if let Some(calls) = &self.graph {
            return Some(Verb::Graph { calls });
        }
        let clear = self.clear.as_ref().map(Verb::Clear);
        clear
            .or_else(|| self.record.as_ref().map(Verb::Record))
            .or_else(|| self.wait.as_ref().map(Verb::Wait))
            .or_else(|| self.synchronize.as_ref().map(Verb::Synchronize))
            .or_else(|| self.allocate.as_ref().map(Verb::Allocate))
            .or_else(|| self.pin.as_ref().map(Verb::Pin))
            .or_else(|| self.renew.as_ref().map(Verb::Renew))
    }
}

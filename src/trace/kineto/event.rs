//! One event, from its text into the draft.

use super::arguments::{Arguments, host, id, number, sizes, text};
use super::decimal::nanos;
use super::names;
use crate::trace::WorkKind;
use crate::trace::draft::{self, Draft, DraftCall, DraftRange, DraftWork, Fact, MOST_BYTES, NO_ID};
use crate::units::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    ph: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cat: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dur: Option<&'a RawValue>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

/// Takes what is of use in an event. False if it cannot be read.
pub(super) fn take(draft: &mut Draft, text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Ok(event) = serde_json::from_str::<Event>(&text) else { return false };
    event.take(draft).is_some()
}

impl Event<'_> {
    /// `None` if something that the event must have is missing or cannot be read.
    fn take(&self, draft: &mut Draft) -> Option<()> {
        match text(self.ph) {
            Some("X") => {}
            Some("M") => return self.take_metadata(draft),
            _ => return Some(()),
        }
        // Until 2022 some categories were written with a capital.
        match text(self.cat).unwrap_or_default() {
            "cuda_runtime" | "cuda_driver" | "Runtime" => self.take_call(draft),
            "kernel" | "Kernel" => self.take_work(draft, Self::kernel),
            "gpu_memcpy" | "Memcpy" => self.take_work(draft, Self::copy),
            "gpu_memset" | "Memset" => self.take_work(draft, Self::clear),
            "cuda_sync" => self.take_synchronization(draft),
            "user_annotation" => self.take_range(draft),
            _ => Some(()),
        }
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        let raw = self.name?.get();
        match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
            _ => serde_json::from_str(raw).ok().map(Cow::Owned),
        }
    }

    /// Begin and end.
    fn times(&self) -> Option<(i64, i64)> {
        let begin = nanos(text(self.ts)?)?;
        Some((begin, begin.checked_add(nanos(text(self.dur)?)?)?))
    }

    fn take_metadata(&self, draft: &mut Draft) -> Option<()> {
        if text(self.name) == Some("thread_name")
            && let (Some(process), Some(thread)) = (host(self.pid), host(self.tid))
        {
            let name = Arguments::of(self.args)?.name?;
            let name: String = serde_json::from_str(name.get()).ok()?;
            draft.threads.set_name(process, thread, &name);
        }
        Some(())
    }

    fn take_call(&self, draft: &mut Draft) -> Option<()> {
        let arguments = Arguments::of(self.args)?;
        let given = draft::Arguments {
            bytes: number(arguments.size).filter(|&bytes| bytes <= MOST_BYTES),
            from: number(arguments.src),
            to: number(arguments.dst),
            address: number(arguments.ptr),
        };
        let name = self.name()?;
        let (process, thread) = (host(self.pid)?, host(self.tid)?);
        let (begin, end) = self.times()?;
        if draft.is_forwards(begin, end) {
            let call = DraftCall {
                begin,
                end,
                correlation: number(arguments.correlation).unwrap_or(NO_ID),
                thread: draft.threads.position(process, thread),
                function: draft.functions.position(&name),
                arguments: (given != draft::Arguments::default()).then(|| Box::new(given)),
            };
            draft.calls.push(call);
        }
        Some(())
    }

    fn take_work(
        &self,
        draft: &mut Draft,
        kind: fn(&Self, &mut Draft, &Arguments) -> Option<WorkKind>,
    ) -> Option<()> {
        let arguments = Arguments::of(self.args)?;
        let kind = kind(self, draft, &arguments)?;
        let device = number(arguments.device).or_else(|| number(self.pid))?;
        let device = u32::try_from(device).ok()?;
        let stream = id(arguments.stream).or_else(|| id(self.tid))?;
        let (start, end) = self.times()?;
        if draft.is_forwards(start, end) {
            draft.work.push(DraftWork {
                kind,
                process: None,
                device,
                stream,
                start,
                end,
                correlation: number(arguments.correlation).unwrap_or(NO_ID),
                graph_node: id(arguments.graph_node).filter(|&node| node != 0),
                is_uncalled: false,
            });
        }
        Some(())
    }

    fn kernel(&self, draft: &mut Draft, arguments: &Arguments) -> Option<WorkKind> {
        let name = self.name()?;
        let shared = number(arguments.shared);
        is_memory(shared).then_some(())?;
        Some(WorkKind::Kernel {
            name: draft.name(&name),
            grid: sizes(arguments.grid)?,
            block: sizes(arguments.block)?,
            registers: u32::try_from(number(arguments.registers).unwrap_or(0)).ok()?,
            shared: Bytes::new(shared.unwrap_or(0)),
        })
    }

    fn copy(&self, _: &mut Draft, arguments: &Arguments) -> Option<WorkKind> {
        let (from, to) = names::memory(&self.name()?)?;
        let bytes = number(arguments.bytes);
        is_memory(bytes).then_some(WorkKind::Copy { from, to, bytes: bytes.map(Bytes::new) })
    }

    fn clear(&self, _: &mut Draft, arguments: &Arguments) -> Option<WorkKind> {
        let bytes = number(arguments.bytes);
        is_memory(bytes).then_some(WorkKind::Clear { bytes: bytes.map(Bytes::new) })
    }

    /// A wait tells about itself and, if it is for an event, about the call that recorded it.
    fn take_synchronization(&self, draft: &mut Draft) -> Option<()> {
        let arguments = Arguments::of(self.args)?;
        let device = number(arguments.device).and_then(|device| u32::try_from(device).ok());
        let device = device.unwrap_or(0);
        let event = id(arguments.wait_on_cuda_event_id);
        draft.facts.push(Fact {
            process: None,
            correlation: number(arguments.correlation)?,
            device,
            stream: id(arguments.stream),
            event,
            is_indirect: false,
        });
        if let (Some(correlation), Some(_)) =
            (id(arguments.wait_on_cuda_event_record_corr_id), event)
        {
            let stream = id(arguments.wait_on_stream);
            let process = None;
            let is_indirect = true;
            let fact = Fact { process, correlation, device, stream, event, is_indirect };
            draft.facts.push(fact);
        }
        Some(())
    }

    fn take_range(&self, draft: &mut Draft) -> Option<()> {
        let name = self.name()?;
        let (process, thread) = (host(self.pid)?, host(self.tid)?);
        let (begin, end) = self.times()?;
        if draft.is_forwards(begin, end) {
            let name = draft.name(&name);
            let thread = draft.threads.position(process, thread);
            draft.ranges.push(DraftRange { thread, name, begin, end });
        }
        Some(())
    }
}

/// Whether a number of bytes can be one, if there is one.
fn is_memory(bytes: Option<u64>) -> bool {
    bytes.is_none_or(|bytes| bytes <= MOST_BYTES)
}

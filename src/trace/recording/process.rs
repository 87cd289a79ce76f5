//! The blocks of one process.

use super::about::{RecordedProcess, RecordingError, Totals};
use super::blocks::{Block, Numbers};
use super::ranges::RawRanges;
use crate::record::format::{
    self, FAILED, FLAG_BITS, Form, MOST_POINTERS, Note, OF_GRAPH, OTHER_CONTEXT, REMARK,
};
use crate::trace::{CallKind, CopyPlaces, MemoryKind, WorkKind};
use crate::units::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a process did, with its own numbers of streams and calls.
#[derive(Default)]
pub struct Process {
    pub about: RecordedProcess,
    functions: Vec<(Form, Arc<str>)>,
    names: Vec<Arc<str>>,
    shapes: Vec<WorkKind>,
    pub streams: Vec<RawStream>,
    /// Threads by their positions; a number may be used again once its thread is gone.
    pub threads: Vec<(u64, Option<String>)>,
    pub positions: HashMap<u64, usize>,
    pub calls: Vec<RawCall>,
    pub work: Vec<RawWork>,
    pub created: Vec<Created>,
    pub remarks: Vec<Remark>,
    /// What recording adds between two calls of a form, in nanoseconds.
    pub costs: HashMap<u8, u64>,
    pub ranges: RawRanges,
    /// The names of GPUs by their numbers.
    pub gpus: BTreeMap<u32, String>,
    pub dropped: u64,
}

/// A stream as CUPTI numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStream {
    pub device: u32,
    pub context: u32,
    pub number: u32,
}

/// A stream that the program made.
pub struct Created {
    pub time: u64,
    pub handle: u64,
    pub context: u32,
    pub number: u32,
}

/// A call, whose stream is the handle that the program used.
pub struct RawCall {
    pub thread: usize,
    pub kind: CallKind,
    pub form: Form,
    pub function: Arc<str>,
    pub begin: u64,
    pub end: u64,
    pub correlation: u64,
    pub context: u64,
    pub handle: Option<u64>,
}

/// What the recorder found out about a copy, and when it was busy with that.
pub struct Remark {
    pub thread: usize,
    pub correlation: u64,
    pub begin: u64,
    pub end: u64,
    pub about: About,
}

pub enum About {
    Digest(u64),
    /// How many of eight pages of the target had never been touched.
    NewPages(u8),
    Changed,
}

/// What a GPU did.
pub struct RawWork {
    pub kind: WorkKind,
    pub stream: RawStream,
    pub start: u64,
    pub end: u64,
    pub correlation: u64,
    pub node: Option<u64>,
}

/// The numbers of the call before.
#[derive(Default)]
struct Last {
    begin: u64,
    correlation: u64,
    context: u64,
    addresses: [u64; 2],
    stream: u64,
    event: u64,
}

impl Process {
    /// A process by the block with which it begins.
    pub fn begin(mut block: Numbers) -> Result<Self, RecordingError> {
        let id = block.number()?;
        let _started = block.number()?;
        let version = block.number()?;
        let cupti = block.text()?;
        let program = block.text()?;
        let program = program.trim_end_matches('\0').split('\0').map(str::to_owned);
        let program = program.filter(|word| !word.is_empty()).collect();
        let cupti = (!cupti.is_empty()).then_some((cupti, version));
        let about = RecordedProcess { id, program, cupti, ..RecordedProcess::default() };
        Ok(Self { about, ..Self::default() })
    }

    pub fn read(&mut self, block: Block) -> Result<(), RecordingError> {
        let mut numbers = block.payload;
        match block.kind {
            format::FUNCTIONS => {
                while !numbers.is_at_end() {
                    let form = Form::from_code(numbers.byte()?).ok_or(numbers.malformed())?;
                    self.functions.push((form, numbers.text()?.into()));
                }
            }
            format::THREAD => {
                let (id, name) = (numbers.number()?, numbers.text()?);
                self.positions.insert(id, self.threads.len());
                self.threads.push((id, Some(name).filter(|name| !name.is_empty())));
            }
            format::CALLS => self.read_calls(numbers)?,
            format::DEVICE => self.read_work(numbers)?,
            format::TOTALS => {
                let [calls, copies, copied, kernels] =
                    [numbers.number()?, numbers.number()?, numbers.number()?, numbers.number()?];
                self.about.totals = Totals { calls, copies, copied, kernels };
            }
            format::NOTE => {
                let note = Note::from_code(numbers.byte()?).ok_or(numbers.malformed())?;
                let text = String::from_utf8_lossy(numbers.all()).into_owned();
                self.about.notes.push((note, text));
            }
            format::COSTS => {
                while !numbers.is_at_end() {
                    self.costs.insert(numbers.byte()?, numbers.number()?);
                }
            }
            format::END => self.about.has_ended = true,
            format::RANGES => self.ranges.read(numbers, &mut self.about.ranges)?,
            format::GPU => {
                let device = numbers.small()?;
                self.gpus.insert(device, numbers.text()?);
            }
            _ => return Err(numbers.malformed()),
        }
        Ok(())
    }

    fn read_calls(&mut self, mut from: Numbers) -> Result<(), RecordingError> {
        let id = from.number()?;
        let threads = &mut self.threads;
        let thread = *self.positions.entry(id).or_insert_with(|| {
            threads.push((id, None));
            threads.len() - 1
        });
        let mut last = Last::default();
        while !from.is_at_end() {
            let first = from.number()?;
            last.begin = from.step(last.begin)?;
            let (begin, end) = (last.begin, last.begin.saturating_add(from.number()?));
            last.correlation = from.step(last.correlation)?;
            let correlation = last.correlation;
            if first == REMARK {
                let about = about(&mut from)?;
                self.remarks.push(Remark { thread, correlation, begin, end, about });
                continue;
            }
            let position = ((first >> FLAG_BITS) as usize).wrapping_sub(1);
            let (form, name) = self.functions.get(position).ok_or(from.malformed())?;
            if first & OTHER_CONTEXT != 0 {
                last.context = from.number()?;
            }
            let (mut kind, mut handle) = (CallKind::Other, None);
            if first & FAILED == 0 {
                (kind, handle) = arguments(*form, &mut from, &mut last)?;
            }
            let context = last.context;
            self.calls.push(RawCall {
                thread,
                kind,
                form: *form,
                function: Arc::clone(name),
                begin,
                end,
                correlation,
                context,
                handle,
            });
        }
        Ok(())
    }

    fn read_work(&mut self, mut from: Numbers) -> Result<(), RecordingError> {
        let (mut start, mut correlation, mut node) = (0, 0, 0);
        while !from.is_at_end() {
            let kind = from.byte()?;
            let base = kind & !OF_GRAPH;
            match kind {
                format::NAME => self.names.push(from.text()?.into()),
                format::SHAPE => self.read_shape(&mut from)?,
                format::STREAM => {
                    let (device, context) = (from.small()?, from.small()?);
                    self.streams.push(RawStream { device, context, number: from.small()? });
                }
                format::CREATED => {
                    let (time, handle) = (from.number()?, from.number()?);
                    let (context, number) = (from.small()?, from.small()?);
                    self.created.push(Created { time, handle, context, number });
                }
                format::DROPPED => self.dropped = self.dropped.saturating_add(from.number()?),
                _ if matches!(base, format::KERNEL | format::COPY | format::CLEAR) => {
                    let stream = self.stream(&mut from)?;
                    start = from.step(start)?;
                    let end = from.step(start)?;
                    correlation = from.step(correlation)?;
                    if kind & OF_GRAPH != 0 {
                        node = from.step(node)?;
                    }
                    let of_graph = (kind & OF_GRAPH != 0).then_some(node);
                    let kind = self.read_kind(base, &mut from)?;
                    let work = RawWork { kind, stream, start, end, correlation, node: of_graph };
                    self.work.push(work);
                }
                _ => return Err(from.malformed()),
            }
        }
        Ok(())
    }

    fn read_kind(&self, kind: u8, from: &mut Numbers) -> Result<WorkKind, RecordingError> {
        match kind {
            format::KERNEL => {
                let shape: usize = from.small()?;
                self.shapes.get(shape).cloned().ok_or(from.malformed())
            }
            format::COPY => {
                // CUPTI's kind of copy says nothing that the kinds of memory do not.
                let [_, source, target] = from.fixed()?;
                let (source, target) = (memory_kind(source), memory_kind(target));
                let bytes = Some(Bytes::new(from.number()?));
                Ok(WorkKind::Copy { from: source, to: target, bytes })
            }
            _ => Ok(WorkKind::Clear { bytes: Some(Bytes::new(from.number()?)) }),
        }
    }

    fn read_shape(&mut self, from: &mut Numbers) -> Result<(), RecordingError> {
        let name: usize = from.small()?;
        let name = Arc::clone(self.names.get(name).ok_or(from.malformed())?);
        let mut sizes = [0; 7];
        for size in &mut sizes {
            *size = from.small()?;
        }
        let [gx, gy, gz, bx, by, bz, registers] = sizes;
        let shared = Bytes::new(from.number()?);
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        self.shapes.push(WorkKind::Kernel { name, grid, block, registers, shared });
        Ok(())
    }

    fn stream(&self, from: &mut Numbers) -> Result<RawStream, RecordingError> {
        let position: usize = from.small()?;
        self.streams.get(position).copied().ok_or(from.malformed())
    }
}

fn about(from: &mut Numbers) -> Result<About, RecordingError> {
    Ok(match from.byte()? {
        format::DIGEST => About::Digest(u64::from_le_bytes(from.fixed()?)),
        format::NEW_PAGES => About::NewPages(from.byte()?),
        format::CHANGED => About::Changed,
        _ => return Err(from.malformed()),
    })
}

/// What a call asks for, and the handle of its stream.
fn arguments(
    form: Form,
    from: &mut Numbers,
    last: &mut Last,
) -> Result<(CallKind, Option<u64>), RecordingError> {
    let stream = None;
    let kind = match form {
        Form::Other => CallKind::Other,
        Form::Copy | Form::BlockingCopy => {
            let [to, source] = [address(0, from, last)?, address(1, from, last)?];
            let known = |address: u64| (address != 0).then_some(address);
            let places = CopyPlaces { from: known(source), to: known(to), ..CopyPlaces::default() };
            let (bytes, blocking) = (bytes(from)?, form == Form::BlockingCopy);
            CallKind::Copy { places, bytes, stream, blocking }
        }
        Form::Clear => {
            let target = Some(address(0, from, last)?).filter(|address| *address != 0);
            CallKind::Clear { target, bytes: bytes(from)?, stream }
        }
        Form::Launch => {
            let handle = handle(from, last)?;
            let count: usize = from.small()?;
            if count > MOST_POINTERS {
                return Err(from.malformed());
            }
            let pointers: Result<Vec<u64>, _> =
                (0..count).map(|_| address(0, from, last)).collect();
            return Ok((CallKind::Launch { stream, pointers: pointers? }, Some(handle)));
        }
        Form::LaunchGraph => CallKind::LaunchGraph { stream },
        Form::Record => CallKind::Record { event: event(from, last)?, stream },
        Form::Wait => CallKind::Wait { event: event(from, last)?, stream },
        Form::Synchronize => CallKind::Synchronize { stream },
        Form::SynchronizeEvent => CallKind::SynchronizeEvent { event: event(from, last)? },
        Form::SynchronizeDevice => CallKind::SynchronizeDevice,
        Form::AllocateDevice
        | Form::AllocateAsync
        | Form::AllocatePinned
        | Form::AllocateManaged => {
            let memory = match form {
                Form::AllocatePinned => MemoryKind::Pinned,
                Form::AllocateManaged => MemoryKind::Managed,
                _ => MemoryKind::Device,
            };
            let address = address(0, from, last)?;
            CallKind::Allocate { memory, address, bytes: Bytes::new(from.number()?), stream }
        }
        Form::Free | Form::FreeAsync => CallKind::Free { address: address(0, from, last)?, stream },
        Form::Register => {
            let address = address(0, from, last)?;
            CallKind::Register { address, bytes: Bytes::new(from.number()?) }
        }
        Form::Unregister => CallKind::Unregister { address: address(0, from, last)? },
        Form::Prefetch => {
            let address = address(0, from, last)?;
            CallKind::Prefetch { address, bytes: bytes(from)?.unwrap_or_default(), stream }
        }
    };
    let handle = if has_stream(form) { Some(handle(from, last)?) } else { None };
    Ok((kind, handle))
}

/// Whether the last argument of such a call is a stream.
const fn has_stream(form: Form) -> bool {
    matches!(
        form,
        Form::Copy
            | Form::BlockingCopy
            | Form::Clear
            | Form::LaunchGraph
            | Form::Record
            | Form::Wait
            | Form::Synchronize
            | Form::AllocateAsync
            | Form::FreeAsync
            | Form::Prefetch
    )
}

fn address(place: usize, from: &mut Numbers, last: &mut Last) -> Result<u64, RecordingError> {
    last.addresses[place] = from.step(last.addresses[place])?;
    Ok(last.addresses[place])
}

fn handle(from: &mut Numbers, last: &mut Last) -> Result<u64, RecordingError> {
    last.stream = from.step(last.stream)?;
    Ok(last.stream)
}

fn event(from: &mut Numbers, last: &mut Last) -> Result<u64, RecordingError> {
    last.event = from.step(last.event)?;
    Ok(last.event)
}

/// A number of bytes, written as one more; 0 if it is not known.
fn bytes(from: &mut Numbers) -> Result<Option<Bytes>, RecordingError> {
    Ok(from.number()?.checked_sub(1).map(Bytes::new))
}

/// `CUpti_ActivityMemoryKind`.
const fn memory_kind(code: u8) -> MemoryKind {
    match code {
        1 => MemoryKind::Pageable,
        2 => MemoryKind::Pinned,
        3 => MemoryKind::Device,
        4 => MemoryKind::Array,
        5 => MemoryKind::Managed,
        _ => MemoryKind::Unknown,
    }
}

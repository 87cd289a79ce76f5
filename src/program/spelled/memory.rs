//! Calls on memory: copies, whose kind follows from where their memory lies; taking it, giving it
//! back, pinning, renewing, prefetching.

use super::call::{RawCall, needed};
use super::expansion::Expansion;
use super::expression::{Part, evaluate};
use super::values::RawThreads;
use crate::files::{Fault, Spanned};
use crate::machine::{DeviceId, Direction, HostMemory, Residence, StreamId};
use crate::program::{AllocationId, Call, CopyBy, Place, Route, Rows, Slice, Threads};
use crate::units::Bytes;

impl Expansion<'_> {
    pub(super) fn copy(&mut self, source: &Spanned<String>, copy: &RawCall) -> Result<(), Fault> {
        let (target, name) = (needed(&copy.to), copy.stream.as_ref());
        let mut from = self.scope.slice(source)?;
        let mut to = self.scope.slice(target)?;
        let rows = self.rows(copy, [(&mut from, source), (&mut to, target)])?;
        if rows.is_none() && from.length != to.length {
            let message = format!("this call copies {} to a range of {}", from.length, to.length);
            let help = "use ranges of the same size, such as `x[0..4 MiB]`";
            return Err(
                Fault::new(message, source.span(), "from here", help).and(target.span(), "to here")
            );
        }
        let (route, memory) = match (self.place(&from), self.place(&to)) {
            (Place::Host(_), Place::Host(_)) => {
                return self.copy_on_host(copy, [from, to], rows);
            }
            (Place::Host(_), Place::Device(_)) => (Route::Crossing(Direction::HostToDevice), to),
            (Place::Device(_), Place::Host(_)) => (Route::Crossing(Direction::DeviceToHost), from),
            (Place::Device(one), Place::Device(other)) if one == other => (Route::OnDevice, from),
            _ => (Route::ToPeer, from),
        };
        if let Some(threads) = &copy.threads {
            let message =
                "`threads` is set on a copy that the GPU's copy engines perform".to_owned();
            let help = "remove it: only copies within host memory have `threads`";
            return Err(Fault::new(message, threads.span(), "no effect", help));
        }
        let device = self.device_of(&memory);
        let stream = self.stream(name, device)?;
        // `cudaMemcpy` inside a device does not wait (CUDA Runtime API, "API synchronization
        // behavior").
        let waits = name.is_none() && route != Route::OnDevice;
        if route == Route::ToPeer && rows.is_some() {
            let message = "this call copies rows from one GPU to another".to_owned();
            let help = "first copy them to contiguous memory on the same GPU, then copy that to \
                        the other GPU";
            let place = copy.rows.as_ref().map_or_else(|| source.span(), Spanned::span);
            return Err(Fault::new(message, place, "not between GPUs", help));
        }
        self.push(Call::Copy { by: CopyBy::Stream(stream, route), from, to, rows })?;
        if waits { self.put(Call::Synchronize { stream }) } else { Ok(()) }
    }

    fn copy_on_host(
        &mut self,
        copy: &RawCall,
        [from, to]: [Slice; 2],
        rows: Option<Rows>,
    ) -> Result<(), Fault> {
        if let Some(stream) = &copy.stream {
            let from = needed(&copy.copy);
            let message = format!("the CPU copies `{from}`, so the copy cannot be in a stream");
            let help = "remove `stream`: the host waits for copies by the CPU";
            return Err(Fault::new(message, stream.span(), "no GPU involved", help));
        }
        if rows.is_some() {
            let message = "rows cannot be copied by the CPU".to_owned();
            let help = "copy each row in a `repeat`: `x[i * 8 KiB..+2 KiB]`";
            return Err(Fault::new(message, self.at.clone(), "both in host memory", help));
        }
        let threads = match &copy.threads {
            None => Threads::One,
            Some(threads) => match threads.get_ref() {
                RawThreads::Number(1) => Threads::One,
                RawThreads::Word(word) if word == "all" => Threads::All,
                other => {
                    let shown = match other {
                        RawThreads::Number(number) => number.to_string(),
                        RawThreads::Word(word) => format!("\"{word}\""),
                    };
                    let message = format!("`threads` is {shown}");
                    let help = "write 1 or \"all\"";
                    return Err(Fault::new(message, threads.span(), "not supported", help));
                }
            },
        };
        self.push(Call::copy(CopyBy::Host(threads), from, to))
    }

    /// The rows of a copy; both slices then end where the last row does.
    fn rows(
        &self,
        copy: &RawCall,
        [from, to]: [(&mut Slice, &Spanned<String>); 2],
    ) -> Result<Option<Rows>, Fault> {
        let Some(count) = &copy.rows else { return Ok(None) };
        let row = needed(&copy.row);
        let number = count.within("`rows`", 1..=i64::MAX)?;
        let bytes = self.bytes(row)?;
        let pitch = |key: &str, pitch: &Option<Spanned<String>>| {
            let Some(pitch) = pitch else { return Ok(bytes) };
            let found = self.bytes(pitch)?;
            if found >= bytes {
                return Ok(found);
            }
            let message = format!("a row of {bytes} is wider than its `{key}` of {found}");
            let help = "make the pitch at least as large as a row";
            Err(Fault::new(message, pitch.span(), "smaller than a row", help)
                .and(row.span(), "the row"))
        };
        let pitches = [pitch("pitch", &copy.pitch)?, pitch("to_pitch", &copy.to_pitch)?];
        for ((slice, text), pitch) in [from, to].into_iter().zip(pitches) {
            let needs = Rows::span(bytes, pitch, number).filter(|&needs| needs <= slice.length);
            slice.length = needs.ok_or_else(|| {
                let has = slice.length;
                let message =
                    format!("{number} rows of {bytes} at a pitch of {pitch} do not fit into {has}");
                let help = "copy fewer rows, or use a larger range";
                Fault::new(message, text.span(), "too small", help).and(count.span(), "the rows")
            })?;
        }
        // Rows without a gap are one range.
        Ok((pitches != [bytes; 2]).then_some(Rows { row: bytes, pitch: pitches }))
    }

    fn bytes(&self, text: &Spanned<String>) -> Result<Bytes, Fault> {
        let part = Part::whole(text);
        let value = evaluate(part, &self.scope.indices)?;
        let bytes = u64::try_from(value).ok().filter(|&bytes| bytes > 0).map(Bytes::new);
        bytes.ok_or_else(|| {
            let message = format!("a row cannot have {value} bytes");
            part.fault(message, "too small", "write an amount such as `\"2 KiB\"`")
        })
    }

    /// The memory of a name, and the stream in whose order it is taken or given back, if one is
    /// named: only a GPU's memory can be.
    pub(super) fn in_stream(
        &mut self,
        memory: &Spanned<String>,
        stream: Option<&Spanned<String>>,
    ) -> Result<(AllocationId, Option<StreamId>), Fault> {
        let allocation = self.scope.whole(memory)?;
        let Some(stream) = stream else { return Ok((allocation, None)) };
        if let Place::Host(_) = self.scope.allocations[allocation.0].place {
            let message = format!(
                "`{memory}` is host memory, which cannot be allocated or freed in a stream"
            );
            let help = "remove `stream`";
            return Err(Fault::new(message, memory.span(), "not on a GPU", help));
        }
        Ok((allocation, Some(self.scope.stream(stream)?)))
    }

    pub(super) fn pin(&mut self, memory: &Spanned<String>) -> Result<Call, Fault> {
        let id = self.scope.whole(memory)?;
        if !self.pinned.contains(&id) {
            self.check_pageable(memory, id, "pinned", "pin pageable memory")?;
            self.scope.allocations[id.0].place = Place::Host(HostMemory::Pinned);
            self.pinned.insert(id);
        }
        Ok(Call::Pin(id))
    }

    pub(super) fn renew(&mut self, memory: &Spanned<String>) -> Result<Call, Fault> {
        let id = self.scope.whole(memory)?;
        self.check_pageable(memory, id, "renewed", "renew pageable memory")?;
        Ok(Call::Renew(id))
    }

    fn check_pageable(
        &self,
        memory: &Spanned<String>,
        id: AllocationId,
        what: &str,
        help: &str,
    ) -> Result<(), Fault> {
        if self.scope.allocations[id.0].place == Place::Host(HostMemory::Pageable) {
            return Ok(());
        }
        let message = format!("`{memory}` is not pageable memory");
        Err(Fault::new(message, memory.span(), format!("cannot be {what}"), help))
    }

    pub(super) fn prefetch(
        &mut self,
        memory: &Spanned<String>,
        call: &RawCall,
    ) -> Result<Call, Fault> {
        let target = self.scope.slice(memory)?;
        if !self.place(&target).is_managed() {
            let message = format!("`{memory}` is not managed memory");
            let help = "declare it in `memory` with `kind = \"managed\"`, or use a copy";
            return Err(Fault::new(message, memory.span(), "cannot be prefetched", help));
        }
        let to = needed(&call.to);
        let to = match to.get_ref().as_str() {
            "gpu" => Residence::Device,
            "host" => Residence::Host,
            other => {
                let message = format!("a `prefetch` cannot go to `{other}`");
                let help = "write `to = \"gpu\"` (the GPU of the stream) or `to = \"host\"`";
                return Err(Fault::new(message, to.span(), "not a target", help));
            }
        };
        // Managed memory is the host's.
        let stream = self.stream(call.stream.as_ref(), Some(DeviceId::FIRST))?;
        Ok(Call::Prefetch { stream, target, to })
    }
}

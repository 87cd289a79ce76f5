//! Copies as they are spelled out: which kind they are follows from where their memory lies.

use super::call::{RawCall, needed};
use super::expand::Expansion;
use super::expression::{Part, evaluate};
use super::values::RawThreads;
use crate::files::{Fault, Spanned};
use crate::machine::Direction;
use crate::program::{Call, CopyBy, Place, Route, Rows, Slice, Threads};
use crate::units::Bytes;
use std::ops::Range;

impl Expansion<'_> {
    pub(super) fn copy(
        &mut self,
        source: &Spanned<String>,
        copy: &RawCall,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let (target, name) = (needed(&copy.to), copy.stream.as_ref());
        let mut from = self.scope.slice(source)?;
        let mut to = self.scope.slice(target)?;
        let rows = self.rows(copy, [(&mut from, source), (&mut to, target)])?;
        if rows.is_none() && from.length != to.length {
            let message = format!("copies {} to a range of {}", from.length, to.length);
            let help = "use ranges of the same size, such as `x[0..4 MiB]`";
            return Err(
                Fault::new(message, source.span(), "from here", help).and(target.span(), "to here")
            );
        }
        let (route, memory) = match (self.place(&from), self.place(&to)) {
            (Place::Host(_), Place::Host(_)) => {
                return self.copy_on_host(copy, [from, to], rows, span);
            }
            (Place::Host(_), Place::Device(_)) => (Route::Crossing(Direction::HostToDevice), to),
            (Place::Device(_), Place::Host(_)) => (Route::Crossing(Direction::DeviceToHost), from),
            (Place::Device(one), Place::Device(other)) if one == other => (Route::OnDevice, from),
            _ => (Route::ToPeer, from),
        };
        if let Some(threads) = &copy.threads {
            let message = "`threads` on a copy that the GPU's copy engines make".to_owned();
            let help = "remove it: only copies within host memory have `threads`";
            return Err(Fault::new(message, threads.span(), "no effect", help));
        }
        let stream = self.stream(name, &memory)?;
        // `cudaMemcpy` inside a device does not wait (CUDA Runtime API, "API synchronization
        // behavior").
        let waits = name.is_none() && route != Route::OnDevice;
        if route == Route::ToPeer && rows.is_some() {
            let message = "copies rows from one GPU to another".to_owned();
            let help = "first copy them to contiguous memory on the same GPU, then copy that to \
                        the other GPU";
            let place = copy.rows.as_ref().map_or_else(|| source.span(), Spanned::span);
            return Err(Fault::new(message, place, "not between GPUs", help));
        }
        self.push(Call::Copy { by: CopyBy::Stream(stream, route), from, to, rows }, span)?;
        if waits { self.put(Call::Synchronize { stream }, span) } else { Ok(()) }
    }

    fn copy_on_host(
        &mut self,
        copy: &RawCall,
        [from, to]: [Slice; 2],
        rows: Option<Rows>,
        span: &Range<usize>,
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
            return Err(Fault::new(message, span.clone(), "both in host memory", help));
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
        self.push(Call::copy(CopyBy::Host(threads), from, to), span)
    }

    /// The rows of a copy; both slices then end where the last row does.
    fn rows(
        &self,
        copy: &RawCall,
        [from, to]: [(&mut Slice, &Spanned<String>); 2],
    ) -> Result<Option<Rows>, Fault> {
        let Some(count) = &copy.rows else { return Ok(None) };
        let row = needed(&copy.row);
        let number = u64::try_from(*count.get_ref()).ok().filter(|&number| number > 0);
        let number = number.ok_or_else(|| {
            let message = format!("`rows` is {count}");
            Fault::new(message, count.span(), "no rows", "write a whole number of at least 1")
        })?;
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
}

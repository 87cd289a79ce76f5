//! What can be told of a copy by looking at memory on the host: checksums of what it transfers, new
//! memory that it goes to, and sources that change too early.

use super::arguments::{Call, CallbackData, word};
use super::digests::{Awaited, Pending, digest};
use super::format::{CHANGED, DIGEST, Form, NEW_PAGES, REMARK, put, put_step};
use super::functions::{Function, How};
use super::pages::untouched;
use super::recorder::Recorder;
use super::threads::Thread;
use std::sync::PoisonError;

/// `cudaMemcpyKind`.
const HOST_TO_DEVICE: u64 = 1;
const DEVICE_TO_HOST: u64 = 2;

/// Below this size, new pages cost less than a copy's other costs: nobody looks for them.
const MATTERS: u64 = 64 << 10;

/// The copy that a call asks for, if it has this direction and no gaps.
fn contiguous(function: &Function, data: &CallbackData, direction: u64) -> Option<Pending> {
    let is_copy = matches!(function.form, Form::Copy | Form::BlockingCopy);
    let found = match function.how {
        _ if !is_copy => return None,
        How::In => HOST_TO_DEVICE,
        How::Out => DEVICE_TO_HOST,
        // The word has other bytes than those of the number.
        How::Kind(at) => word(data, at) & 0xffff_ffff,
        _ => return None,
    };
    let call = Call { function, data, is_per_thread: false };
    let on_host = usize::from(direction == HOST_TO_DEVICE);
    (found == direction).then(|| Pending {
        correlation: data.correlation_id,
        address: word(data, function.places[on_host]),
        bytes: word(data, function.places[2]),
        stream: call.handle(3),
        sent: None,
    })
}

/// Looks at a copy's memory before the copy begins. Returns the checksum of what it sends, if one
/// was taken.
pub fn look_before(
    recorder: &Recorder,
    thread: &Thread,
    function: &Function,
    data: &CallbackData,
) -> Option<u64> {
    if let Some(copy) = contiguous(function, data, DEVICE_TO_HOST) {
        if copy.bytes >= MATTERS && !recorder.memory.holds(copy.address) {
            let begin = recorder.cupti.now();
            let new = untouched(copy.address, copy.bytes);
            if new > 0 {
                remark(recorder, thread, copy.correlation, begin, NEW_PAGES, &[new]);
            }
        }
        return None;
    }
    let copy = recorder.digests.then(|| contiguous(function, data, HOST_TO_DEVICE)).flatten()?;
    let sent = take_digest(recorder, thread, copy);
    // Where only some calls are looked at, the wait for a copy may be among the others.
    sent.filter(|_| recorder.chosen.is_none())
}

/// Looks at the memory of copies that are done once this call has returned, or notes one that is
/// on its way. `sent` is the checksum of what the call sends.
pub fn look_behind(recorder: &Recorder, thread: &Thread, call: &Call, sent: Option<u64>) {
    let mut pending = recorder.pending.lock().unwrap_or_else(PoisonError::into_inner);
    let is_blocking = call.function.form == Form::BlockingCopy;
    if let Some(copy) = contiguous(call.function, call.data, HOST_TO_DEVICE) {
        // What is not page-locked has been read when the call returns.
        if !is_blocking && recorder.memory.holds(copy.address) {
            let stream = call.handle(3);
            if sent.is_some() {
                pending.add(Pending { stream, sent, ..copy });
            }
            return;
        }
    }
    let mut came = None;
    if let Some(copy) = contiguous(call.function, call.data, DEVICE_TO_HOST) {
        let copy = Pending { stream: call.handle(3), ..copy };
        // A copy to memory that is not page-locked returns only when it is done.
        if !is_blocking && recorder.memory.holds(copy.address) {
            return pending.add(copy);
        }
        pending.written(copy.address, copy.bytes);
        came = Some(copy);
    }
    let awaited = match call.function.form {
        Form::Record => return pending.recorded(call.word(0), call.handle(1)),
        Form::Copy if came.is_some() => Awaited::Stream(call.handle(3)),
        Form::Synchronize => Awaited::Stream(call.handle(0)),
        Form::SynchronizeEvent => Awaited::Event(call.word(0)),
        // Its stream waits for most others, if it is the default one.
        Form::SynchronizeDevice | Form::BlockingCopy => Awaited::Context(call.data.context_uid),
        _ => return,
    };
    let done = pending.done(awaited);
    drop(pending);
    for copy in done.into_iter().chain(came) {
        let Some(sent) = copy.sent else {
            take_digest(recorder, thread, copy);
            continue;
        };
        let begin = recorder.cupti.now();
        let found = thread.with_room(|room| digest(copy.address, copy.bytes, room));
        if found.is_some_and(|found| found != sent) {
            remark(recorder, thread, copy.correlation, begin, CHANGED, &[]);
        }
    }
}

/// Forgets copies that read memory which a kernel was given: it may write there.
pub fn given_to_kernel(recorder: &Recorder, pointers: &[u64]) {
    let mut pending = recorder.pending.lock().unwrap_or_else(PoisonError::into_inner);
    for &pointer in pointers {
        pending.written(pointer, 1);
    }
}

/// Writes the digest of what a call copies, with the time that it took.
fn take_digest(recorder: &Recorder, thread: &Thread, copy: Pending) -> Option<u64> {
    let begin = recorder.cupti.now();
    let sum = thread.with_room(|room| digest(copy.address, copy.bytes, room))?;
    remark(recorder, thread, copy.correlation, begin, DIGEST, &sum.to_le_bytes());
    Some(sum)
}

/// Writes what was found out about a call since `begin`.
fn remark(
    recorder: &Recorder,
    thread: &Thread,
    correlation: u32,
    begin: u64,
    kind: u8,
    content: &[u8],
) {
    let end = recorder.cupti.now();
    thread.write(&recorder.sink, |buffer, last| {
        put(buffer, REMARK);
        put_step(buffer, last.begin, begin);
        put(buffer, end.saturating_sub(begin));
        put_step(buffer, last.correlation, u64::from(correlation));
        buffer.push(kind);
        buffer.extend(content);
        (last.begin, last.correlation) = (begin, u64::from(correlation));
    });
}

//! What copies transfer: when its digest is taken, and of which calls.

use super::arguments::{Call, CallbackData, word};
use super::digests::{Awaited, Pending, digest};
use super::format::{DIGEST, Form, put, put_step};
use super::functions::{Function, How};
use super::recorder::Recorder;
use super::threads::Thread;
use std::sync::PoisonError;

/// `cudaMemcpyKind`.
pub const HOST_TO_DEVICE: u64 = 1;
const DEVICE_TO_HOST: u64 = 2;

/// The copy that a call asks for, if it has this direction and no gaps.
pub fn contiguous(function: &Function, data: &CallbackData, direction: u64) -> Option<Pending> {
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
    (found == direction).then(|| Pending {
        correlation: data.correlation_id,
        address: word(data, function.places[0]),
        bytes: word(data, function.places[2]),
        stream: call.handle(3),
    })
}

/// Takes digests of what has come to the host by now, or notes a copy that is on its way.
pub fn digest_what_came(recorder: &Recorder, thread: &Thread, call: &Call) {
    let mut pending = recorder.pending.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(copy) = contiguous(call.function, call.data, DEVICE_TO_HOST) {
        if call.function.form == Form::Copy {
            pending.add(Pending { stream: call.handle(3), ..copy });
            return;
        }
        drop(pending);
        take_digest(recorder, thread, copy.correlation, copy.address, copy.bytes);
        return;
    }
    let awaited = match call.function.form {
        Form::Record => return pending.recorded(call.word(0), call.handle(1)),
        Form::Synchronize => Awaited::Stream(call.handle(0)),
        Form::SynchronizeEvent => Awaited::Event(call.word(0)),
        Form::SynchronizeDevice => Awaited::Context(call.data.context_uid),
        _ => return,
    };
    let done = pending.done(awaited);
    drop(pending);
    for copy in done {
        take_digest(recorder, thread, copy.correlation, copy.address, copy.bytes);
    }
}

/// Writes the digest of what a call copies, with the time that it took.
pub fn take_digest(
    recorder: &Recorder,
    thread: &Thread,
    correlation: u32,
    address: u64,
    bytes: u64,
) {
    let begin = recorder.cupti.now();
    let Some(sum) = thread.with_room(|room| digest(address, bytes, room)) else { return };
    let end = recorder.cupti.now();
    thread.write(&recorder.sink, |buffer, last| {
        put(buffer, DIGEST);
        put_step(buffer, last.begin, begin);
        put(buffer, end.saturating_sub(begin));
        put_step(buffer, last.correlation, u64::from(correlation));
        buffer.extend(sum.to_le_bytes());
        (last.begin, last.correlation) = (begin, u64::from(correlation));
    });
}

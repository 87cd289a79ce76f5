//! What threads call: CUPTI's callbacks, each at the begin and at the end of a call.
//!
//! The runtime calls the driver under the number of its own call. Only the outer call is recorded.

use super::arguments::{Call, CallbackData, word};
use super::contents::{given_to_kernel, look_before, look_behind};
use super::cupti::Callback;
use super::format::{FAILED, FLAG_BITS, Form, OTHER_CONTEXT, put, put_step};
use super::functions::{DRIVER, FUNCTIONS, How, MODULE_UNLOADED, RESOURCE, position};
use super::ranges::{is_chosen, profiling};
use super::recorder::{Recorder, guarded};
use super::threads::{Last, here};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::sync::PoisonError;

/// What CUPTI says about a stream.
#[repr(C)]
struct ResourceData {
    context: *mut c_void,
    stream: *mut c_void,
    descriptor: *mut c_void,
}

const ENTER: c_int = 0;

/// The outer call that a thread is in.
#[derive(Clone, Copy)]
struct Outer {
    /// Position in [`FUNCTIONS`]; `usize::MAX` outside any call.
    function: usize,
    correlation: u32,
    begin: u64,
    /// What the driver was asked to launch within it.
    launched: u64,
    /// The checksum of what it sends, if one was taken.
    sent: Option<u64>,
    /// Whether it is recorded: only some parts of the program may be.
    is_chosen: bool,
}

const OUTSIDE: Outer = Outer {
    function: usize::MAX,
    correlation: 0,
    begin: 0,
    launched: 0,
    sent: None,
    is_chosen: false,
};

thread_local! {
    static OUTER: Cell<Outer> = const { Cell::new(OUTSIDE) };
}

pub const CALLBACK: Callback = callback;

/// Called by CUPTI in the thread that makes the call.
unsafe extern "C" fn callback(_: *mut c_void, domain: u32, id: u32, data: *const c_void) {
    guarded(|recorder| {
        if domain == RESOURCE && id == MODULE_UNLOADED {
            recorder.memory.module_unloaded();
        } else if domain == RESOURCE {
            // SAFETY: for streams, CUPTI passes this structure.
            note_stream(recorder, unsafe { &*data.cast::<ResourceData>() });
        } else if let Some(function) = position(domain, id) {
            // SAFETY: for functions, CUPTI passes this structure.
            let data = unsafe { &*data.cast::<CallbackData>() };
            profiling(FUNCTIONS[function].how, data.site == ENTER);
            if data.site == ENTER {
                enter(recorder, function, data);
            } else {
                exit(recorder, function, id, data);
            }
        }
    });
}

fn enter(recorder: &Recorder, position: usize, data: &CallbackData) {
    let function = &FUNCTIONS[position];
    let outer = OUTER.get();
    let handle = || if function.form == Form::Launch { word(data, function.places[0]) } else { 0 };
    if outer.function != usize::MAX && outer.correlation == data.correlation_id {
        if function.domain == DRIVER && function.form == Form::Launch {
            OUTER.set(Outer { launched: handle(), ..outer });
        }
        return;
    }
    let correlation = data.correlation_id;
    if !is_chosen() {
        return OUTER.set(Outer { function: position, correlation, ..OUTSIDE });
    }
    if let Some(chosen) = &recorder.chosen {
        chosen.add(correlation);
    }
    let thread = here(&recorder.threads, &recorder.sink);
    let sent = look_before(recorder, thread, function, data);
    OUTER.set(Outer {
        function: position,
        correlation,
        begin: recorder.cupti.now(),
        launched: handle(),
        sent,
        is_chosen: true,
    });
}

fn exit(recorder: &Recorder, position: usize, id: u32, data: &CallbackData) {
    let outer = OUTER.get();
    if outer.function != position || outer.correlation != data.correlation_id {
        return;
    }
    let end = recorder.cupti.now();
    OUTER.set(OUTSIDE);
    let function = &FUNCTIONS[position];
    // SAFETY: at the end of a call there is its result, or none.
    let code = unsafe { data.return_value.as_ref() }.map_or(0, |code| *code);
    if function.how == How::Query && code != 0 {
        return;
    }
    let call = Call { function, data, is_per_thread: u32::from(function.id) != id };
    let is_ok = code == 0;
    if is_ok {
        note_memory(recorder, &call);
    }
    if !outer.is_chosen {
        return;
    }
    let thread = here(&recorder.threads, &recorder.sink);
    thread.write(&recorder.sink, |buffer, last| {
        last.totals.calls += 1;
        let context = u64::from(data.context_uid);
        let mut flags = if is_ok { 0 } else { FAILED };
        if context != last.context {
            flags |= OTHER_CONTEXT;
        }
        put(buffer, (position as u64 + 1) << FLAG_BITS | flags);
        put_step(buffer, last.begin, outer.begin);
        put(buffer, end.saturating_sub(outer.begin));
        put_step(buffer, last.correlation, u64::from(data.correlation_id));
        if context != last.context {
            put(buffer, context);
        }
        (last.begin, last.correlation) = (outer.begin, u64::from(data.correlation_id));
        last.context = context;
        if is_ok {
            call.put_arguments(recorder, outer.launched, buffer, last);
        }
    });
    if recorder.digests && is_ok {
        look_behind(recorder, thread, &call, outer.sent);
    }
}

impl Call<'_> {
    fn put_arguments(
        &self,
        recorder: &Recorder,
        launched: u64,
        buffer: &mut Vec<u8>,
        last: &mut Last,
    ) {
        use Form::*;
        match self.function.form {
            Other | SynchronizeDevice => {}
            Copy | BlockingCopy => {
                last.totals.copies += 1;
                last.totals.copied += self.bytes(2).unwrap_or(0);
                self.put_address(0, buffer, last);
                self.put_address(1, buffer, last);
                put(buffer, self.bytes(2).map_or(0, |bytes| bytes.saturating_add(1)));
                self.put_stream(3, buffer, last);
            }
            Clear | Prefetch => {
                self.put_address(0, buffer, last);
                put(buffer, self.bytes(1).map_or(0, |bytes| bytes.saturating_add(1)));
                self.put_stream(2, buffer, last);
            }
            Launch => {
                self.put_stream(2, buffer, last);
                let pointers = self.pointers(recorder, launched);
                if recorder.digests {
                    given_to_kernel(recorder, &pointers);
                }
                put(buffer, pointers.len() as u64);
                for pointer in pointers {
                    put_step(buffer, last.addresses[0], pointer);
                    last.addresses[0] = pointer;
                }
            }
            LaunchGraph | Synchronize => self.put_stream(0, buffer, last),
            Record | Wait => {
                self.put_event(buffer, last);
                self.put_stream(1, buffer, last);
            }
            SynchronizeEvent => self.put_event(buffer, last),
            AllocateDevice | AllocatePinned | AllocateManaged | AllocateAsync => {
                put_step(buffer, last.addresses[0], self.given());
                last.addresses[0] = self.given();
                put(buffer, self.bytes(1).unwrap_or(0));
                if self.function.form == AllocateAsync {
                    self.put_stream(2, buffer, last);
                }
            }
            Free | Unregister => self.put_address(0, buffer, last),
            FreeAsync => {
                self.put_address(0, buffer, last);
                self.put_stream(1, buffer, last);
            }
            Register => {
                self.put_address(0, buffer, last);
                put(buffer, self.bytes(1).unwrap_or(0));
            }
        }
    }

    /// Writes the address in this place, which is 0 if the call has none.
    fn put_address(&self, place: usize, buffer: &mut Vec<u8>, last: &mut Last) {
        let address = self.word(place);
        put_step(buffer, last.addresses[place], address);
        last.addresses[place] = address;
    }

    fn put_stream(&self, place: usize, buffer: &mut Vec<u8>, last: &mut Last) {
        let stream = self.stream(place);
        put_step(buffer, last.stream, stream);
        last.stream = stream;
    }

    fn put_event(&self, buffer: &mut Vec<u8>, last: &mut Last) {
        put_step(buffer, last.event, self.word(0));
        last.event = self.word(0);
    }

    /// The addresses that a kernel was given, each once, in the order of its parameters.
    fn pointers(&self, recorder: &Recorder, launched: u64) -> Vec<u64> {
        let mut found = Vec::new();
        let values = self.word(1) as *const *const u8;
        let extra = self.word(3) as *const usize;
        // SAFETY: the call has just launched the function with these parameters.
        unsafe {
            if !values.is_null() && launched != 0 {
                let name = self.data.symbol_name as usize;
                recorder.memory.pointers(launched as usize, name, values, &mut found);
            } else if values.is_null() && !extra.is_null() {
                recorder.memory.packed_pointers(extra, &mut found);
            }
        }
        let mut seen = BTreeSet::new();
        found.retain(|pointer| seen.insert(*pointer));
        found
    }
}

fn note_stream(recorder: &Recorder, data: &ResourceData) {
    if let Some((context, stream)) = recorder.cupti.numbers(data.context, data.stream) {
        let mut device = recorder.device.lock().unwrap_or_else(PoisonError::into_inner);
        device.created(recorder.cupti.now(), data.stream as u64, context, stream);
    }
}

fn note_memory(recorder: &Recorder, call: &Call) {
    use Form::*;
    match call.function.form {
        AllocateDevice | AllocatePinned | AllocateManaged | AllocateAsync => {
            recorder.memory.allocated(call.given(), call.bytes(1).unwrap_or(0));
        }
        Register => recorder.memory.allocated(call.word(0), call.bytes(1).unwrap_or(0)),
        Free | FreeAsync | Unregister => recorder.memory.freed(call.word(0)),
        _ => {}
    }
}

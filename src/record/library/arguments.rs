//! The arguments of a call, as CUPTI hands them over.

use super::digests::Handle;
use super::functions::{DEFAULT, Function, How, NONE};
use super::threads::thread_id;
use std::ffi::{c_char, c_int, c_void};

/// Handles of the default stream: that of all threads, and that of each.
const DEFAULT_STREAM: u64 = 0;
const DEFAULT_STREAM_OF_THREAD: u64 = 2;
/// `cudaStreamLegacy`: another handle of the stream of all threads.
const DEFAULT_STREAM_BY_NAME: u64 = 1;

/// What CUPTI says about a call.
#[repr(C)]
pub struct CallbackData {
    pub site: c_int,
    function_name: *const c_char,
    params: *const u64,
    pub return_value: *const c_int,
    pub symbol_name: *const c_char,
    context: *mut c_void,
    pub context_uid: u32,
    correlation_data: *mut u64,
    pub correlation_id: u32,
}

/// A call that has returned.
pub struct Call<'c> {
    pub function: &'c Function,
    pub data: &'c CallbackData,
    pub is_per_thread: bool,
}

impl Call<'_> {
    pub fn word(&self, place: usize) -> u64 {
        word(self.data, self.function.places[place])
    }

    pub fn stream(&self, place: usize) -> u64 {
        let handle = match (self.function.how, self.function.places[place]) {
            (_, DEFAULT) => DEFAULT_STREAM,
            (How::Config, at) => {
                let config = word(self.data, 0) as *const u64;
                // SAFETY: the call has read its configuration, which has this many words.
                if config.is_null() { 0 } else { unsafe { *config.add(usize::from(at)) } }
            }
            (_, at) => word(self.data, at),
        };
        match handle {
            DEFAULT_STREAM if self.is_per_thread => DEFAULT_STREAM_OF_THREAD,
            handle => handle,
        }
    }

    /// The stream in this place, told from those of other contexts and threads.
    pub fn handle(&self, place: usize) -> Handle {
        let stream = match self.stream(place) {
            DEFAULT_STREAM_BY_NAME => DEFAULT_STREAM,
            stream => stream,
        };
        let thread = if stream == DEFAULT_STREAM_OF_THREAD { thread_id() } else { 0 };
        Handle { context: self.data.context_uid, stream, thread }
    }

    /// The number of bytes in this place, if the call has it.
    pub fn bytes(&self, place: usize) -> Option<u64> {
        let at = self.function.places[place];
        let bytes = (at != NONE).then(|| word(self.data, at))?;
        Some(match self.function.how {
            How::Times(by) => bytes.saturating_mul(word(self.data, by)),
            How::Scaled(by) => bytes.saturating_mul(by),
            _ => bytes,
        })
    }

    /// The address that an allocation has given.
    pub fn given(&self) -> u64 {
        let place = self.word(0);
        if self.function.how == How::Mapped || place == 0 {
            return place;
        }
        // SAFETY: the call was successful, so it has written an address to this place.
        unsafe { *(place as *const u64) }
    }
}

/// A word of a call's arguments; 0 if it has no such argument.
pub fn word(data: &CallbackData, place: u8) -> u64 {
    if place == NONE || place == DEFAULT || data.params.is_null() {
        return 0;
    }
    // SAFETY: the table gives places within the structure for this function.
    unsafe { data.params.add(usize::from(place)).read() }
}

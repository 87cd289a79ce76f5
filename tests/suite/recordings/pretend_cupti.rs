//! CUPTI and the driver's part that the recorder asks, for a pretend program. Time stands still
//! until the program sets it. Compiled by itself, as a library.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// All records are as long as this; those of CUPTI are not, but it steps through them itself.
const LENGTH: usize = 208;

static NOW: AtomicU64 = AtomicU64::new(0);
static STATE: Mutex<State> = Mutex::new(State {
    callback: None,
    enabled: BTreeSet::new(),
    kinds: BTreeSet::new(),
    buffers: None,
    records: Vec::new(),
});

struct State {
    callback: Option<Callback>,
    enabled: BTreeSet<(u32, u32)>,
    kinds: BTreeSet<u32>,
    buffers: Option<(Request, Complete)>,
    records: Vec<[u8; LENGTH]>,
}

fn code_from(variable: &str) -> c_int {
    std::env::var(variable).ok().and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiSubscribe(
    handle: *mut *mut c_void,
    callback: Callback,
    _: *mut c_void,
) -> c_int {
    let code = code_from("PRETEND_SUBSCRIBE");
    if code == 0 {
        unsafe { *handle = std::ptr::dangling_mut() };
        STATE.lock().unwrap().callback = Some(callback);
    }
    code
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiEnableCallback(on: u32, _: *mut c_void, domain: u32, id: u32) -> c_int {
    let enabled = &mut STATE.lock().unwrap().enabled;
    if on == 1 {
        enabled.insert((domain, id));
    } else {
        enabled.remove(&(domain, id));
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityRegisterCallbacks(request: Request, complete: Complete) -> c_int {
    STATE.lock().unwrap().buffers = Some((request, complete));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityEnable(kind: u32) -> c_int {
    STATE.lock().unwrap().kinds.insert(kind);
    code_from("PRETEND_ENABLE")
}

#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityDisable(kind: u32) -> c_int {
    STATE.lock().unwrap().kinds.remove(&kind);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityFlushAll(_: u32) -> c_int {
    let (buffers, records) = {
        let mut state = STATE.lock().unwrap();
        (state.buffers, std::mem::take(&mut state.records))
    };
    let Some((request, complete)) = buffers else { return 15 };
    let mut rest = records.as_slice();
    while !rest.is_empty() {
        let (mut buffer, mut size, mut most) = (std::ptr::null_mut(), 0, 0);
        unsafe { request(&raw mut buffer, &raw mut size, &raw mut most) };
        let (now, later) = rest.split_at(rest.len().min(size / LENGTH));
        for (index, record) in now.iter().enumerate() {
            unsafe { buffer.add(index * LENGTH).copy_from(record.as_ptr(), LENGTH) };
        }
        unsafe { complete(std::ptr::null_mut(), 0, buffer, size, now.len() * LENGTH) };
        rest = later;
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNextRecord(
    buffer: *mut u8,
    filled: usize,
    record: *mut *mut u8,
) -> c_int {
    unsafe {
        let next = if (*record).is_null() { buffer } else { (*record).add(LENGTH) };
        if next as usize >= buffer as usize + filled {
            return 12;
        }
        *record = next;
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNumDroppedRecords(
    _: *mut c_void,
    _: u32,
    count: *mut usize,
) -> c_int {
    unsafe { *count = code_from("PRETEND_DROPPED") as usize };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetTimestamp(now: *mut u64) -> c_int {
    unsafe { *now = NOW.load(Ordering::Relaxed) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetResultString(_: c_int, text: *mut *const c_char) -> c_int {
    unsafe { *text = c"CUPTI_ERROR_PRETEND".as_ptr() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetVersion(version: *mut u32) -> c_int {
    unsafe { *version = 26 };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetContextId(_: *mut c_void, number: *mut u32) -> c_int {
    unsafe { *number = 1 };
    0
}

/// Streams are numbered by their handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetStreamIdEx(
    _: *mut c_void,
    stream: *mut c_void,
    _: u8,
    number: *mut u32,
) -> c_int {
    unsafe { *number = stream as u32 };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, number: c_int) -> c_int {
    unsafe { *device = 70 + number };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(
    name: *mut c_char,
    length: c_int,
    device: c_int,
) -> c_int {
    let text = format!("Pretend GPU {device}\0");
    assert!(text.len() <= length as usize);
    unsafe { name.copy_from(text.as_ptr().cast(), text.len()) };
    0
}

/// A kernel with a pointer, a number, and a structure with a pointer in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuKernelGetParamInfo(
    kernel: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> c_int {
    let parameters = [(0, 8), (8, 4), (16, 16)];
    let Some(found) = parameters.get(index).filter(|_| kernel as usize == 0xf00) else { return 1 };
    unsafe { (*offset, *size) = *found };
    0
}

/// Refuses every handle, as the driver refuses those of kernels.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetParamInfo(_: *mut c_void, _: usize, _: usize, _: usize) -> c_int {
    400
}

/// Sets the time, and lets the recorder know what is called if it asked for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pretend_call(now: u64, domain: u32, id: u32, data: *const c_void) {
    NOW.store(now, Ordering::Relaxed);
    let state = STATE.lock().unwrap();
    let callback = state.callback.filter(|_| state.enabled.contains(&(domain, id)));
    drop(state);
    if let Some(callback) = callback {
        unsafe { callback(std::ptr::null_mut(), domain, id, data) };
    }
}

/// Has a record for the next flush, if its kind was asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pretend_record(record: *const [u8; LENGTH]) {
    let record = unsafe { *record };
    let kind = u32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
    let mut state = STATE.lock().unwrap();
    if state.kinds.contains(&kind) {
        state.records.push(record);
    }
}

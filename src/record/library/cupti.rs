//! CUPTI and the driver, found in the process or opened.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const NOW: c_int = 2;
const NO_LOAD: c_int = 4;

/// Names of CUPTI of every version whose records are known, the newest first.
const NAMES: [&str; 4] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"];

/// Where CUDA installs it.
const FOLDERS: [&str; 3] = [
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
];

/// Where Python packages have it, below `site-packages`.
const OF_PACKAGES: [&str; 2] =
    ["nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12"];

/// Codes that CUPTI returns.
pub const FORBIDDEN: [c_int; 2] = [35, 40];
pub const TAKEN: c_int = 39;

pub type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// CUPTI's functions, as far as they are used here.
pub struct Cupti {
    /// What it was found as.
    pub name: String,
    subscribe: unsafe extern "C" fn(*mut *mut c_void, Callback, *mut c_void) -> c_int,
    enable_callback: unsafe extern "C" fn(u32, *mut c_void, u32, u32) -> c_int,
    register: unsafe extern "C" fn(Request, Complete) -> c_int,
    enable: unsafe extern "C" fn(u32) -> c_int,
    disable: unsafe extern "C" fn(u32) -> c_int,
    flush: unsafe extern "C" fn(u32) -> c_int,
    next: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> c_int,
    dropped: unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> c_int,
    timestamp: unsafe extern "C" fn(*mut u64) -> c_int,
    result_string: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
    version: unsafe extern "C" fn(*mut u32) -> c_int,
    context: unsafe extern "C" fn(*mut c_void, *mut u32) -> c_int,
    stream: unsafe extern "C" fn(*mut c_void, *mut c_void, u8, *mut u32) -> c_int,
}

/// A subscriber, by CUPTI's handle.
#[derive(Clone, Copy)]
pub struct Subscriber(*mut c_void);

// SAFETY: CUPTI takes its handle from any thread.
unsafe impl Send for Subscriber {}
// SAFETY: likewise.
unsafe impl Sync for Subscriber {}

impl Cupti {
    /// Every CUPTI that can be opened, the best first: what the process has loaded already, what
    /// its Python packages bring, and what is installed.
    pub fn candidates() -> impl Iterator<Item = Self> {
        let named = std::env::var("HALLWAY_CUPTI").ok();
        let loaded = NAMES.iter().map(|name| (name.to_string(), NOW | NO_LOAD));
        let packaged = packages().into_iter().map(|path| (path, NOW));
        let by_name = NAMES.iter().map(|name| (name.to_string(), NOW));
        let home = std::env::var("CUDA_HOME").ok();
        let home = home.map(|home| format!("{home}/extras/CUPTI/lib64/libcupti.so"));
        let installed = FOLDERS.iter().map(|folder| format!("{folder}/libcupti.so"));
        let installed = home.into_iter().chain(installed).map(|path| (path, NOW));
        let named = named.into_iter().map(|path| (path, NOW));
        let all = named.chain(loaded).chain(packaged).chain(by_name).chain(installed);
        all.filter_map(|(name, flags)| Self::open(name, flags))
    }

    fn open(name: String, flags: c_int) -> Option<Self> {
        let library = open(&name, flags)?;
        // SAFETY: the types are those of CUPTI's documentation.
        unsafe {
            Some(Self {
                name,
                subscribe: find(library, c"cuptiSubscribe")?,
                enable_callback: find(library, c"cuptiEnableCallback")?,
                register: find(library, c"cuptiActivityRegisterCallbacks")?,
                enable: find(library, c"cuptiActivityEnable")?,
                disable: find(library, c"cuptiActivityDisable")?,
                flush: find(library, c"cuptiActivityFlushAll")?,
                next: find(library, c"cuptiActivityGetNextRecord")?,
                dropped: find(library, c"cuptiActivityGetNumDroppedRecords")?,
                timestamp: find(library, c"cuptiGetTimestamp")?,
                result_string: find(library, c"cuptiGetResultString")?,
                version: find(library, c"cuptiGetVersion")?,
                context: find(library, c"cuptiGetContextId")?,
                stream: find(library, c"cuptiGetStreamIdEx")?,
            })
        }
    }

    /// The time on the clock of CUPTI's records.
    pub fn now(&self) -> u64 {
        let mut now = 0;
        // SAFETY: the place can be written.
        let _ = unsafe { (self.timestamp)(&raw mut now) };
        now
    }

    pub fn version(&self) -> u32 {
        let mut version = 0;
        // SAFETY: the place can be written.
        let _ = unsafe { (self.version)(&raw mut version) };
        version
    }

    /// The numbers of a context and of a stream in it.
    pub fn numbers(&self, context: *mut c_void, stream: *mut c_void) -> Option<(u32, u32)> {
        let mut numbers = (0, 0);
        // SAFETY: both come from CUPTI, and the places can be written.
        let codes = unsafe {
            let of_stream = (self.stream)(context, stream, 0, &raw mut numbers.1);
            [(self.context)(context, &raw mut numbers.0), of_stream]
        };
        (codes == [0, 0]).then_some(numbers)
    }

    pub fn subscribe(&self, callback: Callback) -> Result<Subscriber, c_int> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the callback is there until the process ends.
        let code = unsafe { (self.subscribe)(&raw mut handle, callback, std::ptr::null_mut()) };
        result(code).map(|()| Subscriber(handle))
    }

    pub fn set_callback(&self, subscriber: Subscriber, domain: u32, id: u32, on: bool) -> bool {
        // SAFETY: the handle is CUPTI's; a number that it does not know gives an error.
        unsafe { (self.enable_callback)(u32::from(on), subscriber.0, domain, id) == 0 }
    }

    pub fn register(&self, request: Request, complete: Complete) -> Result<(), c_int> {
        // SAFETY: both functions are there until the process ends.
        result(unsafe { (self.register)(request, complete) })
    }

    pub fn enable(&self, kind: u32) -> Result<(), c_int> {
        // SAFETY: a number that CUPTI does not know gives an error.
        result(unsafe { (self.enable)(kind) })
    }

    pub fn disable(&self, kind: u32) {
        // SAFETY: as above.
        let _ = unsafe { (self.disable)(kind) };
    }

    /// Has finished buffers handed over; `forced` also those with records that are not complete.
    pub fn flush(&self, forced: bool) {
        // SAFETY: callbacks are registered, or CUPTI returns an error.
        let _ = unsafe { (self.flush)(u32::from(forced)) };
    }

    /// The record after this one, or the first if it is null; null after the last.
    ///
    /// # Safety
    /// CUPTI has handed over the buffer, filled this far.
    pub unsafe fn next(&self, buffer: *mut u8, filled: usize, record: *mut u8) -> *mut u8 {
        let mut record = record;
        // SAFETY: promised by the caller.
        let code = unsafe { (self.next)(buffer, filled, &raw mut record) };
        if code == 0 { record } else { std::ptr::null_mut() }
    }

    /// How many records CUPTI had no buffer for, since it was last asked.
    pub fn dropped(&self, context: *mut c_void, stream: u32) -> usize {
        let mut count = 0;
        // SAFETY: both come from CUPTI.
        let code = unsafe { (self.dropped)(context, stream, &raw mut count) };
        if code == 0 { count } else { 0 }
    }

    /// What a code means, in CUPTI's word for it.
    pub fn explain(&self, code: c_int) -> String {
        let mut text = std::ptr::null();
        // SAFETY: the place can be written; what CUPTI writes there is a constant text.
        unsafe {
            if (self.result_string)(code, &raw mut text) != 0 || text.is_null() {
                return format!("error {code}");
            }
            format!("{} (error {code})", CStr::from_ptr(text).to_string_lossy())
        }
    }
}

/// Functions of the driver that say what parameters a kernel has; CUDA 12.4 brought them.
pub struct Driver {
    of_function: Option<Info>,
    of_kernel: Option<Info>,
}

type Info = unsafe extern "C" fn(*mut c_void, usize, *mut usize, *mut usize) -> c_int;

impl Driver {
    pub fn find() -> Self {
        let library = open("libcuda.so.1", NOW | NO_LOAD);
        // SAFETY: the types are those of the driver's documentation.
        let info = |name| library.and_then(|library| unsafe { find(library, name) });
        Self { of_function: info(c"cuFuncGetParamInfo"), of_kernel: info(c"cuKernelGetParamInfo") }
    }

    /// Where a parameter begins among all, and its size. `None` after the last.
    ///
    /// The runtime launches by handles of kernels, programs for the driver by handles of
    /// functions; each question refuses the other's handle.
    pub fn parameter(&self, function: usize, index: usize) -> Option<(usize, usize)> {
        [self.of_function, self.of_kernel].into_iter().flatten().find_map(|ask| {
            let (mut offset, mut size) = (0, 0);
            let handle = function as *mut c_void;
            // SAFETY: the handle has just been launched, and the driver checks its kind.
            let code = unsafe { ask(handle, index, &raw mut offset, &raw mut size) };
            (code == 0).then_some((offset, size))
        })
    }
}

/// The name of a device by its number, from a driver that is loaded and initialised.
pub fn device_name(number: u32) -> Option<String> {
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    let library = open("libcuda.so.1", NOW | NO_LOAD)?;
    let (mut device, mut name) = (0, [0_u8; 256]);
    // SAFETY: the types are those of the driver's documentation. Neither function initialises
    // anything, and the driver ends the name within the given length.
    let codes = unsafe {
        let get: Get = find(library, c"cuDeviceGet")?;
        let name_of: Name = find(library, c"cuDeviceGetName")?;
        let got = get(&raw mut device, number as c_int);
        let length = name.len() as c_int - 1;
        [got, if got == 0 { name_of(name.as_mut_ptr().cast(), length, device) } else { got }]
    };
    let name = CStr::from_bytes_until_nul(&name).ok().filter(|_| codes == [0, 0])?;
    Some(name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
}

type Demangle =
    unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;

/// The name of a kernel as its source has it, if the process has what is needed to say so.
pub fn demangled(name: &CStr) -> Vec<u8> {
    unsafe extern "C" {
        fn free(memory: *mut c_void);
    }
    if !name.to_bytes().starts_with(b"_Z") {
        return name.to_bytes().to_vec();
    }
    let library = open("libstdc++.so.6", NOW | NO_LOAD);
    // SAFETY: the type is that of the C++ ABI, which returns a text to be freed, or null.
    unsafe {
        let demangle = library.and_then(|library| find::<Demangle>(library, c"__cxa_demangle"));
        let Some(demangle) = demangle else { return name.to_bytes().to_vec() };
        let (null, length) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut status = 0;
        let text = demangle(name.as_ptr(), null, length, &raw mut status);
        if text.is_null() {
            return name.to_bytes().to_vec();
        }
        let copied = CStr::from_ptr(text).to_bytes().to_vec();
        free(text.cast());
        copied
    }
}

fn result(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn open(name: &str, flags: c_int) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero. Loading CUPTI runs its initialisers, as any loader would.
    let library = unsafe { dlopen(name.as_ptr(), flags) };
    (!library.is_null()).then_some(library)
}

/// A function of a library.
///
/// # Safety
/// `F` is the function's type.
unsafe fn find<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    assert!(size_of::<F>() == size_of::<*mut c_void>(), "a pointer to a function");
    // SAFETY: the library is open, and the name ends with a zero.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    // SAFETY: the caller promises the type, and the sizes agree.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

/// CUPTI in the folders of Python packages from which the process has loaded something.
fn packages() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut folders: Vec<&str> = Vec::new();
    for line in maps.lines() {
        let Some(start) = line.find('/') else { continue };
        for folder in ["/site-packages/", "/dist-packages/"] {
            let end = line.find(folder).map(|at| at + folder.len());
            let found = end.and_then(|end| line.get(start..end));
            folders.extend(found.filter(|found| !folders.contains(found)));
        }
    }
    let below = |folder: &str| OF_PACKAGES.map(|path| format!("{folder}{path}"));
    let all = folders.into_iter().flat_map(below);
    all.filter(|path| Path::new(path).exists()).collect()
}

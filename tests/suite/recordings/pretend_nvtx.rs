//! NVTX as a program contains it: a table of functions, which the library that
//! `NVTX_INJECTION64_PATH` names fills in.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// As many functions as NVTX has in each module, counted from 1.
const COUNT: usize = 16;
const CORE: u32 = 1;
const CORE_2: u32 = 5;

type Table = [*const c_void; COUNT];

static mut FUNCTIONS: [Table; 2] = [[std::ptr::null(); COUNT]; 2];
static mut PLACES: [[*mut *const c_void; COUNT + 1]; 2] = [[std::ptr::null_mut(); COUNT + 1]; 2];

#[repr(C)]
struct Exported {
    size: usize,
    table: unsafe extern "C" fn(u32, *mut *const *mut *const c_void, *mut u32) -> c_int,
}

unsafe extern "C" fn table(
    module: u32,
    places: *mut *const *mut *const c_void,
    count: *mut u32,
) -> c_int {
    let at = match module {
        CORE => 0,
        CORE_2 => 1,
        _ => return 0,
    };
    unsafe {
        for number in 1..COUNT {
            PLACES[at][number] = &raw mut FUNCTIONS[at][number];
        }
        *places = (&raw const PLACES[at]).cast();
        *count = COUNT as u32;
    }
    1
}

unsafe extern "C" fn export(what: u32) -> *const c_void {
    static EXPORTED: Exported = Exported { size: size_of::<Exported>(), table };
    if what == 1 { (&raw const EXPORTED).cast() } else { std::ptr::null() }
}

fn function<F: Copy>(module: usize, number: usize) -> Option<F> {
    let found = unsafe { FUNCTIONS[module][number] };
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    words: [u32; 5],
    payload: u64,
    kind: i32,
    message: *const c_void,
}

fn attributes(kind: i32, message: *const c_void) -> Attributes {
    let size = size_of::<Attributes>() as u16;
    Attributes { version: 3, size, words: [0; 5], payload: 0, kind, message }
}

/// Loads the library, if there is one, as the first call of NVTX does.
pub fn load(open: fn(&str) -> *mut c_void, find: fn(*mut c_void, &CStr) -> *mut c_void) {
    let Ok(path) = std::env::var("NVTX_INJECTION64_PATH") else { return };
    let start = find(open(&path), c"InitializeInjectionNvtx2");
    type Start = extern "C" fn(unsafe extern "C" fn(u32) -> *const c_void) -> c_int;
    let start: Start = unsafe { std::mem::transmute_copy(&start) };
    assert_eq!(start(export), 1);
}

pub fn push(name: &str) -> c_int {
    let name = CString::new(name).unwrap();
    let push = function::<extern "C" fn(*const c_char) -> c_int>(0, 9);
    push.map_or(-2, |push| push(name.as_ptr()))
}

pub fn push_wide(name: &str) -> c_int {
    let name: Vec<u32> = name.chars().map(u32::from).chain([0]).collect();
    let push = function::<extern "C" fn(*const u32) -> c_int>(0, 10);
    push.map_or(-2, |push| push(name.as_ptr()))
}

pub fn pop() -> c_int {
    function::<extern "C" fn() -> c_int>(0, 11).map_or(-2, |pop| pop())
}

pub fn start(name: &str) -> u64 {
    let name = CString::new(name).unwrap();
    let given = attributes(1, name.as_ptr().cast());
    let start = function::<extern "C" fn(*const Attributes) -> u64>(0, 4);
    start.map_or(0, |start| start(&raw const given))
}

pub fn end(number: u64) {
    if let Some(end) = function::<extern "C" fn(u64)>(0, 7) {
        end(number);
    }
}

pub fn domain(name: &str) -> u64 {
    let name = CString::new(name).unwrap();
    let create = function::<extern "C" fn(*const c_char) -> u64>(1, 12);
    create.map_or(0, |create| create(name.as_ptr()))
}

/// Pushes a range with a registered name.
pub fn push_in(domain: u64, name: &str) -> c_int {
    let name = CString::new(name).unwrap();
    let register = function::<extern "C" fn(u64, *const c_char) -> u64>(1, 10);
    let handle = register.map_or(0, |register| register(domain, name.as_ptr()));
    let given = attributes(3, handle as *const c_void);
    let push = function::<extern "C" fn(u64, *const Attributes) -> c_int>(1, 4);
    push.map_or(-2, |push| push(domain, &raw const given))
}

pub fn pop_in(domain: u64) -> c_int {
    function::<extern "C" fn(u64) -> c_int>(1, 5).map_or(-2, |pop| pop(domain))
}

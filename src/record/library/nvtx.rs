//! The functions of NVTX, by which programs name what they do.
//!
//! A program contains NVTX itself. At its first call, that loads the library which
//! `NVTX_INJECTION64_PATH` names, and has it put its functions into a table. CUPTI offers these
//! calls as well, but only to one tool, and without ranges that are pushed in no domain.

use super::ranges::{are_held, now, ranges};
use super::threads::thread_id;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// NVTX's numbers of what it exports, and of its modules of functions.
const CALLBACKS: u32 = 1;
const CORE: u32 = 1;
const CORE_2: u32 = 5;

/// What NVTX's functions return where nobody keeps count of ranges.
const NOT_COUNTED: c_int = -2;

/// Kinds of messages.
const ASCII: i32 = 1;
const WIDE: i32 = 2;
const REGISTERED: i32 = 3;

/// A list of the places of functions, by NVTX's numbers of these.
type Table = *const *mut *const c_void;

/// What NVTX exports to tools.
#[repr(C)]
pub struct Exported {
    size: usize,
    table: Option<unsafe extern "C" fn(u32, *mut Table, *mut u32) -> c_int>,
}

type Export = unsafe extern "C" fn(u32) -> *const Exported;

/// What a program says about a range.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

const UNNAMED: &str = "unnamed";
/// No name is longer.
const LONGEST: usize = 1_000;
/// More texts are not kept for a program that registers ever new ones.
const MOST_TEXTS: usize = 50_000;

/// Set if something has failed, and in a child that must not wait for its parent's threads.
static OFF: AtomicBool = AtomicBool::new(false);

/// Called by NVTX at a program's first call of it.
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjectionNvtx2(export: Option<Export>) -> c_int {
    // What panics say belongs in no program's output.
    std::panic::set_hook(Box::new(|_| {}));
    let installed = catch_unwind(|| install(export).is_some());
    c_int::from(installed.unwrap_or(false))
}

/// Puts the functions into NVTX's table, if there is something to record into.
fn install(export: Option<Export>) -> Option<()> {
    static PREPARED: Once = Once::new();
    std::env::var_os("HALLWAY_RECORD_FILE")?;
    // SAFETY: NVTX passes a function that returns what it exports, which stays.
    let exported = unsafe { export?(CALLBACKS).as_ref()? };
    let table = exported.table.filter(|_| exported.size >= size_of::<Exported>())?;
    let fill = |module, functions: &[(usize, *const c_void)]| {
        let (mut places, mut count) = (std::ptr::null(), 0);
        // SAFETY: both can be written.
        if unsafe { table(module, &raw mut places, &raw mut count) } == 0 || places.is_null() {
            return false;
        }
        for &(number, function) in functions.iter().filter(|(number, _)| *number < count as usize) {
            // SAFETY: the table has this many places, which are null or those of functions.
            unsafe {
                let place = *places.add(number);
                if !place.is_null() {
                    *place = function;
                }
            }
        }
        true
    };
    let core: [(usize, *const c_void); 8] = [
        (4, range_start as *const c_void),
        (5, range_start_ascii as *const c_void),
        (6, range_start_wide as *const c_void),
        (7, range_end as *const c_void),
        (8, range_push as *const c_void),
        (9, range_push_ascii as *const c_void),
        (10, range_push_wide as *const c_void),
        (11, range_pop as *const c_void),
    ];
    let core_2: [(usize, *const c_void); 8] = [
        (2, domain_range_start as *const c_void),
        (3, domain_range_end as *const c_void),
        (4, domain_range_push as *const c_void),
        (5, domain_range_pop as *const c_void),
        (10, register_ascii as *const c_void),
        (11, register_wide as *const c_void),
        (12, domain_create as *const c_void),
        (13, domain_create as *const c_void),
    ];
    // Old libraries have no second module.
    let filled = [fill(CORE, &core), fill(CORE_2, &core_2)];
    if filled == [false, false] {
        return None;
    }
    // Only now: a library that filled in nothing is unloaded again.
    PREPARED.call_once(|| {
        // SAFETY: the function is there until the process ends.
        let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
    });
    Some(())
}

extern "C" fn in_child() {
    if are_held() || TEXTS.try_lock().is_err() {
        OFF.store(true, Ordering::Relaxed);
    }
}

/// Does what a function of NVTX is for. A panic switches them all off.
fn quietly<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    if OFF.load(Ordering::Relaxed) {
        return otherwise;
    }
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        OFF.store(true, Ordering::Relaxed);
        otherwise
    })
}

/// This thread's number, for which the system is asked once.
fn this_thread() -> u64 {
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    if NUMBER.get() == 0 {
        NUMBER.set(thread_id());
    }
    NUMBER.get()
}

fn start(name: &str) -> u64 {
    ranges().begin(name, this_thread(), now())
}

fn end(number: u64) {
    ranges().end(number, now());
}

fn push(domain: u64, name: &str) -> c_int {
    ranges().push(name, [this_thread(), domain], now()) as c_int
}

fn pop(domain: u64) -> c_int {
    let around = ranges().pop([this_thread(), domain], now());
    around.map_or(NOT_COUNTED, |around| around as c_int)
}

/// Texts that the program has registered, by the handles that it got for them.
static TEXTS: Mutex<BTreeMap<u64, Arc<str>>> = Mutex::new(BTreeMap::new());

fn register(text: &str) -> u64 {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = texts.len() as u64 + 1;
    if texts.len() < MOST_TEXTS {
        texts.insert(handle, text.into());
    }
    handle
}

fn ascii<'t>(text: *const c_char) -> Cow<'t, str> {
    if text.is_null() {
        return UNNAMED.into();
    }
    // SAFETY: NVTX passes on what the program promises to be a text that ends by a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// A text of characters that take four bytes each.
fn wide(text: *const u32) -> String {
    if text.is_null() {
        return UNNAMED.into();
    }
    // SAFETY: as above.
    let word = |at| unsafe { text.add(at).read_unaligned() };
    let words = (0..LONGEST).map(word).take_while(|&word| word != 0);
    words.map(|word| char::from_u32(word).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn message<'t>(attributes: *const Attributes) -> Cow<'t, str> {
    // SAFETY: the program passes this structure, or none.
    let Some(given) = (unsafe { attributes.as_ref() }) else { return UNNAMED.into() };
    if usize::from(given.size) < size_of::<Attributes>() {
        return UNNAMED.into();
    }
    match given.message_type {
        ASCII => ascii(given.message.cast()),
        WIDE => wide(given.message.cast()).into(),
        REGISTERED => {
            let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
            let text = texts.get(&(given.message as u64));
            text.map_or(UNNAMED.into(), |text| text.to_string().into())
        }
        _ => UNNAMED.into(),
    }
}

unsafe extern "C" fn range_start(attributes: *const Attributes) -> u64 {
    quietly(0, || start(&message(attributes)))
}

unsafe extern "C" fn range_start_ascii(name: *const c_char) -> u64 {
    quietly(0, || start(&ascii(name)))
}

unsafe extern "C" fn range_start_wide(name: *const u32) -> u64 {
    quietly(0, || start(&wide(name)))
}

extern "C" fn range_end(number: u64) {
    quietly((), || end(number));
}

unsafe extern "C" fn range_push(attributes: *const Attributes) -> c_int {
    quietly(NOT_COUNTED, || push(0, &message(attributes)))
}

unsafe extern "C" fn range_push_ascii(name: *const c_char) -> c_int {
    quietly(NOT_COUNTED, || push(0, &ascii(name)))
}

unsafe extern "C" fn range_push_wide(name: *const u32) -> c_int {
    quietly(NOT_COUNTED, || push(0, &wide(name)))
}

extern "C" fn range_pop() -> c_int {
    quietly(NOT_COUNTED, || pop(0))
}

unsafe extern "C" fn domain_range_start(_: u64, attributes: *const Attributes) -> u64 {
    quietly(0, || start(&message(attributes)))
}

extern "C" fn domain_range_end(_: u64, number: u64) {
    quietly((), || end(number));
}

unsafe extern "C" fn domain_range_push(domain: u64, attributes: *const Attributes) -> c_int {
    quietly(NOT_COUNTED, || push(domain, &message(attributes)))
}

extern "C" fn domain_range_pop(domain: u64) -> c_int {
    quietly(NOT_COUNTED, || pop(domain))
}

unsafe extern "C" fn register_ascii(_: u64, text: *const c_char) -> u64 {
    quietly(0, || register(&ascii(text)))
}

unsafe extern "C" fn register_wide(_: u64, text: *const u32) -> u64 {
    quietly(0, || register(&wide(text)))
}

/// A new domain's handle, whatever its name: ranges keep to their domains, and that is all that
/// these are needed for.
extern "C" fn domain_create(_: *const c_void) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

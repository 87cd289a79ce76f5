//! A program that seems to use CUDA. It loads the recorder as the driver would, and then does what
//! its argument says. Compiled by itself.

#[path = "pretend_nvtx.rs"]
mod nvtx;

use std::ffi::{CString, c_char, c_int, c_void};
use std::time::Duration;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn exit(code: c_int) -> !;
    fn _exit(code: c_int) -> !;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

const RUNTIME: u32 = 2;
const DRIVER: u32 = 1;
const RECORD: usize = 208;

#[repr(C)]
struct Data {
    site: c_int,
    function: *const c_char,
    params: *const u64,
    result: *const c_int,
    symbol: *const c_char,
    context: *mut c_void,
    context_uid: u32,
    correlation_data: *mut u64,
    correlation: u32,
}

type Call = unsafe extern "C" fn(u64, u32, u32, *const c_void);
type Record = unsafe extern "C" fn(*const [u8; RECORD]);

#[derive(Clone, Copy)]
struct Cuda {
    call: Call,
    record: Record,
}

fn open(path: &str) -> *mut c_void {
    let path = CString::new(path).unwrap();
    unsafe { dlopen(path.as_ptr(), 2 | 0x100) }
}

unsafe fn find<F: Copy>(library: *mut c_void, name: &std::ffi::CStr) -> F {
    let found = unsafe { dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    unsafe { std::mem::transmute_copy(&found) }
}

impl Cuda {
    /// One site of a call.
    fn at(self, site: c_int, now: u64, what: (u32, u32, u32), result: c_int, params: &[u64]) {
        let (domain, id, correlation) = what;
        let data = Data {
            site,
            function: c"".as_ptr(),
            params: params.as_ptr(),
            result: &raw const result,
            symbol: c"scale".as_ptr(),
            context: std::ptr::null_mut(),
            context_uid: 1,
            correlation_data: std::ptr::null_mut(),
            correlation,
        };
        unsafe { (self.call)(now, domain, id, (&raw const data).cast()) };
    }

    fn call(self, times: (u64, u64), what: (u32, u32, u32), params: &[u64]) {
        self.at(0, times.0, what, 0, params);
        self.at(1, times.1, what, 0, params);
    }

    /// A call of the runtime, which calls the driver.
    fn nested(self, times: (u64, u64), id: u32, correlation: u32, p: &[u64], inner: (u32, &[u64])) {
        self.at(0, times.0, (RUNTIME, id, correlation), 0, p);
        self.call((times.0 + 1, times.1 - 1), (DRIVER, inner.0, correlation), inner.1);
        self.at(1, times.1, (RUNTIME, id, correlation), 0, p);
    }

    fn record(self, kind: u32, words: &[(usize, u32)], longs: &[(usize, u64)]) {
        let mut record = [0; RECORD];
        let all = [(0, kind)].into_iter().chain(words.iter().copied());
        for (at, word) in all {
            record[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        for (at, long) in longs {
            record[*at..at + 8].copy_from_slice(&long.to_ne_bytes());
        }
        unsafe { (self.record)(&raw const record) };
    }

    fn kernel(self, times: (u64, u64), stream: u32, correlation: u32, node: u64) {
        let name = c"scale".as_ptr() as u64;
        let sizes = [(52, 8), (56, 1), (60, 1), (64, 128), (68, 1), (72, 1), (76, 16), (80, 48)];
        let mut words = vec![(4, 24 << 16), (40, 0), (44, 1), (48, stream), (92, correlation)];
        words.extend(sizes);
        self.record(10, &words, &[(16, times.0), (24, times.1), (104, name), (144, node)]);
    }

    /// `kinds` are the bytes of the kind of copy and of both kinds of memory.
    fn copy(self, times: (u64, u64), stream: u32, correlation: u32, kinds: u32, bytes: u64) {
        let words = [(4, kinds), (32, 0), (36, 1), (40, stream), (44, correlation)];
        self.record(1, &words, &[(8, bytes), (16, times.0), (24, times.1)]);
    }
}

const MEMORY: u64 = 0x7000_0000;
const ONE: u64 = 0xaa;
const OTHER: u64 = 0xbb;
const EVENT: u64 = 0xe0;
/// A stream in which the GPU does nothing.
const QUIET: u64 = 0xcc;

/// A bit of everything, from this time on.
fn a_bit_of_everything(cuda: Cuda, t: u64) {
    let host = [7_u8; 64];
    let mut place = MEMORY;
    let malloc = [&raw mut place as u64, 4096];
    let stream = [0, QUIET, 0];
    unsafe { (cuda.call)(t - 10, 3, 3, stream.as_ptr().cast()) };
    cuda.nested((t, t + 100), 20, 1, &malloc, (243, &malloc));
    let source = host.as_ptr() as u64;
    cuda.call((t + 200, t + 250), (RUNTIME, 41, 2), &[MEMORY, source, 64, 1, ONE]);
    cuda.copy((t + 300, t + 400), 13, 2, 0x03_01_01, 64);
    let values = (MEMORY, 5_u32, [MEMORY + 16, 9]);
    let args = [&raw const values.0 as u64, &raw const values.1 as u64, &raw const values.2 as u64];
    let launch = [0, 0, 0, 0, args.as_ptr() as u64, 0, ONE];
    let inner = [0xf00, 0, 0, 0, 0, ONE, args.as_ptr() as u64, 0];
    cuda.nested((t + 500, t + 520), 211, 3, &launch, (307, &inner));
    cuda.kernel((t + 600, t + 700), 13, 3, 0);
    cuda.call((t + 800, t + 810), (RUNTIME, 135, 4), &[EVENT, ONE]);
    cuda.call((t + 820, t + 830), (RUNTIME, 147, 5), &[OTHER, EVENT, 0]);
    cuda.call((t + 840, t + 850), (RUNTIME, 147, 12), &[QUIET, EVENT, 0]);
    cuda.call((t + 900, t + 950), (DRIVER, 278, 6), &[source, MEMORY, 32]);
    cuda.copy((t + 910, t + 940), 7, 6, 0x01_03_02, 32);
    cuda.call((t + 1000, t + 1020), (RUNTIME, 311, 7), &[0x99, OTHER]);
    cuda.kernel((t + 1100, t + 1200), 14, 7, 0x1_0000_0000);
    cuda.kernel((t + 1200, t + 1300), 14, 7, 0x1_0000_0001);
    cuda.call((t + 1050, t + 1310), (RUNTIME, 131, 8), &[OTHER]);
    cuda.at(0, t + 1400, (RUNTIME, 20, 9), 2, &malloc);
    cuda.at(1, t + 1410, (RUNTIME, 20, 9), 2, &malloc);
    cuda.kernel((0, 0), 13, 3, 0);
    let buffer = [MEMORY, MEMORY + 8, 3];
    let size = 24_u64;
    let extra = [1, buffer.as_ptr() as u64, 2, &raw const size as u64, 0];
    let packed = [0xf01, 0, 0, 0, 0, ONE, 0, extra.as_ptr() as u64];
    cuda.call((t + 1500, t + 1510), (DRIVER, 307, 10), &packed);
    cuda.call((t + 1600, t + 1650), (RUNTIME, 22, 11), &[MEMORY]);
}

/// Three copies in, two of them of equal contents, and one back.
fn copies_for_digests(cuda: Cuda) {
    let (first, mut second) = (vec![1_u8; 300_000], vec![1_u8; 300_000]);
    let copy = |at, correlation, from: &[u8]| {
        let params = [MEMORY, from.as_ptr() as u64, from.len() as u64, 1, ONE];
        cuda.call((at, at + 10), (RUNTIME, 41, correlation), &params);
    };
    copy(1_000, 1, &first);
    copy(2_000, 2, &second);
    second[299_999] = 2;
    copy(3_000, 3, &second);
    let mut back = vec![0_u8; 300_000];
    // What comes to memory that is not page-locked is there when the call returns.
    cuda.call((3_500, 3_510), (RUNTIME, 152, 7), &[back.as_ptr() as u64, 300_000, 0]);
    let params = [back.as_mut_ptr() as u64, MEMORY, 300_000, 2, ONE];
    cuda.call((4_000, 4_010), (RUNTIME, 41, 4), &params);
    back.copy_from_slice(&second);
    // Nothing can be read there.
    cuda.call((4_500, 4_510), (RUNTIME, 41, 5), &[MEMORY, 0x1000, 64, 1, ONE]);
    cuda.call((5_000, 5_010), (RUNTIME, 131, 6), &[ONE]);
    std::hint::black_box(&back);
}

/// Copies from memory that is filled again, sometimes too early.
fn refills(cuda: Cuda) {
    let mut host = vec![1_u8; 100_000];
    let place = host.as_ptr() as u64;
    cuda.call((10, 20), (RUNTIME, 152, 1), &[place, 100_000, 0]);
    let send = |at: u64, from: u64| {
        let correlation = at as u32;
        cuda.call((at, at + 10), (RUNTIME, 41, correlation), &[MEMORY, from, 100_000, 1, ONE]);
        cuda.call((at + 11, at + 12), (RUNTIME, 135, correlation + 1), &[EVENT, ONE]);
    };
    let wait = |at: u64| cuda.call((at, at + 10), (RUNTIME, 131, at as u32), &[ONE]);
    let ask = |at: u64, answer: c_int| {
        let query = (RUNTIME, 138, at as u32);
        cuda.at(0, at, query, answer, &[EVENT]);
        cuda.at(1, at + 10, query, answer, &[EVENT]);
    };
    send(1_000, place);
    host[7] = 2;
    wait(1_100);
    send(2_000, place);
    wait(2_100);
    host[7] = 3;
    send(3_000, place);
    ask(3_100, 600);
    host[7] = 4;
    wait(3_200);
    send(4_000, place);
    ask(4_100, 0);
    host[7] = 5;
    wait(4_200);
    send(5_000, place);
    cuda.call((5_100, 5_110), (RUNTIME, 41, 5_100), &[place, MEMORY, 100_000, 2, ONE]);
    host[7] = 6;
    wait(5_200);
    let mut pageable = vec![1_u8; 100_000];
    send(6_000, pageable.as_ptr() as u64);
    pageable[7] = 2;
    wait(6_100);
    std::hint::black_box((&host, &pageable));
}

/// Copies to memory that is new, that was filled, and that is too small to matter.
fn new_memory(cuda: Cuda) {
    let fetch = |at: u64, target: &[u8], bytes: u64| {
        let params = [target.as_ptr() as u64, MEMORY, bytes, 2, ONE];
        cuda.call((at, at + 10), (RUNTIME, 41, at as u32), &params);
    };
    let new = vec![0_u8; 8 << 20];
    fetch(1_000, &new, 8 << 20);
    let old = vec![1_u8; 8 << 20];
    fetch(2_000, &old, 8 << 20);
    let other = vec![0_u8; 8 << 20];
    fetch(3_000, &other, 4_096);
    std::hint::black_box((&new, &old, &other));
}

/// Launches with their kernels, as fast as it goes.
fn launches(cuda: Cuda, count: u32) {
    let values = (MEMORY, 5_u32, [MEMORY + 16, 9]);
    let args = [&raw const values.0 as u64, &raw const values.1 as u64, &raw const values.2 as u64];
    let mut place = MEMORY;
    cuda.call((1, 2), (RUNTIME, 20, 1), &[&raw mut place as u64, 4096]);
    for number in 0..count {
        let now = 1_795_964_759_000_000_000 + 9_871 * u64::from(number);
        let launch = [0, 0, 0, 0, args.as_ptr() as u64, 0, ONE];
        let inner = [0xf00, 0, 0, 0, 0, ONE, args.as_ptr() as u64, 0];
        let times = (now, now + 4_321 + u64::from(number % 97));
        cuda.nested(times, 211, 10 + 3 * number, &launch, (307, &inner));
        cuda.kernel((now + 5_000, now + 9_000), 13, 10 + 3 * number, 0);
    }
}

/// A pinned copy into device memory and its record, each of another size.
fn copy_in(cuda: Cuda, at: u64, correlation: u32) {
    let bytes = 64 * u64::from(correlation);
    cuda.call((at, at + 10), (RUNTIME, 41, correlation), &[MEMORY, 0x5000, bytes, 1, ONE]);
    cuda.copy((at + 20, at + 40), 13, correlation, 0x03_02_01, bytes);
}

/// Copies in ranges of several kinds, and between the calls that ask for profiling. It is in a
/// range already, which it never leaves. Ranges begin and end when the call before them ends.
fn ranges(cuda: Cuda, t: u64) {
    copy_in(cuda, t, 1);
    assert_eq!(nvtx::push("step"), 1);
    copy_in(cuda, t + 100, 2);
    let library = nvtx::domain("a library");
    assert_eq!(nvtx::push_in(library, "inner"), 0);
    copy_in(cuda, t + 200, 3);
    std::thread::scope(|scope| {
        // What helpers do while a thread is in a range belongs to it, too.
        scope.spawn(|| copy_in(cuda, t + 250, 4));
    });
    assert_eq!(nvtx::pop_in(library), 0);
    assert_eq!(nvtx::pop(), 1);
    copy_in(cuda, t + 300, 5);
    cuda.nested((t + 400, t + 410), 171, 6, &[], (308, &[]));
    copy_in(cuda, t + 420, 7);
    cuda.nested((t + 450, t + 460), 172, 8, &[], (309, &[]));
    let number = nvtx::start("span");
    copy_in(cuda, t + 500, 9);
    assert_eq!(nvtx::push_wide("größer"), 1);
    copy_in(cuda, t + 600, 10);
    nvtx::end(number);
    nvtx::end(number);
    copy_in(cuda, t + 700, 11);
    assert_eq!((nvtx::pop(), nvtx::pop_in(library)), (1, -2));
}

fn main() {
    let action = std::env::args().nth(1).unwrap_or_default();
    if action == "nothing" {
        return;
    }
    if action == "fails" {
        std::process::exit(7);
    }
    let library = open(&std::env::var("HALLWAY_CUPTI").unwrap());
    let cuda = unsafe {
        let (call, record) = (find(library, c"pretend_call"), find(library, c"pretend_record"));
        Cuda { call, record }
    };
    if action == "ranges" && std::env::var_os("NVTX_INJECTION64_PATH").is_some() {
        nvtx::load(open, |library, name| unsafe { dlsym(library, name.as_ptr()) });
        assert_eq!(nvtx::push("whole"), 0);
    }
    let recorder = open(&std::env::var("CUDA_INJECTION64_PATH").unwrap());
    let start: extern "C" fn() -> c_int = unsafe { find(recorder, c"InitializeInjection") };
    assert_eq!(start(), 1);
    match action.as_str() {
        "everything" => a_bit_of_everything(cuda, 1_000),
        "ranges" if std::env::var_os("NVTX_INJECTION64_PATH").is_some() => {
            ranges(cuda, 4_000_000_000_000_000_000);
        }
        "digests" => copies_for_digests(cuda),
        "refills" => refills(cuda),
        "new memory" => new_memory(cuda),
        "launches" => launches(cuda, std::env::args().nth(2).unwrap().parse().unwrap()),
        "killed" => {
            a_bit_of_everything(cuda, 1_000);
            std::thread::sleep(Duration::from_millis(1_200));
            unsafe { kill(std::process::id() as c_int, 9) };
        }
        "leaves" => {
            a_bit_of_everything(cuda, 1_000);
            std::thread::sleep(Duration::from_millis(1_200));
            unsafe { _exit(3) };
        }
        "forks" => unsafe {
            let child = fork();
            if child == 0 {
                a_bit_of_everything(cuda, 9_000);
                exit(0);
            }
            assert_eq!(waitpid(child, std::ptr::null_mut(), 0), child);
            a_bit_of_everything(cuda, 1_000);
        },
        "starts another" => {
            a_bit_of_everything(cuda, 1_000);
            let this = std::env::current_exe().unwrap();
            assert!(std::process::Command::new(this).arg("everything").status().unwrap().success());
        }
        "stops recording" => {
            a_bit_of_everything(cuda, 1_000);
            std::thread::sleep(Duration::from_millis(1_500));
            a_bit_of_everything(cuda, 9_000);
        }
        "threads" => std::thread::scope(|scope| {
            for number in 0..8_u32 {
                scope.spawn(move || {
                    for call in 0..2_000_u32 {
                        let correlation = 1 + number * 10_000 + call;
                        cuda.call((5, 6), (RUNTIME, 131, correlation), &[ONE]);
                    }
                });
            }
        }),
        other => panic!("no action {other}"),
    }
}

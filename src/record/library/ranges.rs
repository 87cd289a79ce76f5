//! Named ranges of the program, and which parts of it are recorded.
//!
//! A program may begin ranges before it initialises CUDA, and with it the recorder. What is here
//! works without one; what it knows by then is written once there is one.

use super::format::{
    PROFILER, RANGE_BEGIN, RANGE_CHOSEN, RANGE_END, RANGE_NAME, RANGES, put, put_step, put_text,
};
use super::functions::How;
use super::output::{ON, Sink};
use super::recorder::RECORDER;
use super::threads::{PATIENCE, patiently};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

/// A block is written when it is longer than this.
const FULL: usize = 32 << 10;
const LONGEST_NAME: usize = 200;
/// More names are not told apart, and more ranges that never end are not kept.
const MOST_NAMES: usize = 50_000;
const MOST_OPEN: usize = 10_000;

/// The range outside of which nothing is recorded, if hallway was told one.
pub fn chosen_range() -> Option<&'static str> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    let name = || std::env::var("HALLWAY_RECORD_RANGE").ok().filter(|name| !name.is_empty());
    NAME.get_or_init(name).as_deref()
}

/// How many ranges of the chosen name are open, in all threads.
static CHOSEN_OPEN: AtomicUsize = AtomicUsize::new(0);
/// Whether the program has asked for profiling, if that is what was chosen.
static PROFILING: AtomicBool = AtomicBool::new(false);

/// Whether calls are recorded now. One thread's range is for all of them: frameworks have helpers
/// that call on behalf of the thread in the range.
pub fn is_chosen() -> bool {
    chosen_range().is_none()
        || CHOSEN_OPEN.load(Ordering::Relaxed) > 0
        || PROFILING.load(Ordering::Relaxed)
}

/// Notes that a call which begins or ends profiling is itself about to begin, or has ended.
pub fn profiling(how: How, begins: bool) {
    let on = match (how, begins) {
        (How::Starts, false) => true,
        (How::Stops, true) => false,
        _ => return,
    };
    if chosen_range() == Some(PROFILER) && PROFILING.swap(on, Ordering::Relaxed) != on && on {
        ranges().write_open();
    }
}

static RANGES_HERE: Mutex<Ranges> = Mutex::new(Ranges::new());

/// The ranges of this process.
pub fn ranges() -> MutexGuard<'static, Ranges> {
    RANGES_HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether another thread holds them: in a child of `fork`, that thread is not there to let go.
pub fn are_held() -> bool {
    RANGES_HERE.try_lock().is_err()
}

/// Writes which range was chosen, and which ranges the program is in already.
pub fn recorder_started() {
    let mut ranges = ranges();
    if let Some(name) = chosen_range() {
        ranges.block.push(RANGE_CHOSEN);
        put_text(&mut ranges.block, name.as_bytes());
    }
    ranges.write_open();
}

/// Writes what has come.
pub fn flush(sink: &Sink, at_exit: bool) {
    let ranges = if at_exit { patiently(&RANGES_HERE, PATIENCE) } else { Some(ranges()) };
    if let Some(mut ranges) = ranges {
        ranges.put_names();
        ranges.hand_over(sink);
    }
}

/// The time on the recorder's clock, which is the system's.
pub fn now() -> u64 {
    if let Some(recorder) = RECORDER.get() {
        return recorder.cupti.now();
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64
}

pub struct Ranges {
    /// The number of the last one.
    begun: u64,
    open: BTreeMap<u64, Open>,
    /// By thread and domain, the ranges that have been pushed and not been popped.
    pushed: BTreeMap<(u64, u64), Vec<u64>>,
    numbers: BTreeMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
    /// How many names have been written.
    named: usize,
    block: Vec<u8>,
    /// The range and the time that was written last.
    last: (u64, u64),
}

struct Open {
    thread: u64,
    name: usize,
    begin: u64,
    is_chosen: bool,
    is_written: bool,
}

impl Ranges {
    const fn new() -> Self {
        Self {
            begun: 0,
            open: BTreeMap::new(),
            pushed: BTreeMap::new(),
            numbers: BTreeMap::new(),
            names: Vec::new(),
            named: 0,
            block: Vec::new(),
            last: (0, 0),
        }
    }

    /// A range begins. Its number is never 0.
    pub fn begin(&mut self, name: &str, thread: u64, now: u64) -> u64 {
        self.begun += 1;
        if self.open.len() >= MOST_OPEN {
            return self.begun;
        }
        let is_chosen = chosen_range() == Some(name);
        let name = self.number_of(name);
        let open = Open { thread, name, begin: now, is_chosen, is_written: false };
        self.open.insert(self.begun, open);
        if is_chosen {
            CHOSEN_OPEN.fetch_add(1, Ordering::Relaxed);
        }
        self.write_open();
        self.begun
    }

    /// A range ends, if there is one with this number.
    pub fn end(&mut self, number: u64, now: u64) {
        let Some(open) = self.open.remove(&number) else { return };
        if open.is_chosen {
            CHOSEN_OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        if open.is_written && ON.load(Ordering::Relaxed) {
            self.block.push(RANGE_END);
            self.put_place(number, now);
            self.hand_over_if_full();
        }
    }

    /// Begins a range inside those that the thread has pushed, and says how many these are.
    pub fn push(&mut self, name: &str, [thread, domain]: [u64; 2], now: u64) -> usize {
        let number = self.begin(name, thread, now);
        let pushed = self.pushed.entry((thread, domain)).or_default();
        pushed.push(number);
        pushed.len() - 1
    }

    /// Ends the last range that the thread has pushed, and says how many there are around it.
    pub fn pop(&mut self, [thread, domain]: [u64; 2], now: u64) -> Option<usize> {
        let pushed = self.pushed.get_mut(&(thread, domain))?;
        let number = pushed.pop()?;
        let around = pushed.len();
        if pushed.is_empty() {
            self.pushed.remove(&(thread, domain));
        }
        self.end(number, now);
        Some(around)
    }

    fn number_of(&mut self, name: &str) -> usize {
        let end = name.floor_char_boundary(LONGEST_NAME);
        let name = if self.names.len() < MOST_NAMES { &name[..end] } else { "another range" };
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    /// Writes the begins of open ranges that have none in the file, if anything is recorded.
    fn write_open(&mut self) {
        if !ON.load(Ordering::Relaxed) || !is_chosen() {
            return;
        }
        self.put_names();
        // Ranges that are written come before ranges that are not.
        let is_new = |(_, open): &(&u64, &Open)| !open.is_written;
        let new = self.open.iter().rev().take_while(is_new);
        let new: Vec<u64> = new.map(|(number, _)| *number).collect();
        for number in new.into_iter().rev() {
            let Some(open) = self.open.get_mut(&number) else { continue };
            open.is_written = true;
            let Open { thread, name, begin, .. } = *open;
            self.block.push(RANGE_BEGIN);
            self.put_place(number, begin);
            put(&mut self.block, thread);
            put(&mut self.block, name as u64);
            self.hand_over_if_full();
        }
    }

    /// Writes the names that have come: of ranges outside the chosen one as well, so that whoever
    /// chose a name that never came learns which did.
    fn put_names(&mut self) {
        while self.named < self.names.len() {
            self.block.push(RANGE_NAME);
            put_text(&mut self.block, self.names[self.named].as_bytes());
            self.named += 1;
            self.hand_over_if_full();
        }
    }

    fn put_place(&mut self, number: u64, time: u64) {
        put_step(&mut self.block, self.last.0, number);
        put_step(&mut self.block, self.last.1, time);
        self.last = (number, time);
    }

    fn hand_over_if_full(&mut self) {
        if self.block.len() > FULL
            && let Some(recorder) = RECORDER.get()
        {
            self.hand_over(&recorder.sink);
        }
    }

    fn hand_over(&mut self, sink: &Sink) {
        if !self.block.is_empty() {
            sink.write(RANGES, &self.block);
            self.block.clear();
            self.last = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_popped_was_pushed_by_that_thread_in_that_domain() {
        let mut ranges = Ranges::new();
        assert_eq!(ranges.push("outer", [1, 0], 10), 0);
        assert_eq!(ranges.push("inner", [1, 0], 20), 1);
        assert_eq!(ranges.push("of a library", [1, 7], 25), 0);
        assert_eq!(ranges.pop([2, 0], 30), None);
        assert_eq!(ranges.pop([1, 0], 40), Some(1));
        assert_eq!(ranges.open.values().map(|open| open.begin).collect::<Vec<_>>(), [10, 25]);
        assert_eq!(ranges.pop([1, 0], 50), Some(0));
        assert_eq!(ranges.pop([1, 0], 60), None);
        assert_eq!(ranges.pop([1, 7], 70), Some(0));
        assert!(ranges.open.is_empty() && ranges.pushed.is_empty());
    }

    #[test]
    fn ranges_that_never_end_are_not_kept_for_ever() {
        let mut ranges = Ranges::new();
        let numbers: Vec<u64> =
            (0..2 * MOST_OPEN as u64).map(|at| ranges.begin("leak", 1, at)).collect();
        assert!(numbers.is_sorted() && numbers[0] > 0);
        assert_eq!((ranges.open.len(), ranges.names.len()), (MOST_OPEN, 1));
        ranges.end(numbers[MOST_OPEN], 0);
        ranges.end(12_345_678, 0);
        assert_eq!(ranges.open.len(), MOST_OPEN);
    }
}

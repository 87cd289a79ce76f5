//! Which memory there is, and which of it a kernel was given.

use super::cupti::Driver;
use super::format::MOST_POINTERS;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A kernel with more parameters than this is none that anybody wrote.
const MOST_PARAMETERS: usize = 1024;
/// CUDA allows 32,764 bytes of parameters.
const LONGEST_PARAMETERS: usize = 32_764;

/// Offset and size of each parameter of a function.
type Parameters = Arc<[(usize, usize)]>;

/// Allocations of devices, pinned and managed memory.
#[derive(Default)]
pub struct Memory {
    /// The length of each allocation by its first address.
    held: RwLock<BTreeMap<u64, u64>>,
    /// All addresses lie between these two: most words are seen to be no pointers by them alone.
    lowest: AtomicU64,
    highest: AtomicU64,
    parameters: RwLock<HashMap<(usize, usize), Parameters>>,
    driver: OnceLock<Driver>,
}

impl Memory {
    pub fn new() -> Self {
        Self { lowest: AtomicU64::new(u64::MAX), ..Self::default() }
    }

    pub fn allocated(&self, address: u64, bytes: u64) {
        if address == 0 || bytes == 0 {
            return;
        }
        self.lowest.fetch_min(address, Ordering::Relaxed);
        self.highest.fetch_max(address.saturating_add(bytes), Ordering::Relaxed);
        self.held.write().unwrap_or_else(PoisonError::into_inner).insert(address, bytes);
    }

    pub fn freed(&self, address: u64) {
        self.held.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
    }

    /// Forgets the parameters of functions: a handle may be used again once its module is gone.
    pub fn module_unloaded(&self) {
        self.parameters.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Which addresses among a launch's parameters fall into memory that is known. `values` points
    /// to a pointer to each parameter; `name` is the place of the kernel's name.
    ///
    /// # Safety
    /// The function has just been launched with these parameters.
    pub unsafe fn pointers(
        &self,
        function: usize,
        name: usize,
        values: *const *const u8,
        found: &mut Vec<u64>,
    ) {
        for (index, &(offset, size)) in self.parameters(function, name).iter().enumerate() {
            // SAFETY: the driver says that the function has so many parameters of these sizes.
            unsafe {
                let value = *values.add(index);
                if !value.is_null() {
                    self.words(value, offset, size, found);
                }
            }
        }
    }

    /// Like [`Self::pointers`], for parameters that are packed into one buffer. `extra` is a list
    /// of numbers, each followed by a value.
    ///
    /// # Safety
    /// A function has just been launched with this list.
    pub unsafe fn packed_pointers(&self, extra: *const usize, found: &mut Vec<u64>) {
        const END: usize = 0;
        const BUFFER: usize = 1;
        const SIZE: usize = 2;
        let (mut buffer, mut size) = (std::ptr::null::<u8>(), 0);
        for pair in 0..4 {
            // SAFETY: the list ends by `END`, before which each number has its value.
            unsafe {
                match *extra.add(2 * pair) {
                    END => break,
                    BUFFER => buffer = *extra.add(2 * pair + 1) as *const u8,
                    SIZE => size = *(*extra.add(2 * pair + 1) as *const usize),
                    _ => return,
                }
            }
        }
        if !buffer.is_null() && size <= LONGEST_PARAMETERS {
            // SAFETY: the buffer is so long.
            unsafe { self.words(buffer, 0, size, found) };
        }
    }

    /// Notes which aligned words of a value are addresses of known memory.
    ///
    /// # Safety
    /// The value is so long.
    unsafe fn words(&self, value: *const u8, offset: usize, size: usize, found: &mut Vec<u64>) {
        let mut at = offset.next_multiple_of(8) - offset;
        while at + 8 <= size && found.len() < MOST_POINTERS {
            // SAFETY: the word ends within the value.
            let word = unsafe { value.add(at).cast::<u64>().read_unaligned() };
            if self.holds(word) {
                found.push(word);
            }
            at += 8;
        }
    }

    /// Whether the address is one of memory that CUDA knows.
    pub fn holds(&self, address: u64) -> bool {
        if address < self.lowest.load(Ordering::Relaxed)
            || address >= self.highest.load(Ordering::Relaxed)
        {
            return false;
        }
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let before = held.range(..=address).next_back();
        before.is_some_and(|(start, bytes)| address - start < *bytes)
    }

    /// The parameters of a function, asked for once.
    fn parameters(&self, function: usize, name: usize) -> Parameters {
        let key = (function, name);
        let known = self.parameters.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return Arc::clone(known);
        }
        drop(known);
        let driver = self.driver.get_or_init(Driver::find);
        let ask = |index| driver.parameter(function, index);
        let asked: Parameters = (0..MOST_PARAMETERS).map_while(ask).collect();
        let fits = asked.iter().all(|(offset, size)| offset + size <= LONGEST_PARAMETERS);
        let asked = if fits { asked } else { Parameters::default() };
        let mut known = self.parameters.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, Arc::clone(&asked));
        asked
    }
}

//! Whether memory of this process has pages yet: a copy into memory that nobody has touched waits
//! for each of them.

use super::format::PLACES;
use std::ffi::{c_int, c_long, c_void};

unsafe extern "C" {
    fn mincore(start: *mut c_void, length: usize, found: *mut u8) -> c_int;
    fn sysconf(name: c_int) -> c_long;
}

/// How many of [`PLACES`] pages of some memory have never been touched. 0 if the system does not
/// say: it says nothing about memory that is not the process's own.
pub fn untouched(address: u64, bytes: u64) -> u8 {
    const PAGE_SIZE: c_int = 30;
    // SAFETY: there is nothing that the call could do wrong.
    let page = u64::try_from(unsafe { sysconf(PAGE_SIZE) }).unwrap_or(0);
    if !page.is_power_of_two() {
        return 0;
    }
    // The middle of each eighth: the first page may be in use by something else before it.
    let place =
        |part: u64| address.saturating_add(bytes / (2 * PLACES) * (2 * part + 1)) & !(page - 1);
    let is_untouched = |at: u64| {
        let mut found = 1;
        // SAFETY: the system checks the range, and writes one byte for one page.
        let code = unsafe { mincore(at as *mut c_void, page as usize, &raw mut found) };
        code == 0 && found & 1 == 0
    };
    (0..PLACES).map(place).filter(|&at| is_untouched(at)).count() as u8
}

//! Keeping the issuing thread on one CPU.

#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

/// As long as this lives, the thread that made it stays on one CPU.
///
/// Driver calls and staged copies are single-threaded, and the cores of a
/// shared host differ by half in what they get done, depending on what else
/// runs on the same core: a thread that moves measures the moves, and one that
/// stays in a bad place measures its neighbour. Where the system has no call
/// for it the thread stays free.
pub struct OneCpu {
    #[cfg(target_os = "linux")]
    before: Option<libc::cpu_set_t>,
}

#[cfg(target_os = "linux")]
impl OneCpu {
    /// Moves the thread to the CPU on which a short copy of memory is fastest
    /// right now. Threads that it starts from now on stay there too, so a
    /// [`super::Team`] must exist before.
    pub fn quietest() -> Self {
        // SAFETY: the set is plain data that the call fills.
        let before = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            (libc::sched_getaffinity(0, size, &raw mut set) == 0).then_some(set)
        };
        let Some(allowed) = before else { return Self { before: None } };
        // SAFETY: the index stays below the size of the set.
        let is_allowed = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &allowed) };
        let cpus = (0..libc::CPU_SETSIZE as usize).filter(is_allowed);
        let (from, mut to) = (vec![1.0_f32; PROBE], vec![0.0_f32; PROBE]);
        let quietest = cpus.min_by_key(|&cpu| {
            move_to(cpu);
            (0..3).map(|_| copy_time(&from, &mut to)).min()
        });
        if let Some(cpu) = quietest {
            move_to(cpu);
        }
        Self { before }
    }
}

/// Elements of the copy: a neighbour on the core slows it however little it is, and with
/// a mebibyte it takes milliseconds to ask all CPUs.
#[cfg(target_os = "linux")]
const PROBE: usize = 1 << 18;

#[cfg(target_os = "linux")]
fn copy_time(from: &[f32], to: &mut [f32]) -> Duration {
    let start = Instant::now();
    to.copy_from_slice(from);
    std::hint::black_box(&to);
    start.elapsed()
}

#[cfg(target_os = "linux")]
fn move_to(cpu: usize) {
    // SAFETY: the set is plain data, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[cfg(not(target_os = "linux"))]
impl OneCpu {
    pub fn quietest() -> Self {
        Self {}
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(before) = &self.before {
            // SAFETY: a set that the system gave us.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), before) };
        }
    }
}

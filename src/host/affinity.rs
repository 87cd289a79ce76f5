//! CPU affinity of the issuing thread: it stays on one CPU, and knows whether it has the core to
//! itself.
//!
//! A core that runs two SMT siblings gives each about two thirds of its speed (Intel 64 and IA-32
//! Architectures Optimization Reference Manual, "Intel Hyper-Threading Technology"). On a shared
//! host the sibling may run anybody's work. It comes and goes within milliseconds, and driver calls
//! take half as long again meanwhile. No counter shows it inside a virtual machine, but a short
//! piece of arithmetic does: it takes the same time each run if the core does nothing else.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Pins the thread that made it to one CPU as long as it lives, and moves it to a quieter one when
/// asked to. Threads started meanwhile inherit the affinity, so a [`super::Team`] must be created
/// before. Where the system refuses, the thread stays free.
pub struct OneCpu {
    before: Option<libc::cpu_set_t>,
    /// CPUs that the thread may run on. `at` is the index of its current one.
    pub(super) cpus: Vec<usize>,
    at: usize,
    /// The shortest time that the arithmetic took, which is taken as its time on a core of its own.
    pace: Duration,
}

/// How many CPUs are tried: among four, one nearly always has its core to itself, and waking a
/// sleeping CPU takes a tenth of a millisecond.
const TRIED: usize = 4;

/// The core is shared if the arithmetic takes more than this multiple of its pace. On an
/// H200's host it took 1.00 to 1.01 of its pace, or 1.04 to 1.05 with clocks a step down,
/// and plans took equally long in both cases. At 1.08 to 1.14, plans took a fifth longer.
const ALONE: f64 = 1.065;

impl OneCpu {
    /// How much more time a measurement gets if others use the core.
    pub const MORE_PATIENCE: u32 = 2;

    /// Pins the thread to a CPU that is fast right now.
    pub fn quietest() -> Self {
        let mut cpu = Self::free();
        cpu.choose();
        cpu
    }

    /// Moves the thread to the fastest of a few CPUs. Other ones are tried from call to call, which
    /// averages over CPUs: driver calls differ by a tenth from one to the next.
    pub fn choose(&mut self) {
        let count = self.cpus.len();
        // They are spread over the list, with an offset of one, so that the next call tries others.
        let apart = (count / TRIED).max(1);
        let some = (1..=TRIED.min(count)).map(|number| (self.at + 1 + number * apart) % count);
        let some: Vec<usize> = some.collect();
        let paces = some.iter().map(|&at| self.pace_at(at));
        if let Some((pace, at)) = paces.zip(some.iter().copied()).min() {
            (self.pace, self.at) = (pace, at);
            move_to(self.cpus[at]);
        }
    }

    /// Whether the thread has its core to itself at this moment.
    pub fn is_alone(&mut self) -> bool {
        let now = arithmetic();
        self.pace = self.pace.min(now);
        is_alone(now, self.pace)
    }

    /// Moves the thread to a CPU that has its core to itself, unless the current one has.
    /// Returns whether the thread has moved.
    pub fn settle(&mut self) -> bool {
        if self.cpus.len() < 2 || self.is_alone() {
            return false;
        }
        let (start, pace) = (self.at, self.pace);
        let cpus = self.cpus.len();
        let around = (start + 1..=start + cpus).map(|at| at % cpus);
        (self.pace, self.at) = first_alone(around, pace, |at| self.pace_at(at));
        move_to(self.cpus[self.at]);
        self.at != start
    }

    fn pace_at(&self, at: usize) -> Duration {
        move_to(self.cpus[at]);
        // The first run pays for the move.
        (0..3).map(|_| arithmetic()).min().unwrap_or_default()
    }

    /// Where the thread is, pinned to nothing.
    pub(super) fn free() -> Self {
        /// The affinity that the program was started with. A second value that is made
        /// while another one lives gets this choice, and not the one CPU of the other.
        static ALLOWED: OnceLock<Option<libc::cpu_set_t>> = OnceLock::new();
        let before = current();
        let allowed = ALLOWED.get_or_init(|| before);
        // SAFETY: the index stays below the size of the set.
        let is_allowed =
            |&cpu: &usize| allowed.is_some_and(|set| unsafe { libc::CPU_ISSET(cpu, &set) });
        let cpus = (0..libc::CPU_SETSIZE as usize).filter(is_allowed).collect();
        Self { before, cpus, at: 0, pace: Duration::MAX }
    }
}

fn is_alone(time: Duration, pace: Duration) -> bool {
    time.as_secs_f64() <= ALONE * pace.as_secs_f64()
}

/// The first place that is as fast as `pace`, with its time. If there is none, the
/// fastest place and its time, which becomes the new pace: clocks may have gone down.
fn first_alone(
    places: impl Iterator<Item = usize>,
    pace: Duration,
    mut pace_at: impl FnMut(usize) -> Duration,
) -> (Duration, usize) {
    let mut fastest = (Duration::MAX, 0);
    for at in places {
        let found = pace_at(at);
        if is_alone(found, pace) {
            return (pace.min(found), at);
        }
        fastest = fastest.min((found, at));
    }
    fastest
}

/// Rounds of the arithmetic. They take 5 us, much less than the time for which siblings
/// come and go.
const ROUNDS: u64 = 3_000;

/// Times independent additions, as many at once as a core can start. A busy sibling
/// delays every one of them.
fn arithmetic() -> Duration {
    let start = Instant::now();
    let mut sums = black_box([1_u64, 2, 3, 4, 5, 6]);
    for round in 0..ROUNDS {
        let [a, b, c, d, e, f] = &mut sums;
        for (one, other, shift) in [(a, b, 3), (c, d, 5), (e, f, 7)] {
            *one = one.wrapping_add(*other ^ round);
            *other = other.wrapping_add(*one >> shift);
        }
    }
    black_box(sums);
    start.elapsed()
}

/// The CPUs that the calling thread may run on.
fn current() -> Option<libc::cpu_set_t> {
    // SAFETY: the set is plain data, and the call writes no more than `size` bytes of it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        (libc::sched_getaffinity(0, size, &raw mut set) == 0).then_some(set)
    }
}

fn move_to(cpu: usize) {
    // SAFETY: the set is plain data, and the call only reads it. `CPU_SET` checks its index.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the set came from the system, and the call only reads it.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), before) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(paces: [u64; 4], start: usize, pace: u64) -> (u64, usize) {
        let around = (start + 1..=start + 4).map(|at| at % 4);
        let micros = Duration::from_micros;
        let (pace, at) = first_alone(around, micros(pace), |at| micros(paces[at]));
        (pace.as_micros() as u64, at)
    }

    #[test]
    fn the_next_cpu_with_a_free_core_is_taken() {
        assert_eq!(settled([1_000, 1_700, 1_050, 1_000], 0, 1_000), (1_000, 2));
        assert_eq!(settled([1_000, 1_700, 1_600, 1_700], 1, 1_000), (1_000, 0));
        assert_eq!(settled([1_000, 1_700, 990, 1_000], 0, 1_000), (990, 2));
    }

    #[test]
    fn where_no_core_is_free_the_fastest_sets_the_pace() {
        assert_eq!(settled([1_900, 1_700, 1_400, 1_500], 0, 1_000), (1_400, 2));
    }

    #[test]
    fn the_thread_goes_where_it_may() {
        let mut cpu = OneCpu::quietest();
        for _ in 0..20 {
            cpu.settle();
        }
        assert!(cpu.cpus.is_empty() || cpu.at < cpu.cpus.len());
        assert!(cpu.pace > Duration::ZERO);
    }

    #[test]
    fn a_nested_one_cpu_is_as_free_and_restores_the_affinity() {
        let outer = OneCpu::quietest();
        let inner = OneCpu::quietest();
        assert_eq!(inner.cpus, outer.cpus);
        drop(inner);
        let here = current().expect("Linux knows where a thread may be");
        // SAFETY: the index came from the system's own set.
        assert!(unsafe { libc::CPU_ISSET(outer.cpus[outer.at], &here) });
        // SAFETY: the set came from the system.
        assert_eq!(unsafe { libc::CPU_COUNT(&here) }, 1);
    }
}

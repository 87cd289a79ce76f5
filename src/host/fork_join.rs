//! A fork-join thread pool that shares out a job within a few microseconds. The type is called
//! [`ForkJoinPool`]; its members are the calling thread and the pool's own threads.
//!
//! A CPU twin may take only a few microseconds, so the pool has to start faster than that. Like
//! OpenMP's threads, which the libraries that people compare with use, its threads spin for a while
//! before they sleep: waking a thread takes ten times as long as signalling a spinning one.
//!
//! Each member starts with its own share, the same one in every job, so that its caches hold the
//! data from the job before. Then it helps the others, but not at once where that would carry their
//! data off. Data that a helper has touched is in the helper's caches next time, so its owner is
//! late again, and so on: a job of 5 us took 8 us in every second process, and two of 14 us took 21
//! us.
//!
//! A member that finds no work left is not waited for. A thread that has lost its CPU to another
//! one would turn a job of 5 us into 17 us.

use super::HostError;
use super::cut::Cut;
use std::any::Any;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long an idle thread spins before it sleeps.
const PATIENCE: Duration = Duration::from_micros(500);

/// Spins between two checks of the clock, or two yields of the CPU.
const LOOKS: usize = 256;

/// The patience of a job whose members help each other at once.
pub(super) const EAGER: Duration = Duration::ZERO;

/// A job: `work` is called once with every number below `parts`.
#[derive(Clone, Copy)]
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    parts: usize,
    /// How long a member that has finished its own share waits before it helps others.
    patience: Duration,
}

/// The state of one member, on cache lines of its own to avoid false sharing.
#[repr(align(128))]
#[derive(Default)]
struct Member {
    /// The next part of this member's share that nobody has taken.
    next: AtomicUsize,
    /// Whether this member may be running the current job.
    is_at_work: AtomicBool,
}

struct Shared {
    /// Counts starts and ends of jobs: odd while a job is running.
    latest: AtomicU64,
    job: UnsafeCell<Job>,
    /// One for each member.
    members: Box<[Member]>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    closing: AtomicBool,
    asleep: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

// SAFETY: `job` is the only field that is not `Sync`. It is written while no member is at work,
// before `latest` announces the job. It is read only by members that have marked themselves as at
// work and have then seen that the job is not over.
unsafe impl Sync for Shared {}
// SAFETY: the job's pointer is followed only while `ForkJoinPool::each` keeps its target alive.
unsafe impl Send for Shared {}

/// The thread pool: the calling thread and the threads it has started.
pub(super) struct ForkJoinPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Held while a job runs: there is one at a time.
    turn: Mutex<()>,
}

impl ForkJoinPool {
    /// Starts a pool of `members` threads, the caller's included.
    ///
    /// # Errors
    /// If the system refuses to start a thread.
    pub fn new(members: usize) -> Result<Self, HostError> {
        assert!(members > 0, "a pool needs at least one thread");
        let nothing: &'static (dyn Fn(usize) + Sync) = &|_| {};
        let shared = Arc::new(Shared {
            latest: AtomicU64::new(0),
            job: UnsafeCell::new(Job { work: nothing, parts: 0, patience: EAGER }),
            members: (0..members).map(|_| Member::default()).collect(),
            panic: Mutex::new(None),
            closing: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        });
        let mut pool = Self { shared, threads: Vec::new(), turn: Mutex::new(()) };
        let (up, ups) = mpsc::channel();
        for member in 1..members {
            let (shared, up) = (Arc::clone(&pool.shared), up.clone());
            let thread = std::thread::Builder::new().name(format!("host-{member}"));
            let thread = thread.spawn(move || {
                // The send fails only if a later thread could not be started and `new` has
                // returned.
                let _ = up.send(());
                shared.serve(member);
            });
            pool.threads
                .push(thread.map_err(|source| HostError::Threads { threads: members, source })?);
        }
        // Threads start in the background. Wait for them, so that the first kernel has them all.
        ups.iter().take(members - 1).for_each(drop);
        Ok(pool)
    }

    /// The number of threads, the caller's included.
    pub fn members(&self) -> usize {
        self.threads.len() + 1
    }

    /// Calls `work` once with every number below `parts`, and returns when all calls have returned.
    /// A member that has finished its share helps others only after `patience`. `work` must not
    /// call this function itself.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn each(&self, parts: usize, patience: Duration, work: &(dyn Fn(usize) + Sync)) {
        let _turn = unpoisoned(&self.turn);
        let shared = &*self.shared;
        for (member, state) in shared.members.iter().enumerate() {
            state.next.store(share(member, self.members(), parts), Ordering::Relaxed);
        }
        // SAFETY: no member is at work now, and none is when this function returns, so the pointer
        // is never followed after `work` is gone.
        unsafe {
            let work = std::mem::transmute::<
                &(dyn Fn(usize) + Sync),
                &'static (dyn Fn(usize) + Sync),
            >(work);
            *shared.job.get() = Job { work, parts, patience };
        }
        shared.latest.fetch_add(1, Ordering::SeqCst);
        shared.ring();
        shared.take_part(0);
        // All parts are taken by now; they are done when whoever took them is. A late thread either
        // sees that the job is over, or has marked itself as at work and is seen here.
        shared.latest.fetch_add(1, Ordering::SeqCst);
        let mut looks = 0;
        for member in &shared.members {
            while member.is_at_work.load(Ordering::SeqCst) {
                pause(&mut looks);
            }
        }
        let panic = unpoisoned(&shared.panic).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Calls `work` with the start and the elements of every piece of `all` that is not empty.
    pub fn each_piece<T: Send>(
        &self,
        all: &mut [T],
        cut: Cut,
        patience: Duration,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        struct Start<T>(*mut T);
        // SAFETY: each piece is handed to one thread, and pieces do not overlap.
        unsafe impl<T: Send> Sync for Start<T> {}
        let (start, whole) = (Start(all.as_mut_ptr()), all.len());
        let start = &start;
        self.each(cut.parts, patience, &move |part| {
            let Range { start: first, end } = cut.piece(part, whole);
            if first < end {
                // SAFETY: pieces lie inside `all` and do not overlap.
                let piece =
                    unsafe { std::slice::from_raw_parts_mut(start.0.add(first), end - first) };
                work(first, piece);
            }
        });
    }
}

impl Drop for ForkJoinPool {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.latest.fetch_add(1, Ordering::SeqCst);
        self.shared.ring();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The first part of a member's share. The next member's share starts where it ends.
const fn share(member: usize, members: usize, parts: usize) -> usize {
    member * parts / members
}

impl Shared {
    /// The main loop of a pool thread: waits for jobs and takes part in them.
    fn serve(&self, member: usize) {
        let mut done = 0;
        loop {
            done = self.job_after(done);
            if self.closing.load(Ordering::SeqCst) {
                return;
            }
            let Member { is_at_work, .. } = &self.members[member];
            is_at_work.store(true, Ordering::SeqCst);
            if self.latest.load(Ordering::SeqCst) == done {
                self.take_part(member);
            }
            is_at_work.store(false, Ordering::Release);
        }
    }

    /// Does the member's own share, and then what is left of the others'.
    fn take_part(&self, member: usize) {
        // SAFETY: the job is not written while a member is at work.
        let job = unsafe { *self.job.get() };
        let done = catch_unwind(AssertUnwindSafe(|| {
            self.take_share(member, &job);
            if self.is_needed(&job) {
                let others = (member + 1..self.members.len()).chain(0..member);
                others.for_each(|other| self.take_share(other, &job));
            }
        }));
        if let Err(panic) = done {
            *unpoisoned(&self.panic) = Some(panic);
        }
    }

    /// Does, part by part, what nobody has taken yet of a member's share.
    fn take_share(&self, member: usize, &Job { work, parts, .. }: &Job) {
        let end = share(member + 1, self.members.len(), parts);
        let Member { next, .. } = &self.members[member];
        while next.load(Ordering::Relaxed) < end {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part < end {
                // SAFETY: `ForkJoinPool::each` keeps `work` alive until no member is at work.
                unsafe { (*work)(part) };
            }
        }
    }

    /// Waits until all parts are taken, but no longer than the job's patience. Returns whether
    /// parts are left by then.
    fn is_needed(&self, job: &Job) -> bool {
        let is_left = |(member, state): (usize, &Member)| {
            state.next.load(Ordering::Relaxed) < share(member + 1, self.members.len(), job.parts)
        };
        let start = Instant::now();
        while self.members.iter().enumerate().any(is_left) {
            if start.elapsed() >= job.patience {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// The number of the running job, unless there is none or it is `done`.
    fn job_but(&self, done: u64) -> Option<u64> {
        let latest = self.latest.load(Ordering::SeqCst);
        (!latest.is_multiple_of(2) && latest != done).then_some(latest)
    }

    /// Waits for a job other than `done`, and returns its number.
    fn job_after(&self, done: u64) -> u64 {
        let start = Instant::now();
        let mut looks = 0;
        loop {
            if let Some(job) = self.job_but(done) {
                return job;
            }
            pause(&mut looks);
            if looks % LOOKS == 0 && start.elapsed() > PATIENCE {
                let mut bed = unpoisoned(&self.bed);
                self.asleep.fetch_add(1, Ordering::SeqCst);
                while self.job_but(done).is_none() {
                    bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
                }
                self.asleep.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Wakes sleeping threads. A thread that is about to sleep either sees the new job's number
    /// first, or has counted itself as asleep and is seen here.
    fn ring(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            let _bed = unpoisoned(&self.bed);
            self.bell.notify_all();
        }
    }
}

/// Spins for a moment; every `LOOKS` calls, yields the CPU to other threads.
fn pause(looks: &mut usize) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once() {
        for members in [1, 2, 5] {
            let pool = ForkJoinPool::new(members).expect("threads");
            for parts in [0, 1, 2, 7, 1000] {
                let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                for round in 1..=20 {
                    pool.each(parts, EAGER, &|part| {
                        _ = counts[part].fetch_add(1, Ordering::Relaxed)
                    });
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                    if round % 10 == 0 {
                        // Long enough for all threads to fall asleep.
                        std::thread::sleep(4 * PATIENCE);
                    }
                }
            }
        }
    }

    #[test]
    fn a_thread_that_comes_late_takes_no_part_in_a_finished_job() {
        let pool = ForkJoinPool::new(4).expect("threads");
        for parts in (0..=3).cycle().take(40_000) {
            let counts: [AtomicUsize; 3] = Default::default();
            pool.each(parts, EAGER, &|part| _ = counts[part].fetch_add(1, Ordering::Relaxed));
            let done: usize = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
            assert_eq!(done, parts);
        }
    }

    #[test]
    fn shares_are_left_to_their_owners_while_there_is_patience() {
        let pool = ForkJoinPool::new(2).expect("threads");
        let done_by = Mutex::new([None; 8]);
        for _ in 0..100 {
            pool.each(8, Duration::from_secs(20), &|part| {
                unpoisoned(&done_by)[part] = Some(std::thread::current().id());
            });
            let [mine, .., theirs] = *unpoisoned(&done_by);
            assert_ne!(mine, theirs);
            assert_eq!(*unpoisoned(&done_by), [[mine; 4], [theirs; 4]].as_flattened());
        }
    }

    #[test]
    fn a_member_that_is_stuck_is_helped_in_the_end() {
        let pool = ForkJoinPool::new(2).expect("threads");
        let last_is_done = AtomicBool::new(false);
        pool.each(4, Duration::from_millis(1), &|part| match part {
            // The first part of the second share. Only the other thread can do the part behind it.
            2 => {
                while !last_is_done.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            }
            3 => last_is_done.store(true, Ordering::SeqCst),
            _ => {}
        });
        assert!(last_is_done.into_inner());
    }

    #[test]
    fn pieces_cover_everything_and_know_where_they_start() {
        let pool = ForkJoinPool::new(3).expect("threads");
        for (parts, multiple) in [(1, 1), (6, 1), (101, 10), (6, 64), (60, 64)] {
            let mut values = vec![usize::MAX; 1001];
            pool.each_piece(
                &mut values,
                Cut { parts, multiple, before: 0 },
                EAGER,
                |first, piece| {
                    assert!(first.is_multiple_of(multiple));
                    piece.fill(first);
                },
            );
            let begins = |at: usize| at == 0 || values[at] != values[at - 1];
            assert!((0..1001).all(|at| values[at] <= at && begins(at) == (values[at] == at)));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_leaves_a_working_pool() {
        let pool = ForkJoinPool::new(2).expect("threads");
        let all = || pool.each(50, EAGER, &|part| assert!(part != 33, "part 33"));
        assert!(catch_unwind(AssertUnwindSafe(all)).is_err());
        let done = AtomicUsize::new(0);
        pool.each(50, EAGER, &|_| _ = done.fetch_add(1, Ordering::Relaxed));
        assert_eq!(done.load(Ordering::Relaxed), 50);
    }
}

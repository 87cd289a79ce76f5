//! Threads that share out a job in a few microseconds.
//!
//! A twin of a kernel may take no longer than that, and OpenMP's threads, which
//! the libraries that people compare with use, look out for work for a while
//! before they sleep. So do these: waking a thread takes ten times as long as
//! telling one that looks. Each begins with a share of its own, the same one every
//! time, so that it finds in its caches what it used before; then it helps others,
//! though not at once where that would carry their data off: what one has helped with is
//! in its own caches the next time, whose share it is comes too late again, and so on. A
//! job of 5 us took 8 in every second process, and two of 14 took 21.
//! Whoever comes when all is taken is not waited for: a thread that has no CPU at the
//! moment, because another one has it, would make 17 us of a job of 5.

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

/// How long a thread looks out for work before it sleeps.
const PATIENCE: Duration = Duration::from_micros(500);

/// Looks between two glances at the clock, or at what else wants this CPU.
const LOOKS: usize = 256;

/// The patience of whoever helps at once.
pub(super) const EAGER: Duration = Duration::ZERO;

/// What is to be done: `work` of every number below `parts`.
#[derive(Clone, Copy)]
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    parts: usize,
    /// How long whoever is through with its own share leaves the others theirs.
    patience: Duration,
}

/// What a member is at, on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    /// The next part of its share.
    next: AtomicUsize,
    /// Whether it may be at the job.
    is_at_work: AtomicBool,
}

struct Shared {
    /// Counts the beginnings and the ends of jobs: odd while there is one to take part in.
    latest: AtomicU64,
    job: UnsafeCell<Job>,
    /// Of each member.
    places: Box<[Place]>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    closing: AtomicBool,
    asleep: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

// SAFETY: the job is written while no thread is at work, before `latest` tells of it, and
// read after that by threads that are at work and have seen that it is not over.
unsafe impl Sync for Shared {}
// SAFETY: the pointer in it is only followed as just said.
unsafe impl Send for Shared {}

/// The calling thread and others that were started.
pub(super) struct Crew {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// One job at a time.
    turn: Mutex<()>,
}

impl Crew {
    /// So many threads with the caller's.
    ///
    /// # Errors
    /// If the system does not give them.
    pub fn new(members: usize) -> Result<Self, HostError> {
        assert!(members > 0, "a crew of nobody");
        let nothing: &'static (dyn Fn(usize) + Sync) = &|_| {};
        let shared = Arc::new(Shared {
            latest: AtomicU64::new(0),
            job: UnsafeCell::new(Job { work: nothing, parts: 0, patience: EAGER }),
            places: (0..members).map(|_| Place::default()).collect(),
            panic: Mutex::new(None),
            closing: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        });
        let mut crew = Self { shared, threads: Vec::new(), turn: Mutex::new(()) };
        let (up, ups) = mpsc::channel();
        for member in 1..members {
            let (shared, up) = (Arc::clone(&crew.shared), up.clone());
            let thread = std::thread::Builder::new().name(format!("host-{member}"));
            let thread = thread.spawn(move || {
                // Nobody listens if there was no thread to be had for one after this.
                let _ = up.send(());
                shared.serve(member);
            });
            crew.threads
                .push(thread.map_err(|source| HostError::Threads { threads: members, source })?);
        }
        // Threads start in the background; the first kernel should not have to do without.
        ups.iter().take(members - 1).for_each(drop);
        Ok(crew)
    }

    pub fn members(&self) -> usize {
        self.threads.len() + 1
    }

    /// Does `work` of every number below `parts`, each once, and returns when all
    /// is done. Threads leave each other's shares alone for as long as `patience` says.
    /// `work` must not call this itself.
    ///
    /// # Panics
    /// If `work` does.
    pub fn each(&self, parts: usize, patience: Duration, work: &(dyn Fn(usize) + Sync)) {
        let _turn = unpoisoned(&self.turn);
        let shared = &*self.shared;
        for (member, place) in shared.places.iter().enumerate() {
            place.next.store(share(member, self.members(), parts), Ordering::Relaxed);
        }
        // SAFETY: no thread is at work, and none will be when this returns, so that
        // the pointer is never followed after `work` is gone.
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
        // All parts are taken by now, and done when whoever took them is through. A thread
        // either sees that the job is over or is seen here.
        shared.latest.fetch_add(1, Ordering::SeqCst);
        let mut looks = 0;
        for place in &shared.places {
            while place.is_at_work.load(Ordering::SeqCst) {
                pause(&mut looks);
            }
        }
        let panic = unpoisoned(&shared.panic).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Does `work` of every piece of `all` with something in it, with the place at which the
    /// piece begins.
    pub fn each_piece<T: Send>(
        &self,
        all: &mut [T],
        cut: Cut,
        patience: Duration,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        struct Start<T>(*mut T);
        // SAFETY: every number is given to one thread.
        unsafe impl<T: Send> Sync for Start<T> {}
        let (start, whole) = (Start(all.as_mut_ptr()), all.len());
        let start = &start;
        self.each(cut.parts, patience, &move |part| {
            let Range { start: first, end } = cut.piece(part, whole);
            if first < end {
                // SAFETY: pieces lie inside and do not overlap.
                let piece =
                    unsafe { std::slice::from_raw_parts_mut(start.0.add(first), end - first) };
                work(first, piece);
            }
        });
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.latest.fetch_add(1, Ordering::SeqCst);
        self.shared.ring();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The first part of a member's share.
const fn share(member: usize, members: usize, parts: usize) -> usize {
    member * parts / members
}

impl Shared {
    /// A thread's life.
    fn serve(&self, member: usize) {
        let mut done = 0;
        loop {
            done = self.job_after(done);
            if self.closing.load(Ordering::SeqCst) {
                return;
            }
            let Place { is_at_work, .. } = &self.places[member];
            is_at_work.store(true, Ordering::SeqCst);
            if self.latest.load(Ordering::SeqCst) == done {
                self.take_part(member);
            }
            is_at_work.store(false, Ordering::Release);
        }
    }

    /// Its own share, and then what others have not come to.
    fn take_part(&self, member: usize) {
        // SAFETY: nobody writes while a thread is at work.
        let job = unsafe { *self.job.get() };
        let done = catch_unwind(AssertUnwindSafe(|| {
            self.take_share(member, &job);
            if self.is_needed(&job) {
                let others = (member + 1..self.places.len()).chain(0..member);
                others.for_each(|other| self.take_share(other, &job));
            }
        }));
        if let Err(panic) = done {
            *unpoisoned(&self.panic) = Some(panic);
        }
    }

    /// Whatever of a member's share nobody has taken yet, part by part.
    fn take_share(&self, member: usize, &Job { work, parts, .. }: &Job) {
        let end = share(member + 1, self.places.len(), parts);
        let Place { next, .. } = &self.places[member];
        while next.load(Ordering::Relaxed) < end {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part < end {
                // SAFETY: whoever gave the job waits until all are through.
                unsafe { (*work)(part) };
            }
        }
    }

    /// Waits for all parts to be taken, as long as the job has patience; whether they are
    /// not by then.
    fn is_needed(&self, job: &Job) -> bool {
        let is_left = |(member, place): (usize, &Place)| {
            place.next.load(Ordering::Relaxed) < share(member + 1, self.places.len(), job.parts)
        };
        let start = Instant::now();
        while self.places.iter().enumerate().any(is_left) {
            if start.elapsed() >= job.patience {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// The number of the job that there is to take part in, if it is not this one.
    fn job_but(&self, done: u64) -> Option<u64> {
        let latest = self.latest.load(Ordering::SeqCst);
        (!latest.is_multiple_of(2) && latest != done).then_some(latest)
    }

    /// Waits for a job after the one of this number, and gives its number.
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

    /// Wakes those that sleep. Either they see the new job's number before they do,
    /// or they are seen here.
    fn ring(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            let _bed = unpoisoned(&self.bed);
            self.bell.notify_all();
        }
    }
}

/// Waits for next to no time; now and then, lets others have the CPU.
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
            let crew = Crew::new(members).expect("threads");
            for parts in [0, 1, 2, 7, 1000] {
                let counts: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                for round in 1..=20 {
                    crew.each(parts, EAGER, &|part| {
                        _ = counts[part].fetch_add(1, Ordering::Relaxed)
                    });
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == round));
                    if round % 10 == 0 {
                        // Long enough for all to fall asleep.
                        std::thread::sleep(4 * PATIENCE);
                    }
                }
            }
        }
    }

    #[test]
    fn whoever_comes_late_takes_part_in_nothing_that_is_over() {
        let crew = Crew::new(4).expect("threads");
        for parts in (0..=3).cycle().take(40_000) {
            let counts: [AtomicUsize; 3] = Default::default();
            crew.each(parts, EAGER, &|part| _ = counts[part].fetch_add(1, Ordering::Relaxed));
            let done: usize = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
            assert_eq!(done, parts);
        }
    }

    #[test]
    fn shares_are_left_to_whoever_they_belong_to_while_there_is_patience() {
        let crew = Crew::new(2).expect("threads");
        let done_by = Mutex::new([None; 8]);
        for _ in 0..100 {
            crew.each(8, Duration::from_secs(20), &|part| {
                unpoisoned(&done_by)[part] = Some(std::thread::current().id());
            });
            let [mine, .., theirs] = *unpoisoned(&done_by);
            assert_ne!(mine, theirs);
            assert_eq!(*unpoisoned(&done_by), [[mine; 4], [theirs; 4]].as_flattened());
        }
    }

    #[test]
    fn whoever_does_not_get_on_is_helped_in_the_end() {
        let crew = Crew::new(2).expect("threads");
        let last_is_done = AtomicBool::new(false);
        crew.each(4, Duration::from_millis(1), &|part| match part {
            // The first of the second share: only the other thread can do the one behind it.
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
    fn pieces_cover_all_and_know_where_they_begin() {
        let crew = Crew::new(3).expect("threads");
        for (parts, multiple) in [(1, 1), (6, 1), (101, 10), (6, 64), (60, 64)] {
            let mut values = vec![usize::MAX; 1001];
            crew.each_piece(
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
    fn a_panic_comes_back_to_the_caller_and_leaves_a_crew_that_works() {
        let crew = Crew::new(2).expect("threads");
        let all = || crew.each(50, EAGER, &|part| assert!(part != 33, "part 33"));
        assert!(catch_unwind(AssertUnwindSafe(all)).is_err());
        let done = AtomicUsize::new(0);
        crew.each(50, EAGER, &|_| _ = done.fetch_add(1, Ordering::Relaxed));
        assert_eq!(done.load(Ordering::Relaxed), 50);
    }
}

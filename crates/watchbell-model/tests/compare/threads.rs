//! Threads that make calls, and that can be seen to block in one.

use super::call::{Call, Outcome};
use super::linux::Calls;
use super::random::Random;
use super::raw;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, Thread};

const IDLE: u8 = 0;
const CALLING: u8 = 1;
const RETURNED: u8 = 2;

/// Threads that wait for calls to make.
pub struct Threads {
    threads: Vec<Worker>,
}

struct Worker {
    thread: Thread,
    id: i32,
    shared: Arc<Shared>,
    /// proc_pid_stat(5): its state. A thread that is being woken is `R` here and nowhere else.
    stat: File,
    /// proc_pid_syscall(5): the number of the system call in which it is blocked.
    syscall: File,
    /// proc_pid_schedstat(5): its last word counts how often the thread ran.
    schedstat: File,
}

#[derive(Default)]
struct Shared {
    state: AtomicU8,
    given: Mutex<Option<Given>>,
    outcomes: Mutex<Vec<Outcome>>,
}

struct Given {
    calls: Calls,
    program: Vec<Call>,
    /// Those who are to begin together have a count in common, of those who are not yet there.
    together: Option<Arc<AtomicUsize>>,
    /// How long to dawdle before each call.
    dawdle: u64,
}

impl Threads {
    /// They use descriptors, for which the caller makes room before it takes its own.
    pub fn new(count: usize) -> Threads {
        raw::catch_signal();
        Threads { threads: (0..count).map(|_| Worker::new()).collect() }
    }

    /// Has an idle thread make a call.
    pub fn start(&mut self, thread: usize, calls: &Calls, call: Call) {
        let calls = calls.clone();
        self.give(thread, Given { calls, program: vec![call], together: None, dawdle: 0 });
    }

    /// Has idle threads make the calls of a program each, at the same time. Each ends with its
    /// program, or where it is interrupted.
    pub fn race(&mut self, calls: &Calls, programs: &[Vec<Call>], mut random: Random) {
        let together = Arc::new(AtomicUsize::new(programs.len()));
        for (thread, program) in programs.iter().enumerate() {
            let (calls, program) = (calls.clone(), program.clone());
            let (together, dawdle) = (Some(together.clone()), random.next());
            self.give(thread, Given { calls, program, together, dawdle });
        }
    }

    fn give(&mut self, thread: usize, given: Given) {
        let worker = &self.threads[thread];
        assert_eq!(worker.shared.state.load(Ordering::Acquire), IDLE, "it is in a call");
        *worker.shared.given.lock().unwrap() = Some(given);
        worker.shared.state.store(CALLING, Ordering::Release);
        worker.thread.unpark();
    }

    /// Returns once every thread is idle, has returned, or sleeps in its call.
    ///
    /// One look is not enough: the thread that was looked at first may have been woken by one that
    /// was looked at later. But if all are seen asleep twice, and none has run between the two
    /// looks, then there was a moment at which all were asleep, and nobody was left who could wake
    /// one.
    pub fn settle(&self) {
        let mut before = None;
        loop {
            let now: Option<Vec<String>> = self.threads.iter().map(Worker::rest).collect();
            if now.is_some() && now == before {
                return;
            }
            before = now;
            thread::yield_now();
        }
    }

    /// What the thread's call has returned, if it has; the thread is idle then.
    pub fn returned(&mut self, thread: usize) -> Option<Outcome> {
        self.all_returned(thread)?.pop()
    }

    /// What the calls of the thread's program have returned, if it has ended; it is idle then.
    pub fn all_returned(&mut self, thread: usize) -> Option<Vec<Outcome>> {
        let shared = &self.threads[thread].shared;
        if shared.state.load(Ordering::Acquire) != RETURNED {
            return None;
        }
        shared.state.store(IDLE, Ordering::Release);
        Some(std::mem::take(&mut *shared.outcomes.lock().unwrap()))
    }

    /// How often the thread has been given a CPU.
    pub fn runs(&self, thread: usize) -> u64 {
        let schedstat = read(&self.threads[thread].schedstat);
        let runs = schedstat.split_whitespace().nth(2);
        runs.and_then(|runs| runs.parse().ok()).expect("the third word is a number")
    }

    /// Makes all threads idle: those that are blocked are interrupted.
    pub fn quiet(&mut self) {
        for worker in &self.threads {
            while worker.shared.state.load(Ordering::Acquire) == CALLING {
                raw::signal(worker.id);
                thread::yield_now();
            }
            worker.shared.state.store(IDLE, Ordering::Release);
        }
    }

    /// Interrupts the call of a thread by a signal.
    pub fn interrupt(&self, thread: usize) {
        raw::signal(self.threads[thread].id);
    }
}

impl Given {
    fn run(self) -> Vec<Outcome> {
        if let Some(missing) = &self.together {
            missing.fetch_sub(1, Ordering::AcqRel);
            while missing.load(Ordering::Acquire) > 0 {
                thread::yield_now();
            }
        }
        let mut random = Random(self.dawdle);
        let mut outcomes = Vec::new();
        for call in &self.program {
            if self.together.is_some() {
                let turns = [0, 0, 10, 100, 400][random.below(5)];
                (0..turns).for_each(|_| std::hint::spin_loop());
            }
            let outcome = self.calls.make(call);
            let interrupted = outcome == Err(libc::EINTR);
            outcomes.push(outcome);
            if interrupted {
                break;
            }
        }
        outcomes
    }
}

impl Worker {
    fn new() -> Worker {
        let shared = Arc::new(Shared::default());
        let (send, receive) = mpsc::channel();
        let own = shared.clone();
        let handle = thread::spawn(move || {
            let id = rustix::thread::gettid().as_raw_nonzero().get();
            send.send(id).expect("the test waits for it");
            loop {
                while own.state.load(Ordering::Acquire) != CALLING {
                    thread::park();
                }
                let given = own.given.lock().unwrap().take();
                let outcomes = given.expect("there are calls to make").run();
                *own.outcomes.lock().unwrap() = outcomes;
                own.state.store(RETURNED, Ordering::Release);
            }
        });
        let id = receive.recv().expect("the thread starts with it");
        let open =
            |file| File::open(format!("/proc/self/task/{id}/{file}")).expect("a live thread");
        let (stat, syscall, schedstat) = (open("stat"), open("syscall"), open("schedstat"));
        Worker { thread: handle.thread().clone(), id, shared, stat, syscall, schedstat }
    }

    /// How it rests, if it does: a text that changes if it has run since.
    fn rest(&self) -> Option<String> {
        if self.shared.state.load(Ordering::Acquire) != CALLING {
            return Some(String::new());
        }
        let syscall = read(&self.syscall);
        let number = syscall.split(' ').next()?.trim().parse::<i64>().ok()?;
        let runs = read(&self.schedstat);
        let sleeps = read(&self.stat).rsplit(") ").next()?.starts_with('S');
        (sleeps && number >= 0 && number != libc::SYS_futex).then_some(runs)
    }
}

fn read(file: &File) -> String {
    let mut room = [0; 128];
    let count = file.read_at(&mut room, 0).unwrap_or(0);
    String::from_utf8_lossy(&room[..count]).into_owned()
}

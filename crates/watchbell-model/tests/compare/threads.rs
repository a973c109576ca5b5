//! Threads that make one call each, and that can be seen to block in it.

use super::call::{Call, Outcome};
use super::linux::Calls;
use super::raw;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, Ordering};
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
    /// proc_pid_syscall(5): the number of the system call in which it is blocked.
    syscall: File,
    /// proc_pid_schedstat(5): its last word counts how often the thread ran.
    schedstat: File,
}

#[derive(Default)]
struct Shared {
    state: AtomicU8,
    given: Mutex<Option<(Calls, Call)>>,
    outcome: Mutex<Option<Outcome>>,
}

impl Threads {
    /// They use descriptors, for which the caller makes room before it takes its own.
    pub fn new(count: usize) -> Threads {
        raw::catch_signal();
        Threads { threads: (0..count).map(|_| Worker::new()).collect() }
    }

    /// Has an idle thread make a call.
    pub fn start(&mut self, thread: usize, calls: &Calls, call: Call) {
        let worker = &self.threads[thread];
        assert_eq!(worker.shared.state.load(Ordering::Acquire), IDLE, "it is in a call");
        *worker.shared.given.lock().unwrap() = Some((calls.clone(), call));
        worker.shared.state.store(CALLING, Ordering::Release);
        worker.thread.unpark();
    }

    /// Returns once every thread is idle, has returned, or sleeps in its call.
    ///
    /// One look is not enough: the thread that was looked at first may have been woken by one that was
    /// looked at later. But if all are seen asleep twice, and none has run between the two looks, then
    /// there was a moment at which all were asleep, and nobody was left who could wake one.
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
        let shared = &self.threads[thread].shared;
        if shared.state.load(Ordering::Acquire) != RETURNED {
            return None;
        }
        shared.state.store(IDLE, Ordering::Release);
        shared.outcome.lock().unwrap().take()
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
                let (calls, call) = given.expect("there is a call to make");
                let outcome = calls.make(&call);
                *own.outcome.lock().unwrap() = Some(outcome);
                own.state.store(RETURNED, Ordering::Release);
            }
        });
        let id = receive.recv().expect("the thread starts with it");
        let open = |file| File::open(format!("/proc/self/task/{id}/{file}")).expect("a live thread");
        let (syscall, schedstat) = (open("syscall"), open("schedstat"));
        Worker { thread: handle.thread().clone(), id, shared, syscall, schedstat }
    }

    /// How it rests, if it does: a text that changes if it has run since.
    fn rest(&self) -> Option<String> {
        if self.shared.state.load(Ordering::Acquire) != CALLING {
            return Some(String::new());
        }
        let syscall = read(&self.syscall);
        let number = syscall.split(' ').next()?.trim().parse::<i64>().ok()?;
        let asleep = number != libc::SYS_futex && number >= 0;
        asleep.then(|| read(&self.schedstat))
    }
}

fn read(file: &File) -> String {
    let mut room = [0; 128];
    let count = file.read_at(&mut room, 0).unwrap_or(0);
    String::from_utf8_lossy(&room[..count]).into_owned()
}

//! The machine for real threads: calls that really block.
//!
//! One lock around the machine, one condition variable for those who wait. A thread makes its calls
//! by a [`Caller`] of its own. All rules are the machine's; this layer only sleeps and wakes.

use crate::blocking::{Reply, Step, Wait};
use crate::errno::Errno;
use crate::events::{Event, Mask};
use crate::kernel::Kernel;
use crate::poll::PollFd;
use crate::process::Fd;
use crate::task::Task;
use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A machine that several threads use.
///
/// ```
/// use std::thread;
/// use watchbell_model::{Kernel, Threaded};
///
/// let system = Threaded::new(Kernel::default());
/// let main = system.caller();
/// let bell = main.with(|kernel, task| kernel.eventfd(task, 0, 0))?;
///
/// let reader = system.caller();
/// let read = thread::spawn(move || reader.read(bell, 8)); // blocks until the write
/// main.write(bell, &7_u64.to_ne_bytes())?;
/// assert_eq!(read.join().unwrap(), Ok(7_u64.to_ne_bytes().to_vec()));
/// # Ok::<(), watchbell_model::Errno>(())
/// ```
#[derive(Clone)]
pub struct Threaded {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Somebody was woken, or the time of the next deadline may have changed.
    changed: Condvar,
    begin: Instant,
}

/// Guarded by the lock.
struct State {
    kernel: Kernel,
    /// Those who were woken and have not gone on yet.
    woken: BTreeSet<Task>,
    threads: u32,
}

/// One thread of process 0.
pub struct Caller {
    shared: Arc<Shared>,
    task: Task,
}

impl Threaded {
    /// Takes a machine over.
    pub fn new(kernel: Kernel) -> Threaded {
        let state = Mutex::new(State { kernel, woken: BTreeSet::new(), threads: 0 });
        let shared = Shared { state, changed: Condvar::new(), begin: Instant::now() };
        Threaded { shared: Arc::new(shared) }
    }

    /// A new thread of process 0. One thread at a time may use it.
    pub fn caller(&self) -> Caller {
        let mut state = self.shared.lock();
        state.threads += 1;
        let task = Task::MAIN.thread(state.threads);
        Caller { shared: self.shared.clone(), task }
    }
}

impl Shared {
    /// A thread that panicked left the machine between two calls: it is used on.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time, in nanoseconds since the beginning.
    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Tells the machine the time, and those who may go on that they may.
    fn update(&self, state: &mut State) {
        state.kernel.advance(self.now());
        let woken = state.kernel.take_woken();
        if !woken.is_empty() {
            state.woken.extend(woken);
            self.changed.notify_all();
        }
    }
}

impl Caller {
    /// Makes calls that do not block; all of them in one step.
    pub fn with<T>(&self, calls: impl FnOnce(&mut Kernel, Task) -> T) -> T {
        let mut state = self.shared.lock();
        self.shared.update(&mut state);
        let result = calls(&mut state.kernel, self.task);
        self.shared.update(&mut state);
        // A timer may have been set, of which those who sleep know nothing yet.
        self.shared.changed.notify_all();
        result
    }

    /// Makes a call, and sleeps for as long as it blocks.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn call(&self, begin: impl FnOnce(&mut Kernel, Task, u64) -> Step) -> Result<Reply, Errno> {
        let mut state = self.shared.lock();
        self.shared.update(&mut state);
        let mut step = begin(&mut state.kernel, self.task, self.shared.now());
        loop {
            self.shared.update(&mut state);
            match step {
                Step::Done(result) => return result,
                Step::Halfway => {
                    // The other half is a step of its own: others may come in between.
                    drop(state);
                    state = self.shared.lock();
                }
                Step::Blocked(_) => state = self.sleep(state),
            }
            step = state.kernel.resume(self.task);
        }
    }

    /// Sleeps until the machine has named this thread among the woken.
    fn sleep<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while !state.woken.remove(&self.task) {
            let deadline = state.kernel.deadline(self.task);
            let next = [deadline, state.kernel.next_expiration()].into_iter().flatten().min();
            state = match next {
                None => {
                    let woken = self.shared.changed.wait(state);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
                Some(next) => {
                    let left = Duration::from_nanos(next.saturating_sub(self.shared.now()));
                    let woken = self.shared.changed.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            self.shared.update(&mut state);
        }
        state
    }

    /// `read(2)`.
    ///
    /// # Errors
    ///
    /// As [`Kernel::read`].
    pub fn read(&self, fd: Fd, room: usize) -> Result<Vec<u8>, Errno> {
        match self.call(|kernel, task, _| kernel.read(task, fd, room))? {
            Reply::Bytes(bytes) => Ok(bytes),
            other => unreachable!("a read replies bytes, not {other:?}"),
        }
    }

    /// `write(2)`.
    ///
    /// # Errors
    ///
    /// As [`Kernel::write`].
    pub fn write(&self, fd: Fd, bytes: &[u8]) -> Result<usize, Errno> {
        match self.call(|kernel, task, _| kernel.write(task, fd, bytes))? {
            Reply::Count(count) => Ok(count),
            other => unreachable!("a write replies a count, not {other:?}"),
        }
    }

    /// `accept4(2)`.
    ///
    /// # Errors
    ///
    /// As [`Kernel::accept`].
    pub fn accept(&self, fd: Fd, flags: u32) -> Result<Fd, Errno> {
        match self.call(|kernel, task, _| kernel.accept(task, fd, flags))? {
            Reply::Fd(fd) => Ok(fd),
            other => unreachable!("an accept replies a descriptor, not {other:?}"),
        }
    }

    /// `epoll_wait(2)`; without a time-out, for ever.
    ///
    /// # Errors
    ///
    /// As [`Kernel::epoll_wait`].
    pub fn epoll_wait(
        &self,
        epoll: Fd,
        max: usize,
        timeout: Option<Duration>,
    ) -> Result<Vec<Event>, Errno> {
        let begun =
            self.call(|kernel, task, now| kernel.epoll_wait(task, epoll, max, until(now, timeout)));
        match begun? {
            Reply::Events(events) => Ok(events),
            other => unreachable!("a wait replies events, not {other:?}"),
        }
    }

    /// `poll(2)`; without a time-out, for ever.
    ///
    /// # Errors
    ///
    /// As [`Kernel::poll`].
    pub fn poll(&self, lines: &[PollFd], timeout: Option<Duration>) -> Result<Vec<Mask>, Errno> {
        let begun = self.call(|kernel, task, now| kernel.poll(task, lines, until(now, timeout)));
        match begun? {
            Reply::Masks(masks) => Ok(masks),
            other => unreachable!("a poll replies masks, not {other:?}"),
        }
    }
}

fn until(now: u64, timeout: Option<Duration>) -> Wait {
    match timeout {
        None => Wait::Forever,
        Some(Duration::ZERO) => Wait::Not,
        Some(timeout) => {
            let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
            Wait::Until(now.saturating_add(nanos))
        }
    }
}

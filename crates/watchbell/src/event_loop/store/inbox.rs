//! What other threads and destructors say to a loop.

use super::Wish;
use crate::epoll::Token;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock, thread};
use std::fmt;

/// Letters to the sources of one loop, and the word that the loop is to stop.
///
/// A sender writes first and wakes after; the loop is woken, then reads. So what is said while the
/// loop goes to sleep leaves a wake-up that the sleep sees. The wake-up is a write to an eventfd
/// that the loop watches edge-triggered and never reads: each write makes an edge. It is made each
/// time, but for letters from the loop's own thread, which is awake.
pub(crate) struct Inbox {
    letters: Mutex<Vec<Letter>>,
    /// Whether there are letters: looked at after each run, so it costs no lock.
    has_letters: AtomicBool,
    stop: AtomicBool,
    thread: thread::ThreadId,
    wake: Box<dyn Fn() + Send + Sync>,
}

/// A wish for one source.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) to: Token,
    pub(crate) wish: Wish,
}

impl Inbox {
    /// An inbox of a loop on this thread, which `wake` wakes.
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Inbox {
        Inbox {
            letters: Mutex::default(),
            has_letters: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            thread: thread::current().id(),
            wake: Box::new(wake),
        }
    }

    pub(crate) fn post(&self, letter: Letter) {
        let mut letters = lock(&self.letters);
        letters.push(letter);
        self.has_letters.store(true, Ordering::Release);
        drop(letters);
        if thread::current().id() != self.thread {
            (self.wake)();
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        (self.wake)();
    }

    /// As [`stop`](Inbox::stop), by the loop itself, which is awake.
    pub(crate) fn stop_from_inside(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub(crate) fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn has_letters(&self) -> bool {
        self.has_letters.load(Ordering::Acquire)
    }

    pub(crate) fn take_letters(&self) -> Vec<Letter> {
        let mut letters = lock(&self.letters);
        self.has_letters.store(false, Ordering::Relaxed);
        std::mem::take(&mut *letters)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("stopping", &self.is_stopping()).finish_non_exhaustive()
    }
}

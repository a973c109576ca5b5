//! Stopping a loop from anywhere.

use super::store::Inbox;
use crate::sync::Arc;

/// Stops an [`EventLoop`](super::EventLoop), from any thread and at any time.
///
/// A stop is sticky: one that comes before [`run`](super::EventLoop::run) ends that run after one
/// turn. It always wakes: each call writes to an eventfd that the loop watches, and there is no
/// flag that could say that it was not needed. The loop ends the turn that it is in, so that
/// nothing which was fetched is dropped.
///
/// A forked child has a copy of the handle that stops nothing: it wakes the parent's loop, which
/// finds no stop.
///
/// ```
/// use std::thread;
/// use watchbell::event_loop::EventLoop;
///
/// let mut events = EventLoop::new()?;
/// let stop = events.stop_handle();
/// let thread = thread::spawn(move || stop.stop());
/// events.run()?;
/// thread.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stop {
    inbox: Arc<Inbox>,
}

impl Stop {
    pub(super) fn new(inbox: Arc<Inbox>) -> Stop {
        Stop { inbox }
    }

    /// Stops the loop: the current run, or the next one if there is none.
    pub fn stop(&self) {
        self.inbox.stop();
    }
}

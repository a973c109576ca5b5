//! Stopping a loop from anywhere.

use crate::eventfd::Counter;
use crate::kernel::{Kernel, Linux};
use crate::sync::Arc;
use std::fmt;

/// Stops an [`EventLoop`](super::EventLoop), from any thread and at any time.
///
/// A stop is sticky: one that comes before [`run`](super::EventLoop::run) ends that run after one
/// turn. It always wakes: each call writes to an eventfd that the loop watches, and there is no
/// flag that could say that it was not needed. The loop ends the turn that it is in, so that
/// nothing which was fetched is dropped.
///
/// The eventfd is shared with forked children: a stop in a child stops the parent's loop.
///
/// ```
/// use std::thread;
/// use watchbell::event_loop::EventLoop;
///
/// let mut events: EventLoop = EventLoop::new()?;
/// let stop = events.stop_handle();
/// let thread = thread::spawn(move || stop.stop());
/// events.run()?;
/// thread.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Stop<K: Kernel = Linux> {
    counter: Arc<Counter<K>>,
}

impl<K: Kernel> Stop<K> {
    pub(crate) fn new(counter: Arc<Counter<K>>) -> Stop<K> {
        Stop { counter }
    }

    /// Stops the loop: the current run, or the next one if there is none.
    pub fn stop(&self) {
        // A full counter is not zero, which is all that a stop needs; no other failure is possible
        // for a descriptor that this handle keeps open.
        let _ = self.counter.add(1);
    }
}

impl<K: Kernel> Clone for Stop<K> {
    fn clone(&self) -> Stop<K> {
        Stop { counter: Arc::clone(&self.counter) }
    }
}

impl<K: Kernel> fmt::Debug for Stop<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").finish_non_exhaustive()
    }
}

//! Running code on a loop from other threads.

use crate::doorbell::{Doorbell, PushError};
use crate::event_loop::registry::Turn;
use crate::kernel::{Kernel, Linux};
use std::fmt;
use std::io;

/// Runs code on a loop, from any thread: a [`Doorbell`] of calls.
///
/// ```
/// use std::thread;
/// use watchbell::event_loop::EventLoop;
///
/// let mut events = EventLoop::with(0)?;
/// let remote = events.remote(16)?;
/// let thread = thread::spawn(move || {
///     remote.post(|turn| {
///         *turn.state() += 1;
///         turn.stop();
///         Ok(())
///     })
/// });
/// events.run()?;
/// assert_eq!(*events.state(), 1);
/// thread.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Remote<D = (), K: Kernel = Linux> {
    bell: Doorbell<Task<D, K>, K>,
}

/// A call that waits to be run on a loop.
pub type Task<D, K> = Box<dyn FnOnce(&mut Turn<'_, D, K>) -> io::Result<()> + Send>;

impl<D, K: Kernel> Remote<D, K> {
    pub(super) fn new(bell: Doorbell<Task<D, K>, K>) -> Remote<D, K> {
        Remote { bell }
    }

    /// Has `task` run on the loop, in one of its next turns, in the order of the posts. Its error
    /// or panic is reported there. [`Remote`] has an example.
    ///
    /// # Errors
    ///
    /// As [`Doorbell::push`]: [`PushError::Full`] and [`PushError::Closed`] hand the task back.
    #[doc(alias = "eventfd_write")]
    pub fn post<F>(&self, task: F) -> Result<(), PushError<Task<D, K>>>
    where
        F: FnOnce(&mut Turn<'_, D, K>) -> io::Result<()> + Send + 'static,
    {
        self.bell.push(Box::new(task))
    }

    /// The doorbell behind it, to wait for room or to look at the ledger.
    ///
    /// ```
    /// # use watchbell::event_loop::EventLoop;
    /// let mut events = EventLoop::new()?;
    /// let remote = events.remote(16)?;
    /// remote.doorbell().push_wait(Box::new(|_turn| Ok(())))?;
    /// events.turn(None)?;
    /// assert_eq!(remote.doorbell().ledger().processed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn doorbell(&self) -> &Doorbell<Task<D, K>, K> {
        &self.bell
    }
}

impl<D, K: Kernel> Clone for Remote<D, K> {
    fn clone(&self) -> Remote<D, K> {
        Remote { bell: self.bell.clone() }
    }
}

impl<D, K: Kernel> fmt::Debug for Remote<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.bell).finish()
    }
}

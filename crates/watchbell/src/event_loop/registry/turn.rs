//! The loop as a handler sees it.

use super::Registry;
use crate::epoll::Token;
use crate::kernel::{Kernel, Linux};
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};

/// The loop during a handler's, a timer's or a failure's run.
///
/// It dereferences to the [`Registry`], which takes in, asks and ends sources and timers.
pub struct Turn<'run, D = (), K: Kernel = Linux> {
    registry: &'run mut Registry<D, K>,
    state: &'run mut D,
    current: Option<Token>,
}

impl<'run, D, K: Kernel> Turn<'run, D, K> {
    pub(in crate::event_loop) fn new(
        registry: &'run mut Registry<D, K>,
        state: &'run mut D,
        current: Option<Token>,
    ) -> Turn<'run, D, K> {
        Turn { registry, state, current }
    }

    /// The same turn, for what runs on behalf of no source, and so cannot close one by mistake.
    pub(crate) fn of_no_source(&mut self) -> Turn<'_, D, K> {
        Turn { registry: self.registry, state: self.state, current: None }
    }

    /// The service's state.
    pub fn state(&mut self) -> &mut D {
        self.state
    }

    /// The source whose handler is running; `None` where none is, as in a timer.
    pub fn token(&self) -> Option<Token> {
        self.current
    }

    /// Closes the source whose handler is running, once it returns. Its result lets a handler end
    /// with `turn.close()`.
    ///
    /// # Errors
    ///
    /// `NotFound` where no source is running, as in a timer: there is nothing to close.
    ///
    /// ```
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, eventfd::Counter};
    /// let mut events = EventLoop::new()?;
    /// events.add(Counter::new(1)?, Interest::READABLE, |_counter, turn| turn.close())?;
    /// events.turn(None)?;
    /// assert!(events.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn close(&mut self) -> io::Result<()> {
        match self.current {
            Some(token) if self.registry.remove(token) => Ok(()),
            _ => Err(io::Error::new(ErrorKind::NotFound, "no source is running that could close")),
        }
    }

    /// Stops the loop at the end of this turn, in which the other sources still have their runs.
    pub fn stop(&mut self) {
        self.registry.inbox.stop_from_inside();
    }
}

impl<D, K: Kernel> Deref for Turn<'_, D, K> {
    type Target = Registry<D, K>;

    fn deref(&self) -> &Registry<D, K> {
        self.registry
    }
}

impl<D, K: Kernel> DerefMut for Turn<'_, D, K> {
    fn deref_mut(&mut self) -> &mut Registry<D, K> {
        self.registry
    }
}

impl<D, K: Kernel> fmt::Debug for Turn<'_, D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("token", &self.current).finish_non_exhaustive()
    }
}

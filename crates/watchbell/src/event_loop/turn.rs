//! The loop as a handler sees it.

use super::Direction;
use super::core::{Changes, Core};
use super::failure::Reason;
use crate::epoll::Token;
use crate::kernel::{Kernel, Linux};
use std::fmt;
use std::io;

/// The loop during a handler's or a timer's run.
pub struct Turn<'run, D = (), K: Kernel = Linux> {
    pub(super) core: &'run mut Core<D, K>,
    state: &'run mut D,
    current: Option<Token>,
}

impl<'run, D, K: Kernel> Turn<'run, D, K> {
    pub(super) fn new(
        core: &'run mut Core<D, K>,
        state: &'run mut D,
        current: Option<Token>,
    ) -> Turn<'run, D, K> {
        Turn { core, state, current }
    }

    /// The same turn, for what runs on behalf of no source, and so cannot close one by mistake.
    pub(crate) fn of_no_source(&mut self) -> Turn<'_, D, K> {
        Turn { core: self.core, state: self.state, current: None }
    }

    /// The service's state, which was handed to [`run_with`](super::EventLoop::run_with).
    pub fn state(&mut self) -> &mut D {
        self.state
    }

    /// The source whose handler is running; `None` where none is, as in a timer.
    pub fn token(&self) -> Option<Token> {
        self.current
    }

    /// Closes the source whose handler is running, once it returns. Where none is, as in a timer,
    /// it does nothing.
    ///
    /// It returns `Ok(())`, so that a handler can end with it.
    ///
    /// # Errors
    ///
    /// None.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some(token) = self.current {
            self.core.remove(token);
        }
        Ok(())
    }

    /// Reports a failure of the source whose handler is running, which goes on.
    pub(super) fn report(&mut self, reason: Reason) {
        self.core.fail(self.current, reason, self.state);
    }

    /// Whether the source whose handler is running was closed or paused meanwhile.
    pub(super) fn is_interrupted(&self) -> bool {
        let tenant = self.current.and_then(|token| self.core.slots.get(token));
        tenant.is_some_and(|tenant| {
            let Changes { close, pause, .. } = &tenant.changes;
            *close || pause[Direction::Input as usize] == Some(true)
        })
    }

    /// Stops the loop at the end of this turn, in which the other sources still have their runs.
    pub fn stop(&mut self) {
        self.core.stopping = true;
    }
}

impl<D, K: Kernel> fmt::Debug for Turn<'_, D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("token", &self.current).finish_non_exhaustive()
    }
}

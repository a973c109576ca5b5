//! What may be asked of the loop and of its sources, by token.

use super::{Due, Registry, Stats, Turn};
use crate::epoll::Token;
use crate::event_loop::Stop;
use crate::event_loop::account::{Budget, Direction};
use crate::event_loop::store::Wish;
use crate::event_loop::time::TimerId;
use crate::kernel::Kernel;
use crate::sync::Arc;
use std::io;
use std::time::{Duration, Instant};

/// Sources are asked by token. A source whose handler is running is asked like any other: what is
/// asked holds after the run, in the order in which it was asked.
impl<D, K: Kernel> Registry<D, K> {
    /// Ends a source: it leaves the interest list, then its descriptor is closed. An event that was
    /// fetched for it already is discarded. A source whose handler is running ends when that
    /// returns. `false`: there is no such source.
    #[doc(alias = "EPOLL_CTL_DEL")]
    pub fn remove(&mut self, token: Token) -> bool {
        self.wish(token, Wish::Close)
    }

    /// Stops input or output of a source until it is resumed; edges that come meanwhile are kept.
    /// `false`: there is no such source.
    pub fn pause(&mut self, token: Token, direction: Direction) -> bool {
        self.wish(token, Wish::Pause(direction))
    }

    /// Takes a pause back, and a rest. `false`: there is no such source.
    pub fn resume(&mut self, token: Token, direction: Direction) -> bool {
        self.wish(token, Wish::Resume(direction))
    }

    /// Lets a direction rest for so long, with its readiness kept: until then it is as if paused.
    /// `false`: there is no such source.
    pub fn rest(&mut self, token: Token, direction: Direction, rest: Duration) -> bool {
        self.wish(token, Wish::Rest(direction, rest))
    }

    /// Has a source run once, with that direction taken for ready, whatever it is registered for
    /// and whether or not it is paused: for one that knows of work by other means than the kernel.
    /// It is run in this turn, unless it has been already. `false`: there is no such source.
    pub fn wake(&mut self, token: Token, direction: Direction) -> bool {
        self.wish(token, Wish::Wake(direction))
    }

    /// Gives a source a budget of its own from its next run on. `false`: there is no such source,
    /// or a part of the budget is zero.
    pub fn set_budget(&mut self, token: Token, budget: Budget) -> bool {
        budget.check().is_ok() && self.wish(token, Wish::Budget(budget))
    }

    /// Calls `timer` once, at the end of the first turn that ends at `due` or later: never early.
    /// An error or a panic of `timer` is reported.
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # use watchbell::event_loop::EventLoop;
    /// let mut events = EventLoop::new()?;
    /// let due = Instant::now() + Duration::from_millis(2);
    /// events.at(due, |turn| {
    ///     turn.stop();
    ///     Ok(())
    /// });
    /// events.run()?;
    /// assert!(Instant::now() >= due);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn at<F>(&mut self, due: Instant, timer: F) -> TimerId
    where
        F: FnOnce(&mut Turn<'_, D, K>) -> io::Result<()> + 'static,
    {
        let call = move |registry: &mut Registry<D, K>, state: &mut D| {
            timer(&mut Turn::new(registry, state, None))
        };
        self.timers.set(due, Due::Call(Box::new(call)))
    }

    /// As [`at`](Registry::at), which has an example, `delay` from now. With a delay of zero, what
    /// a handler cannot do while it runs is done once it has returned.
    pub fn after<F>(&mut self, delay: Duration, timer: F) -> TimerId
    where
        F: FnOnce(&mut Turn<'_, D, K>) -> io::Result<()> + 'static,
    {
        self.at(self.due_after(delay), timer)
    }

    /// Takes a timer back. `false`: it has fired, or was cancelled already.
    pub fn cancel(&mut self, timer: TimerId) -> bool {
        let cancelled = self.timers.cancel(timer);
        let was_set = cancelled.is_some();
        self.discard(cancelled);
        was_set
    }

    /// The kernel's monotonic clock
    /// ([clock_gettime(2)](https://man7.org/linux/man-pages/man2/clock_gettime.2.html)).
    #[doc(alias = "CLOCK_MONOTONIC")]
    pub fn now(&self) -> Instant {
        self.epoll.kernel().now()
    }

    /// How many sources the loop holds.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the loop holds no source.
    pub fn is_empty(&self) -> bool {
        self.slots.len() == 0
    }

    /// Whether a token names a source of this loop.
    pub fn contains(&self, token: Token) -> bool {
        self.slots.get(token).is_some()
    }

    /// The sources of type `S` that the loop holds, found by looking at each source; the one whose
    /// handler is running is not among them.
    pub fn tokens_of<S: 'static>(&self) -> Vec<Token> {
        let slots = self.slots.iter().filter(|(_, slot)| Self::is_of_type::<S>(slot));
        slots.map(|(token, _)| token).collect()
    }

    /// What the loop has done.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// A handle that stops the loop, from any thread.
    pub fn stop_handle(&self) -> Stop {
        Stop::new(Arc::clone(&self.inbox))
    }
}

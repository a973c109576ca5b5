//! Eventfd counters and semaphores as sources.

use crate::event_loop::account::{After, Direction};
use crate::event_loop::run::Ready;
use crate::eventfd::{Counter, Semaphore};
use crate::kernel::Kernel;
use std::io::{self, ErrorKind};

impl<K: Kernel> Ready<'_, Counter<K>> {
    /// Takes the whole count, one read. `None`: it is zero, or there is no more in this turn.
    ///
    /// The read leaves zero behind, so it is the boundary itself and no second one is needed.
    ///
    /// # Errors
    ///
    /// As [`Counter::try_take`].
    ///
    /// # Panics
    ///
    /// As [`Counter::try_take`]; the loop closes and reports the source then.
    ///
    /// ```
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, eventfd::Counter};
    /// let done = Counter::new(0)?;
    /// let mut events = EventLoop::new()?;
    /// events.add(done.try_clone()?, Interest::READABLE, |done, turn| {
    ///     if let Some(count) = done.take()? {
    ///         assert_eq!(count, 5);
    ///         turn.stop();
    ///     }
    ///     Ok(())
    /// })?;
    /// done.add(2)?;
    /// done.add(3)?;
    /// events.run()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd_read")]
    pub fn take(&mut self) -> io::Result<Option<u64>> {
        let drained = |_: &u64| (size_of::<u64>(), After::Empty);
        self.step(Direction::Input, |counter| or_would_block(counter.try_take()), drained)
    }
}

impl<K: Kernel> Ready<'_, Semaphore<K>> {
    /// Takes one unit. `None`: there is none, or there is no more in this turn.
    ///
    /// One unit taken says nothing about the next, so a semaphore stays runnable until it is found
    /// at zero.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::try_wait`].
    ///
    /// # Panics
    ///
    /// As [`Semaphore::try_wait`]; the loop closes and reports the source then.
    ///
    /// ```
    /// # use watchbell::{epoll::Interest, event_loop::EventLoop, eventfd::Semaphore};
    /// let mut events = EventLoop::with(0)?;
    /// events.add(Semaphore::new(3)?, Interest::READABLE, |semaphore, turn| {
    ///     while semaphore.wait()?.is_some() {
    ///         *turn.state() += 1;
    ///     }
    ///     Ok(())
    /// })?;
    /// events.turn(None)?;
    /// assert_eq!(*events.state(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "sem_trywait")]
    #[doc(alias = "eventfd_read")]
    pub fn wait(&mut self) -> io::Result<Option<()>> {
        let one = |_: &()| (size_of::<u64>(), After::More);
        let unit = |semaphore: &mut Semaphore<K>| {
            or_would_block(semaphore.try_wait().map(|taken| taken.then_some(())))
        };
        self.step(Direction::Input, unit, one)
    }
}

fn or_would_block<T>(result: io::Result<Option<T>>) -> io::Result<T> {
    result?.ok_or_else(|| ErrorKind::WouldBlock.into())
}

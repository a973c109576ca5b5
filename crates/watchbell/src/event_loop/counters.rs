//! Eventfd counters and semaphores as sources.

use super::directions::After;
use super::{Direction, Ready};
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
    pub fn take(&mut self) -> io::Result<Option<u64>> {
        let drained = |_: &u64| (size_of::<u64>(), After::Boundary);
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

//! Deadlines, in the order in which they are due.

use super::{Direction, Turn};
use crate::epoll::Token;
use crate::kernel::Kernel;
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// Names a timer, to cancel it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId {
    due: Instant,
    /// Tells timers of one instant apart, and keeps them in the order in which they were set.
    sequence: u64,
}

/// What a timer does when it is due.
pub(crate) enum Due<D, K: Kernel> {
    Call(Callback<D, K>),
    /// A direction has rested for long enough.
    Rested(Token, Direction),
}

pub(crate) type Callback<D, K> = Box<dyn FnOnce(&mut Turn<'_, D, K>) -> io::Result<()>>;

/// The timers of a loop.
pub(crate) struct Timers<D, K: Kernel> {
    queue: BTreeMap<TimerId, Due<D, K>>,
    next: u64,
}

impl<D, K: Kernel> Timers<D, K> {
    pub(crate) fn new() -> Timers<D, K> {
        Timers { queue: BTreeMap::new(), next: 0 }
    }

    pub(crate) fn set(&mut self, due: Instant, what: Due<D, K>) -> TimerId {
        let id = TimerId { due, sequence: self.next };
        self.next = self.next.checked_add(1).expect("fewer than 2^64 timers");
        self.queue.insert(id, what);
        id
    }

    pub(crate) fn cancel(&mut self, id: TimerId) -> bool {
        self.queue.remove(&id).is_some()
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.queue.first_key_value().map(|(id, _)| id.due)
    }

    /// The first timer that is due at `now` and was set before `horizon` was taken: one that is set
    /// by another timer waits for the next turn, or the two could go on for ever.
    pub(crate) fn take_due(&mut self, now: Instant, horizon: Horizon) -> Option<Due<D, K>> {
        let mut due = self.queue.range(..=TimerId { due: now, sequence: u64::MAX });
        let id = *due.find(|(id, _)| id.sequence < horizon.0)?.0;
        self.queue.remove(&id)
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = Due<D, K>> {
        self.queue.into_values()
    }

    pub(crate) fn horizon(&self) -> Horizon {
        Horizon(self.next)
    }
}

/// The timers that were set so far.
#[derive(Clone, Copy)]
pub(crate) struct Horizon(u64);

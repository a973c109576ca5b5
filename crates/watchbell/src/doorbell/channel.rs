//! The protocol between pushing and sleeping: ring once, and only a consumer that sleeps.
//!
//! ```text
//!   producer                                 consumer
//!   ────────                                 ────────
//!   claim:    tail += n          (RMW)       take what is published ... nothing left
//!   publish:  sequence = position            arm:      state = SLEEPING
//!   look:     state SLEEPING?                recheck:  tail += 0           (RMW)
//!     then    SLEEPING → RUNG    (CAS)         moved?  state = AWAKE, go on
//!             write the eventfd                else    wait for the eventfd
//!                                            woken:    state = AWAKE
//! ```
//!
//! The claim and the recheck are read-modify-writes of one word, so one comes first. If the claim
//! does, the recheck sees that the tail has moved, and the consumer does not sleep. If the recheck
//! does, the claim acquires what the consumer released before it, and with it the state: the
//! producer's look finds SLEEPING and rings. A load in place of either has no such order, and loses
//! wakes.
//!
//! A producer that has claimed and not yet published keeps the tail ahead. The consumer neither
//! sleeps for ever then, nor spins: it sleeps for a bounded time with the state at SLEEPING, so
//! that the producer may ring it earlier.
//!
//! docs/doorbell.md goes through the interleavings.
//!
//! This file takes its atomics from its parent, so that it can be compiled against loom's.

use super::ring::{Cursor, Refusal, Ring};
use super::sync::{AtomicUsize, Ordering};
use std::collections::TryReserveError;
use std::time::Duration;

/// A ring, and whether its consumer has to be woken.
pub(super) struct Channel<T> {
    pub(super) ring: Ring<T>,
    state: AtomicUsize,
}

/// The consumer looks at the queue before it sleeps.
const AWAKE: usize = 0;
/// The consumer sleeps, or is about to: the first push rings.
const SLEEPING: usize = 1;
/// Somebody rings.
const RUNG: usize = 2;

/// What a producer owes after its push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a ring that is owed and not made is a lost wake"]
pub(super) enum Owed {
    /// The consumer looks by itself.
    Nothing,
    /// A write to the eventfd: nobody else will make it.
    Ring,
}

/// What the consumer may do after arming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Armed {
    /// Sleep: the next push rings.
    Sleep,
    /// Sleep, but not for long: an item was claimed whose producer may have looked too early to
    /// ring.
    SleepBriefly,
    /// Go on: there is an item. Not armed.
    Item,
    /// Nothing is left, and nothing will come. Not armed.
    Closed,
}

impl Armed {
    /// For how long [`SleepBriefly`](Armed::SleepBriefly) may sleep at the most.
    pub const BRIEFLY: Duration = Duration::from_millis(1);
}

impl<T> Channel<T> {
    /// As [`Ring::new`].
    pub(super) fn new(capacity: usize) -> Result<(Channel<T>, Cursor), TryReserveError> {
        let (ring, cursor) = Ring::new(capacity)?;
        Ok((Channel { ring, state: AtomicUsize::new(AWAKE) }, cursor))
    }

    /// Producer: accepts an item, or hands it back.
    pub(super) fn push(&self, item: T) -> Result<Owed, (T, Refusal)> {
        self.ring.push(item)?;
        Ok(self.look())
    }

    /// Producer: accepts as many of `items` as there is room for, from the front.
    pub(super) fn push_front_of(&self, items: &mut Vec<T>) -> Result<(usize, Owed), Refusal> {
        let count = self.ring.push_front_of(items)?;
        Ok((count, self.look()))
    }

    /// Nothing is accepted from here on, which a consumer that sleeps has to learn.
    pub(super) fn close(&self) -> Owed {
        self.ring.close();
        self.look()
    }

    /// Whether this thread has to ring. Relaxed, since the claim before it, or the close, has
    /// acquired the state if its consumer sleeps.
    fn look(&self) -> Owed {
        let claims_the_ring = self.state.load(Ordering::Relaxed) == SLEEPING
            && self
                .state
                .compare_exchange(SLEEPING, RUNG, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if claims_the_ring { Owed::Ring } else { Owed::Nothing }
    }

    /// A ring could not be made: the next push is to try again.
    pub(super) fn unring(&self) {
        let (rung, sleeping) = (RUNG, SLEEPING);
        let _ = self.state.compare_exchange(rung, sleeping, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Consumer: prepares to sleep, having found nothing at its cursor, and looks once more.
    pub(super) fn arm(&self, cursor: &Cursor) -> Armed {
        let taken = cursor.position();
        self.state.store(SLEEPING, Ordering::Relaxed);
        let (end, closed) = self.ring.end_now();
        let armed = match (end == taken, closed) {
            (true, false) => Armed::Sleep,
            (true, true) => Armed::Closed,
            (false, _) if self.ring.is_published(taken) => Armed::Item,
            (false, _) => Armed::SleepBriefly,
        };
        if matches!(armed, Armed::Item | Armed::Closed) {
            self.disarm();
        }
        armed
    }

    /// Consumer: is awake, and looks at the queue before it sleeps again. A ring that is under way
    /// arrives later, and wakes once too often.
    pub(super) fn disarm(&self) {
        self.state.store(AWAKE, Ordering::Relaxed);
    }
}

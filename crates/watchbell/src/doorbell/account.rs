//! Where every accepted item has gone, for anybody to see at any moment.
//!
//! The consumer writes down each step of an item (taken, processed, returned) in counters of its
//! own. A reader in another thread wants them all as of one moment, together with what the queue
//! holds. It reads between two looks at a version that the consumer makes odd while it writes, and
//! even again (a sequence lock). A consumer that is busy would keep such a reader trying for ever,
//! so the reader closes a gate for the time of the reading, at which the consumer stops before its
//! next step. While nobody reads, the gate costs the consumer one look.
//!
//! What is owned is *counted*: the published items among the ring's slots, one by one, and those in
//! the consumer's hands. It is never the difference of the other numbers, or a loss could not show.
//! What was accepted is the ring's own number, which knows nothing of the account: an item that
//! leaves the ring and is not written down unbalances them.
//!
//! This file takes its atomics from its parent, so that it can be compiled against loom's.

use super::ring::Ring;
use super::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, fence, lock, yield_now};

/// The consumer's account.
#[derive(Default)]
pub(super) struct Account {
    /// Odd while the consumer writes the counters below.
    version: AtomicUsize,
    /// Who reads, or waits to.
    readers: AtomicUsize,
    /// Held by the one that reads.
    gate: Mutex<()>,
    in_hand: AtomicU64,
    processed: AtomicU64,
    returned: AtomicU64,
}

/// The account of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Items that were published.
    pub(super) accepted: u64,
    pub(super) processed: u64,
    pub(super) returned: u64,
    /// Items in the queue and in the consumer's hands, counted.
    pub(super) owned: u64,
}

impl Account {
    /// Consumer: an item goes from the queue, by `take`, into hand.
    pub(super) fn take<T>(&self, take: impl FnOnce() -> Option<T>) -> Option<T> {
        self.write(|account| {
            let item = take();
            if item.is_some() {
                add_one(&account.in_hand);
            }
            item
        })
    }

    /// Consumer: an item in hand is done with.
    pub(super) fn process(&self) {
        self.write(|account| {
            take_one(&account.in_hand);
            add_one(&account.processed);
        });
    }

    /// Consumer: an item in hand is not to be processed, but handed back or dropped.
    pub(super) fn give_back(&self) {
        self.write(|account| {
            take_one(&account.in_hand);
            add_one(&account.returned);
        });
    }

    /// Consumer: writes a step down.
    fn write<R>(&self, step: impl FnOnce(&Account) -> R) -> R {
        self.pass_gate();
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees any of the new numbers sees the odd version too.
        fence(Ordering::Release);
        let result = step(self);
        self.version.store(version.wrapping_add(2), Ordering::Release);
        result
    }

    /// A reader that is seen too late tries again, so this needs no order.
    fn pass_gate(&self) {
        if self.readers.load(Ordering::Relaxed) > 0 {
            drop(lock(&self.gate));
        }
    }

    /// The account as of one moment during the call.
    pub(super) fn snapshot<T>(&self, ring: &Ring<T>) -> Snapshot {
        self.readers.fetch_add(1, Ordering::Relaxed);
        let gate = lock(&self.gate);
        let snapshot = loop {
            match self.try_snapshot(ring) {
                Some(snapshot) => break snapshot,
                // The consumer is in the middle of a step.
                None => yield_now(),
            }
        };
        drop(gate);
        self.readers.fetch_sub(1, Ordering::Relaxed);
        snapshot
    }

    /// `None`: the consumer has moved meanwhile.
    fn try_snapshot<T>(&self, ring: &Ring<T>) -> Option<Snapshot> {
        let version = self.version.load(Ordering::Acquire);
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (in_hand, processed, returned) =
            (load(&self.in_hand), load(&self.processed), load(&self.returned));
        // Producers go on; what they publish from here on is of a later moment or of this one.
        let (taken, queued) = ring.count();
        fence(Ordering::Acquire);
        let unmoved = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        unmoved.then_some(Snapshot {
            accepted: taken + queued,
            processed,
            returned,
            owned: queued + in_hand,
        })
    }
}

/// The consumer is the only writer.
fn add_one(counter: &AtomicU64) {
    let count = counter.load(Ordering::Relaxed);
    counter.store(count.checked_add(1).expect("fewer than 2^64 items"), Ordering::Relaxed);
}

fn take_one(counter: &AtomicU64) {
    let count = counter.load(Ordering::Relaxed);
    counter.store(count.checked_sub(1).expect("an item was in hand"), Ordering::Relaxed);
}

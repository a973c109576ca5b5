//! The queue: a bounded ring with many producers and one consumer.
//!
//! A producer *claims* a position by moving the tail, writes its item into the position's slot, and
//! *publishes* it by storing the position in the slot's sequence number. The consumer takes what is
//! published, in order, and gives the slots back by moving the head, once a batch. It never writes
//! to a slot, so the slots' cache lines go one way only.
//!
//! ```text
//!              head            taken                        tail
//!   free         │  given back   │ published  claimed, not    │         free
//!                │  at the end   │            yet published   │
//!   ─ ─ ─ ─ ─ ─ ─┼───────────────┼────────────────────────────┼─ ─ ─ ─ ─ ─ ─
//!                └ consumer's ───┘└──────── producers' ───────┘
//! ```
//!
//! Positions count items since the beginning. The highest bit of the tail says that the queue is
//! closed: a claim and the end of claims are decided on one word, so an item is either accepted
//! before the end or comes back.
//!
//! This file takes its atomics from its parent, so that it can be compiled against loom's.
#![allow(unsafe_code)]

use super::sync::{AtomicU64, AtomicUsize, Ordering, UnsafeCell};
use std::collections::TryReserveError;
use std::mem::MaybeUninit;

/// Set in the tail once nothing more is accepted.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// The largest capacity: distances between positions have to stay unambiguous.
pub(super) const MAX_CAPACITY: usize = 1 << (usize::BITS - 3);

/// See the [module](self).
pub(super) struct Ring<T> {
    tail: Line<Tail>,
    head: Line<AtomicUsize>,
    /// How many items were taken, which the consumer writes and the account reads.
    taken: Line<AtomicU64>,
    capacity: usize,
    mask: usize,
    slots: Box<[Slot<T>]>,
}

/// Keeps what different threads write on different pairs of cache lines, as they are prefetched.
#[repr(align(128))]
struct Line<T>(T);

/// What the producers write.
struct Tail {
    position: AtomicUsize,
    /// A head that some producer has seen. The head itself is read only when this one leaves no
    /// room.
    head_seen: AtomicUsize,
}

struct Slot<T> {
    /// The position after the one whose item is here, from its publication on.
    sequence: AtomicUsize,
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: an item is written by the one producer that claimed its position, and read by the one
// consumer, which has acquired the sequence number that the producer released.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above; shared references move items only.
unsafe impl<T: Send> Sync for Ring<T> {}

/// A position, which counts up and wraps below the bit that means closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(usize);

impl Position {
    /// The position of the item that `items` came before.
    fn of(items: u64) -> Position {
        // The positions wrap on the way, as they are meant to.
        Position(items as usize & !CLOSED)
    }

    pub(super) fn plus(self, count: usize) -> Position {
        Position(self.0.wrapping_add(count) & !CLOSED)
    }

    /// How far this one is ahead of `earlier`.
    pub(super) fn since(self, earlier: Position) -> usize {
        self.0.wrapping_sub(earlier.0) & !CLOSED
    }

    /// The sequence number that publishes this position. Never zero, the number of a fresh slot.
    fn published(self) -> usize {
        self.plus(1).0 | CLOSED
    }
}

/// Why nothing was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Every slot is taken.
    Full,
    /// Nothing is accepted any more.
    Closed,
}

/// The consumer's place in a ring. There is one a ring, and whoever has it is the consumer.
pub(super) struct Cursor {
    /// How many items were taken.
    taken: u64,
    /// The address of the ring's slots: a cursor does for its own ring only.
    ring: usize,
}

impl Cursor {
    /// The position of the next item.
    pub(super) fn position(&self) -> Position {
        Position::of(self.taken)
    }
}

impl<T> Ring<T> {
    /// A ring for `capacity` items, and its one cursor; or an error where there is no memory for
    /// it.
    pub(super) fn new(capacity: usize) -> Result<(Ring<T>, Cursor), TryReserveError> {
        assert!((1..=MAX_CAPACITY).contains(&capacity), "a capacity of {capacity}");
        let count = capacity.next_power_of_two();
        let mut slots = Vec::new();
        slots.try_reserve_exact(count)?;
        slots.extend((0..count).map(|_| Slot::new()));
        let ring = Ring {
            tail: Line(Tail { position: AtomicUsize::new(0), head_seen: AtomicUsize::new(0) }),
            head: Line(AtomicUsize::new(0)),
            taken: Line(AtomicU64::new(0)),
            capacity,
            mask: count - 1,
            slots: slots.into_boxed_slice(),
        };
        let cursor = Cursor { taken: 0, ring: ring.address() };
        Ok((ring, cursor))
    }

    fn address(&self) -> usize {
        self.slots.as_ptr().addr()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Producer: accepts an item, or hands it back.
    pub(super) fn push(&self, item: T) -> Result<(), (T, Refusal)> {
        match self.claim(1) {
            Ok((position, _)) => {
                self.publish(position, item);
                Ok(())
            }
            Err(refusal) => Err((item, refusal)),
        }
    }

    /// Producer: accepts as many of `items` as there is room for, from the front, with one claim.
    /// Nothing that could panic stands between the claim and the last publication.
    pub(super) fn push_front_of(&self, items: &mut Vec<T>) -> Result<usize, Refusal> {
        if items.is_empty() {
            return Ok(0);
        }
        let (first, count) = self.claim(items.len())?;
        for (offset, item) in items.drain(..count).enumerate() {
            self.publish(first.plus(offset), item);
        }
        Ok(count)
    }

    /// A push that stops between its claim and its publication, which the result makes.
    #[cfg(test)]
    pub(super) fn push_in_halves(&self, item: T) -> impl FnOnce() {
        let (position, _) = self.claim(1).expect("there is room");
        move || self.publish(position, item)
    }

    /// Claims up to `wanted` positions, which have to be published. The claim acquires what the
    /// consumer released by its own read-modify-write of the tail: see `Channel::arm`.
    fn claim(&self, wanted: usize) -> Result<(Position, usize), Refusal> {
        let Tail { position: tail, .. } = &self.tail.0;
        let mut seen = tail.load(Ordering::Relaxed);
        loop {
            if seen & CLOSED != 0 {
                return Err(Refusal::Closed);
            }
            let position = Position(seen);
            let count = match self.room(position) {
                Some(0) => return Err(Refusal::Full),
                Some(room) => room.min(wanted),
                // The tail and the head that were seen do not go together. The latest tail does
                // with every head that those who have moved it knew of.
                None => {
                    seen = tail.fetch_add(0, Ordering::Acquire);
                    continue;
                }
            };
            let next = position.plus(count).0;
            match tail.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok((position, count)),
                Err(latest) => seen = latest,
            }
        }
    }

    /// How many slots are free if `tail` is the tail. `None`: it is not, or this head is not the
    /// head.
    fn room(&self, tail: Position) -> Option<usize> {
        let Tail { head_seen, .. } = &self.tail.0;
        // Acquire here and Release below: what this head stands for, that the consumer has read the
        // items of the slots before it, passes from the producer that has seen it to this one.
        let head = Position(head_seen.load(Ordering::Acquire));
        if tail.since(head) < self.capacity {
            return Some(self.capacity - tail.since(head));
        }
        let head = Position(self.head.0.load(Ordering::Acquire));
        head_seen.store(head.0, Ordering::Release);
        self.capacity.checked_sub(tail.since(head))
    }

    fn publish(&self, position: Position, item: T) {
        let slot = self.slot(position);
        // SAFETY: the position was claimed by this thread, so nobody else writes to its slot, and
        // the head has passed the slot's last item, so the consumer is done with it.
        slot.item.with_mut(|place| unsafe { (*place).write(item) });
        slot.sequence.store(position.published(), Ordering::Release);
    }

    /// Consumer: the next item, if it is published. Its slot stays taken until
    /// [`free`](Ring::free).
    pub(super) fn take(&self, cursor: &mut Cursor) -> Option<T> {
        assert_eq!(cursor.ring, self.address(), "a cursor does for its own ring");
        let position = cursor.position();
        if !self.is_published(position) {
            return None;
        }
        cursor.taken = cursor.taken.checked_add(1).expect("fewer than 2^64 items");
        self.taken.0.store(cursor.taken, Ordering::Relaxed);
        // SAFETY: the item was written before its publication, which was acquired; nobody writes to
        // the slot before the head has passed it. The ring has one cursor, borrowed exclusively
        // here, which has just moved on: nobody takes the item twice.
        let item = self.slot(position).item.with(|place| unsafe { place.read() });
        // SAFETY: as above, it was written.
        Some(unsafe { item.assume_init() })
    }

    /// Whether the item at `position` can be taken.
    pub(super) fn is_published(&self, position: Position) -> bool {
        self.slot(position).sequence.load(Ordering::Acquire) == position.published()
    }

    /// How many items were taken, and how many are published and were not, counted one by one: one
    /// that is claimed and not yet published is not accepted yet.
    ///
    /// Another thread than the consumer's may see a tail that is older than the last that was
    /// taken. Then the count means nothing, and still ends.
    pub(super) fn count(&self) -> (u64, u64) {
        let taken = self.taken.0.load(Ordering::Relaxed);
        let (position, (end, _)) = (Position::of(taken), self.end());
        let count = end.since(position).min(self.capacity);
        let claimed = (0..count).map(|offset| position.plus(offset));
        (taken, claimed.filter(|position| self.is_published(*position)).count() as u64)
    }

    /// Consumer: gives the slots before the cursor back to the producers. A read-modify-write, so
    /// that a producer which waits for room is ordered before or after it: see `Room`.
    pub(super) fn free(&self, cursor: &Cursor) {
        assert_eq!(cursor.ring, self.address(), "a cursor does for its own ring");
        self.head.0.swap(cursor.position().0, Ordering::AcqRel);
    }

    /// Producer: whether a slot is free, ordered with [`free`](Ring::free) by a read-modify-write.
    pub(super) fn has_room_now(&self) -> bool {
        let head = Position(self.head.0.fetch_add(0, Ordering::AcqRel));
        let tail = Position(self.tail.0.position.load(Ordering::Relaxed) & !CLOSED);
        tail.since(head) < self.capacity
    }

    /// Where the next claim begins, and whether there will be none.
    pub(super) fn end(&self) -> (Position, bool) {
        split(self.tail.0.position.load(Ordering::Acquire))
    }

    /// As [`end`](Ring::end), by a read-modify-write: every claim is ordered before it or after it.
    pub(super) fn end_now(&self) -> (Position, bool) {
        split(self.tail.0.position.fetch_add(0, Ordering::AcqRel))
    }

    /// Nothing is accepted from here on.
    pub(super) fn close(&self) {
        self.tail.0.position.fetch_or(CLOSED, Ordering::AcqRel);
    }

    fn slot(&self, position: Position) -> &Slot<T> {
        &self.slots[position.0 & self.mask]
    }
}

impl<T> Drop for Ring<T> {
    /// Drops what nobody has taken. No claim is under way, and no consumer is there: whoever pushes
    /// or takes has a reference.
    fn drop(&mut self) {
        let taken = self.taken.0.load(Ordering::Relaxed);
        let mut cursor = Cursor { taken, ring: self.address() };
        while let Some(item) = self.take(&mut cursor) {
            drop(item);
        }
    }
}

impl<T> Slot<T> {
    fn new() -> Slot<T> {
        Slot { sequence: AtomicUsize::new(0), item: UnsafeCell::new(MaybeUninit::uninit()) }
    }
}

fn split(tail: usize) -> (Position, bool) {
    (Position(tail & !CLOSED), tail & CLOSED != 0)
}

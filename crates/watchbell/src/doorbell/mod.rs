//! A bounded queue with a bell: many producers, one consumer that sleeps in an event loop.
//!
//! The queue is the authority. The bell, an eventfd, says *look at the queue* and nothing else: its
//! count is no number of items. It is written only when the consumer sleeps, and then once, however
//! many items come: a push to a consumer that is awake makes no system call, and a burst to one
//! that sleeps makes one write.
//!
//! ```
//! use watchbell::doorbell::{PushError, doorbell};
//!
//! let (bell, mut queue) = doorbell::<&str>(2)?;
//! bell.push("one")?;
//! bell.push("two")?;
//! assert_eq!(bell.push("three"), Err(PushError::Full("three")));
//!
//! assert_eq!(queue.pop(), Some("one"));
//! bell.close();
//! assert_eq!(bell.push("three"), Err(PushError::Closed("three")));
//! assert_eq!(queue.reclaim(), ["two"]);
//!
//! let ledger = bell.ledger();
//! assert_eq!((ledger.accepted, ledger.processed, ledger.returned, ledger.owned), (2, 1, 1, 0));
//! assert!(ledger.balances());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The contract
//!
//! - **Accepted means owned.** A push that returns `Ok` has put its item into the queue before it
//!   rings. One that is refused hands the item back. The end of the queue and an item's acceptance
//!   are decided on one word: an item is in before the end, or it comes back.
//! - **Look, arm, look, sleep.** An item that is pushed while the consumer goes to sleep is either
//!   seen by its last look, or leaves a ring that the sleep sees. That does not depend on how the
//!   caller synchronises its own data. docs/doorbell.md has the proof, and loom checks the files
//!   that ship.
//! - **The bell outlives its producers.** The consumer keeps the eventfd open, so a last ring is
//!   delivered though its producer is gone.
//! - **A full bell rings.** A write of 1 is refused at `u64::MAX - 1`; a write of 0 wakes all the
//!   same.
//! - **A producer that is preempted in the middle of a push** keeps no loop of this library
//!   spinning: items are taken in the order of their claims, and the consumer sleeps briefly until
//!   the next is there. One that is preempted between its push and its ring delays the wake until
//!   it goes on.
//! - **In a forked child** there are the ends but not the threads behind them: end it by exec or
//!   `_exit`, and neither query nor drop a queue there.
//! - **The ledger**: accepted = processed + returned + owned, as of any moment, whoever asks. What
//!   is owned is counted.
//!
//! # In other loops
//!
//! A [`Queue`] is a source of this library's [`EventLoop`](crate::event_loop::EventLoop). It also
//! stands alone, in whatever watches its descriptor edge-triggered. Features that are off by
//! default do that for three loops: under `mio` it is an `event::Source`, under `tokio`
//! `into_async` makes an `AsyncQueue` of it, whose `next` is awaited, and under `calloop`
//! `into_source` makes a `QueueSource` of it.
//!
//! The bell relies on Linux making a new edge of every write to an eventfd, read or not (a
//! conformance test guards it). Nothing else in this library does.

mod account;
mod channel;
mod error;
mod queue;
mod ring;
mod room;
mod sender;
mod shared;
#[cfg(test)]
mod tests;
#[cfg(feature = "calloop")]
mod with_calloop;
#[cfg(feature = "mio")]
mod with_mio;
#[cfg(feature = "tokio")]
mod with_tokio;

pub use channel::Armed;
pub use error::{Errno, PushAllError, PushAllReason, PushError};
pub use queue::Queue;
pub use sender::Doorbell;
#[cfg(feature = "calloop")]
pub use with_calloop::QueueSource;
#[cfg(feature = "tokio")]
pub use with_tokio::AsyncQueue;

use crate::kernel::{Kernel, Linux};
use crate::sync::Arc;
use shared::Shared;
use std::io;

/// What the files of the protocol take from their parent; a test gives them loom's.
mod sync {
    pub(super) use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
    pub(super) use crate::sync::thread::yield_now;
    pub(super) use crate::sync::{Condvar, Mutex, lock};

    /// std's cell, with the accessors of loom's.
    pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(super) const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

/// A queue of at most `capacity` items with its bell, on the running kernel. The [module](self) has
/// an example.
///
/// # Errors
///
/// `InvalidInput` for a capacity of zero, or one larger than an eighth of the address space;
/// `OutOfMemory` where there is no memory for so many items; otherwise those of
/// [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html): `EMFILE`, `ENFILE`,
/// `ENOMEM`.
#[doc(alias = "eventfd")]
pub fn doorbell<T>(capacity: usize) -> io::Result<(Doorbell<T>, Queue<T>)> {
    doorbell_on(Linux, capacity)
}

/// As [`doorbell`], on `kernel`.
///
/// # Errors
///
/// As [`doorbell`].
///
/// ```
/// # use watchbell::{doorbell::doorbell_on, kernel::Linux};
/// let (bell, mut queue) = doorbell_on::<u32, _>(Linux, 8)?; // or a kernel that counts its calls
/// bell.push(7)?;
/// assert_eq!(queue.pop(), Some(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "eventfd")]
pub fn doorbell_on<T, K: Kernel>(
    kernel: K,
    capacity: usize,
) -> io::Result<(Doorbell<T, K>, Queue<T, K>)> {
    if !(1..=ring::MAX_CAPACITY).contains(&capacity) {
        let message = format!("a queue for {capacity} items");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let (shared, cursor) = Shared::new(kernel, capacity)?;
    let shared = Arc::new(shared);
    Ok((Doorbell::new(Arc::clone(&shared)), Queue::new(shared, cursor)))
}

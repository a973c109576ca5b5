//! The producers' end.

use super::error::{PushAllError, PushAllReason, PushError};
use super::ring::Refusal;
use super::shared::Shared;
use crate::Ledger;
use crate::kernel::{Kernel, Linux};
use crate::sync::Arc;
use std::fmt;
use std::time::Instant;

/// Pushes items to a [`Queue`](super::Queue), from any number of threads.
///
/// Clones push to the same queue. When the last one is dropped the queue is closed.
///
/// There is no check of the process here, since it would cost a system call a push: in a forked
/// child, an item goes into the child's copy of the queue, which has no consumer. The eventfd is
/// the parent's too: a ring in the child, also that of a last doorbell which is dropped there, may
/// wake the parent, which finds nothing and sleeps again.
pub struct Doorbell<T, K: Kernel = Linux> {
    sender: Arc<Sender<T, K>>,
}

/// All clones of one [`Doorbell`] together.
struct Sender<T, K: Kernel> {
    shared: Arc<Shared<T, K>>,
}

impl<T, K: Kernel> Drop for Sender<T, K> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// How many items of a batch are claimed at once.
const BATCH: usize = 64;

impl<T, K: Kernel> Doorbell<T, K> {
    pub(super) fn new(shared: Arc<Shared<T, K>>) -> Doorbell<T, K> {
        Doorbell { sender: Arc::new(Sender { shared }) }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared<T, K> {
        &self.sender.shared
    }

    /// Pushes an item, and wakes the consumer if it sleeps. It never blocks.
    ///
    /// # Errors
    ///
    /// [`PushError::Full`] and [`PushError::Closed`] hand the item back. [`PushError::Unrung`] says
    /// that it was accepted, but a sleeping consumer could not be woken: an error of
    /// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html) on the eventfd, of which none
    /// is expected.
    ///
    /// # Panics
    ///
    /// If the kernel does not write eight bytes: the descriptor has been replaced behind our back.
    /// The item is in the queue then.
    ///
    /// ```
    /// use watchbell::doorbell::{PushError, doorbell};
    ///
    /// let (bell, mut queue) = doorbell(1)?;
    /// bell.push("one")?;
    /// let Err(PushError::Full(item)) = bell.push("two") else { panic!("there was room") };
    /// assert_eq!(queue.pop(), Some("one"));
    /// bell.push(item)?;
    /// assert_eq!(queue.pop(), Some("two"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "eventfd_write")]
    pub fn push(&self, item: T) -> Result<(), PushError<T>> {
        let shared = &*self.sender.shared;
        match shared.channel.push(item) {
            Ok(owed) => shared.ring_if(owed).map_err(PushError::Unrung),
            Err((item, Refusal::Full)) => Err(PushError::Full(item)),
            Err((item, Refusal::Closed)) => Err(PushError::Closed(item)),
        }
    }

    /// As [`push`](Doorbell::push), waiting for room as long as it takes. It blocks the thread, so
    /// it is not for handlers of the loop that serves the queue.
    ///
    /// # Errors
    ///
    /// As [`push`](Doorbell::push), except [`PushError::Full`].
    ///
    /// # Panics
    ///
    /// As [`push`](Doorbell::push).
    ///
    /// ```
    /// # use watchbell::doorbell::doorbell;
    /// let (bell, mut queue) = doorbell(1)?;
    /// bell.push(1)?;
    /// std::thread::scope(|scope| {
    ///     let producer = scope.spawn(|| bell.push_wait(2));
    ///     assert_eq!(queue.pop(), Some(1)); // which makes room
    ///     producer.join().expect("it does not panic")
    /// })?;
    /// assert_eq!(queue.pop(), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_wait(&self, item: T) -> Result<(), PushError<T>> {
        self.push_before(item, None)
    }

    /// As [`push_wait`](Doorbell::push_wait), until `deadline` at the most.
    ///
    /// # Errors
    ///
    /// As [`push`](Doorbell::push); [`PushError::Full`] if there was no room before the deadline,
    /// and never before it.
    ///
    /// # Panics
    ///
    /// As [`push`](Doorbell::push).
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # use watchbell::doorbell::{PushError, doorbell};
    /// let (bell, _queue) = doorbell(1)?;
    /// bell.push(1)?;
    /// let deadline = Instant::now() + Duration::from_millis(2);
    /// assert_eq!(bell.push_until(2, deadline), Err(PushError::Full(2)));
    /// assert!(Instant::now() >= deadline);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_until(&self, item: T, deadline: Instant) -> Result<(), PushError<T>> {
        self.push_before(item, Some(deadline))
    }

    fn push_before(&self, mut item: T, deadline: Option<Instant>) -> Result<(), PushError<T>> {
        let shared = &*self.sender.shared;
        let ring = &shared.channel.ring;
        loop {
            item = match self.push(item) {
                Err(PushError::Full(item)) => item,
                decided => return decided,
            };
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(PushError::Full(item));
            }
            shared.room.wait(deadline, || ring.has_room_now() || ring.end_now().1);
        }
    }

    /// Pushes a batch, in order, with one claim and at most one ring for up to 64 items, and says
    /// how many items were pushed.
    ///
    /// Items are taken from the iterator up to 64 at a time, and those that found no room come
    /// back. If the iterator panics, what it has given since the last claim is dropped with it and
    /// was not accepted.
    ///
    /// # Errors
    ///
    /// [`PushAllError`] says how many were accepted, and has those that were taken and were not.
    /// The rest is still in the iterator.
    ///
    /// # Panics
    ///
    /// As [`push`](Doorbell::push), and if the iterator does.
    ///
    /// ```
    /// # use watchbell::doorbell::{PushAllReason, doorbell};
    /// let (bell, mut queue) = doorbell(2)?;
    /// let mut items = 1..=100;
    /// let refused = bell.push_all(&mut items).expect_err("there is room for two");
    /// assert_eq!((refused.accepted, refused.reason), (2, PushAllReason::Full));
    ///
    /// let again = refused.rest.into_iter().chain(items);
    /// assert_eq!(again.count(), 98);
    /// assert_eq!(queue.drain(10, |_item| {}), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "eventfd_write")]
    pub fn push_all<I>(&self, items: &mut I) -> Result<usize, PushAllError<T>>
    where
        I: Iterator<Item = T>,
    {
        let shared = &*self.sender.shared;
        let mut accepted = 0;
        loop {
            let mut batch: Vec<T> = items.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(accepted);
            }
            while !batch.is_empty() {
                let reason = match shared.channel.push_front_of(&mut batch) {
                    Ok((count, owed)) => {
                        accepted += count;
                        match shared.ring_if(owed) {
                            Ok(()) => continue,
                            Err(errno) => PushAllReason::Unrung(errno),
                        }
                    }
                    Err(Refusal::Full) => PushAllReason::Full,
                    Err(Refusal::Closed) => PushAllReason::Closed,
                };
                return Err(PushAllError { accepted, rest: batch, reason });
            }
        }
    }

    /// Closes the queue: every later push is refused, and the consumer finds what was accepted
    /// before, then the end. Closing twice is closing once.
    pub fn close(&self) {
        self.sender.shared.close();
    }

    /// Whether the queue is closed: by [`close`](Doorbell::close), or because its consumer has
    /// gone.
    pub fn is_closed(&self) -> bool {
        self.sender.shared.channel.ring.end().1
    }

    /// How many items the queue holds at the most.
    pub fn capacity(&self) -> usize {
        self.sender.shared.channel.ring.capacity()
    }

    /// Where every accepted item has gone, as of one moment during the call. It asks a busy
    /// consumer to stand still for about as long as it takes to count the queue.
    pub fn ledger(&self) -> Ledger {
        self.sender.shared.ledger()
    }
}

impl<T, K: Kernel> Clone for Doorbell<T, K> {
    fn clone(&self) -> Doorbell<T, K> {
        Doorbell { sender: Arc::clone(&self.sender) }
    }
}

impl<T, K: Kernel> fmt::Debug for Doorbell<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorbell")
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

//! The consumer's end.

use super::channel::Armed;
use super::ring::Cursor;
use super::shared::Shared;
use crate::Ledger;
use crate::epoll::Source;
use crate::kernel::{Borrowed, Kernel, Linux};
use crate::sync::{Arc, thread};
use std::fmt;
#[cfg(feature = "calloop")]
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Takes the items that [`Doorbell`](super::Doorbell)s push. There is one consumer, always.
///
/// In an event loop of this library, [`Registry::add`](crate::event_loop::Registry::add) does
/// all that follows. Alone, or in somebody else's loop, the order is: take everything,
/// [`arm`](Queue::arm), and sleep only if it says so. The descriptor is to be watched
/// edge-triggered, and never read.
///
/// Dropped, it closes the queue and drops what is left, which counts as returned. It waits a while
/// for pushes that are under way; if one does not come to its end, its item and those behind it are
/// dropped with the last doorbell, and count as owned until then.
///
/// There is one consumer:
///
/// ```compile_fail,E0599
/// let (bell, queue) = watchbell::doorbell::doorbell::<u32>(8).unwrap();
/// let (one, other) = (queue.clone(), queue);
/// ```
///
/// and as many producers as one likes:
///
/// ```
/// let (bell, queue) = watchbell::doorbell::doorbell::<u32>(8).unwrap();
/// let (one, other) = (bell.clone(), bell);
/// ```
///
/// # Example
///
/// ```
/// use std::thread;
/// use watchbell::doorbell::{Armed, doorbell};
/// use watchbell::epoll::{AnyFd, Epoll, Events, Interest, OnBlocking};
///
/// let (bell, queue) = doorbell::<u32>(8)?;
/// let producer = thread::spawn(move || (0..100).try_for_each(|n| bell.push_wait(n)));
///
/// let epoll = Epoll::new()?;
/// let mut queue = epoll.edge(AnyFd(queue), Interest::READABLE, OnBlocking::Refuse)?;
/// let (mut events, mut sum) = (Events::with_capacity(1), 0);
/// loop {
///     queue.get_mut().0.drain(usize::MAX, |n| sum += n);
///     match queue.get_mut().0.arm() {
///         Armed::Item => {}
///         Armed::Sleep => epoll.wait(&mut events, None)?,
///         Armed::SleepBriefly => epoll.wait(&mut events, Some(Armed::BRIEFLY))?,
///         Armed::Closed => break,
///     }
/// }
/// assert_eq!(sum, 99 * 100 / 2);
/// producer.join().unwrap().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Queue<T, K: Kernel = Linux> {
    shared: Arc<Shared<T, K>>,
    cursor: Cursor,
    armed: bool,
}

impl<T, K: Kernel> Queue<T, K> {
    pub(super) fn new(shared: Arc<Shared<T, K>>, cursor: Cursor) -> Queue<T, K> {
        Queue { shared, cursor, armed: false }
    }

    /// Takes the next item, which counts as processed from here on.
    pub fn pop(&mut self) -> Option<T> {
        self.batch().take()
    }

    /// Gives up to `most` items to `process`, in order, and says how many items. Their slots are
    /// free once it returns.
    ///
    /// An item is in hand while `process` runs, and counts as processed afterwards, also if that
    /// panics.
    ///
    /// # Panics
    ///
    /// If `process` does; what is left stays in the queue.
    ///
    /// ```
    /// # use watchbell::doorbell::doorbell;
    /// let (bell, mut queue) = doorbell(8)?;
    /// bell.push_all(&mut (1..=5)).expect("there is room");
    /// let mut sum = 0;
    /// assert_eq!(queue.drain(3, |item| sum += item), 3);
    /// assert_eq!(sum, 1 + 2 + 3);
    /// assert_eq!(queue.reclaim(), [4, 5]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn drain(&mut self, most: usize, mut process: impl FnMut(T)) -> usize {
        let mut batch = self.batch();
        while batch.taken < most {
            let Some(item) = batch.take() else { break };
            process(item);
        }
        batch.taken
    }

    pub(crate) fn batch(&mut self) -> Batch<'_, T, K> {
        Batch { queue: self, taken: 0, in_hand: false }
    }

    /// Prepares to sleep, and looks once more: see [`Armed`].
    ///
    /// An item that is pushed concurrently is either seen by that look, or rings. Any look at the
    /// queue afterwards ends the armed state.
    pub fn arm(&mut self) -> Armed {
        let armed = self.shared.channel.arm(&self.cursor);
        self.armed = matches!(armed, Armed::Sleep | Armed::SleepBriefly);
        armed
    }

    /// Ends the armed state, as any look at the queue does: pushes ring no more.
    pub fn disarm(&mut self) {
        if self.armed {
            self.armed = false;
            self.shared.channel.disarm();
        }
    }

    /// Whether an item can be taken.
    pub fn has_item(&self) -> bool {
        self.shared.channel.ring.is_published(self.cursor.position())
    }

    /// Whether nothing more is accepted. What was accepted before may still be here.
    pub fn is_closed(&self) -> bool {
        self.shared.channel.ring.end().1
    }

    /// Whether the queue is closed and everything that was accepted has been taken.
    pub fn has_ended(&self) -> bool {
        let (end, closed) = self.shared.channel.ring.end();
        closed && end == self.cursor.position()
    }

    /// Refuses further items.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Closes the queue and hands back what is left, in order, which counts as returned.
    ///
    /// It waits for producers that are in the middle of a push: a few instructions, and however
    /// long the scheduler keeps them from those.
    pub fn reclaim(mut self) -> Vec<T> {
        self.close();
        let (end, _) = self.shared.channel.ring.end_now();
        let mut items = Vec::with_capacity(end.since(self.cursor.position()));
        while self.cursor.position() != end {
            match self.give_back() {
                Some(item) => items.push(item),
                None => thread::yield_now(),
            }
        }
        items
    }

    /// Closes the queue and drops what is left, which counts as returned; says how many that were.
    /// As [`reclaim`](Queue::reclaim), it waits for pushes that are under way.
    pub fn discard(self) -> usize {
        self.reclaim().len()
    }

    /// Where every accepted item has gone.
    pub fn ledger(&self) -> Ledger {
        self.shared.ledger()
    }

    /// Another descriptor of the bell, for a loop that has to own what it watches.
    #[cfg(feature = "calloop")]
    pub(super) fn duplicate_bell(&self) -> io::Result<K::Fd> {
        Ok(self.shared.bell.try_clone()?.into_fd())
    }

    /// Takes an item into hand. Its slot has to be [freed](Queue::free).
    fn take(&mut self) -> Option<T> {
        self.disarm();
        let ring = &self.shared.channel.ring;
        self.shared.account.take(|| ring.take(&mut self.cursor))
    }

    /// Gives the slots of all items that were taken back to the producers.
    fn free(&mut self) {
        self.shared.channel.ring.free(&self.cursor);
        self.shared.room.notify();
    }

    /// What a faulty consumer would do: takes an item out of the ring, and writes nothing down.
    #[cfg(test)]
    pub(super) fn lose(&mut self) -> Option<T> {
        self.shared.channel.ring.take(&mut self.cursor)
    }

    fn give_back(&mut self) -> Option<T> {
        let item = self.take()?;
        self.shared.account.give_back();
        self.free();
        Some(item)
    }
}

/// Items that are being taken one after the other. Whatever ends it, the account and the slots are
/// put in order.
pub(crate) struct Batch<'queue, T, K: Kernel> {
    queue: &'queue mut Queue<T, K>,
    taken: usize,
    in_hand: bool,
}

impl<T, K: Kernel> Batch<'_, T, K> {
    /// The next item. The one before it is done with.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.finish_item();
        let item = self.queue.take()?;
        self.taken += 1;
        self.in_hand = true;
        Some(item)
    }

    fn finish_item(&mut self) {
        if std::mem::take(&mut self.in_hand) {
            self.queue.shared.account.process();
        }
    }
}

impl<T, K: Kernel> Drop for Batch<'_, T, K> {
    fn drop(&mut self) {
        self.finish_item();
        if self.taken > 0 {
            self.queue.free();
        }
    }
}

/// How often a queue that is being dropped lets others run before it gives up on a push.
const PATIENCE: u32 = 10_000;

impl<T, K: Kernel> Drop for Queue<T, K> {
    /// Waits a while for pushes that are under way, since items behind theirs wait with them. Not
    /// for ever: in a forked child their threads are not there. What is left then is dropped with
    /// the ring.
    fn drop(&mut self) {
        self.close();
        let (end, _) = self.shared.channel.ring.end_now();
        let mut patience = PATIENCE;
        while self.cursor.position() != end && patience > 0 {
            match self.give_back() {
                Some(item) => drop(item),
                None => {
                    patience -= 1;
                    thread::yield_now();
                }
            }
        }
    }
}

impl<T, K: Kernel> Queue<T, K> {
    /// The bell's descriptor, for this library's own loop.
    pub(crate) fn bell(&self) -> Borrowed<'_, K> {
        self.shared.bell.descriptor()
    }
}

impl<T, K: Kernel> AsFd for Queue<T, K>
where
    K::Fd: AsFd,
{
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }
}

impl<T, K: Kernel> fmt::Debug for Queue<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("has_item", &self.has_item())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

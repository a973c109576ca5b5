//! What a push can come to.

use std::error;
use std::fmt;
use std::io;

/// Why an item was not pushed, with the item; or that its ring failed.
#[derive(PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError<T> {
    /// The queue is full. The item was not accepted.
    Full(T),
    /// The queue is closed, or its consumer has gone. The item was not accepted.
    Closed(T),
    /// The item was accepted and is in the queue, but a sleeping consumer could not be woken: the
    /// eventfd refused the write. The next push rings again; so the next look finds the item, or
    /// [`Queue::reclaim`](super::Queue::reclaim) does.
    Unrung(Errno),
}

/// The number of an operating-system error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

/// What [`Doorbell::push_all`](super::Doorbell::push_all) did not push, with the items.
#[derive(PartialEq, Eq)]
pub struct PushAllError<T> {
    /// How many items were accepted before.
    pub accepted: usize,
    /// The items that were taken from the iterator and not accepted, in order.
    pub rest: Vec<T>,
    /// Why.
    pub reason: PushAllReason,
}

/// Why a batch ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushAllReason {
    /// The queue is full.
    Full,
    /// The queue is closed, or its consumer has gone.
    Closed,
    /// A sleeping consumer could not be woken. What was accepted is in the queue; `rest` was not
    /// tried.
    Unrung(Errno),
}

impl<T> PushError<T> {
    /// The item, unless it was accepted.
    pub fn into_item(self) -> Option<T> {
        match self {
            PushError::Full(item) | PushError::Closed(item) => Some(item),
            PushError::Unrung(_) => None,
        }
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0)
    }
}

impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "Full(..)",
            PushError::Closed(_) => "Closed(..)",
            PushError::Unrung(errno) => return f.debug_tuple("Unrung").field(errno).finish(),
        })
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::Full(_) => f.write_str("the queue is full"),
            PushError::Closed(_) => f.write_str("the queue is closed"),
            PushError::Unrung(errno) => unrung(*errno, f),
        }
    }
}

impl<T> error::Error for PushError<T> {}

impl<T> fmt::Debug for PushAllError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushAllError")
            .field("accepted", &self.accepted)
            .field("rest", &self.rest.len())
            .field("reason", &self.reason)
            .finish()
    }
}

impl<T> fmt::Display for PushAllError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} items ", self.accepted)?;
        match self.reason {
            PushAllReason::Full => f.write_str("the queue is full"),
            PushAllReason::Closed => f.write_str("the queue is closed"),
            PushAllReason::Unrung(errno) => unrung(errno, f),
        }
    }
}

impl<T> error::Error for PushAllError<T> {}

fn unrung(errno: Errno, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "the item was accepted, but its consumer could not be woken: {}",
        io::Error::from(errno)
    )
}

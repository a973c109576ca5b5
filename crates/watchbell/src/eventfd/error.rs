//! Refused units, and a mode that was trusted in vain.

use std::error;
use std::fmt;
use std::io;

/// Units that were not added, not even in part: they are still the caller's.
///
/// It converts into [`io::Error`]: [`Refusal::Full`] is [`WouldBlock`](io::ErrorKind::WouldBlock)
/// and [`Refusal::TooMany`] is [`InvalidInput`](io::ErrorKind::InvalidInput), both with this inside
/// (`io::Error::get_ref`); the operating system's own errors stay as they are.
///
/// ```
/// use watchbell::eventfd::{Counter, MAX_COUNT, NotAdmitted, Refusal};
///
/// let counter = Counter::new(1)?;
/// let NotAdmitted { units, reason } = counter.add(MAX_COUNT).unwrap_err();
/// assert_eq!(units, MAX_COUNT);
/// assert!(matches!(reason, Refusal::Full));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NotAdmitted {
    /// The units, as they were given.
    pub units: u64,
    /// Why they were refused.
    pub reason: Refusal,
}

/// Why units were refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The count would have passed [`MAX_COUNT`](super::MAX_COUNT) (`EAGAIN`), up to the deadline
    /// where there was one. Reads make room.
    Full,
    /// More than [`MAX_COUNT`](super::MAX_COUNT), which no eventfd can hold (`EINVAL`). No call was
    /// made.
    TooMany,
    /// The operating system refused.
    Os(io::Error),
}

impl fmt::Display for NotAdmitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an addition of {} was refused: {}", self.units, self.reason)
    }
}

impl error::Error for NotAdmitted {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.reason)
    }
}

impl From<NotAdmitted> for io::Error {
    fn from(error: NotAdmitted) -> io::Error {
        match error.reason {
            Refusal::Full => io::Error::new(io::ErrorKind::WouldBlock, error),
            Refusal::TooMany => io::Error::new(io::ErrorKind::InvalidInput, error),
            Refusal::Os(error) => error,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full => f.write_str("the eventfd has no room for it"),
            Refusal::TooMany => f.write_str("no eventfd can hold that much"),
            Refusal::Os(error) => error.fmt(f),
        }
    }
}

impl error::Error for Refusal {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Refusal::Os(error) => Some(error),
            Refusal::Full | Refusal::TooMany => None,
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Os(error)
    }
}

/// A [`Semaphore`](super::Semaphore) whose read took more than one unit: the adopted descriptor,
/// whose mode was [trusted](super::OnUntold::Trust), is not in semaphore mode.
///
/// It is inside an [`io::Error`] of the kind [`InvalidData`](io::ErrorKind::InvalidData).
#[derive(Debug)]
pub struct NotSemaphore {
    /// The units that the read took: they are the caller's now.
    pub units: u64,
}

impl fmt::Display for NotSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one read took {} units, so the eventfd is not a semaphore", self.units)
    }
}

impl error::Error for NotSemaphore {}

impl From<NotSemaphore> for io::Error {
    fn from(error: NotSemaphore) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

//! What the library refuses, and a refused source's way back.

use std::error;
use std::fmt;
use std::io;

/// Why a call on an [`Epoll`](crate::epoll::Epoll) or an
/// [`EventLoop`](crate::event_loop::EventLoop) was refused.
///
/// It converts into [`io::Error`], which keeps the operating system's own errors as they are and
/// carries the others inside (`io::Error::get_ref`), so that `?` works in a function that returns
/// [`io::Result`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The object belongs to another process: this one is a forked child of it. Its interest list
    /// is shared with the parent, so nothing here may change it (see fork(2) and epoll(7)).
    Forked,
    /// The descriptor would block, and an edge-triggered source is read until it would.
    Blocking,
    /// The set of leases that the source came from was dropped: nobody would ever have its events.
    Closed,
    /// The operating system refused.
    Os(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Forked => f.write_str(
                "this epoll instance belongs to another process, and this is a forked child of it",
            ),
            Error::Blocking => f.write_str("the descriptor is blocking, and a source must not be"),
            Error::Closed => f.write_str("the set was dropped, and nobody waits for its events"),
            Error::Os(error) => error.fmt(f),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Error::Os(error) => Some(error),
            Error::Forked | Error::Blocking | Error::Closed => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Os(error)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Os(error) => error,
            Error::Forked => io::Error::new(io::ErrorKind::PermissionDenied, error),
            Error::Blocking => io::Error::new(io::ErrorKind::InvalidInput, error),
            Error::Closed => io::Error::new(io::ErrorKind::BrokenPipe, error),
        }
    }
}

/// A source that was not registered, with the reason: nothing is lost.
///
/// It converts into [`io::Error`], which drops the source, so that `?` works where the caller has
/// no further use for it.
///
/// ```
/// use std::fs::File;
/// use watchbell::epoll::{Epoll, Interest};
/// use watchbell::{Error, Rejected};
///
/// let epoll = Epoll::new()?;
/// let file = File::open("/proc/self/stat")?; // epoll(7) does not support such files: EPERM
/// let Err(Rejected { source, error }) = epoll.level(file, Interest::READABLE) else { panic!() };
/// assert!(matches!(error, Error::Os(_)));
/// let _file: File = source;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Rejected<S> {
    /// The source, as it was given.
    pub source: S,
    /// Why it was refused.
    pub error: Error,
}

impl<S> fmt::Debug for Rejected<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<S> fmt::Display for Rejected<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the source was not registered: {}", self.error)
    }
}

impl<S> error::Error for Rejected<S> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<S> From<Rejected<S>> for Error {
    fn from(rejected: Rejected<S>) -> Error {
        rejected.error
    }
}

impl<S> From<Rejected<S>> for io::Error {
    fn from(rejected: Rejected<S>) -> io::Error {
        rejected.error.into()
    }
}
